#include "data/resize_axis.h"

#include <algorithm>
#include <cmath>

namespace pounce {
namespace {

// The source pixels of a box in the direction of the results, counted from the first that it
// touches.
struct Line {
  double offset;  // where in its first pixel the box begins
  int pixels;
  double scale, radius;
};

// Where the filter of one result pixel begins and how many source pixels it covers. Source: here
// and in weigh, Pillow's Resample.c, precompute_coeffs and normalize_coeffs_8bpc.
struct Support {
  double center;
  int first, count;
};

Support support_of(const Line& line, int64_t result) {
  double center = line.offset + (double(result) + 0.5) * line.scale;
  int first = std::max(0, int(center - line.radius + 0.5));
  int count = std::min(line.pixels, int(center + line.radius + 0.5)) - first;
  return {center, first, count};
}

// The triangle filter, widened by the scale when shrinking.
void weigh(const Line& line, const Support& support, std::vector<double>& raw, int32_t* weights) {
  double inverse = 1.0 / line.radius, sum = 0;
  for (int t = 0; t < support.count; ++t) {
    double distance = std::abs((t + support.first - support.center + 0.5) * inverse);
    raw[size_t(t)] = std::max(0.0, 1.0 - distance);
    sum += raw[size_t(t)];
  }
  for (int t = 0; t < support.count; ++t) {
    weights[t] = int32_t(0.5 + raw[size_t(t)] / sum * (1 << kWeightBits));
  }
}

}  // namespace

void ResizeAxis::compute(const AxisTask& task) {
  double low = std::floor(task.begin), high = std::ceil(task.begin + task.length);
  Line line;
  line.offset = task.is_mirrored ? high - (task.begin + task.length) : task.begin - low;
  line.pixels = int(high - low);
  line.scale = task.length / double(task.scaled);
  line.radius = std::max(line.scale, 1.0);

  taps = 0;
  for (int i = 0; i < task.count; ++i) {
    taps = std::max(taps, support_of(line, task.first + i).count);
  }
  first.resize(size_t(task.count));
  weights.assign(size_t(task.count) * size_t(taps), 0);
  raw_.resize(size_t(taps));
  for (int i = 0; i < task.count; ++i) {
    Support support = support_of(line, task.first + i);
    // Every result pixel gets the same number of weights, some of them 0, so that the loops have no
    // branch. The zeros stand in front where the filter meets the end of the box.
    int start = std::min(support.first, line.pixels - taps);
    size_t entry = size_t(task.is_mirrored ? task.count - 1 - i : i);
    int32_t* own = &weights[entry * size_t(taps)];
    weigh(line, support, raw_, own + (support.first - start));
    if (task.is_mirrored) std::reverse(own, own + taps);
    first[entry] = task.is_mirrored ? line.pixels - taps - start : start;
  }
  is_reversed = task.is_mirrored != task.flip;
  int skipped = first.front();
  for (int32_t& pixel : first) pixel -= skipped;
  begin = int(low) + skipped;
  end = begin + first.back() + taps;
}

}  // namespace pounce
