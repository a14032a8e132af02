#include "train/model_file.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "train/optimizer.h"
#include "train/weights_file.h"

namespace pounce {
namespace {

using Json = nlohmann::ordered_json;

// What training accepts; beyond it sizes overflow, or numbers become infinite.
constexpr int kMostImageSize = 4096;
constexpr int kMostShrink = 65'500;
constexpr double kLeastResizeRatio = 0.1;
constexpr double kLeastStd = 1e-6;

constexpr const char* kMetadataKey = "pounce";

std::string info_to_json(const ModelInfo& info) {
  Json json = {{"model", info.model},
               {"classes", info.classes},
               {"image_size", info.image_size},
               {"fit", fit_name(info.fit)},
               {"resize", info.resize_ratio},
               {"crop", info.fit == Fit::Crop ? "center" : "none"},
               {"interpolation", "bilinear, antialiased"},
               {"mean", info.mean},
               {"std", info.std},
               {"exif", info.exif},
               {"alpha", "dropped"}};
  if (info.shrink > 0) json["shrink"] = info.shrink;
  if (info.split_fraction) {
    json["split"] = {{"rule", "xxh3(path)"}, {"val_fraction", *info.split_fraction}};
  }
  json["precision"] = info.precision;
  json["version"] = POUNCE_VERSION;
  // Folder names need not be UTF-8; files of JSON must be.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

ModelInfo info_from_json(const std::string& text) {
  ModelInfo info;
  Json json = Json::parse(text);
  info.model = json.at("model").get<std::string>();
  info.classes = json.at("classes").get<std::vector<std::string>>();
  // Read as a double, for a conversion of 1e30 to int is undefined.
  double image_size = json.at("image_size").get<double>();
  bool is_size = image_size >= 1 && image_size <= kMostImageSize;
  info.image_size = is_size ? int(image_size) : 0;
  info.resize_ratio = json.at("resize").get<double>();
  // Files of the first versions do not say how; they mean what was then the only way.
  std::string fit = json.value("fit", "crop");
  std::optional<Fit> known = parse_fit(fit);
  if (!known) {
    fail_with_hint(ErrorKind::BadData, "use the version of Pounce that wrote it, or a later one",
                   "its images are prepared with fit \"{}\", this version knows: crop, letterbox, "
                   "stretch",
                   fit);
  }
  info.fit = *known;
  double shrink = json.value("shrink", 0.0);
  info.shrink = shrink >= 0 && shrink <= kMostShrink ? int(shrink) : -1;
  info.exif = json.value("exif", true);
  info.precision = json.value("precision", "fp32");
  info.mean = json.at("mean").get<std::array<double, 3>>();
  info.std = json.at("std").get<std::array<double, 3>>();
  if (json.contains("split")) info.split_fraction = json.at("split").at("val_fraction");
  return info;
}

void check_network(const ModelInfo& info) {
  if (info.model == kCustomModel) {
    fail_with_hint(ErrorKind::BadData, "load it in the program it was trained by: Model::load",
                   "it holds a network of a program's own, which is not in the file");
  }
  auto known = network_names();
  if (std::find(known.begin(), known.end(), info.model) == known.end()) {
    fail(ErrorKind::BadData, "it holds a model \"{}\", this version knows: {}", info.model,
         fmt::join(known, ", "));
  }
}

void check_info(const ModelInfo& info) {
  // Names may repeat: those of two folders that are not UTF-8 can be stored alike.
  auto is_empty = [](const std::string& name) { return name.empty(); };
  bool has_classes =
      info.classes.size() >= 2 && std::none_of(info.classes.begin(), info.classes.end(), is_empty);
  bool has_size = info.image_size >= 1 && info.image_size <= kMostImageSize &&
                  info.resize_ratio >= kLeastResizeRatio && info.resize_ratio <= 1 &&
                  info.shrink >= 0;
  auto is_scale = [](double value) { return value >= kLeastStd && std::isfinite(value); };
  auto is_offset = [](double value) { return std::isfinite(value); };
  bool has_scales = std::all_of(info.std.begin(), info.std.end(), is_scale) &&
                    std::all_of(info.mean.begin(), info.mean.end(), is_offset);
  double fraction = info.split_fraction.value_or(0);
  if (!has_classes || !has_size || !has_scales || !(fraction >= 0 && fraction < 1)) {
    fail(ErrorKind::BadData, "its description has impossible values");
  }
}

std::vector<float> floats_of(const std::vector<uint8_t>& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

template <typename T>
std::vector<uint8_t> to_bytes(const std::vector<T>& values) {
  std::vector<uint8_t> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::string variable_name(const StateEntry& entry, bool averages) {
  return averages && entry.type.dtype == DType::F32 ? ema_variable(entry.name) : entry.name;
}

// Permutes between the two orders of a weights tensor: to[k,c,r,s] and from[k,r,s,c] or back.
std::vector<float> permute(const std::vector<float>& values, const Shape& krsc, bool to_krsc) {
  POUNCE_ASSERT(krsc.rank() == 4 && values.size() == size_t(krsc.elements()));
  std::vector<float> result(values.size());
  int64_t out = krsc[0], window = krsc[1] * krsc[2], channels = krsc[3];
  for (int64_t k = 0; k < out; ++k) {
    for (int64_t rs = 0; rs < window; ++rs) {
      for (int64_t c = 0; c < channels; ++c) {
        size_t memory = size_t((k * window + rs) * channels + c);
        size_t file = size_t((k * channels + c) * window + rs);
        if (to_krsc) {
          result[memory] = values[file];
        } else {
          result[file] = values[memory];
        }
      }
    }
  }
  return result;
}

}  // namespace

std::string_view fit_name(Fit fit) {
  switch (fit) {
    case Fit::Crop:
      return "crop";
    case Fit::Letterbox:
      return "letterbox";
    case Fit::Stretch:
      return "stretch";
  }
  return "crop";
}

std::optional<Fit> parse_fit(std::string_view name) {
  for (Fit fit : {Fit::Crop, Fit::Letterbox, Fit::Stretch}) {
    if (name == fit_name(fit)) return fit;
  }
  return std::nullopt;
}

std::vector<float> krsc_from_kcrs(const std::vector<float>& values, const Shape& krsc) {
  return permute(values, krsc, true);
}

std::vector<float> kcrs_from_krsc(const std::vector<float>& values, const Shape& krsc) {
  return permute(values, krsc, false);
}

Shape file_shape(const StateEntry& entry) {
  const Shape& shape = entry.type.shape;
  if (entry.layout == FileLayout::Same) return shape;
  return {shape[0], shape[3], shape[1], shape[2]};
}

ModelFile make_model_file(const ModelInfo& info) {
  ModelFile file;
  file.info = info;
  file.tensors.metadata = {{"format", "pt"}, {kMetadataKey, info_to_json(info)}};
  return file;
}

NamedTensor to_file_tensor(const StateEntry& entry, std::vector<uint8_t> memory) {
  NamedTensor tensor{entry.name, {entry.type.dtype, file_shape(entry)}, std::move(memory)};
  if (entry.layout == FileLayout::ConvKcrs) {
    tensor.bytes = to_bytes(kcrs_from_krsc(floats_of(tensor.bytes), entry.type.shape));
  }
  return tensor;
}

std::vector<uint8_t> from_file_tensor(const ModelFile& file, const StateEntry& entry) {
  const NamedTensor* tensor = file.tensors.find(entry.name);
  TensorType expected{entry.type.dtype, file_shape(entry)};
  if (tensor == nullptr || tensor->type != expected) {
    fail_with_hint(ErrorKind::BadData, "use the file pounce train wrote, or copy it again",
                   "the model file says it is a {} of {} classes, but tensor \"{}\" is {}, "
                   "expected {}",
                   file.info.model, file.info.classes.size(), entry.name,
                   tensor == nullptr ? "absent" : to_string(tensor->type), to_string(expected));
  }
  if (entry.layout == FileLayout::Same) return tensor->bytes;
  return to_bytes(krsc_from_kcrs(floats_of(tensor->bytes), entry.type.shape));
}

ModelFile export_model(const ModelInfo& info, const std::vector<StateEntry>& state,
                       Session& session, bool averages) {
  ModelFile file = make_model_file(info);
  for (const StateEntry& entry : state) {
    std::string variable = variable_name(entry, averages);
    if (!session.has_variable(variable)) continue;
    file.tensors.tensors.push_back(to_file_tensor(entry, session.read_values<uint8_t>(variable)));
  }
  return file;
}

void save_model(const std::string& path, const ModelFile& file) {
  write_file(path, write_safetensors(file.tensors));
}

std::string find_model_file(const std::string& path) {
  if (!is_directory(path)) {
    if (!is_missing(path)) return path;
    fail_with_hint(ErrorKind::Config,
                   "give a .safetensors file that pounce train wrote, or its run folder",
                   "no such model: {}", path);
  }
  for (const char* name : {"best.safetensors", "last.safetensors"}) {
    std::string file = join_path(path, name);
    if (is_regular_file(file)) return file;
  }
  fail_with_hint(ErrorKind::Config, "give a run folder that pounce train made, or a model file",
                 "no best.safetensors in the folder {}", path);
}

std::optional<ModelInfo> read_description(const FileMetadata& file) {
  auto metadata = file.find(kMetadataKey);
  if (metadata == file.end()) return std::nullopt;
  try {
    ModelInfo info = info_from_json(metadata->second);
    check_info(info);
    return info;
  } catch (const nlohmann::json::exception& error) {
    fail(ErrorKind::BadData, "its Pounce description cannot be read: {}", error.what());
  }
}

ModelFile load_model(const std::string& path, bool any_network) {
  ModelFile file;
  WeightsSource source{.path = find_model_file(path),
                       .hint = "use the file pounce train wrote, or copy it again"};
  read_weights_file(source, [&](std::span<const uint8_t> bytes) {
    file.tensors = read_safetensors(bytes);
    std::optional<ModelInfo> info = read_description(file.tensors.metadata);
    if (!info) {
      fail_with_hint(ErrorKind::BadData,
                     "a model needs its classes and preprocessing: use the file pounce train wrote",
                     "it holds {} tensors but no Pounce description", file.tensors.tensors.size());
    }
    file.info = *info;
    if (!any_network) check_network(file.info);
  });
  return file;
}

void import_model(const ModelFile& file, const std::vector<StateEntry>& state, Session& session,
                  bool averages) {
  for (const StateEntry& entry : state) {
    std::string variable = variable_name(entry, averages);
    if (!session.has_variable(variable)) continue;
    session.write(variable, bytes_of(from_file_tensor(file, entry)));
  }
}

const NamedTensor* find_non_finite(const TensorFile& file) {
  for (const NamedTensor& tensor : file.tensors) {
    if (tensor.type.dtype != DType::F32) continue;
    for (size_t at = 0; at < tensor.bytes.size(); at += sizeof(float)) {
      float value;
      std::memcpy(&value, &tensor.bytes[at], sizeof value);
      if (!std::isfinite(value)) return &tensor;
    }
  }
  return nullptr;
}

}  // namespace pounce
