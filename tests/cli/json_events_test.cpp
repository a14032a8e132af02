// The objects of --json: their keys are the documented ones, their numbers read back.
#include "cli/json_events.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/check_json.h"
#include "pounce/event_json.h"
#include "pounce/options.h"

namespace pounce::cli {
namespace {

using Json = nlohmann::ordered_json;

// Every key of `line` is documented for its type and the other way round, but for `absent` ones.
Json expect_documented(const std::string& line, const std::vector<std::string>& absent = {}) {
  EXPECT_EQ(line.find('\n'), std::string::npos);
  Json object = Json::parse(line);
  std::vector<std::string> found, expected;
  for (const auto& [key, value] : object.items()) found.push_back(key);
  EXPECT_EQ(found.at(0), "type");
  found.erase(found.begin());
  for (const JsonEventKeys& row : json_event_keys()) {
    if (row.type == object["type"]) expected = row.keys;
  }
  for (const std::string& key : absent) std::erase(expected, key);
  EXPECT_EQ(found, expected);
  return object;
}

TEST(Json, RunBeginHoldsTheConfiguration) {
  RunBegin event;
  event.model = "cnn";
  event.classes = {"猫", "dog"};
  event.memory_bytes = int64_t(5) << 32;
  event.config.data = "photos";
  event.config.epochs = 3;
  event.config.crop_scale_min = 0.35;
  event.config.crop_scale_max = 1.0;
  Json object = expect_documented(event_json(event));
  EXPECT_EQ(object["classes"], (Json{"猫", "dog"}));
  EXPECT_EQ(object["memory"], int64_t(5) << 32);
  EXPECT_EQ(object["config"]["data"], "photos");
  EXPECT_EQ(object["config"]["epochs"], 3);
  EXPECT_EQ(object["config"]["crop-scale"], (Json{0.35, 1.0}));
  EXPECT_EQ(object["config"]["augment"], "standard");
  EXPECT_EQ(object["config"]["nesterov"], false);
  EXPECT_TRUE(object["config"]["lr"].is_null());
  EXPECT_EQ(object["config"].size(), train_options().size() + 1);
}

TEST(Json, EpochsWithoutValidationHaveNulls) {
  EpochEnd event;
  event.epoch = 2;
  event.train_loss = std::numeric_limits<double>::quiet_NaN();
  Json object = expect_documented(event_json(event));
  EXPECT_EQ(object["epoch"], 2);
  EXPECT_TRUE(object["val_loss"].is_null());
  EXPECT_TRUE(object["train_loss"].is_null());
  event.val_accuracy = 0.5;
  EXPECT_EQ(Json::parse(event_json(event))["val_accuracy"], 0.5);
}

TEST(Json, OtherEvents) {
  expect_documented(event_json(CheckpointSaved{"runs/a/last.safetensors"}));
  expect_documented(event_json(WarningIssued{"w"}));
  expect_documented(event_json(NoteIssued{"n"}));
  Json end = expect_documented(event_json(RunEnd{}));
  EXPECT_TRUE(end["model"].is_null());
  EXPECT_TRUE(end["best_val_accuracy"].is_null());
  EXPECT_EQ(event_json(StepProgress{}), "");
  EXPECT_EQ(event_json(ScanProgress{}), "");
}

TEST(Json, Errors) {
  Error error(ErrorKind::BadData, "found x, expected y", "do z");
  error.add_context("while reading m");
  Json object = expect_documented(error_to_json(error));
  EXPECT_EQ(object["kind"], "bad_data");
  EXPECT_EQ(object["message"], "found x, expected y");
  EXPECT_EQ(object["context"], (Json::array({"while reading m"})));
  EXPECT_EQ(object["hint"], "do z");
}

TEST(Json, NamesThatAreNotUtf8StayReadable) {
  Json object = Json::parse(event_json(NoteIssued{"bad\xff.jpg"}));
  EXPECT_EQ(object["message"], "bad\uFFFD.jpg");
}

TEST(Json, Evaluation) {
  EvalResult result;
  result.accuracy = 0.75;
  result.confusion = {{2, 1}, {0, 1}};
  result.per_class = {{"a", 3, 2}, {"b", 1, 1}, {"none", 0, 0}};
  result.skipped = {{"a/x.jpg", "damaged", "cut off"}};
  Json object = expect_documented(eval_json(result));
  EXPECT_EQ(object["confusion"], Json::parse("[[2,1],[0,1]]"));
  EXPECT_EQ(object["per_class"][0]["class"], "a");
  EXPECT_EQ(object["per_class"][0]["correct"], 2);
  EXPECT_TRUE(object["per_class"][2]["accuracy"].is_null());
  EXPECT_EQ(object["skipped"][0]["kind"], "damaged");
}

TEST(Json, Predictions) {
  Prediction prediction;
  prediction.path = "a.jpg";
  prediction.class_name = "cat";
  prediction.top = {{"cat", 0.9}, {"dog", 0.1}};
  Json object = expect_documented(prediction_json(prediction), {"error"});
  EXPECT_EQ(object["top"][1]["class"], "dog");
  prediction.error = Error(ErrorKind::Io, "cannot read a.jpg");
  object = expect_documented(prediction_json(prediction),
                             {"class", "label", "probability", "logits", "top"});
  EXPECT_EQ(object["error"]["kind"], "io");
}

TEST(Json, Checks) {
  CheckReport report;
  report.classes = {{"猫", 3, 1, 0, 2}};
  report.damaged = {{"a.jpg", "damaged", "cut"}};
  report.duplicates = {{{{"a.jpg", "train", "猫"}, {"b.jpg", "val", ""}}, true, true}};
  report.near_duplicates = {{{"c.jpg", "train", "猫"}, {"d.jpg", "val", "猫"}, true}};
  report.sizes = SizeSummary{.short_side_under = {{32, 7}}};
  Json object = expect_documented(check_json(report));
  EXPECT_EQ(object["classes"][0]["class"], "猫");
  EXPECT_EQ(object["classes"][0]["unusable"], 2);
  EXPECT_EQ(object["duplicates"][0]["files"][0]["split"], "train");
  EXPECT_TRUE(object["duplicates"][0]["files"][1]["class"].is_null());
  EXPECT_EQ(object["near_duplicates"][0]["mirrored"], true);
  EXPECT_EQ(object["sizes"]["short_side_under"]["32"], 7);
  EXPECT_EQ(object["findings"], 3);
  EXPECT_TRUE(object["refusal"].is_null());
  report.is_quick = true;
  object = expect_documented(check_json(report));
  EXPECT_TRUE(object["duplicates"].is_null());
  EXPECT_TRUE(object["near_duplicates"].is_null());
}

TEST(Json, Inspection) {
  Inspection inspection;
  inspection.path = "m.safetensors";
  inspection.metadata = {{"format", "pt"}};
  inspection.tensors.resize(1);
  inspection.tensors[0].nan = 2;
  Json object = expect_documented(inspect_json(inspection));
  EXPECT_TRUE(object["description"].is_null());
  EXPECT_EQ(object["metadata"]["format"], "pt");
  EXPECT_EQ(object["tensors"][0]["nan"], 2);
  EXPECT_TRUE(object["tensors"][0]["mean"].is_null());
  inspection.description = ModelDescription{};
  inspection.description->classes = {"猫"};
  object = Json::parse(inspect_json(inspection));
  EXPECT_EQ(object["description"]["classes"], Json{"猫"});
  EXPECT_TRUE(object["description"]["split"].is_null());
}

TEST(Json, Cache) {
  CacheReport report;
  report.files.resize(1);
  report.files[0].path = "/c/f";
  Json object = expect_documented(cache_json(report, true));
  EXPECT_EQ(object["removed"], true);
  EXPECT_EQ(object["files"][0]["path"], "/c/f");
}

TEST(Json, BenchStep) {
  BenchStepResult result;
  result.images_per_second = 12.5;
  result.verification.worst_tensor = "fc.weight";
  Json object = expect_documented(bench_step_json({.model = "cnn"}, result));
  EXPECT_EQ(object["type"], "bench_step");
  EXPECT_EQ(object["model"], "cnn");
  EXPECT_EQ(object["images_per_second"], 12.5);
  EXPECT_EQ(object["verification"]["worst_tensor"], "fc.weight");
}

TEST(Json, LogitsReadBackToTheSameFloat) {
  const std::vector<float> logits = {0.1F, -1.0F / 3, 1e-40F, 3.4e38F, 16777217.0F, -0.0F};
  Json object = Json::parse(dump_json({"a/b.png", 1, logits}));
  EXPECT_EQ(object["label"], 1);
  EXPECT_EQ(object["path"], "a/b.png");
  for (size_t i = 0; i < logits.size(); ++i) {
    float read = float(object["logits"][i].get<double>());
    EXPECT_EQ(read, logits[i]);
    EXPECT_EQ(std::signbit(read), std::signbit(logits[i]));
  }
}

}  // namespace
}  // namespace pounce::cli
