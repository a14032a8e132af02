#include "pounce/inspect.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/half.h"
#include "train/model_file.h"
#include "train/weights_file.h"

namespace pounce {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kDescriptionKey = "pounce";

template <typename T>
double read_as(const uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return double(value);
}

double read_half(const uint8_t* at) {
  uint16_t bits;
  std::memcpy(&bits, at, sizeof bits);
  return float_from_half(bits);
}

double read_bfloat16(const uint8_t* at) {
  uint16_t bits;
  std::memcpy(&bits, at, sizeof bits);
  return float_from_bfloat16(bits);
}

using Reader = double (*)(const uint8_t* at);

Reader reader_of(DType dtype) {
  switch (dtype) {
    case DType::F64:
      return read_as<double>;
    case DType::F32:
      return read_as<float>;
    case DType::F16:
      return read_half;
    case DType::BF16:
      return read_bfloat16;
    case DType::I64:
      return read_as<int64_t>;
    case DType::I32:
      return read_as<int32_t>;
    case DType::U8:
      return read_as<uint8_t>;
  }
  POUNCE_ASSERT(false);
}

// Calls `take` with every value of the tensor as a double.
template <typename Take>
void for_each_value(std::span<const uint8_t> bytes, DType dtype, Take take) {
  Reader read = reader_of(dtype);
  size_t step = dtype_bytes(dtype);
  for (size_t at = 0; at < bytes.size(); at += step) take(read(&bytes[at]));
}

void summarize_values(std::span<const uint8_t> bytes, DType dtype, TensorSummary& summary) {
  double least = HUGE_VAL, most = -HUGE_VAL;
  // Wider than double, whose largest values would overflow in sums and squares.
  long double sum = 0, squares = 0;
  for_each_value(bytes, dtype, [&](double value) {
    if (std::isnan(value)) {
      ++summary.nan;
    } else if (std::isinf(value)) {
      ++summary.infinite;
    } else {
      least = std::min(least, value);
      most = std::max(most, value);
      sum += value;
    }
  });
  int64_t finite = summary.elements - summary.nan - summary.infinite;
  if (finite == 0) return;
  long double mean = sum / finite;
  for_each_value(bytes, dtype, [&](double value) {
    if (std::isfinite(value)) squares += (value - mean) * (value - mean);
  });
  summary.min = least;
  summary.max = most;
  summary.mean = double(mean);
  summary.std = double(std::sqrt(squares / finite));
}

TensorSummary summarize(const TensorEntry& tensor) {
  TensorSummary summary;
  summary.name = tensor.name;
  summary.dtype = tensor.dtype;
  summary.shape = tensor.shape;
  summary.elements = 1;
  for (int64_t extent : tensor.shape) summary.elements *= extent;
  summary.bytes = int64_t(tensor.bytes.size());
  if (tensor.known) summarize_values(tensor.bytes, *tensor.known, summary);
  return summary;
}

bool is_statistic(std::string_view name) {
  return name.ends_with(".running_mean") || name.ends_with(".running_var") ||
         name.ends_with(".num_batches_tracked");
}

// Of the file, which may be of a network that this program cannot build.
int64_t count_parameters(const std::vector<TensorSummary>& tensors) {
  int64_t count = 0;
  for (const TensorSummary& tensor : tensors) {
    bool is_parameter = !tensor.name.starts_with("optimizer.") && !is_statistic(tensor.name);
    if (is_parameter) count += tensor.elements;
  }
  return count;
}

// The words that ModelInfo has no member for are shown as they are written.
ModelDescription describe(const ModelInfo& info, const FileMetadata& metadata) {
  Json json = Json::parse(metadata.at(kDescriptionKey));
  auto word = [&](const char* key) {
    return json.contains(key) && json[key].is_string() ? json[key].get<std::string>() : "";
  };
  ModelDescription description;
  description.model = info.model;
  description.version = word("version");
  description.precision = info.precision;
  description.classes = info.classes;
  description.image_size = info.image_size;
  description.fit = fit_name(info.fit);
  description.shrink = info.shrink;
  description.crop = word("crop");
  description.interpolation = word("interpolation");
  description.alpha = word("alpha");
  description.resize = info.resize_ratio;
  description.mean = info.mean;
  description.std = info.std;
  description.exif = json.contains("exif") && json["exif"] == true;
  if (info.split_fraction) {
    const Json& split = json["split"];
    bool is_named = split.contains("rule") && split["rule"].is_string();
    description.split_rule = is_named ? split["rule"].get<std::string>() : "unnamed";
    description.val_fraction = *info.split_fraction;
  }
  return description;
}

}  // namespace

bool Inspection::is_finite() const {
  return std::all_of(tensors.begin(), tensors.end(), [](const TensorSummary& tensor) {
    return tensor.nan == 0 && tensor.infinite == 0;
  });
}

Inspection inspect_model(const std::string& model) {
  Inspection inspection;
  inspection.path = find_model_file(model);
  WeightsSource source{.path = inspection.path, .hint = "copy or download the file again"};
  read_weights_file(source, [&](std::span<const uint8_t> bytes) {
    inspection.bytes = int64_t(bytes.size());
    TensorList list = list_safetensors(bytes);
    for (const TensorEntry& tensor : list.tensors) inspection.tensors.push_back(summarize(tensor));
    if (std::optional<ModelInfo> info = read_description(list.metadata)) {
      inspection.description = describe(*info, list.metadata);
      inspection.description->parameters = count_parameters(inspection.tensors);
    }
    list.metadata.erase(kDescriptionKey);
    inspection.metadata = std::move(list.metadata);
  });
  return inspection;
}

}  // namespace pounce
