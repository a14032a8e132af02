// Trainers: the program's numbers, best weights, misuse, memory.
#include "pounce/trainer.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/drawn.h"
#include "base/file.h"
#include "base/temp_dir.h"
#include "expect_error.h"
#include "train/model_file.h"
#include "train/run.h"

namespace pounce {
namespace {

using namespace test;
using testing::SizeIs;

Loader small(int64_t images, int batch_size = 8) {
  return Loader(drawn(images), small_loader(batch_size));
}

std::vector<std::vector<float>> trained_values(const Model& model) {
  std::vector<std::vector<float>> values;
  for (const NamedValue& each : model.parameters()) values.push_back(each.tensor.values<float>());
  return values;
}

// The weights of a file, without its description.
std::vector<NamedTensor> tensors_of(const std::string& path) {
  return load_model(path).tensors.tensors;
}

void expect_same_weights(const std::string& a, const std::string& b) {
  std::vector<NamedTensor> x = tensors_of(a), y = tensors_of(b);
  ASSERT_EQ(x.size(), y.size());
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(x[i].name, y[i].name);
    EXPECT_EQ(x[i].bytes, y[i].bytes) << x[i].name;
  }
}

class TrainerOnDigits : public testing::Test {
 protected:
  void SetUp() override { copy_digits(work_ / "digits", 3, 40); }

  // What `pounce train` does with `config`, by the library; saves the best to `path`.
  FitResult repeat(const TrainConfig& config, const std::string& path) {
    Dataset data(config.data);
    Model model("cnn", {.classes = data.classes(), .image_size = 8, .seed = config.seed},
                Device("cpu", 1));
    Loader train(data.train(), {.batch_size = *config.batch_size,
                                .image_size = 8,
                                .shuffle = true,
                                .augment = true,
                                .hflip = *config.hflip,
                                .seed = config.seed,
                                .workers = 2});
    Loader val(data.val(), {.batch_size = 32, .image_size = 8});
    Trainer trainer(model, std::move(train), std::move(val), AdamW{},
                    {.epochs = *config.epochs,
                     .label_smoothing = config.label_smoothing,
                     .clip_grad = config.clip_grad,
                     .ema_decay = config.ema_decay});
    FitResult result = trainer.fit();
    trainer.save_best(path);
    return result;
  }

  TempDir work_;
};

TEST_F(TrainerOnDigits, GivesTheProgramsBytes) {
  TrainConfig config = small_config(work_ / "digits", work_ / "run");
  config.epochs = 3;
  config.seed = 5;
  config.label_smoothing = 0.1;
  config.clip_grad = 1;
  Training program = train(config);
  FitResult library = repeat(config, work_ / "own.safetensors");
  EXPECT_EQ(library.best_epoch, program.end.best_epoch);
  EXPECT_EQ(library.best_accuracy, program.end.best_val_accuracy);
  expect_same_weights(program.end.model, work_ / "own.safetensors");
}

TEST_F(TrainerOnDigits, AveragesAsTheProgramDoes) {
  TrainConfig config = small_config(work_ / "digits", work_ / "run");
  config.ema_decay = 0.9;
  Training program = train(config);
  FitResult library = repeat(config, work_ / "own.safetensors");
  EXPECT_EQ(library.best_accuracy, program.end.best_val_accuracy);
  expect_same_weights(program.end.model, work_ / "own.safetensors");
}

TEST(Trainer, LearnsStepByStep) {
  Device device("cpu", 1);
  Model model = tiny_model(device);
  std::vector<std::vector<float>> before = trained_values(model);
  Trainer trainer(model, small(40), small(20), Sgd{.learning_rate = 0.2}, {.epochs = 6});
  TrainResult first = trainer.train_epoch();
  EXPECT_EQ(first.epoch, 1);
  EXPECT_EQ(first.images, 40);
  EXPECT_NE(trained_values(model), before);
  ValidationResult validation = trainer.validate();
  EXPECT_EQ(validation.images, 20);
  EXPECT_EQ(trainer.best_epoch(), 1);
  std::vector<int> epochs;
  FitResult fit = trainer.fit([&](const EpochResult& epoch) {
    epochs.push_back(epoch.train.epoch);
    ASSERT_TRUE(epoch.validation);
  });
  EXPECT_THAT(epochs, testing::ElementsAre(2, 3, 4, 5, 6));
  EXPECT_EQ(fit.epochs, 5);
  EXPECT_EQ(*fit.best_accuracy, 1);
  EXPECT_EQ(trainer.epochs_done(), 6);
}

TEST(Trainer, TheModelHasTheCurrentWeights) {
  Device device("cpu", 1);
  Model model = tiny_model(device);
  Tensor images = some_images(3);
  std::vector<float> fresh = model(images).values<float>(), trained;
  {
    Trainer trainer(model, small(16), small(8), Adam{}, {.epochs = 2});
    EXPECT_EQ(model(images).values<float>(), fresh);
    trainer.train_epoch();
    trained = model(images).values<float>();
    EXPECT_NE(trained, fresh);
  }
  EXPECT_EQ(model(images).values<float>(), trained);
  Trainer next(model, small(16));
  EXPECT_EQ(model(images).values<float>(), trained);
}

TEST(Trainer, AveragedWeightsAreTheModels) {
  TempDir work;
  Device device("cpu", 1);
  Model model = tiny_model(device), plain = tiny_model(device);
  Tensor images = some_images(3);
  std::vector<float> averaged;
  {
    Trainer trainer(model, small(32), std::nullopt, Sgd{.learning_rate = 0.1},
                    {.epochs = 2, .ema_decay = 0.99});
    trainer.fit();
    averaged = model(images).values<float>();
  }
  EXPECT_EQ(model(images).values<float>(), averaged);
  model.save(work / "averaged.safetensors");
  EXPECT_EQ(
      Model::load(work / "averaged.safetensors", tiny_network, device)(images).values<float>(),
      averaged);
  Trainer trainer(plain, small(32), std::nullopt, Sgd{.learning_rate = 0.1}, {.epochs = 2});
  trainer.fit();
  EXPECT_NE(plain(images).values<float>(), averaged);
}

TEST(Trainer, KeepsAndRestoresTheBest) {
  TempDir work;
  Device device("cpu", 1);
  Model model = tiny_model(device);
  Trainer trainer(model, small(16), small(8), Sgd{.learning_rate = 0.1}, {.epochs = 8});
  EXPECT_ERROR(trainer.restore_best(), ErrorKind::InvalidArgument, "no best weights");
  EXPECT_ERROR(trainer.save_best(work / "x"), ErrorKind::InvalidArgument, "no best weights");
  trainer.train_epoch();
  trainer.validate();
  std::vector<std::vector<float>> best = trained_values(model);
  trainer.train_epoch();  // not validated: cannot be the best
  EXPECT_NE(trained_values(model), best);
  EXPECT_EQ(trainer.best_epoch(), 1);
  trainer.restore_best();
  EXPECT_EQ(trained_values(model), best);
  trainer.save_best(work / "best.safetensors");
  Model loaded = Model::load(work / "best.safetensors", tiny_network, device);
  EXPECT_EQ(trained_values(loaded), best);
}

TEST(Trainer, WithoutValidationTheLastIsTheBest) {
  Device device("cpu", 1);
  Model model = tiny_model(device);
  Trainer trainer(model, small(16), std::nullopt, AdamW{}, {.epochs = 3});
  FitResult fit = trainer.fit([](const EpochResult& epoch) { EXPECT_TRUE(epoch.is_best); });
  EXPECT_EQ(fit.best_epoch, 3);
  EXPECT_FALSE(fit.best_accuracy);
  EXPECT_ERROR(trainer.validate(), ErrorKind::InvalidArgument, "no validation loader");
}

TEST(Trainer, StopsAndSaysSo) {
  Device device("cpu", 1);
  Model model = tiny_model(device);
  Trainer trainer(model, small(16), small(8), AdamW{}, {.epochs = 9});
  std::stop_source stop;
  FitResult fit = trainer.fit(
      [&](const EpochResult& epoch) {
        if (epoch.train.epoch == 2) stop.request_stop();
      },
      stop.get_token());
  EXPECT_TRUE(fit.interrupted);
  EXPECT_EQ(fit.epochs, 2);
  EXPECT_TRUE(trainer.train_epoch(stop.get_token()).interrupted);
  EXPECT_EQ(trainer.fit().epochs, 6);
}

TEST(Trainer, PatienceEndsFit) {
  Device device("cpu", 1);
  auto unchanging = [](Builder& b, const Expr& images, int classes) {
    return b.linear("fc", b.global_avg_pool(images), classes);
  };
  Model model(unchanging, {.classes = class_names(2), .image_size = 8}, device);
  Trainer trainer(model, small(16), small(8), Sgd{.learning_rate = 0},
                  {.epochs = 50, .patience = 2});
  FitResult fit = trainer.fit();
  EXPECT_LT(fit.epochs, 50);
  EXPECT_EQ(fit.epochs, fit.best_epoch + 2);
}

TEST(Trainer, SaysWhatDiverged) {
  Device device("cpu", 1);
  auto infinite = [](const Expr& logits, const Expr& targets) {
    return sum(logits * targets, {1}) + std::numeric_limits<double>::infinity();
  };
  Model model = tiny_model(device);
  std::vector<std::vector<float>> before = trained_values(model);
  Trainer trainer(model, small(16), std::nullopt, AdamW{}, {.epochs = 3, .loss = infinite});
  EXPECT_ERROR(trainer.train_epoch(), ErrorKind::Diverged, "update 1", "loss of drawn ");
  EXPECT_ERROR(trainer.train_epoch(), ErrorKind::Diverged, "update 1");
  EXPECT_ERROR(trainer.fit(), ErrorKind::Diverged);
  EXPECT_EQ(trained_values(model), before);
}

TEST(Trainer, EndsAfterItsEpochs) {
  Device device("cpu", 1);
  Model model = tiny_model(device);
  Trainer trainer(model, small(8), std::nullopt, AdamW{}, {.epochs = 1});
  trainer.train_epoch();
  EXPECT_ERROR(trainer.train_epoch(), ErrorKind::InvalidArgument, "all 1 epochs");
  EXPECT_EQ(trainer.fit().epochs, 0);
}

TEST(Trainer, RefusesWhatDoesNotFit) {
  Device device("cpu", 1);
  Model model = tiny_model(device);
  auto expect_refused = [&](auto make, const std::vector<std::string>& parts) {
    EXPECT_TRUE(throws_error([&] { Trainer trainer = make(); }, ErrorKind::InvalidArgument, parts));
    EXPECT_EQ(model(some_images(1)).elements(), 2);
  };
  expect_refused([&] { return Trainer(model, Loader(drawn(6, 3), small_loader())); },
                 {"training loader", "class 2"});
  LoaderOptions larger = small_loader();
  larger.image_size = 16;
  expect_refused([&] { return Trainer(model, Loader(drawn(6), larger)); }, {"16 px"});
  LoaderOptions closer = small_loader();
  closer.resize_ratio = 0.5;
  expect_refused([&] { return Trainer(model, small(8), Loader(drawn(8), closer)); },
                 {"validation loader's resize_ratio is 0.5"});
  LoaderOptions augmented = small_loader();
  augmented.augment = true;
  expect_refused([&] { return Trainer(model, small(8), Loader(drawn(8), augmented)); },
                 {"augments"});
  auto with = [&](TrainerOptions options) {
    return Trainer(model, small(8), {}, AdamW{}, options);
  };
  expect_refused([&] { return with({.epochs = 0}); }, {"epochs is 0"});
  expect_refused([&] { return with({.label_smoothing = 1}); }, {"label_smoothing"});
  expect_refused([&] { return with({.class_weights = {1, 2, 3}}); }, {"3 class weights"});
  expect_refused([&] { return with({.class_weights = {1, -2}}); }, {"class weight is -2"});
  expect_refused([&] { return Trainer(model, small(8), {}, Sgd{.learning_rate = -1}); },
                 {"learning_rate is -1"});
  expect_refused([&] { return Trainer(model, small(8), {}, Adam{.beta1 = 1}); }, {"beta1 is 1"});
  Model narrow(
      [](Builder& b, const Expr& x, int classes) {
        return b.linear("fc", b.batch_norm("bn", b.global_avg_pool(x)), classes);
      },
      {.classes = class_names(2), .image_size = 8}, device);
  expect_refused([&] { return Trainer(narrow, small(8, 1)); }, {"at least 2 values"});
}

TEST(Trainer, AModelHasOneAtATime) {
  Device device("cpu", 1);
  Model model = tiny_model(device);
  std::optional<Trainer> first(std::in_place, model, small(8));
  EXPECT_ERROR(Trainer(model, small(8)), ErrorKind::InvalidArgument, "a Trainer already");
  EXPECT_ERROR(model.set_state("fc.bias", Tensor({2}, std::vector<float>(2))),
               ErrorKind::InvalidArgument, "Trainer has the model");
  first->train_epoch();
  first.reset();
  Trainer second(model, small(8));
  EXPECT_EQ(second.train_epoch().epoch, 1);
}

TEST(Trainer, SeveralLiveTogether) {
  Device device("cpu", 1);
  auto alone = [&](uint64_t seed) {
    Model model = tiny_model(device, 2, seed);
    Trainer trainer(model, small(16), std::nullopt, AdamW{}, {.epochs = 3});
    trainer.fit();
    return trained_values(model);
  };
  std::vector<std::vector<float>> expected_a = alone(1), expected_b = alone(2);
  Model a = tiny_model(device, 2, 1), b = tiny_model(device, 2, 2);
  Trainer of_a(a, small(16), std::nullopt, AdamW{}, {.epochs = 3});
  Trainer of_b(b, small(16), std::nullopt, AdamW{}, {.epochs = 3});
  for (int i = 0; i < 3; ++i) of_a.train_epoch(), of_b.train_epoch();
  EXPECT_EQ(trained_values(a), expected_a);
  EXPECT_EQ(trained_values(b), expected_b);
}

TEST(Trainer, GivesMemoryBack) {
  Device device("cpu", 1);
  Model model = tiny_model(device);
  {
    Trainer trainer(model, small(16), small(8));
    EXPECT_EQ(trainer.memory_bytes(), device.allocated_bytes());
    trainer.train_epoch();
    trainer.validate();
    EXPECT_EQ(trainer.memory_bytes(), device.allocated_bytes());
  }
  EXPECT_EQ(device.allocated_bytes(), 0);
  EXPECT_ERROR(Trainer(model, small(16), std::nullopt, AdamW{.weight_decay = -1}),
               ErrorKind::InvalidArgument);
  EXPECT_EQ(device.allocated_bytes(), 0);
}

TEST(Trainer, OutlivesTheModelHandle) {
  Device device("cpu", 1);
  std::optional<Model> model = tiny_model(device);
  Trainer trainer(*model, small(16), small(8), AdamW{}, {.epochs = 2});
  model.reset();
  EXPECT_EQ(trainer.fit().epochs, 2);
}

TEST(Trainer, LeavesHolesOut) {
  class Holed : public Drawn {
   public:
    using Drawn::Drawn;
    SourceImage load(int64_t index) const override {
      if (index % 5 == 0) throw Error(ErrorKind::BadData, "a hole");
      return Drawn::load(index);
    }
  };
  Device device("cpu", 1);
  Model model = tiny_model(device);
  Trainer trainer(model, Loader(Dataset(std::make_shared<Holed>(20)).train(), small_loader()),
                  std::nullopt, AdamW{}, {.epochs = 2});
  TrainResult first = trainer.train_epoch(), second = trainer.train_epoch();
  EXPECT_EQ(first.images, 16);
  EXPECT_EQ(first.skipped, 4);
  EXPECT_EQ(second.images, 16);
  EXPECT_EQ(second.skipped, 0);
}

TEST(Trainer, ClassWeightsWeigh) {
  Device device("cpu", 1);
  auto loss = [&](std::vector<double> weights) {
    Model model = tiny_model(device);
    Trainer trainer(model, small(16, 16), std::nullopt, Sgd{.learning_rate = 0},
                    {.epochs = 1, .class_weights = std::move(weights)});
    return trainer.train_epoch().loss;
  };
  EXPECT_NEAR(loss({2, 2}), 2 * loss({}), 1e-6);
}

TEST(Trainer, TrainsInHalfWhereTheDeviceCan) {
  Device device("reference", 1);
  for (Precision precision : {Precision::Fp16, Precision::Bf16}) {
    Model model = tiny_model(device);
    Trainer trainer(model, small(16, 16), small(8), Sgd{.learning_rate = 0.1},
                    {.epochs = 12, .precision = precision});
    TrainResult first = trainer.train_epoch();
    EXPECT_EQ(first.loss_scale, precision == Precision::Fp16 ? 65536 : 1);
    EXPECT_EQ(first.skipped_updates, 0);
    EXPECT_THAT(first.warnings, SizeIs(0));
    trainer.fit();
    EXPECT_EQ(trainer.validate().accuracy, 1);
    for (const NamedValue& each : model.parameters()) EXPECT_EQ(each.tensor.dtype(), DType::F32);
  }
  Device cpu("cpu", 1);
  Model model = tiny_model(cpu);
  EXPECT_ERROR(Trainer(model, small(8), std::nullopt, AdamW{}, {.precision = Precision::Bf16}),
               ErrorKind::Device, "bf16", "cpu");
  EXPECT_EQ(Trainer(model, small(8)).train_epoch().loss_scale, 1);
}

// What fp16 cannot hold is named with its layer.
TEST(Trainer, NamesTheLayerThatOverflows) {
  auto network = [](Builder& b, const Expr& images, int classes) {
    Expr x = b.batch_norm("wide", b.conv("conv", images, 4, {.kernel = 3, .padding = 1}) * 1e6);
    return b.linear("fc", b.global_avg_pool(relu(x)), classes);
  };
  Device device("reference", 1);
  Model model(network, {.classes = class_names(2), .image_size = 8}, device);
  Trainer trainer(model, small(8), std::nullopt, AdamW{}, {.precision = Precision::Fp16});
  EXPECT_ERROR(trainer.train_epoch(), ErrorKind::Diverged, "update 1", "fp16 overflowed in",
               "after conv");
}

TEST(Trainer, MovedFromThrows) {
  Device device("cpu", 1);
  Model model = tiny_model(device);
  Trainer trainer(model, small(8), small(8), AdamW{}, {.epochs = 2});
  Trainer taken = std::move(trainer);
  EXPECT_ERROR(trainer.train_epoch(), ErrorKind::InvalidArgument, "Trainer is empty");
  EXPECT_ERROR(trainer.validate(), ErrorKind::InvalidArgument, "Trainer is empty");
  EXPECT_ERROR(trainer.fit(), ErrorKind::InvalidArgument, "Trainer is empty");
  EXPECT_ERROR(trainer.best_epoch(), ErrorKind::InvalidArgument, "Trainer is empty");
  Model gone = std::move(model);
  EXPECT_ERROR(Trainer(model, small(8)), ErrorKind::InvalidArgument, "Model is empty");
  Loader loader = small(8), loader_taken = std::move(loader);
  EXPECT_ERROR(Trainer(gone, std::move(loader)), ErrorKind::InvalidArgument, "Loader is empty");
  trainer = std::move(taken);
  EXPECT_EQ(trainer.train_epoch().epoch, 1);
}

}  // namespace
}  // namespace pounce
