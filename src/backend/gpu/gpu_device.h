// What a GPU has to offer for GpuBackend to train on it: memory, compiled sequences of launches,
// and transfers. Small on purpose: a vendor's interface is one implementation of this class.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "backend/backend.h"

namespace pounce {

// A unit of compilation: macros, preamble and kernels in one text.
struct GpuSource {
  std::string name;  // for messages: "gemm"
  std::string text;

  bool operator==(const GpuSource&) const = default;
};

// Placements of 0 bytes are null pointers.
using GpuArgument = std::variant<Placement, int32_t, int64_t, float>;

struct GpuLaunch {
  std::string label;  // for errors: "in layer1.0.conv1 (conv2d)"
  size_t source = 0;  // index into GpuSequence::sources
  std::string entry;
  std::vector<GpuArgument> arguments;
  std::array<int64_t, 3> groups = {1, 1, 1};  // each at least 1
  int items = 1;
};

// Every byte of `where` becomes 0xFF, which makes NaN of floats.
struct GpuPoison {
  Placement where;
};

// Runs from front to back; each command sees the memory the ones before it wrote.
struct GpuSequence {
  std::vector<GpuSource> sources;
  std::vector<std::variant<GpuLaunch, GpuPoison>> commands;
};

// Thread-compatible, as Backend is. Errors of the device are of kind Device and may be raised by a
// later call than the one that caused them.
class GpuDevice {
 public:
  virtual ~GpuDevice() = default;

  // "opencl"; also its dialect, the name of the kernels' preamble.
  virtual std::string_view name() const = 0;
  virtual const Target& target() const = 0;

  // As Backend's. The buffer starts at a multiple of target().placement_alignment.
  virtual std::unique_ptr<Buffer> allocate(size_t bytes) = 0;
  // Compiles every source and looks up every entry. Throws Device with the compiler's words.
  virtual std::unique_ptr<Executable> prepare(GpuSequence sequence) = 0;
  // In order after everything asked for before. Returns at once.
  virtual void run(Executable& sequence, const Bindings& bindings) = 0;

  // In order with run() for each buffer. write() returns when `source` may change, read() when
  // `destination` is filled.
  virtual void write(Buffer& destination, size_t offset, std::span<const std::byte> source) = 0;
  virtual void read(const Buffer& source, size_t offset, std::span<std::byte> destination) = 0;
  virtual void copy(Buffer& destination, size_t destination_offset, const Buffer& source,
                    size_t source_offset, size_t bytes) = 0;
  virtual void synchronize() = 0;
  virtual MemoryInfo memory_info() const = 0;
};

}  // namespace pounce
