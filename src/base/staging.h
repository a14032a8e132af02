// Host memory in which batches wait for a device: aligned, allocated once, used again and again.
// The interface lets a device bring memory of its own, such as pages its copy engine can read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace pounce {

constexpr size_t kStagingAlignment = 4096;

// Thread safe.
class StagingMemory {
 public:
  virtual ~StagingMemory() = default;
  // `bytes` above 0; the content is unspecified. Throws OutOfMemory.
  virtual uint8_t* allocate(size_t bytes) = 0;
  // What allocate(bytes) gave.
  virtual void free(uint8_t* memory, size_t bytes) noexcept = 0;
};

// Plain memory of the process.
std::shared_ptr<StagingMemory> plain_staging();

// A piece of staging memory of fixed capacity, and how much of it is in use. Move-only; keeps the
// memory it comes from alive.
class StagingBuffer {
 public:
  using value_type = uint8_t;
  using iterator = uint8_t*;
  using const_iterator = const uint8_t*;

  StagingBuffer() = default;
  // Of size 0. Throws OutOfMemory.
  StagingBuffer(std::shared_ptr<StagingMemory> memory, size_t capacity);
  StagingBuffer(StagingBuffer&& other) noexcept;
  StagingBuffer& operator=(StagingBuffer&& other) noexcept;
  StagingBuffer(const StagingBuffer&) = delete;
  StagingBuffer& operator=(const StagingBuffer&) = delete;
  ~StagingBuffer();

  // At most capacity(). What was there stays, what is new is unspecified.
  void resize(size_t size);
  size_t size() const { return size_; }
  size_t capacity() const { return capacity_; }
  bool empty() const { return size_ == 0; }
  uint8_t* data() { return data_; }
  const uint8_t* data() const { return data_; }
  uint8_t* begin() { return data_; }
  uint8_t* end() { return data_ + size_; }
  const uint8_t* begin() const { return data_; }
  const uint8_t* end() const { return data_ + size_; }

  friend bool operator==(const StagingBuffer& a, const StagingBuffer& b);
  friend bool operator==(const StagingBuffer& a, std::span<const uint8_t> b);

 private:
  std::shared_ptr<StagingMemory> memory_;
  uint8_t* data_ = nullptr;
  size_t capacity_ = 0, size_ = 0;
};

}  // namespace pounce
