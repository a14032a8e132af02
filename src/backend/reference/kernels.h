// The reference kernels by op: plain loops over f32 or f64 tensors that accumulate in double. Slow,
// obvious, trusted: every other kernel is tested against these, and other host backends end their
// implementation lists with them.
#pragma once

#include <span>

#include "backend/implementation.h"

namespace pounce {

// One entry named "reference" for every op but leaves, which have none. It refuses floating types
// other than f32 and f64. Results depend on neither threads nor the batch around a sample.
std::span<const Implementation> reference_implementations(OpKind op);

// The same with a second entry, "reference_half", for nodes with f16 or bf16 tensors: computes in
// f32 and rounds to the nearest.
std::span<const Implementation> reference_implementations_with_half(OpKind op);

}  // namespace pounce
