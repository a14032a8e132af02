// What benchmarks say of a set of measurements.
#pragma once

#include <vector>

namespace pounce {

// Between the two nearest ranks. `sorted` is not empty; `share` 0 to 1.
double percentile(const std::vector<double>& sorted, double share);

}  // namespace pounce
