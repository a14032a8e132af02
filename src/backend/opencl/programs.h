// Compiles kernel texts for one OpenCL device, each once a process and once a machine.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/gpu/gpu_device.h"
#include "backend/gpu/program_cache.h"
#include "backend/opencl/runtime.h"

namespace pounce::opencl {

class Programs {
 public:
  Programs(std::shared_ptr<Runtime> runtime, ProgramCache cache);

  // In the order of `sources`, several at a time. Throws Device with the compiler's words.
  std::vector<std::shared_ptr<const Program>> build(std::span<const GpuSource> sources);

 private:
  ProgramKey key_of(const GpuSource& source) const;
  std::shared_ptr<const Program> make(const GpuSource& source) const;
  std::shared_ptr<const Program> load(const GpuSource& source) const;
  std::shared_ptr<const Program> compile(const GpuSource& source) const;
  void keep(const GpuSource& source, const Program& program) const;
  std::string build_log(cl_program program) const;

  std::shared_ptr<Runtime> runtime_;
  ProgramCache cache_;
  std::string options_;
  std::map<std::string, std::shared_ptr<const Program>> known_;  // by text
};

}  // namespace pounce::opencl
