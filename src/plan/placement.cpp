#include "plan/placement.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace pounce {
namespace {

bool overlap_in_time(const Lifetime& a, const Lifetime& b) {
  return a.first <= b.last && b.first <= a.last;
}

// The start of the smallest gap between `taken` (sorted by offset) that holds `bytes`; the end of
// the last one when there is none.
size_t best_gap(const std::vector<const PlannedBuffer*>& taken, size_t bytes) {
  size_t end = 0, best = 0, best_size = 0;
  for (const PlannedBuffer* buffer : taken) {
    if (buffer->offset > end) {
      size_t gap = buffer->offset - end;
      if (gap >= bytes && (best_size == 0 || gap < best_size)) best = end, best_size = gap;
    }
    end = std::max(end, buffer->offset + buffer->bytes);
  }
  return best_size > 0 ? best : end;
}

size_t place_in_order(std::vector<PlannedBuffer>& buffers, const std::vector<size_t>& order) {
  size_t total = 0;
  std::vector<const PlannedBuffer*> placed;  // sorted by offset
  std::vector<const PlannedBuffer*> taken;
  placed.reserve(buffers.size());
  for (size_t index : order) {
    PlannedBuffer& buffer = buffers[index];
    taken.clear();
    for (const PlannedBuffer* other : placed) {
      if (overlap_in_time(buffer.lifetime, other->lifetime)) taken.push_back(other);
    }
    buffer.offset = best_gap(taken, buffer.bytes);
    total = std::max(total, buffer.offset + buffer.bytes);
    auto at = std::upper_bound(
        placed.begin(), placed.end(), &buffer,
        [](const PlannedBuffer* a, const PlannedBuffer* b) { return a->offset < b->offset; });
    placed.insert(at, &buffer);
  }
  return total;
}

}  // namespace

size_t place_buffers(std::vector<PlannedBuffer>& buffers) {
  using Less = std::function<bool(const PlannedBuffer&, const PlannedBuffer&)>;
  auto length = [](const PlannedBuffer& b) {
    return size_t(b.lifetime.last - b.lifetime.first + 1);
  };
  const Less orders[] = {
      [](const auto& a, const auto& b) { return a.bytes > b.bytes; },
      [](const auto& a, const auto& b) { return a.lifetime.first < b.lifetime.first; },
      [&](const auto& a, const auto& b) { return length(a) > length(b); },
      [&](const auto& a, const auto& b) { return a.bytes * length(a) > b.bytes * length(b); },
  };
  std::vector<PlannedBuffer> best;
  size_t best_total = 0;
  for (const Less& less : orders) {
    std::vector<PlannedBuffer> candidate = buffers;
    std::vector<size_t> order(buffers.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return less(buffers[a], buffers[b]); });
    size_t total = place_in_order(candidate, order);
    if (best.empty() || total < best_total) best = std::move(candidate), best_total = total;
  }
  buffers = std::move(best);
  return best_total;
}

PeakUse find_peak(const std::vector<PlannedBuffer>& buffers, int nodes) {
  std::vector<size_t> starts(size_t(nodes) + 2), ends(size_t(nodes) + 2);
  for (const PlannedBuffer& buffer : buffers) {
    starts[size_t(buffer.lifetime.first + 1)] += buffer.bytes;
    ends[size_t(buffer.lifetime.last + 1)] += buffer.bytes;
  }
  PeakUse peak;
  size_t alive = 0;
  for (int node = -1; node <= nodes; ++node) {
    alive += starts[size_t(node + 1)];
    if (alive > peak.bytes) peak = {alive, node};
    alive -= ends[size_t(node + 1)];
  }
  return peak;
}

}  // namespace pounce
