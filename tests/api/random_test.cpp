// Random calls of the whole API with right and wrong arguments, moved-from objects and empty
// handles: each succeeds or throws pounce::Error. POUNCE_RANDOM_SECONDS: how long (default 3).
#include <cstdlib>
#include <map>
#include <random>
#include <sstream>

#include <gtest/gtest.h>

#include "api/drawn.h"
#include "base/system.h"
#include "base/temp_dir.h"

namespace pounce {
namespace {

using namespace test;

constexpr size_t kPool = 4;            // objects of a kind that live at once
constexpr int64_t kLeastSteps = 1200;  // however slow the build is
constexpr int64_t kMostSteps = 200000;

// Images some of which are missing, or fail in other ways.
class Unreliable : public Drawn {
 public:
  using Drawn::Drawn;
  SourceImage load(int64_t index) const override {
    if (index % 7 == 3) throw Error(ErrorKind::BadData, "a hole");
    if (index % 11 == 5) throw Error(ErrorKind::InvalidArgument, "a program's own mistake");
    return Drawn::load(index);
  }
};

class Driver {
 public:
  explicit Driver(uint64_t seed) : random_(seed) {
    devices_ = {Device("cpu", 1), Device("reference")};
    for (int classes : {2, 3}) {
      lists_.push_back(drawn(12, classes));
      lists_.push_back(Dataset(std::make_shared<Unreliable>(12, classes)).train());
    }
    lists_.push_back(drawn(0));
    lists_.push_back(ImageList());
  }

  // One call; counts how it ended.
  void step() {
    size_t which = below(std::size(kCalls));
    is_careful_ = !one_in(3);
    try {
      (this->*kCalls[which])();
      ++succeeded[which];
    } catch (const Error& error) {
      ASSERT_NE(error.kind(), ErrorKind::Internal) << error.what();
      ASSERT_FALSE(error.message().empty());
      ++refused[which];
    }
  }

  // Everything given back but the devices.
  void clear() {
    trainers_.clear(), models_.clear(), loaders_.clear(), tensors_.clear();
    for (const Device& device : devices_) EXPECT_EQ(device.allocated_bytes(), 0);
  }

  static size_t calls() { return std::size(kCalls); }
  std::map<size_t, int64_t> succeeded, refused;

 private:
  size_t below(size_t n) { return size_t(random_() % n); }
  bool one_in(size_t n) { return below(n) == 0; }
  // A mistake, one in n times; a careful step makes none.
  bool slip(size_t n) { return !is_careful_ && one_in(n); }
  // A careful step takes the first.
  template <typename T>
  T any_of(std::initializer_list<T> choices) {
    return choices.begin()[is_careful_ ? 0 : below(choices.size())];
  }
  // An object of the pool; throws as the API does where there is none.
  template <typename T>
  T& any(std::vector<T>& pool) {
    if (pool.empty()) throw Error(ErrorKind::InvalidArgument, "nothing there yet");
    return pool[below(pool.size())];
  }
  // Adds to the pool or replaces one of it, by move assignment.
  template <typename T>
  void put(std::vector<T>& pool, T object) {
    if (pool.size() < kPool) {
      pool.push_back(std::move(object));
    } else {
      pool[below(kPool)] = std::move(object);
    }
  }
  Device device() {
    if (slip(20)) {
      Device left("cpu", 1);
      Device gone = std::move(left);
      return left;
    }
    return any(devices_);
  }

  void make_tensor() {
    std::vector<int64_t> shape = {any_of<int64_t>({5, 0, 1, 2, 70}), 8, 8, any_of<int64_t>({3, 1})};
    if (slip(2)) shape = {};
    for (size_t i = 0; shape.size() < 4 && i < below(8); ++i)
      shape.push_back(any_of<int64_t>({0, 1, 2, 3, 8, -1}));
    int64_t elements = 1;
    for (int64_t extent : shape) elements *= extent;
    if (elements < 0 || elements > 100000 || slip(10)) elements = 3;
    size_t n = size_t(elements);
    switch (below(6)) {
      case 0:
        return put(tensors_, Tensor(shape, std::vector<float>(n, 1.5F)));
      case 1:
        return put(tensors_, Tensor(shape, std::vector<int64_t>(n, -7)));
      case 2:
        return put(tensors_, Tensor());
      default:
        return put(tensors_, Tensor(shape, std::vector<uint8_t>(n, 200)));
    }
  }
  void use_tensor() {
    Tensor& tensor = any(tensors_);
    switch (below(6)) {
      case 0:
        return put(tensors_, tensor.to(device()));
      case 1:
        return put(tensors_, tensor.to_host());
      case 2:
        return void(tensor.values<float>());
      case 3:
        return void(tensor.values<uint8_t>());
      case 4: {
        std::ostringstream out;
        out << tensor;
        return;
      }
      default:
        put(tensors_, std::move(tensor));
    }
  }

  // Right most of the time; else wrong in one place.
  NetworkFunction network() {
    size_t fault = is_careful_ ? 99 : below(24);
    return [fault, this](Builder& b, const Expr& images, int classes) {
      Expr x = images;
      if (fault == 0) x = flatten(x);
      if (fault == 1) x = kept_;
      if (fault == 2) x = Expr();
      if (fault == 3) x = x + transpose(x, {3, 1, 2, 0});
      if (fault == 4) x = reshape(x, {5, -1, 3});
      if (fault == 5) return x;
      if (fault == 6) return b.linear("fc", flatten(x), classes + 1);
      if (fault == 7) x = b.conv("conv", x, -3);
      if (fault == 8) x = b.max_pool(x, {.kernel = 20});
      if (fault == 9 && b.is_training()) x = b.conv("more", x, 3);
      if (fault == 10) x = concat({x, b.parameter("p", {2, 2}, Init::Normal)}, 3);
      if (fault == 11) x = slice(x, 2, 4, 6);
      if (fault == 12) x = b.batch_norm("gradient.bn", x);
      kept_ = x;
      return tiny_network(b, x, classes);
    };
  }
  void make_model() {
    ModelOptions options{.classes = class_names(any_of({2, 2, 3, 3, 1})),
                         .image_size = any_of({8, 8, 8, 8, 16, 3}),
                         .seed = below(3)};
    if (slip(12)) {
      return put(models_, Model(any_of<std::string>({"cnn", "cnn", "vgg"}), options, device()));
    }
    put(models_, Model(network(), options, device()));
  }
  void use_model() {
    Model& model = any(models_);
    switch (below(8)) {
      case 0:
        return void(model.state());
      case 1: {
        std::vector<NamedValue> parameters = model.parameters();
        const NamedValue& value = parameters[below(parameters.size())];
        return model.set_state(slip(5) ? "nothing" : value.name,
                               slip(3) ? any(tensors_) : value.tensor.to(device()));
      }
      case 2:
        return model.save(slip(4) ? "/no/such/folder/m.safetensors" : work_ / "m.safetensors");
      case 3:
        return put(models_, one_in(3) ? Model::load(work_ / "m.safetensors", device())
                                      : Model::load(work_ / "m.safetensors", network(), device()));
      case 4:
        put(models_, std::move(model));
        return;
      case 5:
        return put(tensors_,
                   model.read_images(
                       {POUNCE_SOURCE_DIR "/samples/digits/0/0000.png",
                        slip(3) ? "no/such.png" : POUNCE_SOURCE_DIR "/samples/digits/1/0001.png"}));
      default:
        return put(tensors_, model(any(tensors_)));
    }
  }

  Loader new_loader() {
    return Loader(is_careful_ ? lists_[below(2)] : any(lists_),
                  {.batch_size = any_of({5, 1, 4, 12, 0}),
                   .image_size = any_of({8, 8, 8, 8, 16, -1}),
                   .resize_ratio = any_of({0.875, 0.875, 0.875, 1.0, 3.0}),
                   .shuffle = one_in(2),
                   .augment = slip(4),
                   .workers = any_of({1, 2, -1})});
  }
  void make_loader() { put(loaders_, new_loader()); }
  void use_loader() {
    Loader& loader = any(loaders_);
    if (one_in(5)) return put(loaders_, std::move(loader));
    Loader::Iterator old = loader.begin();
    for (const Batch& batch : loader) {
      put(tensors_, batch.images);
      if (one_in(4)) break;
      if (one_in(6)) ++old;
    }
    loader.images().label(int64_t(below(14)) - 1);
  }

  LossFunction loss() {
    size_t fault = is_careful_ ? 99 : below(12);
    return [fault, this](const Expr& logits, const Expr& targets) {
      if (fault == 0) return logits;
      if (fault == 1) return Expr();
      if (fault == 2) return kept_;
      if (fault == 3) return sum(log(logits - logits) * targets, {1});
      if (fault == 4) return sum(logits, {0});
      return -sum(targets * log_softmax(logits), {1});
    };
  }
  void make_trainer() {
    std::optional<Loader> val;
    if (!one_in(3)) val = slip(8) ? std::move(any(loaders_)) : new_loader();
    Optimizer optimizer = AdamW{};
    if (one_in(3)) optimizer = Adam{.learning_rate = any_of({0.01, 0.01, -1.0})};
    if (one_in(3)) optimizer = Sgd{.learning_rate = any_of({0.1, 1e3}), .nesterov = one_in(2)};
    Loader train = slip(8) ? std::move(any(loaders_)) : new_loader();
    put(trainers_, Trainer(any(models_), std::move(train), std::move(val), optimizer,
                           {.epochs = any_of({3, 1, 2, 0}),
                            .label_smoothing = any_of({0.0, 0.1, -0.1}),
                            .clip_grad = any_of({0.0, 1.0}),
                            .ema_decay = any_of({0.0, 0.9}),
                            .patience = any_of({0, 1}),
                            .loss = one_in(2) ? loss() : LossFunction()}));
  }
  void use_trainer() {
    Trainer& trainer = any(trainers_);
    switch (below(8)) {
      case 0:
        return void(trainer.validate());
      case 1:
        return void(trainer.fit());
      case 2:
        return trainer.restore_best();
      case 3:
        return trainer.save_best(work_ / "m.safetensors");
      case 4:
        put(trainers_, std::move(trainer));
        return;
      case 5:
        trainers_.erase(trainers_.begin() + int64_t(below(trainers_.size())));
        return;
      default:
        return void(trainer.train_epoch());
    }
  }

  using Call = void (Driver::*)();
  static constexpr Call kCalls[] = {
      &Driver::make_tensor, &Driver::use_tensor, &Driver::make_model,   &Driver::use_model,
      &Driver::make_loader, &Driver::use_loader, &Driver::make_trainer, &Driver::use_trainer,
      &Driver::use_tensor,  &Driver::use_model,  &Driver::use_trainer,  &Driver::make_trainer};

  std::mt19937_64 random_;
  bool is_careful_ = true;
  TempDir work_;
  Expr kept_;  // of an earlier description
  std::vector<Device> devices_;
  std::vector<ImageList> lists_;
  std::vector<Tensor> tensors_;
  std::vector<Loader> loaders_;
  std::vector<Model> models_;
  std::vector<Trainer> trainers_;
};

TEST(Random, CallsSucceedOrThrowErrors) {
  const char* wanted = std::getenv("POUNCE_RANDOM_SECONDS");
  double seconds = wanted != nullptr ? std::atof(wanted) : 3;
  double start = monotonic_seconds();
  std::map<size_t, int64_t> succeeded, refused;
  int64_t steps = 0;
  auto goes_on = [&] {
    return steps < kLeastSteps || (monotonic_seconds() - start < seconds && steps < kMostSteps);
  };
  for (uint64_t seed = 1; goes_on(); ++seed) {
    SCOPED_TRACE(seed);
    Driver driver(seed);
    for (int i = 0; i < 300 && goes_on(); ++i, ++steps) {
      driver.step();
      if (HasFatalFailure()) return;
    }
    driver.clear();
    for (size_t i = 0; i < Driver::calls(); ++i) {
      succeeded[i] += driver.succeeded[i];
      refused[i] += driver.refused[i];
    }
  }
  RecordProperty("steps", std::to_string(steps));
  std::string report = std::to_string(steps) + " calls";
  for (size_t i = 0; i < Driver::calls(); ++i) {
    report += ", " + std::to_string(succeeded[i]) + "+" + std::to_string(refused[i]);
    // Both ways are met, or the test tests nothing.
    EXPECT_GT(succeeded[i], 0) << "call " << i;
    EXPECT_GT(refused[i], 0) << "call " << i;
  }
  std::printf("%s\n", report.c_str());
}

}  // namespace
}  // namespace pounce
