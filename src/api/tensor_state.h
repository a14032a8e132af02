// What a Tensor is a handle of: elements in host memory or in a device's.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "api/device_state.h"
#include "backend/backend.h"
#include "base/shape.h"
#include "ir/graph.h"
#include "pounce/tensor.h"

namespace pounce {

struct TensorState {
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  int64_t elements = 0;
  // On the host: `bytes`, which `owner` keeps. Null where there are no elements.
  std::shared_ptr<const void> owner;
  std::span<const std::byte> bytes;
  // On a device; the buffer is null where there are no elements, and freed before the device.
  std::shared_ptr<DeviceState> device;
  std::unique_ptr<Buffer> buffer;

  size_t byte_count() const { return size_t(elements) * dtype_bytes(dtype); }
};

// Without memory yet. Throws InvalidArgument for an impossible shape.
TensorState make_tensor_state(DType dtype, const std::vector<int64_t>& shape);

// On the host. Throws InvalidArgument where `bytes` are not as many as the shape needs.
Tensor host_tensor(DType dtype, const std::vector<int64_t>& shape, std::vector<uint8_t> bytes);
// Uninitialised memory on a device.
TensorState allocate_tensor(std::shared_ptr<DeviceState> device, DType dtype,
                            const std::vector<int64_t>& shape);
Tensor make_tensor(TensorState state);

// A copy of the elements.
std::vector<std::byte> read_bytes(const TensorState& tensor);

// "f32[2,3] on the host", "u8[64,8,8,3] on cpu, 8 threads".
std::string describe(const TensorState& tensor);

}  // namespace pounce
