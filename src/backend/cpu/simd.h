// For files that are compiled once for each instruction set through Highway's foreach_target.h:
// include this before it. Their loops are chosen at run time, so one binary starts anywhere.
#pragma once

// Kernels keep vectors in arrays, which types without a size cannot do.
#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#endif

// Before a loop whose iterations are independent: an output may be an input, element for element,
// and must not overlap one in any other way.
#ifdef __clang__
#define POUNCE_VECTORIZE _Pragma("clang loop vectorize(assume_safety)")
#else
#define POUNCE_VECTORIZE _Pragma("GCC ivdep")
#endif
