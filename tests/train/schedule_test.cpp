#include "train/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "train/balance.h"

namespace pounce {
namespace {

using testing::ElementsAre;
using testing::FloatEq;
using testing::FloatNear;

TEST(Schedule, CosineRisesAndFalls) {
  EXPECT_THAT(cosine_schedule(1, 6, 2), ElementsAre(0.5F, 1.0F, 1.0F, FloatEq(0.85355339F),
                                                    FloatEq(0.5F), FloatEq(0.14644661F)));
}

TEST(Schedule, StepsCountFromTheStart) {
  EXPECT_THAT(
      step_schedule(1, 7, 1, 3, 0.1),
      ElementsAre(1.0F, 1.0F, 1.0F, FloatEq(0.1F), FloatEq(0.1F), FloatEq(0.1F), FloatEq(0.01F)));
}

TEST(Schedule, ConstantAfterTheWarmup) {
  EXPECT_THAT(constant_schedule(2, 4, 2), ElementsAre(1.0F, 2.0F, 2.0F, 2.0F));
}

TEST(Schedule, AWarmupLongerThanTheRunEndsBelowThePeak) {
  for (float rate : cosine_schedule(1, 4, 100)) EXPECT_LE(rate, 1.0F);
  EXPECT_FLOAT_EQ(cosine_schedule(1, 4, 100).back(), 1.0F);
}

TEST(ClassWeightsTest, BalancedGivesEveryClassTheSameShare) {
  ImageFolder dataset;
  dataset.classes = {"many", "few"};
  for (int i = 0; i < 8; ++i) dataset.train.push_back({.path = "a", .label = i < 6 ? 0 : 1});
  std::vector<float> weights = make_class_weights(ClassWeights::Balanced, dataset);
  EXPECT_THAT(weights, ElementsAre(FloatNear(8.0F / 12, 1e-6F), FloatNear(2.0F, 1e-6F)));
  EXPECT_THAT(make_class_weights(ClassWeights::None, dataset), ElementsAre(1.0F, 1.0F));
}

}  // namespace
}  // namespace pounce
