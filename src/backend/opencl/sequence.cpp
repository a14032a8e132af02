#include "backend/opencl/sequence.h"

#include <fmt/format.h>

namespace pounce::opencl {

Sequence::Sequence(std::shared_ptr<Runtime> runtime, Programs& programs, GpuSequence sequence)
    : runtime_(std::move(runtime)), programs_(programs.build(sequence.sources)) {
  for (const auto& command : sequence.commands) {
    if (const auto* launch = std::get_if<GpuLaunch>(&command)) {
      add(*launch, programs_.at(launch->source)->get());
    } else {
      Step& step = steps_.emplace_back();
      step.label = "filling free memory";
      step.poisoned = std::get<GpuPoison>(command).where;
    }
  }
}

void Sequence::add(const GpuLaunch& launch, cl_program program) {
  const Api& api = *runtime_->api;
  cl_int error = CL_SUCCESS;
  cl_kernel kernel = api.create_kernel(program, launch.entry.c_str(), &error);
  check(error, fmt::format("kernel {}", launch.entry));
  Step step;
  step.kernel = Kernel(runtime_->api, kernel);
  step.label = launch.label;
  step.local[0] = size_t(launch.items);
  for (size_t axis = 0; axis < 3; ++axis) {
    step.global[axis] = size_t(launch.groups[axis]) * step.local[axis];
  }
  cl_uint expected = 0;
  check(api.get_kernel_info(kernel, CL_KERNEL_NUM_ARGS, sizeof expected, &expected, nullptr),
        "clGetKernelInfo");
  if (expected != launch.arguments.size()) {
    fail(ErrorKind::Internal, "kernel {} has {} parameters, {} arguments were given", launch.entry,
         expected, launch.arguments.size());
  }
  for (cl_uint i = 0; i < expected; ++i) {
    const GpuArgument& argument = launch.arguments[i];
    if (const auto* where = std::get_if<Placement>(&argument)) {
      set_argument(step, i, sizeof(cl_mem), nullptr);
      if (where->bytes > 0) pointers_[size_t(where->arena)].push_back({steps_.size(), i, *where});
    } else {
      std::visit([&](const auto& value) { set_argument(step, i, sizeof value, &value); }, argument);
    }
  }
  steps_.push_back(std::move(step));
}

void Sequence::set_argument(const Step& step, cl_uint index, size_t bytes,
                            const void* value) const {
  cl_int error = runtime_->api->set_kernel_arg(step.kernel.get(), index, bytes, value);
  if (error == CL_SUCCESS) return;
  fail(ErrorKind::Internal, "argument {} of the kernel {}: {}", index, step.label,
       error_name(error));
}

void Sequence::bind(Arena arena, DeviceBuffer& buffer) {
  if (bound_[size_t(arena)] == buffer.number()) return;
  bound_[size_t(arena)] = 0;  // some of each, if this fails
  for (const Pointer& pointer : pointers_[size_t(arena)]) {
    cl_mem part = buffer.part(pointer.where.offset, pointer.where.bytes);
    set_argument(steps_[pointer.step], pointer.argument, sizeof part, &part);
  }
  bound_[size_t(arena)] = buffer.number();
}

void Sequence::enqueue(const Arenas& arenas) {
  for (Arena arena : {Arena::Persistent, Arena::Planned, Arena::Staging}) {
    if (arenas[size_t(arena)] != nullptr) bind(arena, *arenas[size_t(arena)]);
  }
  const Api& api = *runtime_->api;
  cl_command_queue queue = runtime_->compute.get();
  constexpr uint32_t kNan = 0xFFFFFFFF;
  for (const Step& step : steps_) {
    cl_int error = CL_SUCCESS;
    if (step.kernel) {
      error = api.enqueue_nd_range_kernel(queue, step.kernel.get(), 3, nullptr, step.global,
                                          step.local, 0, nullptr, nullptr);
    } else {
      size_t unit = step.poisoned.bytes % sizeof kNan == 0 ? sizeof kNan : 1;
      error =
          api.enqueue_fill_buffer(queue, arenas[size_t(step.poisoned.arena)]->memory(), &kNan, unit,
                                  step.poisoned.offset, step.poisoned.bytes, 0, nullptr, nullptr);
    }
    if (error == CL_SUCCESS) continue;
    try {
      check(error, fmt::format("starting a kernel on {}", runtime_->device.name));
    } catch (Error& failure) {
      failure.add_context(step.label);
      throw;
    }
  }
}

}  // namespace pounce::opencl
