#include "train/percentile.h"

#include <algorithm>
#include <cstddef>

namespace pounce {

double percentile(const std::vector<double>& sorted, double share) {
  double at = share * double(sorted.size() - 1);
  size_t below = size_t(at), above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - double(below)) * (sorted[above] - sorted[below]);
}

}  // namespace pounce
