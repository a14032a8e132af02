// What inspect says of files: figures of every dtype, values that are not finite, foreign and
// damaged files.
#include "pounce/inspect.h"

#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/registry.h"
#include "base/file.h"
#include "base/temp_dir.h"
#include "expect_error.h"
#include "train/inference.h"
#include "train/init_file.h"
#include "train/model_file.h"

namespace pounce {
namespace {

using testing::ElementsAre;

template <typename T>
NamedTensor tensor(const std::string& name, DType dtype, const std::vector<T>& values) {
  const auto* first = reinterpret_cast<const uint8_t*>(values.data());
  std::vector<uint8_t> bytes(first, first + values.size() * sizeof(T));
  return {name, {dtype, {int64_t(values.size())}}, bytes};
}

class Inspect : public testing::Test {
 protected:
  Inspection inspect(const TensorFile& file) const {
    write_file(path_, write_safetensors(file));
    return inspect_model(path_);
  }

  TensorSummary summary_of(const NamedTensor& one) const {
    return inspect({.metadata = {}, .tensors = {one}}).tensors.at(0);
  }

  test::TempDir folder_;
  std::string path_ = folder_.path() + "/model.safetensors";
};

TEST_F(Inspect, FiguresOfEveryType) {
  const TensorSummary summaries[] = {
      summary_of(tensor<double>("F64", DType::F64, {-1, 0, 1, 4})),
      summary_of(tensor<float>("F32", DType::F32, {-1, 0, 1, 4})),
      summary_of(tensor<uint16_t>("F16", DType::F16, {0xBC00, 0, 0x3C00, 0x4400})),
      summary_of(tensor<uint16_t>("BF16", DType::BF16, {0xBF80, 0, 0x3F80, 0x4080})),
      summary_of(tensor<int64_t>("I64", DType::I64, {-1, 0, 1, 4})),
      summary_of(tensor<int32_t>("I32", DType::I32, {-1, 0, 1, 4}))};
  for (const TensorSummary& summary : summaries) {
    SCOPED_TRACE(summary.name);
    EXPECT_EQ(summary.dtype, summary.name);
    EXPECT_THAT(summary.shape, ElementsAre(4));
    EXPECT_EQ(summary.elements, 4);
    EXPECT_EQ(summary.min, -1.0);
    EXPECT_EQ(summary.max, 4.0);
    EXPECT_EQ(summary.mean, 1.0);
    EXPECT_DOUBLE_EQ(*summary.std, std::sqrt(14.0 / 4));
    EXPECT_EQ(summary.nan + summary.infinite, 0);
  }
  TensorSummary bytes = summary_of(tensor<uint8_t>("U8", DType::U8, {0, 255}));
  EXPECT_EQ(bytes.max, 255.0);
  EXPECT_EQ(bytes.bytes, 2);
  TensorSummary tiny = summary_of(tensor<uint16_t>("F16", DType::F16, {1, 0x8001, 0x7BFF}));
  EXPECT_EQ(tiny.max, 65504.0);
  EXPECT_EQ(tiny.min, -std::ldexp(1, -24));
}

TEST_F(Inspect, ValuesThatAreNotFiniteAreCountedAndLeftOut) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  Inspection inspection =
      inspect({.metadata = {},
               .tensors = {tensor<float>("some", DType::F32, {kNan, 2, -HUGE_VALF, 4, HUGE_VALF}),
                           tensor<float>("none", DType::F32, {kNan}),
                           tensor<uint16_t>("half", DType::F16, {0x7C00, 0xFC01, 0x3C00})}});
  EXPECT_FALSE(inspection.is_finite());
  const TensorSummary& some = inspection.tensors[0];
  EXPECT_EQ(some.nan, 1);
  EXPECT_EQ(some.infinite, 2);
  EXPECT_EQ(some.min, 2.0);
  EXPECT_EQ(some.mean, 3.0);
  EXPECT_EQ(inspection.tensors[1].nan, 1);
  EXPECT_FALSE(inspection.tensors[1].mean.has_value());
  EXPECT_EQ(inspection.tensors[2].nan, 1);
  EXPECT_EQ(inspection.tensors[2].infinite, 1);
  EXPECT_EQ(inspection.tensors[2].max, 1.0);
}

TEST_F(Inspect, LargestDoublesDoNotOverflow) {
  constexpr double kMost = std::numeric_limits<double>::max();
  TensorSummary summary =
      summary_of(tensor<double>("w", DType::F64, {kMost, kMost, -kMost, kMost}));
  EXPECT_EQ(summary.mean, kMost / 2);
  EXPECT_NEAR(*summary.std / kMost, std::sqrt(0.75), 1e-15);
}

TEST_F(Inspect, TypesWithoutFiguresAreListed) {
  std::string header;
  const std::pair<const char*, int> types[] = {
      {"BOOL", 1}, {"I8", 1},      {"I16", 2},     {"U16", 2}, {"U32", 4},
      {"U64", 8},  {"F8_E4M3", 1}, {"F8_E5M2", 1}, {"F4", 3}};  // not known: of any size
  int at = 0;
  for (const auto& [type, bytes] : types) {
    header += fmt::format(R"({}"{}":{{"dtype":"{}","shape":[1,3],"data_offsets":[{},{}]}})",
                          at ? "," : "{", type, type, at, at + 3 * bytes);
    at += 3 * bytes;
  }
  header += '}';
  std::string file(8, '\0');
  uint64_t length = header.size();
  std::memcpy(file.data(), &length, 8);
  write_file(path_, file + header + std::string(size_t(at), '\x7F'));
  Inspection inspection = inspect_model(path_);
  ASSERT_EQ(inspection.tensors.size(), std::size(types));
  for (size_t i = 0; i < std::size(types); ++i) {
    const TensorSummary& summary = inspection.tensors[i];
    EXPECT_EQ(summary.dtype, types[i].first);
    EXPECT_THAT(summary.shape, ElementsAre(1, 3));
    EXPECT_EQ(summary.bytes, 3 * types[i].second);
    EXPECT_FALSE(summary.mean.has_value());
  }
  EXPECT_TRUE(inspection.is_finite());
  EXPECT_ERROR(load_model(path_), ErrorKind::BadData, "dtype BOOL, which is not supported");
}

TEST_F(Inspect, ForeignFilesHaveNoDescription) {
  Inspection inspection = inspect({.metadata = {{"format", "pt"}, {"author", "someone"}},
                                   .tensors = {tensor<float>("w", DType::F32, {})}});
  EXPECT_FALSE(inspection.description.has_value());
  EXPECT_EQ(inspection.metadata.at("author"), "someone");
  EXPECT_TRUE(inspection.is_finite());
  EXPECT_FALSE(inspection.tensors[0].min.has_value());
  EXPECT_EQ(inspection.path, path_);
  EXPECT_EQ(uint64_t(inspection.bytes), read_file(path_)->size());
}

TEST_F(Inspect, ModelsOfPounceAreDescribed) {
  ModelInfo info;
  info.model = "cnn";
  info.classes = {"猫", "dog"};
  info.image_size = 32;
  info.split_fraction = 0.25;
  StepSpec spec = make_step_spec(info);
  auto backend = make_backend("reference");
  SingleProcess alone;
  Session session(*backend, alone, {{"evaluate", build_evaluation(spec, 1)}});
  save_model(folder_.path() + "/best.safetensors",
             export_model(info, network_state(spec), session));
  Inspection inspection = inspect_model(folder_.path());
  ASSERT_TRUE(inspection.description.has_value());
  const ModelDescription& model = *inspection.description;
  EXPECT_EQ(model.model, "cnn");
  EXPECT_THAT(model.classes, ElementsAre("猫", "dog"));
  EXPECT_EQ(model.image_size, 32);
  EXPECT_EQ(model.fit, "crop");
  EXPECT_EQ(model.crop, "center");
  EXPECT_EQ(model.resize, 0.875);
  EXPECT_EQ(model.mean[0], 0.485);
  EXPECT_TRUE(model.exif);
  EXPECT_EQ(model.alpha, "dropped");
  EXPECT_EQ(model.val_fraction, 0.25);
  EXPECT_EQ(model.version, POUNCE_VERSION);
  int64_t trained = 0;
  for (const StateEntry& entry : network_state(spec)) {
    if (entry.trained) trained += entry.type.shape.elements();
  }
  EXPECT_EQ(model.parameters, trained);
  EXPECT_FALSE(inspection.metadata.contains("pounce"));
}

// Whoever reads a model knows them.
TEST_F(Inspect, FilesOfOtherFormsAreNamed) {
  const std::pair<std::string, const char*> cases[] = {
      {"PK\x03\x04 and more", "a PyTorch file"},
      {"\x80\x02}q and more", "a PyTorch file"},
      {"\n<!DOCTYPE html><title>404</title>", "a web page"},
      {"\xFF\xD8\xFF\xE0 and more of it", "a picture (JPEG)"},
      {"\x89PNG\r\n\x1A\n and more", "a picture (PNG)"}};
  for (const auto& [bytes, name] : cases) {
    write_file(path_, bytes);
    EXPECT_ERROR(inspect_model(path_), ErrorKind::Config, path_, name);
    EXPECT_ERROR(load_model(path_), ErrorKind::Config, path_, name);
    EXPECT_ERROR(read_init_file(path_, ""), ErrorKind::Config, "--init " + path_, name);
  }
}

TEST_F(Inspect, DamagedFilesAreNamed) {
  write_file(path_, "");
  EXPECT_ERROR(inspect_model(path_), ErrorKind::BadData, path_, "0 bytes");
  std::vector<uint8_t> bytes =
      write_safetensors({.metadata = {}, .tensors = {tensor<float>("w", DType::F32, {1, 2})}});
  bytes.resize(bytes.size() - 4);
  write_file(path_, bytes);
  EXPECT_ERROR(inspect_model(path_), ErrorKind::BadData, path_, "cut short");
  write_file(path_, write_safetensors({.metadata = {{"pounce", "{}"}}, .tensors = {}}));
  EXPECT_ERROR(inspect_model(path_), ErrorKind::BadData, path_, "description");
  EXPECT_ERROR(inspect_model(folder_.path() + "/none"), ErrorKind::Config, "none");
}

}  // namespace
}  // namespace pounce
