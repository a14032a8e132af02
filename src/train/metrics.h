// Metrics as integer counts, divided once; losses summed in double in image order.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
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

// Images of each true class by the class they were taken for. Memory grows with the pairs that
// occur, not with the square of the classes.
class Confusion {
 public:
  explicit Confusion(size_t classes) : images_(classes), correct_(classes) {}

  void add(int label, int predicted);

  size_t classes() const { return images_.size(); }
  int64_t images(size_t label) const { return images_[label]; }
  int64_t correct(size_t label) const { return correct_[label]; }
  // (true, predicted) to images; pairs that did not occur are absent.
  const std::map<std::pair<int, int>, int64_t>& pairs() const { return pairs_; }
  // Mean over the classes that have images of the share that was recognised; 0 without images.
  double balanced_accuracy() const;

 private:
  std::vector<int64_t> images_, correct_;
  std::map<std::pair<int, int>, int64_t> pairs_;
};

// Whether class sizes differ by more than 10:1, so that accuracy alone misleads. Of classes that
// have images.
bool is_imbalanced(const Confusion& confusion);

// False where a logit is NaN or infinite: such an image has no class.
bool all_finite(std::span<const float> logits);
// -log softmax(logits)[label], in double.
double cross_entropy(std::span<const float> logits, int label);
// Classes that score above `label` (ties: the lower index first): 0 means correct.
int64_t target_rank(std::span<const float> logits, int label);
// The first of the highest scores.
int argmax(std::span<const float> logits);
std::vector<double> softmax(std::span<const float> logits);

}  // namespace pounce
