// Metrics as integer counts, divided once; losses summed in double in image order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace pounce {

struct Tally {
  int64_t images = 0;
  int64_t correct = 0;
  int64_t top5 = 0;
  double loss_sum = 0;

  void add(double loss, int64_t rank);
  double accuracy() const { return images == 0 ? 0 : double(correct) / double(images); }
  double top5_accuracy() const { return images == 0 ? 0 : double(top5) / double(images); }
  double loss() const { return images == 0 ? 0 : loss_sum / double(images); }
};

// -log softmax(logits)[label], in double.
double cross_entropy(std::span<const float> logits, int label);
// Classes that score above `label` (ties: the lower index first): 0 means correct.
int64_t target_rank(std::span<const float> logits, int label);
// The first of the highest scores.
int argmax(std::span<const float> logits);
std::vector<double> softmax(std::span<const float> logits);

}  // namespace pounce
