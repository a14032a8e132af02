// Whole trainings on small folders: what a run promises its user.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "expect_error.h"
#include "pounce/evaluate.h"
#include "pounce/options.h"
#include "pounce/predict.h"
#include "pounce/train.h"
#include "train/model_file.h"
#include "train/run.h"

namespace pounce {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

class TrainingRunTest : public testing::Test {
 protected:
  void SetUp() override { copy_digits(work_ / "digits", 3, 40); }

  TrainConfig config(const std::string& out) const {
    return small_config(work_ / "digits", work_ / out);
  }
  std::vector<uint8_t> best_bytes(const TrainConfig& config) {
    return file_bytes(train(config).end.model);
  }
  // Rows of split.tsv that put every digit on one side.
  std::string all_digits_on(const std::string& side) const {
    namespace fs = std::filesystem;
    std::string rows;
    for (const auto& entry : fs::recursive_directory_iterator(work_ / "digits")) {
      if (!entry.is_regular_file()) continue;
      std::string path = fs::relative(entry.path(), work_ / "digits").string();
      rows += path + "\t" + side + "\t" + path.substr(0, 1) + "\n";
    }
    return rows;
  }
  std::vector<std::string> unfinished_files() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(work_.path())) {
      std::string name = entry.path().filename().string();
      if (name.find(".tmp") != std::string::npos) found.push_back(name);
    }
    return found;
  }

  TempDir work_;
};

TEST_F(TrainingRunTest, LearnsTheDigits) {
  TrainConfig learning = config("run");
  learning.epochs = 12;
  Training training = train(learning);
  std::vector<EpochEnd> epochs = training.all<EpochEnd>();
  ASSERT_THAT(epochs, SizeIs(12));
  EXPECT_LT(epochs.back().train_loss, 0.5 * epochs.front().train_loss);
  EXPECT_GT(*training.end.best_val_accuracy, 0.9);
}

TEST_F(TrainingRunTest, EventsAgreeWithEachOther) {
  Training training = train(config("run"));
  RunBegin begin = training.all<RunBegin>().at(0);
  EXPECT_EQ(begin.train_images + begin.val_images, 120);
  EXPECT_TRUE(begin.val_is_split_off);
  std::vector<EpochEnd> epochs = training.all<EpochEnd>();
  ASSERT_THAT(epochs, SizeIs(2));
  for (const EpochEnd& epoch : epochs) {
    EXPECT_EQ(epoch.images, begin.train_images);
    EXPECT_EQ(epoch.planned_bytes, epoch.allocated_bytes);
    EXPECT_EQ(epoch.planned_bytes, begin.memory_bytes);
  }
  EXPECT_EQ(epochs.back().update, begin.updates);
  EXPECT_EQ(training.end.train_images, begin.train_images);
  EXPECT_EQ(training.end.model, work_ / "run/best.safetensors");
  EXPECT_GT(training.end.start_seconds, 0);
  EXPECT_THAT(unfinished_files(), SizeIs(0));
}

TEST_F(TrainingRunTest, SameSeedSameBytes) {
  std::vector<uint8_t> first = best_bytes(config("a"));
  EXPECT_EQ(first, best_bytes(config("b")));
  TrainConfig other = config("c");
  other.seed = 1;
  EXPECT_NE(first, best_bytes(other));
}

TEST_F(TrainingRunTest, WorkersAndThreadsDoNotChangeABit) {
  std::vector<uint8_t> expected = best_bytes(config("a"));
  int number = 0;
  for (int workers : {2, 7}) {
    TrainConfig more = config("workers" + std::to_string(++number));
    more.workers = workers;
    EXPECT_EQ(expected, best_bytes(more)) << workers << " workers";
  }
  for (int threads : {2, 4}) {
    TrainConfig more = config("threads" + std::to_string(++number));
    more.threads = threads;
    EXPECT_EQ(expected, best_bytes(more)) << threads << " threads";
  }
}

TEST_F(TrainingRunTest, ThreadsDoNotChangeABitOfAResNet) {
  for (const char* model : {"resnet18", "resnet50"}) {
    std::vector<uint8_t> expected;
    for (int threads : {1, 2, 4}) {
      TrainConfig one = config(model + std::to_string(threads));
      one.model = model;
      one.image_size = 32;
      one.epochs = 1;
      one.threads = threads;
      std::vector<uint8_t> bytes = best_bytes(one);
      if (expected.empty()) expected = bytes;
      EXPECT_EQ(expected, bytes) << model << ", " << threads << " threads";
    }
  }
}

TEST_F(TrainingRunTest, TheRecordedConfigurationRepeatsTheRun) {
  TrainConfig first = config("a");
  Training training = train(first);
  TrainConfig resolved = training.all<RunBegin>().at(0).config;
  std::string text;
  std::ifstream file(work_ / "a/config.toml");
  text.assign(std::istreambuf_iterator<char>(file), {});
  EXPECT_EQ(text, to_toml(resolved));
  resolved.out = work_ / "b";
  EXPECT_EQ(file_bytes(training.end.model), best_bytes(resolved));
}

TEST_F(TrainingRunTest, EvaluationRepeatsTheValidationOfTheRun) {
  Training training = train(config("run"));
  EvalConfig eval;
  eval.model = work_ / "run";  // the data folder comes from its config.toml
  EvalResult result = evaluate(eval);
  EXPECT_EQ(result.images, training.all<RunBegin>().at(0).val_images);
  EXPECT_DOUBLE_EQ(result.accuracy, *training.end.best_val_accuracy);
}

TEST_F(TrainingRunTest, EvaluationTakesTheSidesOfSplitTsv) {
  train(config("run"));
  std::string record = work_ / "run/split.tsv";
  std::ofstream(record, std::ios::binary) << "path\tsplit\tclass\n"
                                          << "0/odd\\tname.png\tval\t0\n"
                                          << all_digits_on("train");
  std::filesystem::copy_file(*std::filesystem::directory_iterator(work_ / "digits/0"),
                             work_ / "digits/0/odd\tname.png");
  EvalConfig eval;
  eval.model = work_ / "run";
  std::vector<std::string> paths;
  EvalResult result = evaluate(eval, [&](const EvalRecord& image) { paths.push_back(image.path); });
  EXPECT_THAT(paths, ElementsAre("0/odd\tname.png"));
  EXPECT_THAT(result.notes, ElementsAre(HasSubstr("only the 1 image that training held back;")));
  eval.split = SplitChoice::Train;
  EXPECT_EQ(evaluate(eval).images, 120);
}

TEST_F(TrainingRunTest, EvaluationOfAnotherFolderGoesByTheRule) {
  train(config("run"));
  std::filesystem::copy(work_ / "digits", work_ / "other",
                        std::filesystem::copy_options::recursive);
  EvalConfig eval;
  eval.model = work_ / "run";
  int64_t held_back = evaluate(eval).images;
  std::ofstream(work_ / "run/split.tsv", std::ios::binary) << "path\tsplit\tclass\n"
                                                           << all_digits_on("val");
  EXPECT_EQ(evaluate(eval).images, 120);
  eval.data = work_ / "digits/../digits/";
  EXPECT_EQ(evaluate(eval).images, 120);
  eval.data = work_ / "other";
  EvalResult result = evaluate(eval);
  EXPECT_EQ(result.images, held_back);
  EXPECT_THAT(result.notes, ElementsAre(HasSubstr("that the rule of the model's split holds")));
}

TEST_F(TrainingRunTest, EvaluationSaysThatSplitTsvCannotBeUsed) {
  train(config("run"));
  EvalConfig eval;
  eval.model = work_ / "run";
  int64_t held_back = evaluate(eval).images;
  std::string record = work_ / "run/split.tsv";
  const std::string header = "path\tsplit\tclass\n";
  const std::pair<std::string, int> damages[] = {{"", 1},
                                                 {"path\n", 1},
                                                 {header + "0/a.png\tval\t0", 2},
                                                 {header + "\n", 2},
                                                 {header + "a\tb\t0\n", 2},
                                                 {header + "\\q\tval\t0\n", 2},
                                                 {header + "a\tval\t0\na\ttrain\t0\n", 3}};
  for (const auto& [text, line] : damages) {
    std::ofstream(record, std::ios::binary) << text;
    EvalResult result = evaluate(eval);
    EXPECT_EQ(result.images, held_back) << text;
    EXPECT_EQ(result.notes.front(),
              record + " is damaged in line " + std::to_string(line) +
                  "; the rule of the model's split decides which images are held back");
  }
  std::filesystem::remove(record);
  EvalResult result = evaluate(eval);
  EXPECT_EQ(result.images, held_back);
  EXPECT_THAT(result.notes.front(), HasSubstr("split.tsv: no such file"));
}

TEST_F(TrainingRunTest, EvaluationBatchesDoNotChangeABit) {
  train(config("run"));
  std::map<int, std::vector<std::vector<float>>> logits;
  for (int batch : {1, 3, 64}) {
    EvalConfig eval;
    eval.model = work_ / "run";
    eval.split = SplitChoice::All;
    eval.batch_size = batch;
    evaluate(eval, [&](const EvalRecord& record) { logits[batch].push_back(record.logits); });
    EXPECT_THAT(logits[batch], SizeIs(120));
    EXPECT_EQ(logits[batch], logits[1]) << "batch " << batch;
  }
}

TEST_F(TrainingRunTest, PredictionEqualsEvaluation) {
  Training training = train(config("run"));
  std::map<std::string, std::vector<float>> expected;
  EvalConfig eval;
  eval.model = training.end.model;
  eval.data = work_ / "digits";
  eval.split = SplitChoice::All;
  evaluate(eval, [&](const EvalRecord& record) { expected[record.path] = record.logits; });
  Predictor predictor(work_ / "run", {.batch_size = 7});
  std::vector<std::string> paths;
  for (const auto& [path, logits] : expected) paths.push_back(work_ / "digits/" + path);
  size_t at = 0;
  predictor.predict(paths, [&](const Prediction& prediction) {
    ASSERT_FALSE(prediction.error.has_value());
    EXPECT_EQ(prediction.path, paths[at]);
    EXPECT_EQ(prediction.logits, std::next(expected.begin(), int64_t(at++))->second);
  });
  EXPECT_EQ(at, paths.size());
}

TEST_F(TrainingRunTest, PredictionNamesWhatItCannotRead) {
  train(config("run"));
  std::string text = work_.put("text.jpg", std::string("no image"));
  std::string good =
      work_ / "digits/1/" +
      std::filesystem::directory_iterator(work_ / "digits/1")->path().filename().string();
  Predictor predictor(work_ / "run");
  std::vector<bool> failed;
  predictor.predict({text, good, work_ / "absent.png", good}, [&](const Prediction& prediction) {
    failed.push_back(prediction.error.has_value());
  });
  EXPECT_EQ(failed, (std::vector<bool>{true, false, true, false}));
}

TEST_F(TrainingRunTest, AStopKeepsTheModelSoFar) {
  TrainConfig endless = config("run");
  endless.epochs = 1000;
  std::stop_source stop;
  int steps = 0;
  TrainingRun training(endless, [&](const Event& event) {
    if (std::holds_alternative<StepProgress>(event) && ++steps == 3) stop.request_stop();
  });
  RunEnd end = training.run(stop.get_token());
  EXPECT_TRUE(end.interrupted);
  EXPECT_EQ(steps, 3);
  EXPECT_EQ(end.best_epoch, 0);
  Predictor usable(end.model);
  EXPECT_THAT(usable.classes(), SizeIs(3));
  EXPECT_THAT(unfinished_files(), SizeIs(0));
}

// A valid header and end, with the middle overwritten: only decoding can tell.
void damage_body(const std::string& path) {
  std::vector<uint8_t> bytes = file_bytes(path);
  for (size_t i = bytes.size() / 2; i < bytes.size() / 2 + 8; ++i) bytes[i] ^= 0xFF;
  write_file(path, bytes);
}

TEST_F(TrainingRunTest, AFileDamagedInItsBodyLeavesAHole) {
  std::string victim;
  for (const auto& entry : std::filesystem::directory_iterator(work_ / "digits/1")) {
    victim = std::max(victim, entry.path().string());
  }
  damage_body(victim);
  TrainConfig all = config("run");
  all.val_fraction = 0;
  Training training = train(all);
  std::vector<EpochEnd> epochs = training.all<EpochEnd>();
  EXPECT_EQ(epochs[0].images, 119);
  EXPECT_EQ(epochs[1].images, 119);
  EXPECT_EQ(training.end.skipped, 1);
  std::vector<WarningIssued> warnings = training.all<WarningIssued>();
  ASSERT_THAT(warnings, SizeIs(1));
  EXPECT_THAT(warnings[0].message, HasSubstr(std::filesystem::path(victim).filename().string()));
  std::ifstream skipped(work_ / "run/skipped.tsv");
  std::string header, row;
  std::getline(skipped, header);
  std::getline(skipped, row);
  EXPECT_EQ(header, "path\tkind\treason");
  EXPECT_THAT(row, HasSubstr("\tdamaged\t"));
  all.out = work_ / "strict";
  all.on_bad = BadFilePolicy::Stop;
  EXPECT_ERROR(train(all), ErrorKind::BadData, "--on-bad skip");
}

// Of 32 pixels a ResNet keeps one value a channel and image: a batch of one has no variance.
TEST_F(TrainingRunTest, AClassThatVanishesEndsTheRun) {
  TrainConfig config = this->config("run");
  config.epochs = 20;
  TrainingRun training(config, [&](const Event& event) {
    if (std::holds_alternative<EpochEnd>(event)) {
      std::filesystem::remove_all(std::string(work_ / "digits/1"));
    }
  });
  EXPECT_ERROR(training.run(), ErrorKind::BadData, "the class 1 has no usable image left",
               "skipped.tsv");
  EXPECT_GT(Predictor(work_ / "run").classes().size(), 0U);
}

// An accuracy of nothing would choose the best model.
TEST_F(TrainingRunTest, ValidationWithoutImagesEndsTheRun) {
  TrainingRun training(config("run"), [&](const Event& event) {
    const auto* epoch = std::get_if<EpochEnd>(&event);
    if (epoch == nullptr || epoch->epoch != 1) return;
    std::ifstream rows(work_ / "run/split.tsv");
    for (std::string row; std::getline(rows, row);) {
      std::string path = row.substr(0, row.find('\t'));
      if (row.find("\tval\t") != std::string::npos) {
        std::filesystem::remove(std::string(work_ / "digits/" + path));
      }
    }
  });
  EXPECT_ERROR(training.run(), ErrorKind::BadData, "no validation image is left", "skipped.tsv");
  EXPECT_GT(Predictor(work_ / "run").classes().size(), 0U);
}

TEST_F(TrainingRunTest, ABatchTooSmallForItsNetworkIsLeftOut) {
  copy_digits(work_ / "few", 2, 2);
  damage_body(std::filesystem::directory_iterator(work_ / "few/1")->path());
  TrainConfig pairs = small_config(work_ / "few", work_ / "run");
  pairs.model = "resnet18";
  pairs.image_size = 32;
  pairs.batch_size = 2;
  pairs.val_fraction = 0;
  pairs.on_bad = BadFilePolicy::Skip;
  Training training = train(pairs);
  std::vector<EpochEnd> epochs = training.all<EpochEnd>();
  ASSERT_THAT(epochs, SizeIs(2));
  for (const EpochEnd& epoch : epochs) EXPECT_EQ(epoch.images, 2);
  std::vector<WarningIssued> warnings = training.all<WarningIssued>();
  ASSERT_THAT(warnings, SizeIs(2));
  EXPECT_THAT(warnings[1].message, HasSubstr("a batch of 1, too small"));
}

TEST_F(TrainingRunTest, NoUsableTrainingImageIsAnError) {
  copy_digits(work_ / "few", 2, 2);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(work_ / "few")) {
    if (entry.is_regular_file()) damage_body(entry.path());
  }
  TrainConfig none = small_config(work_ / "few", work_ / "run");
  none.val_fraction = 0;
  none.on_bad = BadFilePolicy::Skip;
  EXPECT_ERROR(train(none), ErrorKind::BadData, "no usable image left");
  EXPECT_FALSE(is_regular_file(work_ / "run/best.safetensors"));
}

TEST_F(TrainingRunTest, ReportsHowItsProgramsWereBuilt) {
  std::vector<ProgramBuilt> programs = train(config("run")).all<ProgramBuilt>();
  ASSERT_FALSE(programs.empty());
  bool has_step = false;
  for (const ProgramBuilt& program : programs) {
    has_step |= program.name == "train/16" &&
                program.report.find("conv2d_bwd_weights: implicit_gemm") != std::string::npos;
    EXPECT_GT(program.planned_bytes, 0);
    for (const char* part : {"pass legalize_stores: ", "lower bound", "alive at the peak"}) {
      EXPECT_THAT(program.report, HasSubstr(part));
    }
  }
  EXPECT_TRUE(has_step);
}

TEST_F(TrainingRunTest, RunsOnce) {
  TrainConfig once = config("run");
  once.epochs = 1;
  TrainingRun training(once);
  training.run();
  std::vector<uint8_t> log = file_bytes(work_ / "run/log.jsonl");
  EXPECT_ERROR(training.run(), ErrorKind::InvalidArgument, "runs once");
  EXPECT_ERROR(training.dry_run(), ErrorKind::InvalidArgument, "runs once");
  EXPECT_EQ(file_bytes(work_ / "run/log.jsonl"), log);

  TrainConfig missing = once;
  missing.data = work_ / "missing";
  missing.out = work_ / "other";
  TrainingRun failed(missing);
  EXPECT_ERROR(failed.run(), ErrorKind::Config, "does not exist");
  EXPECT_ERROR(failed.run(), ErrorKind::InvalidArgument, "runs once");
}

TEST_F(TrainingRunTest, DivergenceNamesUpdateAndTensor) {
  TrainConfig wild = config("run");
  wild.optimizer = OptimizerKind::Sgd;
  wild.learning_rate = 1000;
  wild.warmup_epochs = 0;
  wild.epochs = 50;
  EXPECT_ERROR(train(wild), ErrorKind::Diverged, "at update", "not finite", "--lr");
  std::ifstream log(work_ / "run/log.jsonl");
  std::string line, last;
  while (std::getline(log, line)) last = line;
  EXPECT_THAT(last, HasSubstr("\"type\":\"error\",\"kind\":\"diverged\""));
}

// No step follows that would notice what the last update did.
TEST_F(TrainingRunTest, ALastUpdateThatDivergesIsNoModel) {
  TrainConfig wild = config("run");
  wild.model = "resnet50";
  wild.image_size = 8;
  wild.optimizer = OptimizerKind::Sgd;
  wild.learning_rate = 100;
  wild.momentum = 0;
  wild.schedule = ScheduleKind::Constant;
  wild.warmup_epochs = 0;
  wild.epochs = 1;
  wild.batch_size = 1000;
  EXPECT_ERROR(train(wild), ErrorKind::Diverged, "at update 1", "not finite");
  EXPECT_FALSE(std::filesystem::exists(work_ / "run/best.safetensors"));
}

TEST_F(TrainingRunTest, AModelWithoutFiniteLogitsIsAnErrorAndNoMetric) {
  TrainConfig one = config("run");
  one.epochs = 1;
  std::string path = train(one).end.model;
  ModelFile file = load_model(path);
  EXPECT_EQ(find_non_finite(file.tensors), nullptr);
  for (NamedTensor& tensor : file.tensors.tensors) {
    if (tensor.name != "fc.weight") continue;
    float nan = std::numeric_limits<float>::quiet_NaN();
    std::memcpy(tensor.bytes.data(), &nan, sizeof nan);
  }
  ASSERT_NE(find_non_finite(file.tensors), nullptr);
  EXPECT_EQ(find_non_finite(file.tensors)->name, "fc.weight");
  save_model(path, file);
  EvalConfig eval;
  eval.model = work_ / "run";
  EXPECT_ERROR(evaluate(eval), ErrorKind::BadData, "no finite logits", ".png");
  Predictor predictor(path);
  predictor.predict({work_ / "digits/0/0000.png"}, [](const Prediction& prediction) {
    ASSERT_TRUE(prediction.error.has_value());
    EXPECT_THAT(prediction.error->message(), HasSubstr("no finite logits"));
  });
}

TEST_F(TrainingRunTest, ATestSplitIsEvaluatedOnceWithTheBestModel) {
  TempDir split;
  copy_digits(split / "data/train", 2, 30);
  copy_digits(split / "data/val", 2, 10);
  copy_digits(split / "data/test", 2, 12);
  Training training = train(small_config(split / "data", split / "run"));
  ASSERT_TRUE(training.end.test_accuracy.has_value());
  EvalConfig eval;
  eval.model = split / "run";
  eval.split = SplitChoice::Test;
  EvalResult result = evaluate(eval);
  EXPECT_EQ(result.images, 24);
  EXPECT_DOUBLE_EQ(result.accuracy, *training.end.test_accuracy);
}

TEST_F(TrainingRunTest, WithoutValidationTheLastModelIsBest) {
  TrainConfig all = config("run");
  all.val_fraction = 0;
  Training training = train(all);
  EXPECT_EQ(training.end.train_images, 120);
  EXPECT_EQ(training.end.best_epoch, 2);
  EXPECT_FALSE(training.end.best_val_accuracy.has_value());
  EXPECT_EQ(file_bytes(work_ / "run/best.safetensors"), file_bytes(work_ / "run/last.safetensors"));
}

TEST_F(TrainingRunTest, RunFoldersAreNeitherOverwrittenNorInsideTheData) {
  train(config("run"));
  EXPECT_ERROR(train(config("run")), ErrorKind::Config, "exists already", "--out");
  TrainConfig inside = config("digits/run");
  EXPECT_ERROR(train(inside), ErrorKind::Config, "inside the data folder", "--out");
  EXPECT_FALSE(path_exists(work_ / "digits/run"));
}

TEST_F(TrainingRunTest, TheFolderListsWhatTheBestModelConfused) {
  TrainConfig one = config("run");
  one.epochs = 3;
  Training training = train(one);
  std::ifstream confusion(training.end.run_folder + "/confusion.csv");
  std::string line;
  int64_t images = 0, correct = 0;
  ASSERT_TRUE(std::getline(confusion, line));
  while (std::getline(confusion, line)) {
    int64_t count = std::stoll(line.substr(line.rfind(',') + 1));
    images += count;
    if (line[0] == line[2]) correct += count;  // "0,0,8"
  }
  RunBegin begin = training.all<RunBegin>().at(0);
  EXPECT_EQ(images, begin.val_images);
  EXPECT_DOUBLE_EQ(double(correct) / double(images), *training.end.best_val_accuracy);
  std::ifstream worst(training.end.run_folder + "/worst.csv");
  int64_t rows = -1;  // the heading
  while (std::getline(worst, line)) ++rows;
  EXPECT_EQ(rows, images - correct);
}

TEST_F(TrainingRunTest, PatienceEndsARunThatNoLongerImproves) {
  TrainConfig patient = config("run");
  patient.learning_rate = 0;  // nothing can improve
  patient.epochs = 50;
  patient.patience = 3;
  Training training = train(patient);
  size_t epochs = training.all<EpochEnd>().size();
  EXPECT_LT(epochs, 50U);
  EXPECT_EQ(int(epochs), training.end.best_epoch + 3);
  EXPECT_FALSE(training.end.interrupted);
  EXPECT_THAT(training.all<NoteIssued>().back().message, HasSubstr("--patience"));
}

TEST_F(TrainingRunTest, AveragedWeightsAreValidatedAndKept) {
  TrainConfig averaged = config("run");
  averaged.ema_decay = 0.9;
  averaged.epochs = 4;
  Training training = train(averaged);
  EXPECT_NE(file_bytes(work_ / "run/best.safetensors"), file_bytes(work_ / "run/last.safetensors"));
  EvalConfig eval;
  eval.model = work_ / "run";
  EXPECT_DOUBLE_EQ(evaluate(eval).accuracy, *training.end.best_val_accuracy);
}

TEST_F(TrainingRunTest, AVeryWideClipChangesNothingAndATightOneDoes) {
  auto sgd = [&](const char* out, double clip) {
    TrainConfig clipped = config(out);
    clipped.optimizer = OptimizerKind::Sgd;
    clipped.clip_grad = clip;
    return best_bytes(clipped);
  };
  std::vector<uint8_t> plain = sgd("plain", 0);
  EXPECT_EQ(plain, sgd("wide", 1e6));
  EXPECT_NE(plain, sgd("tight", 1e-3));
}

TEST_F(TrainingRunTest, ABatchLargerThanTheSetIsOneBatch) {
  TrainConfig large = config("run");
  large.batch_size = 4096;
  large.epochs = 1;
  Training training = train(large);
  EXPECT_EQ(training.all<EpochEnd>().at(0).update, 1);
}

TEST(TrainConfigTest, ValuesOutOfRangeAreRefusedBeforeAnythingIsTouched) {
  auto refused = [](auto change, const char* name) {
    TrainConfig config;
    config.data = "/nowhere";
    change(config);
    EXPECT_ERROR(TrainingRun{config}, ErrorKind::Config, name);
  };
  refused([](TrainConfig& c) { c.data = ""; }, "no folder");
  refused([](TrainConfig& c) { c.model = "resnet19"; }, "resnet19");
  refused([](TrainConfig& c) { c.image_size = 7; }, "image-size");
  refused([](TrainConfig& c) { c.epochs = 0; }, "epochs");
  refused([](TrainConfig& c) { c.batch_size = 0; }, "batch-size");
  refused([](TrainConfig& c) { c.learning_rate = -1; }, "lr");
  refused([](TrainConfig& c) { c.hflip = 1.5; }, "hflip");
  refused([](TrainConfig& c) { c.crop_scale_min = 0.9, c.crop_scale_max = 0.5; }, "crop-scale");
  refused([](TrainConfig& c) { c.label_smoothing = 1; }, "label-smoothing");
  refused([](TrainConfig& c) { c.val_fraction = 1; }, "val-fraction");
}

}  // namespace
}  // namespace pounce
