#include "backend/opencl/transfer_ring.h"

#include <algorithm>
#include <cstring>

namespace pounce::opencl {

TransferRing::~TransferRing() {
  if (mapped_ == nullptr) return;
  const Api& api = *runtime_->api;
  api.enqueue_unmap_mem_object(runtime_->transfers.get(), memory_.get(), mapped_, 0, nullptr,
                               nullptr);
  api.finish(runtime_->transfers.get());
}

void TransferRing::open() {
  const Api& api = *runtime_->api;
  cl_int error = CL_SUCCESS;
  // CL_MEM_ALLOC_HOST_PTR is how drivers are asked for page-locked memory.
  cl_mem memory = api.create_buffer(
      runtime_->context.get(), CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, kBytes, nullptr, &error);
  check(error, "allocating memory for transfers");
  memory_ = Memory(runtime_->api, memory);
  void* mapped =
      api.enqueue_map_buffer(runtime_->transfers.get(), memory, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE,
                             0, kBytes, 0, nullptr, nullptr, &error);
  check(error, "mapping memory for transfers");
  mapped_ = static_cast<std::byte*>(mapped);
}

// Where the next `bytes` may be put: what was there before has arrived.
size_t TransferRing::reserve(size_t bytes) {
  if (next_ + bytes > kBytes) next_ = 0;
  size_t begin = next_, end = next_ + bytes;
  // Pieces arrive in order: the newest one in the way is the last to wait for.
  auto newest = std::find_if(pieces_.rbegin(), pieces_.rend(), [&](const Piece& piece) {
    return piece.begin < end && begin < piece.end;
  });
  if (newest == pieces_.rend()) return begin;
  cl_event arrival = newest->arrival->get();
  check(runtime_->api->wait_for_events(1, &arrival), "a transfer to the device");
  pieces_.erase(pieces_.begin(), newest.base());
  return begin;
}

void TransferRing::upload(DeviceBuffer& destination, size_t offset,
                          std::span<const std::byte> source) {
  if (mapped_ == nullptr) open();
  const Api& api = *runtime_->api;
  while (!source.empty()) {
    std::span<const std::byte> piece = source.first(std::min(source.size(), kPieceBytes));
    size_t begin = reserve(piece.size());
    std::memcpy(mapped_ + begin, piece.data(), piece.size());
    std::vector<cl_event> before = list_of({destination.last_use});
    cl_event event = nullptr;
    check(api.enqueue_write_buffer(runtime_->transfers.get(), destination.memory(), CL_FALSE,
                                   offset, piece.size(), mapped_ + begin, cl_uint(before.size()),
                                   data_or_null(before), &event),
          "clEnqueueWriteBuffer");
    destination.last_arrival = runtime_->own(event);
    next_ = begin + piece.size();
    pieces_.push_back({begin, next_, destination.last_arrival});
    offset += piece.size();
    source = source.subspan(piece.size());
  }
  // The compute queue will wait for these: they must be on their way.
  check(api.flush(runtime_->transfers.get()), "clFlush");
}

}  // namespace pounce::opencl
