// Element types inside the library: the public DType and what only the graph needs to know of it.
#pragma once

#include <optional>
#include <string_view>

#include "pounce/dtype.h"

namespace pounce {

// The inverse of dtype_name.
std::optional<DType> parse_dtype(std::string_view name);

bool is_floating(DType dtype);
// F16 or BF16.
bool is_half(DType dtype);

}  // namespace pounce
