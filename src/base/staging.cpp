#include "base/staging.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/error.h"

namespace pounce {
namespace {

class PlainStaging : public StagingMemory {
 public:
  uint8_t* allocate(size_t bytes) override {
    void* memory = ::operator new(bytes, std::align_val_t(kStagingAlignment), std::nothrow);
    if (memory == nullptr) {
      fail_with_hint(ErrorKind::OutOfMemory, "use a smaller --batch-size",
                     "no memory for a batch of {} bytes", bytes);
    }
    return static_cast<uint8_t*>(memory);
  }

  void free(uint8_t* memory, size_t) noexcept override {
    ::operator delete(memory, std::align_val_t(kStagingAlignment));
  }
};

}  // namespace

std::shared_ptr<StagingMemory> plain_staging() {
  return std::make_shared<PlainStaging>();
}

StagingBuffer::StagingBuffer(std::shared_ptr<StagingMemory> memory, size_t capacity)
    : memory_(std::move(memory)), capacity_(capacity) {
  if (capacity > 0) data_ = memory_->allocate(capacity);
}

StagingBuffer::StagingBuffer(StagingBuffer&& other) noexcept
    : memory_(std::move(other.memory_)),
      data_(std::exchange(other.data_, nullptr)),
      capacity_(std::exchange(other.capacity_, 0)),
      size_(std::exchange(other.size_, 0)) {}

StagingBuffer& StagingBuffer::operator=(StagingBuffer&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(data_, other.data_);
  std::swap(capacity_, other.capacity_);
  std::swap(size_, other.size_);
  return *this;
}

StagingBuffer::~StagingBuffer() {
  if (data_ != nullptr) memory_->free(data_, capacity_);
}

void StagingBuffer::resize(size_t size) {
  POUNCE_ASSERT(size <= capacity_);
  size_ = size;
}

bool operator==(const StagingBuffer& a, const StagingBuffer& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

bool operator==(const StagingBuffer& a, std::span<const uint8_t> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

}  // namespace pounce
