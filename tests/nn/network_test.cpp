// Networks against torchvision's state_dict (tests/nn/*.txt, written by tools/make_state_lists.py),
// and how they start.
#include "nn/network.h"

#include <cmath>
#include <fstream>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "expect_error.h"
#include "ir/conv_params.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "nn/resnet.h"

namespace pounce {
namespace {

struct Built {
  Graph graph;
  Network network;
};

Built build(std::string_view model, int64_t classes, bool training, Shape images) {
  Built built;
  Value input = built.graph.add_input("images", {DType::F32, images});
  built.network = build_network(model, built.graph, input, classes, training);
  return built;
}

// Name and shape as files have them.
std::string line_of(const StateEntry& entry) {
  Shape shape = entry.type.shape;
  if (entry.layout == FileLayout::ConvKcrs) shape = {shape[0], shape[3], shape[1], shape[2]};
  return entry.name + " " + to_string(shape);
}

int64_t count_parameters(const std::vector<StateEntry>& state) {
  int64_t count = 0;
  for (const StateEntry& entry : state) count += entry.trained ? entry.type.shape.elements() : 0;
  return count;
}

struct ModelRow {
  const char* model;
  int64_t parameters;  // of 1000 classes, as torchvision counts them
};

std::string model_name(const testing::TestParamInfo<ModelRow>& row) {
  return row.param.model;
}

class ResNets : public testing::TestWithParam<ModelRow> {};

TEST_P(ResNets, HaveTorchvisionsState) {
  const ModelRow& row = GetParam();
  Built built = build(row.model, 1000, true, {2, 64, 64, 3});
  std::ifstream in(fmt::format("{}/tests/nn/{}.txt", POUNCE_SOURCE_DIR, row.model));
  ASSERT_TRUE(in.is_open());
  size_t count = 0;
  for (std::string line; std::getline(in, line); ++count) {
    ASSERT_LT(count, built.network.state.size());
    EXPECT_EQ(line_of(built.network.state[count]), line);
  }
  EXPECT_EQ(count, built.network.state.size());
  EXPECT_EQ(count_parameters(built.network.state), row.parameters);
  EXPECT_EQ(built.graph.shape(built.network.logits), (Shape{2, 1000}));
}

TEST_P(ResNets, HaveTheSameStateInBothModes) {
  Built training = build(GetParam().model, 10, true, {2, 64, 64, 3});
  Built evaluation = build(GetParam().model, 10, false, {2, 64, 64, 3});
  ASSERT_EQ(training.network.state.size(), evaluation.network.state.size());
  for (size_t i = 0; i < training.network.state.size(); ++i) {
    EXPECT_EQ(line_of(training.network.state[i]), line_of(evaluation.network.state[i]));
  }
  EXPECT_TRUE(evaluation.graph.stores().empty());
  EXPECT_FALSE(training.graph.stores().empty());
  std::string text = print_graph(training.graph);
  EXPECT_EQ(print_graph(parse_graph(text)), text);
}

INSTANTIATE_TEST_SUITE_P(Torchvision, ResNets,
                         testing::Values(ModelRow{"resnet18", 11'689'512},
                                         ModelRow{"resnet34", 21'797'672},
                                         ModelRow{"resnet50", 25'557'032},
                                         ModelRow{"resnet101", 44'549'160}),
                         model_name);

TEST(Networks, CnnHasTheDocumentedLayers) {
  Built built = build("cnn", 10, true, {4, 16, 16, 3});
  std::vector<std::string> lines;
  for (const StateEntry& entry : built.network.state) lines.push_back(line_of(entry));
  const std::vector<std::string> expected = {"features.0.weight [32,3,3,3]",
                                             "features.1.weight [32]",
                                             "features.1.bias [32]",
                                             "features.1.running_mean [32]",
                                             "features.1.running_var [32]",
                                             "features.1.num_batches_tracked []",
                                             "features.3.weight [64,32,3,3]",
                                             "features.4.weight [64]",
                                             "features.4.bias [64]",
                                             "features.4.running_mean [64]",
                                             "features.4.running_var [64]",
                                             "features.4.num_batches_tracked []",
                                             "features.6.weight [128,64,3,3]",
                                             "features.7.weight [128]",
                                             "features.7.bias [128]",
                                             "features.7.running_mean [128]",
                                             "features.7.running_var [128]",
                                             "features.7.num_batches_tracked []",
                                             "features.9.weight [256,128,3,3]",
                                             "features.10.weight [256]",
                                             "features.10.bias [256]",
                                             "features.10.running_mean [256]",
                                             "features.10.running_var [256]",
                                             "features.10.num_batches_tracked []",
                                             "fc.weight [10,256]",
                                             "fc.bias [10]"};
  EXPECT_EQ(lines, expected);
  EXPECT_EQ(built.graph.shape(built.network.logits), (Shape{4, 10}));
}

// docs/from-pytorch.md builds the cnn in PyTorch to read the files of Pounce.
TEST(Networks, CnnIsTheOneOfTheDocumentation) {
  std::ifstream in(POUNCE_SOURCE_DIR "/docs/from-pytorch.md");
  std::string page{std::istreambuf_iterator<char>(in), {}};
  size_t begin = page.find("def cnn("), end = page.find("return model", begin);
  ASSERT_NE(end, std::string::npos);
  std::string code = page.substr(begin, end - begin);
  Built built = build("cnn", 10, true, {4, 16, 16, 3});
  std::string convolutions;
  for (const Node& node : built.graph.nodes()) {
    if (node.op != OpKind::Conv2d) continue;
    ConvParams conv = conv_params(built.graph, node);
    convolutions += fmt::format("{}({}, {}, {})", convolutions.empty() ? "" : ", ", conv.channels,
                                conv.out_channels, conv.stride_h);
  }
  EXPECT_NE(code.find(" in (" + convolutions + "):"), std::string::npos) << convolutions;
  const StateEntry& fc = built.network.state.at(built.network.state.size() - 2);
  std::string linear = fmt::format("nn.Linear({}, ", fc.type.shape[1]);
  EXPECT_NE(code.find(linear), std::string::npos) << linear;
}

TEST(Networks, AreKnownByName) {
  for (std::string_view name : network_names()) {
    EXPECT_NO_THROW(verify_graph(build(name, 3, true, {2, 32, 32, 3}).graph));
  }
  EXPECT_ERROR(build("resnet19", 3, true, {2, 32, 32, 3}), ErrorKind::Config, "\"resnet19\"",
               "cnn, resnet18, resnet34, resnet50, resnet101");
}

TEST(Networks, ImagesTooSmallNameTheLayer) {
  EXPECT_ERROR(build("resnet18", 3, true, {1, 1, 1, 3}), ErrorKind::InvalidArgument, "bn1",
               "f32[1,1,1,64]", "larger");
  EXPECT_ERROR(build("resnet18", 3, true, {1, 32, 32, 3}), ErrorKind::InvalidArgument,
               "layer4.0.bn1", "f32[1,1,1,512]", "larger");
  EXPECT_ERROR(build("resnet18", 3, true, {1, 0, 0, 3}), ErrorKind::InvalidArgument, "conv1",
               "window of 7");
  EXPECT_ERROR(build("cnn", 3, true, {1, 2, 2, 3}), ErrorKind::InvalidArgument, "features.4",
               "f32[1,1,1,64]");
}

TEST(Networks, OnlyWeightsDecay) {
  for (std::string_view name : network_names()) {
    for (const StateEntry& entry : build(name, 3, true, {2, 64, 64, 3}).network.state) {
      EXPECT_EQ(entry.decayed, entry.trained && entry.type.shape.rank() >= 2) << entry.name;
    }
  }
}

struct Moments {
  double mean = 0, std = 0, largest = 0;
};

Moments moments_of(const std::vector<float>& values) {
  Moments moments;
  double squares = 0;
  for (float value : values) {
    moments.mean += value / double(values.size());
    squares += double(value) * value / double(values.size());
    moments.largest = std::max(moments.largest, std::fabs(double(value)));
  }
  moments.std = std::sqrt(squares - moments.mean * moments.mean);
  return moments;
}

TEST(InitialValues, FollowTorchvisionsRules) {
  for (const StateEntry& entry : build("resnet18", 1000, true, {2, 64, 64, 3}).network.state) {
    if (entry.type.dtype != DType::F32) continue;
    SCOPED_TRACE(entry.name);
    std::vector<float> values = initial_values(entry, 1);
    ASSERT_EQ(int64_t(values.size()), entry.type.shape.elements());
    Moments found = moments_of(values);
    double samples = double(values.size());
    if (entry.type.shape.rank() == 4) {
      // torch.nn.init.kaiming_normal_(mode="fan_out", nonlinearity="relu").
      const Shape& shape = entry.type.shape;
      double std = std::sqrt(2.0 / double(shape[0] * shape[1] * shape[2]));
      EXPECT_NEAR(found.mean / std, 0, 5 / std::sqrt(samples));
      EXPECT_NEAR(found.std / std, 1, 5 / std::sqrt(2 * samples));
      EXPECT_GT(found.largest / std, 3);
    } else if (entry.name.starts_with("fc.")) {
      double bound = 1 / std::sqrt(512.0);
      EXPECT_LE(found.largest, bound);
      EXPECT_GT(found.largest, 0.98 * bound);
      EXPECT_NEAR(found.std / bound, 1 / std::sqrt(3.0), 5 / std::sqrt(samples));
      EXPECT_NEAR(found.mean / bound, 0, 5 / std::sqrt(3 * samples));
    } else {
      bool one = (entry.trained && entry.name.ends_with(".weight")) ||
                 entry.name.ends_with(".running_var");
      EXPECT_EQ(values, std::vector<float>(values.size(), one ? 1.0f : 0.0f));
    }
  }
}

TEST(InitialValues, DependOnSeedAndNameAlone) {
  std::vector<StateEntry> state = build("resnet18", 10, true, {2, 64, 64, 3}).network.state;
  std::set<std::vector<float>> starts;
  size_t random = 0;
  for (const StateEntry& entry : state) {
    if (entry.init != InitRule::KaimingNormal && entry.init != InitRule::UniformFanIn) continue;
    std::vector<float> values = initial_values(entry, 7);
    EXPECT_EQ(values, initial_values(entry, 7));
    EXPECT_NE(values, initial_values(entry, 8));
    values.resize(10);
    starts.insert(values);
    ++random;
  }
  // Tensors of equal size do not start alike.
  EXPECT_EQ(starts.size(), random);
}

// Two tensors of the same shape: their correlation is that of independent numbers.
TEST(InitialValues, AreIndependentBetweenTensors) {
  std::vector<const StateEntry*> entries;
  std::vector<StateEntry> state = build("resnet18", 10, true, {2, 64, 64, 3}).network.state;
  for (const StateEntry& entry : state) {
    if (entry.type.shape == Shape{64, 3, 3, 64}) entries.push_back(&entry);
  }
  ASSERT_EQ(entries.size(), 4u);
  for (size_t i = 1; i < entries.size(); ++i) {
    std::vector<float> a = initial_values(*entries[0], 3), b = initial_values(*entries[i], 3);
    double product = 0;
    for (size_t k = 0; k < a.size(); ++k) product += double(a[k]) * b[k];
    double correlation = product / double(a.size()) / (moments_of(a).std * moments_of(b).std);
    EXPECT_NEAR(correlation, 0, 5 / std::sqrt(double(a.size())));
  }
}

}  // namespace
}  // namespace pounce
