#include "train/metrics.h"

#include <algorithm>
#include <cmath>

namespace pounce {

void Tally::add(double loss, int64_t rank) {
  ++images;
  correct += rank == 0;
  top5 += rank < 5;
  loss_sum += loss;
}

void Confusion::add(int label, int predicted) {
  ++images_[size_t(label)];
  correct_[size_t(label)] += label == predicted;
  ++pairs_[{label, predicted}];
}

double Confusion::balanced_accuracy() const {
  double sum = 0;
  int64_t present = 0;
  for (size_t i = 0; i < classes(); ++i) {
    if (images_[i] == 0) continue;
    sum += double(correct_[i]) / double(images_[i]);
    ++present;
  }
  return present == 0 ? 0 : sum / double(present);
}

bool is_imbalanced(const Confusion& confusion) {
  constexpr int64_t kMostRatio = 10;
  int64_t least = 0, most = 0;
  for (size_t i = 0; i < confusion.classes(); ++i) {
    int64_t images = confusion.images(i);
    if (images == 0) continue;
    least = least == 0 ? images : std::min(least, images);
    most = std::max(most, images);
  }
  return most > kMostRatio * least;
}

bool all_finite(std::span<const float> logits) {
  return std::all_of(logits.begin(), logits.end(),
                     [](float logit) { return std::isfinite(logit); });
}

std::vector<double> softmax(std::span<const float> logits) {
  double highest = *std::max_element(logits.begin(), logits.end());
  std::vector<double> probabilities;
  double sum = 0;
  for (float logit : logits) {
    probabilities.push_back(std::exp(logit - highest));
    sum += probabilities.back();
  }
  for (double& probability : probabilities) probability /= sum;
  return probabilities;
}

double cross_entropy(std::span<const float> logits, int label) {
  double highest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (float logit : logits) sum += std::exp(logit - highest);
  return std::log(sum) + highest - logits[size_t(label)];
}

int64_t target_rank(std::span<const float> logits, int label) {
  float own = logits[size_t(label)];
  int64_t rank = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    rank += logits[i] > own || (logits[i] == own && i < size_t(label));
  }
  return rank;
}

int argmax(std::span<const float> logits) {
  return int(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

}  // namespace pounce
