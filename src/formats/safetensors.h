// The safetensors file form: named tensors and string metadata, little-endian, no code inside.
// Source: https://github.com/huggingface/safetensors, "Format".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
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

using FileMetadata = std::map<std::string, std::string>;

struct TensorFile {
  FileMetadata metadata;
  std::vector<NamedTensor> tensors;  // in the order of their data

  // Null when absent.
  const NamedTensor* find(std::string_view name) const;
};

// Equal content gives equal bytes; tensors keep their order, and each starts at a multiple of 8.
std::vector<uint8_t> write_safetensors(const TensorFile& file);

// A tensor as the header lists it, of any element type that there may be.
struct TensorEntry {
  std::string name;
  std::string dtype;           // as the file says it: F32, BOOL, F8_E4M3, ...
  std::optional<DType> known;  // absent for types that Pounce does not compute with
  std::vector<int64_t> shape;
  std::span<const uint8_t> bytes;  // within those of the file
};

struct TensorList {
  FileMetadata metadata;
  std::vector<TensorEntry> tensors;  // in the order of the header
};

// Refuses what read_safetensors refuses, but types it does not know and shapes of more axes than a
// Shape has. `bytes` must outlive the list.
TensorList list_safetensors(std::span<const uint8_t> bytes);

// Throws BadData saying what is wrong at which tensor: a file cut short, a header that is no JSON,
// offsets that overlap, leave gaps or exceed the file, sizes that disagree with shape and dtype.
TensorFile read_safetensors(std::span<const uint8_t> bytes);

}  // namespace pounce
