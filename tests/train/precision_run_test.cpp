// Whole trainings in half precision, on the reference backend: what a run says, writes and refuses.
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "expect_error.h"
#include "pounce/event_json.h"
#include "pounce/inspect.h"
#include "pounce/options.h"
#include "pounce/predict.h"
#include "train/run.h"

namespace pounce {
namespace {

using namespace test;
using testing::HasSubstr;

class PrecisionRun : public testing::Test {
 protected:
  void SetUp() override { copy_digits(work_ / "digits", 2, 20); }

  TrainConfig config(const std::string& out, Precision precision) const {
    TrainConfig config = small_config(work_ / "digits", work_ / out);
    config.device = "reference";
    config.precision = precision;
    return config;
  }
  std::string text_of(const std::string& path) const {
    std::vector<uint8_t> bytes = file_bytes(work_ / path);
    return {bytes.begin(), bytes.end()};
  }

  TempDir work_;
};

TEST_F(PrecisionRun, SaysWhatItComputesInAndSavesF32) {
  struct Row {
    Precision precision;
    std::string name;
    double scale;
  };
  for (const Row& row : {Row{Precision::Fp16, "fp16", 65536}, Row{Precision::Bf16, "bf16", 1},
                         Row{Precision::Auto, "fp32", 1}}) {
    SCOPED_TRACE(row.name);
    Training training = train(config(row.name, row.precision));
    EXPECT_EQ(training.all<RunBegin>().at(0).precision, row.name);
    EXPECT_TRUE(training.all<WarningIssued>().empty());
    for (const EpochEnd& epoch : training.all<EpochEnd>()) {
      EXPECT_EQ(epoch.loss_scale, row.scale);
      EXPECT_EQ(epoch.skipped_updates, 0);
      EXPECT_EQ(epoch.update, 2 * epoch.epoch);
      EXPECT_THAT(event_to_json(epoch), HasSubstr("\"skipped_updates\":0"));
    }
    EXPECT_THAT(event_to_json(training.all<RunBegin>().at(0)),
                HasSubstr("\"precision\":\"" + row.name + "\""));
    EXPECT_THAT(text_of(row.name + "/plan.json"), HasSubstr("\"precision\": \"" + row.name + "\""));
    Inspection inspection = inspect_model(work_ / row.name);
    EXPECT_EQ(inspection.description.value().precision, row.name);
    for (const TensorSummary& tensor : inspection.tensors) {
      EXPECT_THAT(tensor.dtype, testing::AnyOf("F32", "I64")) << tensor.name;
    }
  }
  // Three precisions, three models; the same one twice is the same to the byte.
  EXPECT_NE(text_of("fp16/best.safetensors"), text_of("bf16/best.safetensors"));
  EXPECT_NE(text_of("fp16/best.safetensors"), text_of("fp32/best.safetensors"));
  train(config("again", Precision::Fp16));
  EXPECT_EQ(text_of("again/best.safetensors"), text_of("fp16/best.safetensors"));
}

TEST_F(PrecisionRun, TheRecordedConfigurationKeepsIt) {
  EXPECT_THAT(to_toml(config("any", Precision::Bf16)), HasSubstr("precision = \"bf16\""));
  EXPECT_THAT(to_toml(config("any", Precision::Auto)), HasSubstr("precision = \"auto\""));
}

TEST_F(PrecisionRun, TheCpuRefusesBeforeItLooksAtTheData) {
  for (Precision precision : {Precision::Fp16, Precision::Bf16}) {
    TrainConfig refused = config("refused", precision);
    refused.device = "cpu";
    std::vector<Event> events;
    TrainingRun run(refused, [&](const Event& event) { events.push_back(event); });
    EXPECT_ERROR(run.run(), ErrorKind::Device, "--precision",
                 precision == Precision::Fp16 ? "fp16" : "bf16", "cpu");
    EXPECT_TRUE(events.empty());
    EXPECT_FALSE(std::filesystem::exists(work_ / "refused"));
  }
}

}  // namespace
}  // namespace pounce
