#include "backend/opencl/programs.h"

#include <fmt/format.h>

#include "base/parallel.h"

namespace pounce::opencl {
namespace {

std::string options_for(const Runtime& runtime) {
  std::string options = "-cl-std=CL1.2";
  cl_device_fp_config config = 0;
  cl_int error = runtime.api->get_device_info(runtime.device.id, CL_DEVICE_SINGLE_FP_CONFIG,
                                              sizeof config, &config, nullptr);
  if (error == CL_SUCCESS && (config & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0) {
    options += " -cl-fp32-correctly-rounded-divide-sqrt";
  }
  return options;
}

}  // namespace

Programs::Programs(std::shared_ptr<Runtime> runtime, ProgramCache cache)
    : runtime_(std::move(runtime)), cache_(std::move(cache)), options_(options_for(*runtime_)) {}

std::vector<std::shared_ptr<const Program>> Programs::build(std::span<const GpuSource> sources) {
  std::vector<const GpuSource*> missing;
  for (const GpuSource& source : sources) {
    if (known_.try_emplace(source.text).second) missing.push_back(&source);
  }
  try {
    for_each_parallel(0, missing.size(), [&](size_t i) {
      known_.find(missing[i]->text)->second = make(*missing[i]);  // nobody adds or removes now
    });
  } catch (...) {
    std::erase_if(known_, [](const auto& entry) { return entry.second == nullptr; });
    throw;
  }
  std::vector<std::shared_ptr<const Program>> programs;
  for (const GpuSource& source : sources) programs.push_back(known_.at(source.text));
  return programs;
}

ProgramKey Programs::key_of(const GpuSource& source) const {
  const DeviceInfo& device = runtime_->device;
  return {.text = source.text,
          .options = options_,
          .device = fmt::format("opencl: {}: {}", device.platform_name, device.name),
          .driver = device.driver};
}

std::shared_ptr<const Program> Programs::make(const GpuSource& source) const {
  if (std::shared_ptr<const Program> program = load(source)) return program;
  std::shared_ptr<const Program> program = compile(source);
  keep(source, *program);
  return program;
}

// From the cache; null where it has none that the driver takes.
std::shared_ptr<const Program> Programs::load(const GpuSource& source) const {
  std::optional<std::vector<uint8_t>> binary = cache_.load(key_of(source));
  if (!binary) return nullptr;
  const Api& api = *runtime_->api;
  const unsigned char* data = binary->data();
  size_t bytes = binary->size();
  cl_int status = CL_SUCCESS, error = CL_SUCCESS;
  cl_program made = api.create_program_with_binary(runtime_->context.get(), 1, &runtime_->device.id,
                                                   &bytes, &data, &status, &error);
  if (error != CL_SUCCESS) return nullptr;
  auto program = std::make_shared<const Program>(runtime_->api, made);
  error = api.build_program(made, 1, &runtime_->device.id, options_.c_str(), nullptr, nullptr);
  return error == CL_SUCCESS ? program : nullptr;
}

std::shared_ptr<const Program> Programs::compile(const GpuSource& source) const {
  const Api& api = *runtime_->api;
  const char* text = source.text.c_str();
  size_t length = source.text.size();
  cl_int error = CL_SUCCESS;
  cl_program made =
      api.create_program_with_source(runtime_->context.get(), 1, &text, &length, &error);
  check(error, "clCreateProgramWithSource");
  auto program = std::make_shared<const Program>(runtime_->api, made);
  error = api.build_program(made, 1, &runtime_->device.id, options_.c_str(), nullptr, nullptr);
  if (error == CL_SUCCESS) return program;
  const DeviceInfo& device = runtime_->device;
  fail_with_hint(ErrorKind::Device,
                 "use --device cpu, or another driver; please report it with these lines",
                 "the OpenCL compiler of {} (driver {}) refuses Pounce's kernels \"{}\": {}\n{}",
                 device.name, device.driver, source.name, error_name(error), build_log(made));
}

std::string Programs::build_log(cl_program program) const {
  constexpr size_t kMostShown = 4000;
  const Api& api = *runtime_->api;
  cl_device_id device = runtime_->device.id;
  size_t bytes = 0;
  api.get_program_build_info(program, device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &bytes);
  std::string log(bytes, '\0');
  if (bytes == 0 || api.get_program_build_info(program, device, CL_PROGRAM_BUILD_LOG, bytes,
                                               log.data(), nullptr) != CL_SUCCESS) {
    return "(it says nothing more)";
  }
  log.resize(std::min({log.find('\0'), log.size(), kMostShown}));
  return log;
}

// Into the cache, where the driver gives what it made.
void Programs::keep(const GpuSource& source, const Program& program) const {
  const Api& api = *runtime_->api;
  size_t bytes = 0;
  cl_int error =
      api.get_program_info(program.get(), CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, nullptr);
  if (error != CL_SUCCESS || bytes == 0) return;
  std::vector<uint8_t> binary(bytes);
  unsigned char* data = binary.data();
  error = api.get_program_info(program.get(), CL_PROGRAM_BINARIES, sizeof data, &data, nullptr);
  if (error == CL_SUCCESS) cache_.store(key_of(source), binary);
}

}  // namespace pounce::opencl
