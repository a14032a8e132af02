// Offsets for buffers with known lifetimes: the packing problem inside the planner.
#pragma once

#include <cstddef>
#include <vector>

#include "plan/liveness.h"

namespace pounce {

struct PlannedBuffer {
  size_t bytes = 0;
  Lifetime lifetime;
  size_t offset = 0;  // the result
};

// Places every buffer so that none overlaps another alive at the same node; returns the bytes
// needed. Tries several orders, each best-fit, and keeps the smallest result.
size_t place_buffers(std::vector<PlannedBuffer>& buffers);

// The most bytes alive at one node, and that node.
struct PeakUse {
  size_t bytes = 0;
  int node = -1;
};
PeakUse find_peak(const std::vector<PlannedBuffer>& buffers, int nodes);

}  // namespace pounce
