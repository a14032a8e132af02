// A batch while its images are being decoded: each into its slot, in any order; the slots of files
// that could not be used are closed at the end.
#pragma once

#include <exception>
#include <memory>
#include <span>
#include <unordered_set>
#include <vector>

#include "data/loader.h"

namespace pounce {

struct Hole {
  int slot = 0;
  SkippedFile file;
  bool is_known = false;  // reported before
};

// Guarded by its loader's mutex, except for the slots of `batch.images`.
struct PendingBatch {
  ImageBatch batch;   // indices: one a slot; labels: none yet
  int remaining = 0;  // slots that are not done
  int running = 0;    // slots that a thread is at work on
  bool is_abandoned = false;
  std::vector<Hole> holes;     // in any order
  std::exception_ptr error{};  // of the first slot that has one
  int error_slot = 0;

  // Nothing that matters will happen to it any more.
  bool is_ready() const { return error ? running == 0 : remaining == 0; }
  void note_error(int slot, std::exception_ptr thrown);
  // Sorts the holes, marks those of ids in `known`, and adds the others there.
  void settle_holes(const SampleList& samples, std::unordered_set<uint64_t>& known);
};

// Batch `index` of the plan in memory for `capacity` bytes: that of `spare` where it is enough.
// Throws OutOfMemory.
std::shared_ptr<PendingBatch> open_batch(const EpochPlan& plan, size_t index, ImageBatch&& spare,
                                         const std::shared_ptr<StagingMemory>& staging,
                                         size_t capacity, size_t image_bytes);

// With settled holes taken out: later images move up, so the order stays.
ImageBatch close_batch(PendingBatch&& pending, const SampleList& samples, size_t image_bytes);

}  // namespace pounce
