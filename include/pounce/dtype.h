// Element types of tensors. F16 and BF16 are IEEE half precision and its brain variant; integers
// are two's complement; everything is stored in the machine's byte order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "pounce/export.h"

namespace pounce {

enum class DType : uint8_t { F64, F32, F16, BF16, I64, I32, U8 };

POUNCE_API size_t dtype_bytes(DType dtype);

// "f32", "u8", ...: also the words of graphs as text.
POUNCE_API std::string_view dtype_name(DType dtype);

}  // namespace pounce
