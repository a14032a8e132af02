#include "data/pending_batch.h"

#include <algorithm>
#include <utility>

namespace pounce {

void PendingBatch::note_error(int slot, std::exception_ptr thrown) {
  if (error && error_slot < slot) return;
  error = std::move(thrown);
  error_slot = slot;
}

void PendingBatch::settle_holes(const SampleList& samples, std::unordered_set<uint64_t>& known) {
  std::sort(holes.begin(), holes.end(),
            [](const Hole& a, const Hole& b) { return a.slot < b.slot; });
  for (Hole& hole : holes) {
    hole.is_known = !known.insert(samples.id(batch.indices[size_t(hole.slot)])).second;
  }
}

std::shared_ptr<PendingBatch> open_batch(const EpochPlan& plan, size_t index, ImageBatch&& spare,
                                         const std::shared_ptr<StagingMemory>& staging,
                                         size_t capacity, size_t image_bytes) {
  auto pending = std::make_shared<PendingBatch>();
  ImageBatch& batch = pending->batch;
  batch = std::move(spare);
  size_t begin = plan.begin(index), size = plan.batch_items(index);
  if (batch.images.capacity() < capacity) batch.images = StagingBuffer(staging, capacity);
  batch.images.resize(size * image_bytes);
  batch.labels.clear();
  batch.indices.clear();
  for (size_t i = begin; i < begin + size; ++i) batch.indices.push_back(plan.sample(i));
  batch.holes.clear();
  batch.hole_indices.clear();
  batch.index = int64_t(index);
  batch.planned_size = int(size);
  pending->remaining = int(size);
  return pending;
}

ImageBatch close_batch(PendingBatch&& pending, const SampleList& samples, size_t image_bytes) {
  ImageBatch& batch = pending.batch;
  uint8_t* pixels = batch.images.data();
  auto hole = pending.holes.begin();
  size_t kept = 0;
  for (size_t slot = 0; slot < size_t(batch.planned_size); ++slot) {
    uint32_t index = batch.indices[slot];
    if (hole != pending.holes.end() && size_t(hole->slot) == slot) {
      if (!hole->is_known) {
        batch.holes.push_back(std::move(hole->file));
        batch.hole_indices.push_back(index);
      }
      ++hole;
      continue;
    }
    if (kept != slot) {
      std::copy_n(pixels + slot * image_bytes, image_bytes, pixels + kept * image_bytes);
    }
    batch.indices[kept] = index;
    batch.labels.push_back(samples.label(index));
    ++kept;
  }
  batch.indices.resize(kept);
  batch.images.resize(kept * image_bytes);
  return std::move(batch);
}

}  // namespace pounce
