// The contract of a device. supports and lower are pure functions of a Target and work without the
// device; the other calls touch it. A new backend needs this file and nothing else of Pounce's
// upper layers.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "backend/communicator.h"
#include "ir/graph.h"
#include "plan/lowered.h"
#include "plan/plan.h"
#include "target/target.h"

namespace pounce {

// Device memory; freed by its destructor. Aligned to kPlacementAlignment.
class Buffer {
 public:
  virtual ~Buffer() = default;
  virtual size_t bytes() const = 0;
};

// A program ready to run; owned by the caller, made and run by one backend.
class Executable {
 public:
  virtual ~Executable() = default;
};

// The arenas a run reads and writes, as Plan addresses them. A null buffer stands for 0 bytes.
struct Bindings {
  Buffer* persistent = nullptr;
  Buffer* planned = nullptr;
  Buffer* staging = nullptr;
  Communicator* communicator = nullptr;
};

// Debug builds and those with sanitizers poison.
#ifdef POUNCE_POISON
inline constexpr bool kPoisonByDefault = true;
#else
inline constexpr bool kPoisonByDefault = false;
#endif

struct CompileOptions {
  // Fill memory with NaN bytes as soon as the plan calls it free, so that a wrong plan shows.
  bool poison = kPoisonByDefault;
};

struct MemoryInfo {
  size_t total_bytes = 0;      // of the device; 0: unknown
  size_t free_bytes = 0;       // at this moment; 0: unknown
  size_t allocated_bytes = 0;  // by this backend, now
  size_t peak_bytes = 0;       // the most it had allocated at once
};

// Thread-compatible: one thread at a time.
class Backend {
 public:
  virtual ~Backend() = default;

  virtual std::string_view name() const = 0;
  virtual const Target& target() const = 0;

  // Why `node` cannot run on `target`; nothing when it can.
  virtual std::optional<std::string> supports(const Graph& graph, const Node& node,
                                              const Target& target) const = 0;
  // Chooses an implementation for every node. Throws Unsupported naming the node it lacks.
  virtual LoweredGraph lower(const Graph& graph, const Target& target) const = 0;

  // Throws OutOfMemory with the bytes asked for and those free. Contents are undefined.
  virtual std::unique_ptr<Buffer> allocate(size_t bytes) = 0;
  // Prepares every kernel of the plan; nothing is compiled or allocated by a later run.
  virtual std::unique_ptr<Executable> compile(const Graph& graph, const LoweredGraph& lowered,
                                              const Plan& plan, const CompileOptions& options) = 0;
  // These three and run take effect in the order of the calls. upload returns when `source` may
  // change, which can be before it has arrived; download waits for everything asked for before.
  virtual void upload(Buffer& destination, size_t offset, std::span<const std::byte> source) = 0;
  virtual void download(const Buffer& source, size_t offset, std::span<std::byte> destination) = 0;
  // Ranges of one buffer must not overlap.
  virtual void copy(Buffer& destination, size_t destination_offset, const Buffer& source,
                    size_t source_offset, size_t bytes) = 0;
  // May return before the work is done; synchronize waits for it.
  virtual void run(Executable& executable, const Bindings& bindings) = 0;
  virtual void synchronize() = 0;
  virtual MemoryInfo memory_info() const = 0;
};

}  // namespace pounce
