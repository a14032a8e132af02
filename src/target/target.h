// A device as plain data: what passes, lowering and the planner need to know of it, whether or not
// it is present.
#pragma once

#include <cstddef>
#include <string>

#include "base/dtype.h"

namespace pounce {

enum class DeviceKind { Reference, Cpu, Cuda, OpenCl };

// Widest vector instructions a CPU offers, as far as kernels care.
enum class CpuIsa { Baseline, Avx2, Avx512, Neon };

struct Target {
  DeviceKind kind = DeviceKind::Cpu;
  CpuIsa isa = CpuIsa::Baseline;
  int threads = 1;                    // threads a kernel may use; never part of its result
  size_t l2_bytes = size_t{1} << 20;  // of one core
  size_t memory_bytes = 0;            // 0: unknown
  bool direct_convolutions = false;   // by the sums that define them alone
  size_t placement_alignment = 64;    // tensors start at multiples of it; a power of two, >= 64
  // What --precision auto computes products in here: a half the device is built for, or F32.
  DType automatic_precision = DType::F32;
  std::string device;     // as its driver calls it; empty for the host's processor
  std::string libraries;  // e.g. "oneDNN 2.6.3": part of what makes bits equal
};

}  // namespace pounce
