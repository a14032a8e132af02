#include "pounce/tensor.h"

#include <cstring>

#include "api/tensor_state.h"

namespace pounce {
namespace {

template <typename T>
constexpr DType dtype_of() {
  if constexpr (std::same_as<T, double>) return DType::F64;
  if constexpr (std::same_as<T, float>) return DType::F32;
  if constexpr (std::same_as<T, int64_t>) return DType::I64;
  if constexpr (std::same_as<T, int32_t>) return DType::I32;
  return DType::U8;
}

// Takes the memory of a vector of elements over.
template <typename T>
Tensor adopt(DType dtype, const std::vector<int64_t>& shape, std::vector<T> values) {
  TensorState state = make_tensor_state(dtype, shape);
  if (values.size() * sizeof(T) != state.byte_count()) {
    fail(ErrorKind::InvalidArgument, "{} has {} elements, {} were given", describe(state),
         state.elements, values.size());
  }
  auto kept = std::make_shared<const std::vector<T>>(std::move(values));
  state.bytes = std::as_bytes(std::span(*kept));
  state.owner = std::move(kept);
  return make_tensor(std::move(state));
}

}  // namespace

TensorState make_tensor_state(DType dtype, const std::vector<int64_t>& shape) {
  TensorState state;
  state.dtype = dtype;
  state.shape = shape;
  state.elements = Shape(std::span(shape)).elements();
  return state;
}

Tensor make_tensor(TensorState state) {
  return Access::fill<Tensor>(std::make_shared<const TensorState>(std::move(state)));
}

Tensor host_tensor(DType dtype, const std::vector<int64_t>& shape, std::vector<uint8_t> bytes) {
  return adopt(dtype, shape, std::move(bytes));
}

TensorState allocate_tensor(std::shared_ptr<DeviceState> device, DType dtype,
                            const std::vector<int64_t>& shape) {
  TensorState state = make_tensor_state(dtype, shape);
  if (state.elements > 0) state.buffer = device->backend().allocate(state.byte_count());
  state.device = std::move(device);
  return state;
}

std::vector<std::byte> read_bytes(const TensorState& tensor) {
  if (tensor.device == nullptr) return {tensor.bytes.begin(), tensor.bytes.end()};
  std::vector<std::byte> bytes(tensor.byte_count());
  if (bytes.empty()) return bytes;
  tensor.device->backend().synchronize();
  tensor.device->backend().download(*tensor.buffer, 0, bytes);
  return bytes;
}

std::string describe(const TensorState& tensor) {
  return fmt::format("{}[{}] on {}", dtype_name(tensor.dtype), fmt::join(tensor.shape, ","),
                     tensor.device == nullptr ? "the host" : tensor.device->open.description);
}

template <TensorElement T>
Tensor::Tensor(const std::vector<int64_t>& shape, std::vector<T> values)
    : Tensor(adopt(dtype_of<T>(), shape, std::move(values))) {}

DType Tensor::dtype() const {
  return Access::state(*this, "Tensor")->dtype;
}

const std::vector<int64_t>& Tensor::shape() const {
  return Access::state(*this, "Tensor")->shape;
}

int64_t Tensor::elements() const {
  return Access::state(*this, "Tensor")->elements;
}

int64_t Tensor::bytes() const {
  return int64_t(Access::state(*this, "Tensor")->byte_count());
}

std::optional<Device> Tensor::device() const {
  const auto& state = Access::state(*this, "Tensor");
  if (state->device == nullptr) return std::nullopt;
  return Access::make<Device>(state->device);
}

Tensor Tensor::to(const Device& device) const {
  const auto& state = Access::state(*this, "Tensor");
  const std::shared_ptr<DeviceState>& target = Access::state(device, "Device");
  if (state->device == target) return *this;
  TensorState moved = allocate_tensor(target, state->dtype, state->shape);
  if (state->elements > 0 && state->device == nullptr) {
    target->backend().upload(*moved.buffer, 0, state->bytes);
  } else if (state->elements > 0) {
    target->backend().upload(*moved.buffer, 0, read_bytes(*state));
  }
  return make_tensor(std::move(moved));
}

Tensor Tensor::to_host() const {
  const auto& state = Access::state(*this, "Tensor");
  if (state->device == nullptr) return *this;
  return adopt(state->dtype, state->shape, read_bytes(*state));
}

template <TensorElement T>
std::vector<T> Tensor::values() const {
  const auto& state = Access::state(*this, "Tensor");
  if (state->dtype != dtype_of<T>()) {
    fail(ErrorKind::InvalidArgument, "values of {} were asked for, the tensor is {}",
         dtype_name(dtype_of<T>()), describe(*state));
  }
  std::vector<T> values(size_t(state->elements));
  if (values.empty()) return values;
  if (state->device == nullptr) {
    std::memcpy(values.data(), state->bytes.data(), state->bytes.size());
  } else {
    state->device->backend().synchronize();
    state->device->backend().download(*state->buffer, 0, std::as_writable_bytes(std::span(values)));
  }
  return values;
}

#define POUNCE_TENSOR_ELEMENT(T)                                                   \
  template POUNCE_API Tensor::Tensor(const std::vector<int64_t>&, std::vector<T>); \
  template POUNCE_API std::vector<T> Tensor::values<T>() const;
POUNCE_TENSOR_ELEMENT(double)
POUNCE_TENSOR_ELEMENT(float)
POUNCE_TENSOR_ELEMENT(int64_t)
POUNCE_TENSOR_ELEMENT(int32_t)
POUNCE_TENSOR_ELEMENT(uint8_t)
#undef POUNCE_TENSOR_ELEMENT

}  // namespace pounce
