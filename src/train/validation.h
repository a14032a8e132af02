// What a pass over the validation images found: metrics, confusions, and each mistake by name.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "train/metrics.h"

namespace pounce {

// An image taken for another class.
struct Mistake {
  uint32_t index = 0;  // into the samples
  int predicted = 0;
  double probability = 0;  // of the predicted class
};

class Validation {
 public:
  explicit Validation(size_t classes) : confusion_(classes) {}

  // `index`: into the samples; logits: one a class.
  void add(uint32_t index, int label, std::span<const float> logits);

  const Tally& tally() const { return tally_; }
  const Confusion& confusion() const { return confusion_; }
  const std::vector<Mistake>& mistakes() const { return mistakes_; }

 private:
  Tally tally_;
  Confusion confusion_;
  std::vector<Mistake> mistakes_;
};

// "true,predicted,images": a row for each pair of classes that occurred.
std::string confusion_csv(const Validation& validation, const std::vector<std::string>& classes);
// "path,true,predicted,probability": every mistake, the most certain first.
std::string worst_csv(const Validation& validation, const SampleList& samples,
                      const std::vector<std::string>& classes);

}  // namespace pounce
