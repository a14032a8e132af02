// The safetensors file form: named tensors and string metadata, little-endian, no code inside.
// Source: https://github.com/huggingface/safetensors, "Format".
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace pounce {

struct NamedTensor {
  std::string name;
  TensorType type;
  std::vector<uint8_t> bytes;  // row-major, type.bytes() of them
};

struct TensorFile {
  std::map<std::string, std::string> metadata;
  std::vector<NamedTensor> tensors;  // in the order of their data

  // Null when absent.
  const NamedTensor* find(std::string_view name) const;
};

// Equal content gives equal bytes; tensors keep their order, and each starts at a multiple of 8.
std::vector<uint8_t> write_safetensors(const TensorFile& file);

// Throws BadData saying what is wrong at which tensor: a file cut short, a header that is no JSON,
// offsets that overlap, leave gaps or exceed the file, sizes that disagree with shape and dtype.
TensorFile read_safetensors(std::span<const uint8_t> bytes);

}  // namespace pounce
