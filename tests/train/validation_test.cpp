// Metrics as counts, and the files that list what was confused.
#include "train/validation.h"

#include <gtest/gtest.h>

namespace pounce {
namespace {

// Three of class 0, one mistaken; one of class 1, mistaken; none of class 2.
Validation small_validation() {
  Validation validation(3);
  validation.add(0, 0, std::vector<float>{2, 1, 0});
  validation.add(1, 0, std::vector<float>{0, 3, 0});
  validation.add(2, 0, std::vector<float>{5, 1, 0});
  validation.add(3, 1, std::vector<float>{0, 0, 1});
  return validation;
}

TEST(Validation, CountsAreDividedOnce) {
  Validation validation = small_validation();
  EXPECT_EQ(validation.tally().images, 4);
  EXPECT_EQ(validation.tally().correct, 2);
  EXPECT_DOUBLE_EQ(validation.tally().accuracy(), 0.5);
  // Classes without images do not count.
  EXPECT_DOUBLE_EQ(validation.confusion().balanced_accuracy(), (2.0 / 3 + 0) / 2);
  EXPECT_DOUBLE_EQ(Validation(2).confusion().balanced_accuracy(), 0);
}

TEST(Validation, ConfusionHasARowForEachPair) {
  EXPECT_EQ(confusion_csv(small_validation(), {"cat", "dog, big", "the \"fox\""}),
            "true,predicted,images\n"
            "cat,cat,2\n"
            "cat,\"dog, big\",1\n"
            "\"dog, big\",\"the \"\"fox\"\"\",1\n");
}

TEST(Validation, WorstMistakesComeFirst) {
  std::vector<Sample> samples(4);
  samples[1] = {.path = "cat/b,1.jpg", .label = 0};
  samples[3] = {.path = "dog/d.jpg", .label = 1};
  // e^3 / (e^3 + 2) and e / (e + 2)
  EXPECT_EQ(worst_csv(small_validation(), samples, {"cat", "dog", "fox"}),
            "path,true,predicted,probability\n"
            "\"cat/b,1.jpg\",cat,dog,0.9094\n"
            "dog/d.jpg,dog,fox,0.5761\n");
}

}  // namespace
}  // namespace pounce
