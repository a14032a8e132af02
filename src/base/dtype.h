// Element types of tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace pounce {

enum class DType : uint8_t { F64, F32, F16, BF16, I64, I32, U8 };

size_t dtype_bytes(DType dtype);

// "f32", "u8", ...: the words of the graph text form.
std::string_view dtype_name(DType dtype);

// The inverse of dtype_name.
std::optional<DType> parse_dtype(std::string_view name);

bool is_floating(DType dtype);

}  // namespace pounce
