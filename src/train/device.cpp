#include "train/device.h"

#include <limits>

#include "backend/registry.h"
#include "base/error.h"
#include "base/text.h"

namespace pounce {
namespace {

using Kind = DeviceChoice::Kind;

OpenDevice open_processor(const std::string& name, const ProcessorOptions& options) {
  BackendOptions asked{.threads = options.threads,
                       .direct_convolutions = options.conv_algorithm == ConvAlgorithm::Direct};
  OpenDevice device{make_backend(name, asked), ""};
  int used = device.backend->target().threads;
  device.description = fmt::format("{}, {} thread{}", name, used, used == 1 ? "" : "s");
  return device;
}

OpenDevice open_gpu(const std::string& backend, int index) {
  OpenDevice device{make_backend(backend, {.device = index}), ""};
  const Target& target = device.backend->target();
  device.description = fmt::format("{}:{}, {}, {} ({})", backend, index, target.device,
                                   human_bytes(int64_t(target.memory_bytes)), target.libraries);
  return device;
}

OpenDevice open_found_gpu(int index) {
  std::vector<FoundGpu> gpus = find_gpus();
  if (size_t(index) < gpus.size()) {
    const FoundGpu& gpu = gpus[size_t(index)];
    return open_gpu(gpu.backend, gpu.device);
  }
  fail_with_hint(
      ErrorKind::Device, "use --device cpu; docs/gpu.md says what a GPU needs to be found",
      "GPU {} cannot be used: {}", index,
      gpus.empty()
          ? "no GPU with an OpenCL driver was found"
          : fmt::format("this machine has {}", count_of(int64_t(gpus.size()), "GPU", "GPUs")));
}

}  // namespace

std::optional<DeviceChoice> parse_device(const std::string& word) {
  if (word == "auto") return DeviceChoice{Kind::Auto};
  if (word == "cpu") return DeviceChoice{Kind::Cpu};
  if (word == "reference") return DeviceChoice{Kind::Reference};
  if (word == "gpu") return DeviceChoice{Kind::Gpu};
  if (word == "opencl") return DeviceChoice{Kind::OpenCl};
  if (word == "cuda" || word.starts_with("cuda:")) {
    fail_with_hint(ErrorKind::Device,
                   "use --device gpu, which serves NVIDIA's cards through OpenCL, or --device cpu",
                   "device \"{}\" cannot be used: this build has no CUDA", word);
  }
  constexpr std::string_view kOpenCl = "opencl:";
  bool is_opencl = word.starts_with(kOpenCl);
  std::optional<uint64_t> index = parse_uint(is_opencl ? word.substr(kOpenCl.size()) : word);
  if (!index || *index > uint64_t(std::numeric_limits<int>::max())) return std::nullopt;
  return DeviceChoice{is_opencl ? Kind::OpenCl : Kind::Gpu, int(*index)};
}

OpenDevice open_device(const std::string& name, const ProcessorOptions& options) {
  std::optional<DeviceChoice> choice = parse_device(name);
  if (!choice) {
    fail_with_hint(ErrorKind::Device, "leave the device out, or use cpu",
                   "device \"{}\" cannot be used: expected auto, cpu, gpu, opencl, opencl:N or a "
                   "GPU's number",
                   name);
  }
  switch (choice->kind) {
    case Kind::Auto:
      if (!find_gpus().empty()) return open_found_gpu(0);
      break;
    case Kind::Gpu:
      return open_found_gpu(choice->index);
    case Kind::OpenCl:
      return open_gpu("opencl", choice->index);
    case Kind::Reference:
      return open_processor("reference", options);
    case Kind::Cpu:
      break;
  }
  return open_processor("cpu", options);
}

}  // namespace pounce
