// The case folders that stand for users' real ones, trained and evaluated: the right answer to
// each.
#include "cases.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "expect_error.h"
#include "pounce/evaluate.h"
#include "train/run.h"

namespace pounce {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using testing::UnorderedElementsAre;

class TrainCases : public testing::Test {
 protected:
  void SetUp() override {
    if (!cases().problem.empty()) GTEST_SKIP() << cases().problem;
  }

  TrainConfig config(const std::string& name) const {
    TrainConfig config = small_config(cases().folder / name, work_ / "run");
    config.image_size = 32;
    config.epochs = 1;
    return config;
  }

  TempDir work_;
};

TEST_F(TrainCases, Odd) {
  TrainConfig odd = config("odd");
  odd.val_fraction = 0;
  odd.on_bad = BadFilePolicy::Skip;
  Training training = train(odd);
  RunBegin begin = training.all<RunBegin>().at(0);
  EXPECT_THAT(begin.classes, ElementsAre("green", "red"));
  EXPECT_THAT(begin.class_images, ElementsAre(10, 14));
  EXPECT_EQ(training.end.train_images, 24);
  EXPECT_EQ(training.end.skipped, 6);
  std::ifstream file(work_ / "run/skipped.tsv");
  std::vector<std::string> rows;
  for (std::string row; std::getline(file, row);) {
    size_t name = row.find('/', row.find('/') + 1) + 1;
    size_t reason = row.find('\t', row.find('\t') + 1);
    rows.push_back(row.substr(name, reason - name));
  }
  ASSERT_THAT(rows, SizeIs(7));
  rows.erase(rows.begin());
  EXPECT_THAT(rows, UnorderedElementsAre("trunc_half.jpg\tdamaged", "no_eoi.jpg\tdamaged",
                                         "zero.jpg\tdamaged", "html.jpg\tdamaged",
                                         "nulls.jpg\tdamaged", "dangling.jpg\tunreadable"));
  bool names_blue = false;
  for (const WarningIssued& warning : training.all<WarningIssued>()) {
    names_blue |= warning.message.find("blue") != std::string::npos;
  }
  EXPECT_TRUE(names_blue);
}

TEST_F(TrainCases, OddIsRefusedWhereOverATenthOfAClassIsUnusable) {
  EXPECT_ERROR(train(config("odd")), ErrorKind::Config, "red", "--on-bad skip");
  EXPECT_FALSE(path_exists(work_ / "run"));
}

TEST_F(TrainCases, ThirtyThreeImagesMakeNoBatchOfOne) {
  TrainConfig n33 = config("n33");
  n33.val_fraction = 0;
  n33.batch_size = 32;
  Training training = train(n33);
  EXPECT_EQ(training.end.train_images, 33);
  EXPECT_EQ(training.all<EpochEnd>().at(0).update, 2);
  std::vector<int64_t> sizes;
  int64_t before = 0;
  for (const StepProgress& step : training.all<StepProgress>()) {
    sizes.push_back(step.images - before);
    before = step.images;
  }
  EXPECT_THAT(sizes, ElementsAre(17, 16));
}

TEST_F(TrainCases, ClassesThatDifferBetweenSplits) {
  Training training = train(config("split"));
  EXPECT_THAT(training.all<RunBegin>().at(0).classes, ElementsAre("blue", "green", "red"));
  EvalConfig eval;
  eval.model = work_ / "run";
  eval.data = cases().folder / "split";
  std::map<std::string, int> labels;
  EvalResult result = evaluate(eval, [&](const EvalRecord& record) {
    labels[record.path.substr(record.path.find('/') + 1, 3)] = record.label;
  });
  EXPECT_EQ(result.images, 8);
  EXPECT_THAT(labels, UnorderedElementsAre(std::pair("gre", 1), std::pair("red", 2)));
  eval.data = cases().folder / "split_extra";
  EXPECT_ERROR(evaluate(eval), ErrorKind::Config, "grey");
}

}  // namespace
}  // namespace pounce
