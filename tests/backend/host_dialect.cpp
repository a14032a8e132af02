#include "backend/host_dialect.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <stdexcept>

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include "backend/gpu/gpu_backend.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/file.h"
#include "base/parallel.h"

namespace pounce {
namespace {

// host.preamble declares the same.
struct Group {
  int64_t x, y, z;
};
using Entry = void (*)(const Group* group, void** arguments);

// Less memory than a test could ever want by mistake.
constexpr size_t kMemoryBytes = size_t{8} << 30;
constexpr size_t kAlignment = 128;

struct MemoryCount {
  size_t allocated_bytes = 0;
  size_t peak_bytes = 0;
};

class HostMemory final : public Buffer {
 public:
  HostMemory(size_t bytes, std::shared_ptr<MemoryCount> count)
      : bytes_(bytes), count_(std::move(count)) {
    data_ = static_cast<std::byte*>(::operator new(bytes, std::align_val_t(kAlignment)));
    count_->allocated_bytes += bytes_;
    count_->peak_bytes = std::max(count_->peak_bytes, count_->allocated_bytes);
  }
  ~HostMemory() override {
    count_->allocated_bytes -= bytes_;
    ::operator delete(data_, std::align_val_t(kAlignment));
  }
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  size_t bytes() const override { return bytes_; }
  std::byte* data() const { return data_; }

 private:
  size_t bytes_;
  std::byte* data_;
  std::shared_ptr<MemoryCount> count_;
};

std::byte* data_of(const Buffer& buffer) {
  return dynamic_cast<const HostMemory&>(buffer).data();
}

std::string cache_path() {
  static const std::string folder = [] {
    const char* kept = std::getenv("POUNCE_CACHE_DIR");
    std::string path = kept != nullptr && *kept != '\0'
                           ? std::string(kept)
                           : std::filesystem::temp_directory_path().string() + "/pounce";
    path = join_path(path, "host_dialect");
    make_directories(path);
    return path;
  }();
  return folder;
}

// Compiles where that was not done before; returns the library's path.
std::string compile(const GpuSource& source) {
  constexpr const char* kCommand = POUNCE_HOST_DIALECT_COMPILER;
  uint64_t name = xxh3_64(source.text + '\0' + kCommand);
  std::string stem = join_path(cache_path(), fmt::format("{}-{:016x}", source.name, name));
  std::string library = stem + ".so";
  if (path_exists(library)) return library;
  std::string unique = fmt::format("{}.{}", stem, getpid());
  write_file(unique + ".cpp", source.text);
  std::string command = fmt::format("{0} -o '{1}.so' '{1}.cpp' >'{1}.log' 2>&1", kCommand, unique);
  if (std::system(command.c_str()) != 0) {
    std::vector<uint8_t> log = read_file(unique + ".log").value_or(std::vector<uint8_t>{});
    fail(
        ErrorKind::Device, "the host dialect of \"{}\" does not compile: {}.cpp\n{}", source.name,
        unique,
        std::string(log.begin(), log.begin() + std::ptrdiff_t(std::min(log.size(), size_t{4000}))));
  }
  std::filesystem::rename(unique + ".so", library);
  remove_file(unique + ".log");
  remove_file(unique + ".cpp");
  return library;
}

class Library {
 public:
  explicit Library(const std::string& path) : handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) throw std::runtime_error(dlerror());
  }
  // Never closed: sanitizers report into code that must be there at exit.
  Entry find(const std::string& name) const {
    void* entry = dlsym(handle_, name.c_str());
    if (entry == nullptr) fail(ErrorKind::Internal, "no kernel {}", name);
    return reinterpret_cast<Entry>(entry);
  }

 private:
  void* handle_;
};

class HostSequence final : public Executable {
 public:
  std::vector<Entry> entries;  // by command; null: poison
  GpuSequence sequence;
};

class HostDialectDevice final : public GpuDevice {
 public:
  explicit HostDialectDevice(GroupOrder order) : order_(order) {
    target_.kind = DeviceKind::OpenCl;
    target_.memory_bytes = kMemoryBytes;
    target_.placement_alignment = kAlignment;
    target_.device = "host dialect";
  }

  std::string_view name() const override { return "host"; }
  const Target& target() const override { return target_; }

  std::unique_ptr<Buffer> allocate(size_t bytes) override {
    if (bytes > kMemoryBytes - count_->allocated_bytes) {
      fail(ErrorKind::OutOfMemory, "{} bytes asked for, {} in use", bytes, count_->allocated_bytes);
    }
    return std::make_unique<HostMemory>(bytes, count_);
  }

  std::unique_ptr<Executable> prepare(GpuSequence sequence) override {
    std::vector<std::string> paths(sequence.sources.size());
    for_each_parallel(0, paths.size(), [&](size_t i) { paths[i] = compile(sequence.sources[i]); });
    auto made = std::make_unique<HostSequence>();
    for (const auto& command : sequence.commands) {
      const auto* launch = std::get_if<GpuLaunch>(&command);
      made->entries.push_back(launch ? library(paths[launch->source]).find(launch->entry)
                                     : nullptr);
    }
    made->sequence = std::move(sequence);
    return made;
  }

  void run(Executable& executable, const Bindings& bindings) override {
    auto& made = dynamic_cast<HostSequence&>(executable);
    for (size_t i = 0; i < made.entries.size(); ++i) {
      const auto& command = made.sequence.commands[i];
      if (const auto* launch = std::get_if<GpuLaunch>(&command)) {
        run_launch(*launch, made.entries[i], bindings);
      } else {
        const Placement& where = std::get<GpuPoison>(command).where;
        std::memset(address(where, bindings), 0xFF, where.bytes);
      }
    }
  }

  void write(Buffer& destination, size_t offset, std::span<const std::byte> source) override {
    std::memcpy(data_of(destination) + offset, source.data(), source.size());
  }
  void read(const Buffer& source, size_t offset, std::span<std::byte> destination) override {
    std::memcpy(destination.data(), data_of(source) + offset, destination.size());
  }
  void copy(Buffer& destination, size_t destination_offset, const Buffer& source,
            size_t source_offset, size_t bytes) override {
    std::memcpy(data_of(destination) + destination_offset, data_of(source) + source_offset, bytes);
  }
  void synchronize() override {}
  MemoryInfo memory_info() const override {
    return {kMemoryBytes, 0, count_->allocated_bytes, count_->peak_bytes};
  }

 private:
  static void* address(const Placement& where, const Bindings& bindings) {
    if (where.bytes == 0) return nullptr;
    const Buffer* arenas[] = {bindings.persistent, bindings.planned, bindings.staging};
    POUNCE_ASSERT(where.offset % kAlignment == 0);
    return data_of(*arenas[size_t(where.arena)]) + where.offset;
  }

  void run_launch(const GpuLaunch& launch, Entry entry, const Bindings& bindings) const {
    std::vector<void*> pointers(launch.arguments.size());
    std::vector<void*> arguments;
    for (size_t i = 0; i < pointers.size(); ++i) {
      const GpuArgument& argument = launch.arguments[i];
      if (const auto* where = std::get_if<Placement>(&argument)) {
        pointers[i] = address(*where, bindings);
        arguments.push_back(&pointers[i]);
      } else {
        std::visit(
            [&](const auto& value) {
              arguments.push_back(const_cast<void*>(static_cast<const void*>(&value)));
            },
            argument);
      }
    }
    auto [x, y, z] = launch.groups;
    int64_t count = x * y * z;
    for (int64_t i = 0; i < count; ++i) {
      int64_t at = order_ == GroupOrder::Forward ? i : count - 1 - i;
      Group group{at % x, at / x % y, at / x / y};
      entry(&group, arguments.data());
    }
  }

  static const Library& library(const std::string& path) {
    static std::map<std::string, Library> libraries;
    return libraries.try_emplace(path, path).first->second;
  }

  GroupOrder order_;
  Target target_;
  std::shared_ptr<MemoryCount> count_ = std::make_shared<MemoryCount>();
};

}  // namespace

std::unique_ptr<GpuDevice> make_host_dialect_device(GroupOrder order) {
  return std::make_unique<HostDialectDevice>(order);
}

std::unique_ptr<Backend> make_host_dialect_backend(GroupOrder order) {
  return std::make_unique<GpuBackend>(make_host_dialect_device(order));
}

}  // namespace pounce
