// Start weights: what is loaded, replaced, listed and refused.
#include <cmath>
#include <cstring>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "expect_error.h"
#include "python.h"
#include "train/inference.h"
#include "train/init_file.h"
#include "train/init_samples.h"
#include "train/run.h"

namespace pounce {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr uint64_t kSeed = 4;
constexpr size_t kCnnEntries = 20;  // four convolutions and normalisations; without the head

InitFile init_file(TensorFile tensors) {
  return {
      .path = "start.safetensors", .checksum = "", .tensors = std::move(tensors), .classes = {}};
}

const StateEntry& entry_of(const std::vector<StateEntry>& state, const std::string& name) {
  for (const StateEntry& entry : state) {
    if (entry.name == name) return entry;
  }
  throw std::runtime_error("no entry " + name);
}

TEST(StartWeights, ReplacesTheHeadOfAThousandClasses) {
  ModelInfo network = network_info("resnet18", 2);
  TensorFile file = sample_weights("resnet18", 1000);
  StartWeights start(init_file(file), network);
  EXPECT_THAT(start.report().loaded, SizeIs(100));
  EXPECT_THAT(start.report().replaced, ElementsAre("fc.weight", "fc.bias"));
  EXPECT_EQ(start.report().head, "head replaced (1,000 classes in the file, 2 here)");
  EXPECT_THAT(start.report().missing, IsEmpty());
  EXPECT_THAT(start.report().wrong_shape, IsEmpty());
  EXPECT_THAT(start.report().unknown, IsEmpty());
  std::vector<StateEntry> state = network_state(make_step_spec(network));
  for (const char* name : {"conv1.weight", "layer2.0.downsample.0.weight"}) {
    const StateEntry& entry = entry_of(state, name);
    std::vector<float> stored = kcrs_from_krsc(start.values(entry, kSeed), entry.type.shape);
    EXPECT_EQ(stored, floats_in(*file.find(name))) << name;
  }
  for (const char* name : {"bn1.running_var", "layer4.1.bn2.bias"}) {
    EXPECT_EQ(start.values(entry_of(state, name), kSeed), floats_in(*file.find(name))) << name;
  }
  for (const char* name : {"fc.weight", "fc.bias"}) {
    const StateEntry& entry = entry_of(state, name);
    EXPECT_EQ(start.values(entry, kSeed), initial_values(entry, kSeed)) << name;
  }
}

TEST(StartWeights, KeepsTheHeadOfAsManyClasses) {
  ModelInfo network = network_info("cnn", 3);
  TensorFile file = sample_weights("cnn", 3);
  StartWeights start(init_file(file), network);
  EXPECT_THAT(start.report().loaded, SizeIs(kCnnEntries + 2));
  EXPECT_THAT(start.report().replaced, IsEmpty());
  EXPECT_EQ(start.report().head, "head kept (3 classes in both)");
  std::vector<StateEntry> state = network_state(make_step_spec(network));
  EXPECT_EQ(start.values(entry_of(state, "fc.weight"), kSeed), floats_in(*file.find("fc.weight")));
}

TEST(StartWeights, ReplacesTheHeadOfOtherClassesWhereTheirNamesAreKnown) {
  ModelInfo network = network_info("cnn", 3);
  InitFile same = init_file(sample_weights("cnn", 3));
  same.classes = network.classes;
  EXPECT_THAT(StartWeights(same, network).report().head, HasSubstr("head kept"));
  InitFile other = init_file(sample_weights("cnn", 3));
  other.classes = {"apple", "pear", "plum"};
  EXPECT_EQ(StartWeights(other, network).report().head,
            "head replaced (the file's classes are apple, pear, plum)");
}

TEST(StartWeights, StartsAHeadThatIsNotThere) {
  TensorFile file = sample_weights("cnn", 3);
  std::erase_if(file.tensors, [](const NamedTensor& each) { return each.name == "fc.bias"; });
  StartWeights start(init_file(file), network_info("cnn", 3));
  EXPECT_EQ(start.report().head, "head replaced (fc.bias is not in the file)");
  EXPECT_THAT(start.report().loaded, SizeIs(kCnnEntries));
}

TEST(StartWeights, StripsACommonPrefix) {
  for (const std::string prefix : {"module.", "model.", "state_dict.module.", "encoder_q."}) {
    TensorFile file = sample_weights("cnn", 1000);
    for (NamedTensor& tensor : file.tensors) tensor.name = prefix + tensor.name;
    file.tensors.push_back({"loss.scale", {DType::F32, {}}, std::vector<uint8_t>(4)});
    StartWeights start(init_file(file), network_info("cnn", 2));
    EXPECT_EQ(start.report().prefix, prefix);
    EXPECT_THAT(start.report().loaded, SizeIs(kCnnEntries));
    EXPECT_THAT(start.report().unknown, ElementsAre("loss.scale"));
  }
  EXPECT_EQ(
      StartWeights(init_file(sample_weights("cnn", 2)), network_info("cnn", 2)).report().prefix,
      "");
}

TEST(StartWeights, RefusesOtherNamesWithTheCount) {
  TensorFile file = sample_weights("cnn", 2);
  for (NamedTensor& tensor : file.tensors) {
    if (!tensor.name.starts_with("fc.")) tensor.name = "stage_" + tensor.name;
  }
  EXPECT_ERROR(StartWeights(init_file(file), network_info("cnn", 2)), ErrorKind::Config,
               "start.safetensors", "0 of the 20 entries of cnn", "90 %",
               "found: stage_features.0.weight", "expected: features.0.weight", "torchvision");
  EXPECT_ERROR(StartWeights(init_file({}), network_info("cnn", 2)), ErrorKind::Config,
               "0 of the 20", "no tensor at all");
}

TEST(StartWeights, NeedsNineTenthsOfTheEntries) {
  TensorFile file = sample_weights("cnn", 2);
  std::erase_if(file.tensors, [](const NamedTensor& t) { return t.name == "features.1.bias"; });
  ModelInfo network = network_info("cnn", 2);
  StartWeights start(init_file(file), network);
  EXPECT_THAT(start.report().missing, ElementsAre("features.1.bias"));
  std::vector<StateEntry> state = network_state(make_step_spec(network));
  const StateEntry& entry = entry_of(state, "features.1.bias");
  EXPECT_EQ(start.values(entry, kSeed), initial_values(entry, kSeed));
  std::erase_if(file.tensors,
                [](const NamedTensor& t) { return t.name.starts_with("features.4."); });
  EXPECT_ERROR(StartWeights(init_file(file), network), ErrorKind::Config, "15 of the 20",
               "features.1.bias, features.4.weight");
}

TEST(StartWeights, ListsWrongShapesAndTypes) {
  TensorFile file = sample_weights("cnn", 2);
  for (NamedTensor& tensor : file.tensors) {
    if (tensor.name != "features.0.weight") continue;
    tensor.type.shape = {32, 1, 3, 3};  // made for grey images
    tensor.bytes.resize(size_t(tensor.type.bytes()));
  }
  ModelInfo network = network_info("cnn", 2);
  StartWeights start(init_file(file), network);
  EXPECT_THAT(start.report().wrong_shape,
              ElementsAre("features.0.weight is f32[32,1,3,3], expected f32[32,3,3,3]"));
  for (NamedTensor& tensor : file.tensors) {
    if (tensor.name.ends_with("3.weight") || tensor.name.ends_with("6.weight")) {
      tensor.type.dtype = DType::I32;
    }
  }
  EXPECT_ERROR(StartWeights(init_file(file), network), ErrorKind::Config, "17 of the 20",
               "features.3.weight is i32[64,32,3,3]");
}

TEST(StartWeights, NamesTheNetworkOfTheFile) {
  EXPECT_ERROR(StartWeights(init_file(sample_weights("resnet50", 2)), network_info("resnet18", 2)),
               ErrorKind::Config, "of the 100 entries of resnet18", "looks like a resnet50",
               "--model resnet50");
  EXPECT_ERROR(StartWeights(init_file(sample_weights("resnet18", 2)), network_info("cnn", 2)),
               ErrorKind::Config, "0 of the 20", "--model resnet18");
  // Every entry of a ResNet-18 is in a ResNet-34, of the same shape.
  EXPECT_ERROR(StartWeights(init_file(sample_weights("resnet34", 2)), network_info("resnet18", 2)),
               ErrorKind::Config, "100 of the 100 entries", "96 others", "--model resnet34");
}

TEST(StartWeights, ConvertsOtherFloats) {
  ModelInfo network = network_info("cnn", 2);
  std::vector<StateEntry> state = network_state(make_step_spec(network));
  const StateEntry& entry = entry_of(state, "features.1.weight");
  const std::vector<double> first = {1.5, -0.25, 0};
  auto load = [&](DType dtype, const auto& encoded) {
    TensorFile file = sample_weights("cnn", 2);
    for (NamedTensor& tensor : file.tensors) {
      if (tensor.name != entry.name) continue;
      tensor.type.dtype = dtype;
      tensor.bytes.assign(size_t(tensor.type.bytes()), 0);
      std::memcpy(tensor.bytes.data(), encoded.data(), encoded.size() * sizeof(encoded[0]));
    }
    std::vector<float> values = StartWeights(init_file(file), network).values(entry, kSeed);
    return std::vector<double>(values.begin(), values.begin() + 3);
  };
  EXPECT_EQ(load(DType::F64, first), first);
  EXPECT_EQ(load(DType::F16, std::vector<uint16_t>{0x3E00, 0xB400, 0}), first);
  EXPECT_EQ(load(DType::BF16, std::vector<uint16_t>{0x3FC0, 0xBE80, 0}), first);
}

TEST(StartWeights, RefusesValuesNoNetworkCanStartFrom) {
  ModelInfo network = network_info("cnn", 2);
  std::vector<StateEntry> state = network_state(make_step_spec(network));
  auto refuse = [&](const char* name, float value, const char* part) {
    TensorFile file = sample_weights("cnn", 2);
    for (NamedTensor& tensor : file.tensors) {
      if (tensor.name == name) std::memcpy(tensor.bytes.data() + 8, &value, sizeof(value));
    }
    StartWeights start(init_file(file), network);
    EXPECT_ERROR(start.values(entry_of(state, name), kSeed), ErrorKind::BadData,
                 "start.safetensors", name, "element 2", part);
  };
  refuse("features.3.weight", std::numeric_limits<float>::quiet_NaN(), "nan");
  refuse("features.4.bias", -std::numeric_limits<float>::infinity(), "-inf");
  refuse("features.1.running_var", -0.5f, "at least 0");
}

class InitFileTest : public testing::Test {
 protected:
  TempDir folder_;
};

TEST_F(InitFileTest, SaysWhatIsWrongWithAFile) {
  EXPECT_ERROR(read_init_file(folder_ / "none.safetensors", ""), ErrorKind::Config, "no such file",
               "docs/pretrained.md");
  std::vector<uint8_t> bytes = write_safetensors(sample_weights("cnn", 2));
  bytes.resize(bytes.size() - 5);
  EXPECT_ERROR(read_init_file(folder_.put("cut.safetensors", bytes), ""), ErrorKind::BadData,
               "cut.safetensors", "cut short");
  EXPECT_ERROR(read_init_file(folder_.put("page.safetensors", std::string("<html>404</html>")), ""),
               ErrorKind::Config, "page.safetensors", "a web page");
  EXPECT_ERROR(read_init_file(folder_.put("text.safetensors", std::string("404")), ""),
               ErrorKind::BadData, "text.safetensors", "not a safetensors file");
  for (const std::string magic : {"PK\x03\x04", "\x80\x02}q"}) {
    EXPECT_ERROR(read_init_file(folder_.put("net.pth", magic + "0123456789"), ""),
                 ErrorKind::Config, "PyTorch file", "import torch, safetensors.torch",
                 "torch.load(\"" + folder_.path() + "/net.pth\"",
                 "\"" + folder_.path() + "/net.safetensors\")");
  }
  EXPECT_ERROR(read_init_file(folder_.path(), ""), ErrorKind::Config, "best.safetensors");
}

TEST_F(InitFileTest, RefusesAnotherFileThanTheRecordedOne) {
  std::string path = folder_.put("a.safetensors", write_safetensors(sample_weights("cnn", 2)));
  InitFile file = read_init_file(path, "");
  EXPECT_EQ(read_init_file(path, file.checksum).checksum, file.checksum);
  folder_.put("a.safetensors", write_safetensors(sample_weights("cnn", 3)));
  EXPECT_ERROR(read_init_file(path, file.checksum), ErrorKind::Config, file.checksum,
               "--init " + path);
}

class PythonInit : public PythonSafetensors {};

TEST_F(PythonInit, ReadsHalfPrecisionUnderAPrefix) {
  ASSERT_TRUE(
      run("import numpy\n"
          "from safetensors.numpy import save_file\n"
          "shapes, last = {}, 3\n"
          "for i, channels in enumerate((32, 64, 128, 256)):\n"
          "    shapes[f'features.{3 * i}.weight'] = (channels, last, 3, 3)\n"
          "    last = channels\n"
          "    for name in ('weight', 'bias', 'running_mean', 'running_var'):\n"
          "        shapes[f'features.{3 * i + 1}.{name}'] = (channels,)\n"
          "save_file({'module.' + name: (numpy.arange(numpy.prod(shape)) % 512)\n"
          "           .reshape(shape).astype(numpy.float16) for name, shape in shapes.items()},\n"
          "          folder + '/half.safetensors')\n"));
  ModelInfo network = network_info("cnn", 2);
  StartWeights start(read_init_file(folder_ / "half.safetensors", ""), network);
  EXPECT_EQ(start.report().prefix, "module.");
  EXPECT_THAT(start.report().loaded, SizeIs(kCnnEntries));
  std::vector<StateEntry> state = network_state(make_step_spec(network));
  std::vector<float> values = start.values(entry_of(state, "features.0.weight"), kSeed);
  // K 1, R 2, S 0, C 1 in memory; K, C, R, S in the file.
  EXPECT_EQ(values[((1 * 3 + 2) * 3 + 0) * 3 + 1], float(((1 * 3 + 1) * 3 + 2) * 3 + 0));
}

}  // namespace
}  // namespace pounce
