// The tables of shared kernels, one file per op family, and what they share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/kernels/launch.h"

namespace pounce::kernels {

struct Row {
  OpKind op;
  Implementation implementation;
};

std::vector<Row> control_kernels();
std::vector<Row> image_kernels();
std::vector<Row> elementwise_kernels();
std::vector<Row> gemm_kernels();
std::vector<Row> layout_kernels();
std::vector<Row> reduce_kernels();
std::vector<Row> softmax_kernels();
std::vector<Row> norm_kernels();
std::vector<Row> pool_kernels();
std::vector<Row> loss_kernels();
std::vector<Row> optimizer_kernels();
std::vector<Row> fused_kernels();

// Work-items a group, where nothing speaks for another number.
inline constexpr int kItems = 256;
// Elements a group handles one by one: EACH_ELEMENT of common.k.
inline constexpr int64_t kElementsAGroup = int64_t{4} * kItems;

inline Operand input(size_t index) {
  return {Operand::Kind::Input, index, 0};
}
inline Operand output(size_t index) {
  return {Operand::Kind::Output, index, 0};
}

// Groups of `each` that cover `count`.
inline int64_t groups_for(int64_t count, int64_t each) {
  return (count + each - 1) / each;
}

// The name of a floating type in macros: F32, F16 or BF16.
std::string storage(DType dtype);

// The integer of `bytes` bytes (1, 2, 4 or 8) in the kernel language.
std::string element_of(int64_t bytes);

// A reason where a floating tensor of the node is f64, which few GPUs compute at speed.
std::optional<std::string> refuse_f64(const NodeContext& context);

// Integers that count elements: i32 where all counts fit, since GPUs divide those much faster.
class IndexType {
 public:
  explicit IndexType(int64_t most_elements) : wide_(most_elements > (int64_t{1} << 30)) {}

  std::string name() const { return wide_ ? "i64" : "i32"; }
  Argument operator()(int64_t value) const {
    return wide_ ? Argument(value) : Argument(int32_t(value));
  }

 private:
  bool wide_;
};

// Sections of a node's workspace, aligned as the device asks.
class Sections {
 public:
  explicit Sections(const Target& target);

  Operand add(int64_t elements, size_t element_bytes);
  size_t bytes() const { return bytes_; }

 private:
  size_t alignment_;
  size_t bytes_ = 0;
};

// Channels stand last: elements of one channel, which is one row of the tensor seen as a matrix.
inline int64_t channels_of(const TensorType& type) {
  return type.shape[type.shape.rank() - 1];
}

}  // namespace pounce::kernels
