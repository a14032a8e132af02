// Host memory that the device's copy engine reads directly, used round and round: an upload copies
// its bytes here and returns while they are still on their way.
#pragma once

#include <deque>
#include <memory>
#include <span>

#include "backend/opencl/buffer.h"
#include "backend/opencl/runtime.h"

namespace pounce::opencl {

class TransferRing {
 public:
  // Takes its memory at the first upload.
  explicit TransferRing(std::shared_ptr<Runtime> runtime) : runtime_(std::move(runtime)) {}
  ~TransferRing();
  TransferRing(const TransferRing&) = delete;
  TransferRing& operator=(const TransferRing&) = delete;

  // Waits for nothing but room in the ring. Starts after what used `destination` before.
  void upload(DeviceBuffer& destination, size_t offset, std::span<const std::byte> source);

 private:
  // A batch of 256 images of 224 pixels is 38 MB: one batch is on its way while the next is copied.
  static constexpr size_t kBytes = size_t{64} << 20;
  static constexpr size_t kPieceBytes = size_t{8} << 20;

  struct Piece {
    size_t begin, end;
    EventRef arrival;
  };

  void open();
  size_t reserve(size_t bytes);

  std::shared_ptr<Runtime> runtime_;
  Memory memory_;
  std::byte* mapped_ = nullptr;
  size_t next_ = 0;
  std::deque<Piece> pieces_;  // on their way, oldest first
};

}  // namespace pounce::opencl
