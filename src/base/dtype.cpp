#include "base/dtype.h"

#include <array>

namespace pounce {
namespace {

struct Row {
  DType dtype;
  std::string_view name;
  size_t bytes;
};

constexpr std::array<Row, 7> kRows = {{{DType::F64, "f64", 8},
                                       {DType::F32, "f32", 4},
                                       {DType::F16, "f16", 2},
                                       {DType::BF16, "bf16", 2},
                                       {DType::I64, "i64", 8},
                                       {DType::I32, "i32", 4},
                                       {DType::U8, "u8", 1}}};

}  // namespace

size_t dtype_bytes(DType dtype) {
  return kRows[static_cast<size_t>(dtype)].bytes;
}

std::string_view dtype_name(DType dtype) {
  return kRows[static_cast<size_t>(dtype)].name;
}

std::optional<DType> parse_dtype(std::string_view name) {
  for (const Row& row : kRows) {
    if (row.name == name) return row.dtype;
  }
  return std::nullopt;
}

bool is_floating(DType dtype) {
  return dtype == DType::F64 || dtype == DType::F32 || dtype == DType::F16 || dtype == DType::BF16;
}

bool is_half(DType dtype) {
  return dtype == DType::F16 || dtype == DType::BF16;
}

}  // namespace pounce
