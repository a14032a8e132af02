// Models: inputs moved by themselves, files, state, networks of one's own.
#include "pounce/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/drawn.h"
#include "base/file.h"
#include "base/temp_dir.h"
#include "expect_error.h"

namespace pounce {
namespace {

using namespace test;
using testing::ElementsAre;

std::vector<float> logits_of(const Model& model, const Tensor& images) {
  return model(images).values<float>();
}

TEST(Model, MovesImagesToItsDevice) {
  Device cpu("cpu", 1), reference("reference");
  Model model = tiny_model(cpu);
  Tensor images = some_images(5);
  Tensor logits = model(images);
  EXPECT_TRUE(logits.device() == cpu);
  EXPECT_THAT(logits.shape(), ElementsAre(5, 2));
  std::vector<float> expected = logits.values<float>();
  EXPECT_EQ(logits_of(model, images.to(cpu)), expected);
  EXPECT_EQ(logits_of(model, images.to(reference)), expected);
  EXPECT_EQ(logits_of(model, images.to(Device("cpu", 2))), expected);
}

TEST(Model, BitsOfAnImageDoNotDependOnTheOthers) {
  Model model("cnn", {.classes = {"a", "b", "c"}, .image_size = 8}, Device("cpu", 2));
  std::vector<float> together = logits_of(model, some_images(150));  // in pieces of 64
  for (int64_t first : {0, 63, 64, 149}) {
    std::vector<uint8_t> all = some_images(150).values<uint8_t>();
    std::vector<uint8_t> one(all.begin() + first * 192, all.begin() + (first + 1) * 192);
    std::vector<float> alone = logits_of(model, Tensor({1, 8, 8, 3}, one));
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), together.begin() + first * 3)) << first;
  }
  EXPECT_THAT(logits_of(model, some_images(0)), ElementsAre());
  EXPECT_EQ(logits_of(model, some_images(150).to(model.device())), together);
}

TEST(Model, DevicesAgree) {
  Model cpu = tiny_model(Device("cpu", 1)), reference = tiny_model(Device("reference"));
  std::vector<float> a = logits_of(cpu, some_images(3)), b = logits_of(reference, some_images(3));
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-5);
}

TEST(Model, RefusesOtherImages) {
  Model model = tiny_model(Device("cpu", 1));
  auto images = [](std::vector<int64_t> shape, auto value) {
    int64_t elements = 1;
    for (int64_t extent : shape) elements *= extent;
    return Tensor(shape, std::vector<decltype(value)>(size_t(elements)));
  };
  EXPECT_ERROR(model(images({2, 8, 8, 3}, 0.0F)), ErrorKind::InvalidArgument, "f32[2,8,8,3]",
               "expected u8[N,8,8,3]");
  EXPECT_ERROR(model(images({2, 3, 8, 8}, uint8_t{0})), ErrorKind::InvalidArgument, "u8[2,3,8,8]");
  EXPECT_ERROR(model(images({8, 8, 3}, uint8_t{0})), ErrorKind::InvalidArgument, "u8[8,8,3]");
  EXPECT_ERROR(model(images({1, 16, 16, 3}, uint8_t{0})), ErrorKind::InvalidArgument);
  EXPECT_ERROR(model(Tensor()), ErrorKind::InvalidArgument, "Tensor is empty");
}

TEST(Model, RefusesOptionsOutOfRange) {
  ModelOptions good{.classes = {"a", "b"}, .image_size = 8};
  auto expect_refused = [&](auto change, const char* part) {
    ModelOptions options = good;
    change(options);
    EXPECT_ERROR(Model("cnn", options), ErrorKind::InvalidArgument, part);
  };
  expect_refused([](ModelOptions& o) { o.classes = {"a"}; }, "1 classes");
  expect_refused([](ModelOptions& o) { o.classes = {"a", ""}; }, "no name");
  expect_refused([](ModelOptions& o) { o.image_size = 7; }, "7");
  expect_refused([](ModelOptions& o) { o.resize_ratio = 2; }, "2");
  expect_refused([](ModelOptions& o) { o.std[1] = 0; }, "deviation");
  EXPECT_ERROR(Model("resnet19", good), ErrorKind::Config, "resnet19", "resnet18");
  EXPECT_ERROR(Model(NetworkFunction(), good), ErrorKind::InvalidArgument, "empty");
}

TEST(Model, FilesComeBack) {
  TempDir work;
  Device device("cpu", 1);
  Model model("cnn", {.classes = {"cat", "dog"}, .image_size = 16, .seed = 7}, device);
  model.save(work / "a.safetensors");
  Model loaded = Model::load(work / "a.safetensors", device);
  EXPECT_EQ(loaded.network(), "cnn");
  EXPECT_THAT(loaded.classes(), ElementsAre("cat", "dog"));
  EXPECT_EQ(loaded.image_size(), 16);
  loaded.save(work / "b.safetensors");
  EXPECT_EQ(read_file(work / "a.safetensors").value(), read_file(work / "b.safetensors").value());
  EXPECT_ERROR(Model::load(work / "none.safetensors"), ErrorKind::Config, "none.safetensors");
}

TEST(Model, OwnNetworksNeedTheirFunction) {
  TempDir work;
  Device device("cpu", 1);
  Model model = tiny_model(device);
  std::string path = work / "own.safetensors";
  model.save(path);
  EXPECT_ERROR(Model::load(path), ErrorKind::BadData, "own.safetensors", "Model::load");
  Model loaded = Model::load(path, tiny_network, device);
  EXPECT_EQ(logits_of(loaded, some_images(2)), logits_of(model, some_images(2)));
  auto other = [](Builder& b, const Expr& images, int classes) {
    return b.linear("head", b.global_avg_pool(images), classes);
  };
  EXPECT_ERROR(Model::load(path, other), ErrorKind::BadData, "head.weight", "absent");
}

TEST(Model, StateIsPyTorchs) {
  Model model = tiny_model(Device("cpu", 1));
  std::vector<std::string> names, trained;
  for (const NamedValue& value : model.state()) names.push_back(value.name);
  for (const NamedValue& value : model.parameters()) trained.push_back(value.name);
  EXPECT_THAT(
      names, ElementsAre("conv.weight", "bn.weight", "bn.bias", "bn.running_mean", "bn.running_var",
                         "bn.num_batches_tracked", "fc.weight", "fc.bias"));
  EXPECT_THAT(trained, ElementsAre("conv.weight", "bn.weight", "bn.bias", "fc.weight", "fc.bias"));
  EXPECT_THAT(model.parameters()[0].tensor.shape(), ElementsAre(4, 3, 3, 3));
}

TEST(Model, StateCanBeSet) {
  Device device("cpu", 1);
  Model a = tiny_model(device, 2, 1), b = tiny_model(device, 2, 2);
  EXPECT_NE(logits_of(a, some_images(2)), logits_of(b, some_images(2)));
  for (const NamedValue& value : a.state()) b.set_state(value.name, value.tensor.to(device));
  EXPECT_EQ(logits_of(a, some_images(2)), logits_of(b, some_images(2)));
  EXPECT_ERROR(b.set_state("fc.wait", Tensor({1}, std::vector<float>(1))),
               ErrorKind::InvalidArgument, "fc.wait");
  EXPECT_ERROR(b.set_state("fc.bias", Tensor({3}, std::vector<float>(3))),
               ErrorKind::InvalidArgument, "f32[2]", "f32[3]");
}

TEST(Model, ReadsImageFiles) {
  Model model("cnn", {.classes = {"a", "b"}, .image_size = 8}, Device("cpu", 1));
  std::string digits = POUNCE_SOURCE_DIR "/samples/digits/";
  Tensor images = model.read_images({digits + "0/0000.png", digits + "3/0003.png"});
  EXPECT_THAT(images.shape(), ElementsAre(2, 8, 8, 3));
  EXPECT_EQ(images.dtype(), DType::U8);
  EXPECT_EQ(model(images).elements(), 4);
  TempDir work;
  std::string bad = work.put("bad.jpg", std::string("no picture"));
  EXPECT_ERROR(model.read_images({bad}), ErrorKind::BadData, "bad.jpg");
  EXPECT_ERROR(model.read_images({work / "gone.png"}), ErrorKind::Io, "gone.png");
}

TEST(Model, GivesMemoryBack) {
  Device device("cpu", 1);
  {
    Model model = tiny_model(device);
    EXPECT_EQ(device.allocated_bytes(), 0);  // nothing was computed yet
    model(some_images(2));
    EXPECT_GT(device.allocated_bytes(), 0);
  }
  EXPECT_EQ(device.allocated_bytes(), 0);
}

TEST(Model, MovedFromThrows) {
  Model model = tiny_model(Device("cpu", 1));
  Model taken = std::move(model);
  EXPECT_ERROR(model(some_images(1)), ErrorKind::InvalidArgument, "Model is empty");
  EXPECT_ERROR(model.state(), ErrorKind::InvalidArgument, "Model is empty");
  EXPECT_ERROR(model.save("x"), ErrorKind::InvalidArgument, "Model is empty");
  EXPECT_ERROR(model.device(), ErrorKind::InvalidArgument, "Model is empty");
  model = std::move(taken);
  EXPECT_EQ(model(some_images(1)).elements(), 2);
}

}  // namespace
}  // namespace pounce
