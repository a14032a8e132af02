// Model files: round trips, torchvision's layout, and what is said about files that are no models.
#include "train/model_file.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "backend/registry.h"
#include "base/file.h"
#include "base/temp_dir.h"
#include "expect_error.h"
#include "train/step.h"

namespace pounce {
namespace {

StepSpec cnn_spec() {
  StepSpec spec;
  spec.network = [](Graph& graph, Value images, int64_t classes, bool training) {
    return build_network("cnn", graph, images, classes, training);
  };
  spec.classes = 3;
  spec.image_size = 16;
  return spec;
}

class ModelFileTest : public testing::Test {
 protected:
  ModelFileTest()
      : state_(network_state(cnn_spec())),
        session_(*backend_, alone_, {{"step", build_fused_step(cnn_spec(), 2)}}) {
    for (const StateEntry& entry : state_) {
      if (entry.type.dtype != DType::F32) continue;
      session_.write(entry.name, bytes_of(initial_values(entry, 1)));
    }
    session_.write("features.1.num_batches_tracked", bytes_of(std::vector<int64_t>{42}));
    info_.model = "cnn";
    info_.classes = {"cat", "dog \"x\"", "\xE9\xB3\xA5"};
    info_.image_size = 16;
    info_.split_fraction = 0.2;
  }

  ModelFile exported() { return export_model(info_, state_, session_); }
  // What load_model throws for these bytes.
  void expect_rejected(const std::vector<uint8_t>& bytes, const std::string& part) {
    std::string path = folder_.path() + "/rejected.safetensors";
    write_file(path, bytes);
    EXPECT_ERROR(load_model(path), ErrorKind::BadData, path, part);
  }
  void expect_rejected(const TensorFile& file, const std::string& part) {
    expect_rejected(write_safetensors(file), part);
  }

  std::unique_ptr<Backend> backend_ = make_backend("reference");
  SingleProcess alone_;
  std::vector<StateEntry> state_;
  Session session_;
  ModelInfo info_;
  test::TempDir folder_;
};

TEST_F(ModelFileTest, KeepsTheRuleForExif) {
  std::string path = folder_.path() + "/best.safetensors";
  info_.exif = false;
  ModelFile file = exported();
  save_model(path, file);
  EXPECT_FALSE(load_model(path).info.exif);
  // Files from before the key was read: applied.
  std::string& json = file.tensors.metadata.at("pounce");
  size_t at = json.find("\"exif\":false,");
  ASSERT_NE(at, std::string::npos);
  json.erase(at, std::string("\"exif\":false,").size());
  save_model(path, file);
  EXPECT_TRUE(load_model(path).info.exif);
}

TEST_F(ModelFileTest, KeepsFitAndShrink) {
  std::string path = folder_.path() + "/best.safetensors";
  for (Fit fit : {Fit::Crop, Fit::Letterbox, Fit::Stretch}) {
    info_.fit = fit;
    info_.shrink = fit == Fit::Stretch ? 336 : 0;
    ModelFile file = exported();
    save_model(path, file);
    EXPECT_EQ(load_model(path).info.fit, fit);
    EXPECT_EQ(load_model(path).info.shrink, info_.shrink);
    std::string& json = file.tensors.metadata.at("pounce");
    EXPECT_EQ(json.find("shrink") != std::string::npos, info_.shrink > 0);
    std::string key = fmt::format("\"fit\":\"{}\",", fit_name(fit));
    size_t at = json.find(key);
    ASSERT_NE(at, std::string::npos);
    // Files from before the key was read: crop.
    std::string without = json;
    json.erase(at, key.size());
    save_model(path, file);
    EXPECT_EQ(load_model(path).info.fit, Fit::Crop);
    json = without.replace(at, key.size(), "\"fit\":\"tile\",");
    save_model(path, file);
    EXPECT_TRUE(throws_error([&] { load_model(path); }, ErrorKind::BadData, {"tile", "letterbox"}));
  }
}

TEST_F(ModelFileTest, LoadsWhatItSaved) {
  std::string path = folder_.path() + "/best.safetensors";
  save_model(path, exported());
  for (const std::string& given : {path, folder_.path()}) {
    ModelFile loaded = load_model(given);
    EXPECT_EQ(loaded.info.model, info_.model);
    EXPECT_EQ(loaded.info.classes, info_.classes);
    EXPECT_EQ(loaded.info.image_size, info_.image_size);
    EXPECT_EQ(loaded.info.resize_ratio, info_.resize_ratio);
    EXPECT_EQ(loaded.info.mean, info_.mean);
    EXPECT_EQ(loaded.info.std, info_.std);
    EXPECT_EQ(loaded.info.split_fraction, info_.split_fraction);
    Session other(*backend_, alone_, {{"step", build_fused_step(cnn_spec(), 2)}});
    import_model(loaded, state_, other);
    for (const StateEntry& entry : state_) {
      EXPECT_EQ(other.read_values<uint8_t>(entry.name), session_.read_values<uint8_t>(entry.name));
    }
  }
  EXPECT_EQ(write_safetensors(exported().tensors), *read_file(path));
}

TEST_F(ModelFileTest, HoldsTorchvisionsLayout) {
  ModelFile file = exported();
  EXPECT_EQ(file.tensors.metadata.at("format"), "pt");
  ASSERT_EQ(file.tensors.tensors.size(), state_.size());
  for (size_t i = 0; i < state_.size(); ++i) {
    EXPECT_EQ(file.tensors.tensors[i].name, state_[i].name);
  }
  const NamedTensor* tensor = file.tensors.find("features.3.weight");
  EXPECT_EQ(tensor->type, (TensorType{DType::F32, {64, 32, 3, 3}}));
  std::vector<float> memory = session_.read_values<float>("features.3.weight");
  auto* kcrs = reinterpret_cast<const float*>(tensor->bytes.data());
  // k 5, c 7, r 2, s 1.
  EXPECT_EQ(kcrs[((5 * 32 + 7) * 3 + 2) * 3 + 1], memory[((5 * 3 + 2) * 3 + 1) * 32 + 7]);
  Shape krsc = {64, 3, 3, 32};
  EXPECT_EQ(krsc_from_kcrs(kcrs_from_krsc(memory, krsc), krsc), memory);
}

TEST_F(ModelFileTest, SavesClassesWhoseNamesAreNotUtf8) {
  info_.classes[1] = "caf\xE9";
  std::string path = folder_.path() + "/best.safetensors";
  save_model(path, exported());
  EXPECT_EQ(load_model(path).info.classes[1], "caf\xEF\xBF\xBD");
}

TEST_F(ModelFileTest, SaysWhyAFileIsNoModel) {
  ModelFile file = exported();
  std::vector<uint8_t> bytes = write_safetensors(file.tensors);
  expect_rejected({bytes.begin(), bytes.end() - 1}, "cut short");
  expect_rejected(std::vector<uint8_t>{}, "0 bytes");
  expect_rejected({0xFF, 0xD9, 0xFF, 0xE0, 0, 0, 0, 0, 0, 0}, "not a safetensors file");

  TensorFile plain = file.tensors;
  plain.metadata = {{"format", "pt"}};
  expect_rejected(plain, "no Pounce description");
  for (const char* text : {"", "{", "[]", "{\"model\":3}", "{\"model\":\"cnn\"}"}) {
    TensorFile damaged = file.tensors;
    damaged.metadata["pounce"] = text;
    expect_rejected(damaged, "description cannot be read");
  }
}

TEST_F(ModelFileTest, RejectsImpossibleDescriptions) {
  ModelInfo good = info_;
  info_.model = "resnet9000";
  expect_rejected(exported().tensors, "resnet9000");
  info_ = good;
  info_.classes = {"cat"};
  expect_rejected(exported().tensors, "impossible values");
  info_ = good;
  for (int size : {0, -5, 65536, 1'000'000'000}) {
    info_.image_size = size;
    expect_rejected(exported().tensors, "impossible values");
  }
  auto refuse = [&](auto ModelInfo::*member, auto value) {
    info_ = good;
    info_.*member = value;
    expect_rejected(exported().tensors, "impossible values");
  };
  refuse(&ModelInfo::classes, std::vector<std::string>{"", "cat", "dog"});
  refuse(&ModelInfo::resize_ratio, 1e-12);
  refuse(&ModelInfo::std, std::array<double, 3>{0.2, 0, 0.2});
  refuse(&ModelInfo::std, std::array<double, 3>{0.2, -1, 0.2});
  refuse(&ModelInfo::split_fraction, std::optional<double>(2.0));
}

TEST_F(ModelFileTest, NamesTheTensorThatDoesNotFit) {
  ModelFile file = exported();
  file.tensors.tensors.erase(file.tensors.tensors.begin());
  EXPECT_ERROR(import_model(file, state_, session_), ErrorKind::BadData, "features.0.weight",
               "absent");
  file = exported();
  std::swap(file.tensors.tensors[0].type, file.tensors.tensors[6].type);
  EXPECT_ERROR(import_model(file, state_, session_), ErrorKind::BadData, "features.0.weight",
               "f32[64,32,3,3]", "f32[32,3,3,3]");
}

TEST_F(ModelFileTest, FindsTheModelOfARunFolder) {
  EXPECT_ERROR(find_model_file(folder_.path()), ErrorKind::Config, "best.safetensors",
               folder_.path());
  EXPECT_ERROR(find_model_file(folder_.path() + "/none"), ErrorKind::Config, "no such model");
  save_model(folder_.path() + "/last.safetensors", exported());
  EXPECT_EQ(find_model_file(folder_.path()), folder_.path() + "/last.safetensors");
  save_model(folder_.path() + "/best.safetensors", exported());
  EXPECT_EQ(find_model_file(folder_.path()), folder_.path() + "/best.safetensors");
}

}  // namespace
}  // namespace pounce
