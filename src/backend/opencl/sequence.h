// A prepared sequence of launches: a kernel object for each, whose arguments are set when they
// change and at no other time.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "backend/gpu/gpu_device.h"
#include "backend/opencl/buffer.h"
#include "backend/opencl/programs.h"

namespace pounce::opencl {

class Sequence final : public Executable {
 public:
  using Arenas = std::array<DeviceBuffer*, 3>;  // by Arena; null: none

  // Throws Device with the compiler's words, Internal for an entry or arguments that do not fit.
  Sequence(std::shared_ptr<Runtime> runtime, Programs& programs, GpuSequence sequence);

  // Puts every command into the compute queue, in order.
  void enqueue(const Arenas& arenas);

 private:
  struct Step {
    std::string label;
    Kernel kernel;  // none: poison
    size_t global[3] = {1, 1, 1};
    size_t local[3] = {1, 1, 1};
    Placement poisoned;
  };
  struct Pointer {
    size_t step;
    cl_uint argument;
    Placement where;
  };

  void add(const GpuLaunch& launch, cl_program program);
  void set_argument(const Step& step, cl_uint index, size_t bytes, const void* value) const;
  void bind(Arena arena, DeviceBuffer& buffer);

  std::shared_ptr<Runtime> runtime_;
  std::vector<std::shared_ptr<const Program>> programs_;
  std::vector<Step> steps_;
  std::vector<Pointer> pointers_[3];  // by Arena
  uint64_t bound_[3] = {0, 0, 0};     // numbers of the buffers the arguments point to; 0: none
};

}  // namespace pounce::opencl
