#include "pounce/inspect.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "train/model_file.h"

namespace pounce {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kDescriptionKey = "pounce";
constexpr std::string_view kZipStart = "PK\x03\x04";

template <typename T>
double read_as(const uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return double(value);
}

// IEEE 754 binary16.
double read_half(const uint8_t* at) {
  uint16_t bits;
  std::memcpy(&bits, at, sizeof bits);
  int exponent = bits >> 10 & 31, fraction = bits & 1023;
  double sign = bits >> 15 ? -1 : 1;
  if (exponent == 31) return fraction ? std::nan("") : sign * HUGE_VAL;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

double read_bfloat16(const uint8_t* at) {
  uint16_t bits;
  std::memcpy(&bits, at, sizeof bits);
  return double(std::bit_cast<float>(uint32_t(bits) << 16));
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
void for_each_value(const NamedTensor& tensor, Take take) {
  Reader read = reader_of(tensor.type.dtype);
  size_t step = dtype_bytes(tensor.type.dtype);
  for (size_t at = 0; at < tensor.bytes.size(); at += step) take(read(&tensor.bytes[at]));
}

void summarize_values(const NamedTensor& tensor, TensorSummary& summary) {
  double least = HUGE_VAL, most = -HUGE_VAL, sum = 0, squares = 0;
  for_each_value(tensor, [&](double value) {
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
  double mean = sum / double(finite);
  for_each_value(tensor, [&](double value) {
    if (std::isfinite(value)) squares += (value - mean) * (value - mean);
  });
  summary.min = least;
  summary.max = most;
  summary.mean = mean;
  summary.std = std::sqrt(squares / double(finite));
}

TensorSummary summarize(const NamedTensor& tensor) {
  TensorSummary summary;
  summary.name = tensor.name;
  summary.dtype = dtype_name(tensor.type.dtype);
  for (char& c : summary.dtype) c = char(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  std::span<const int64_t> extents = tensor.type.shape.extents();
  summary.shape.assign(extents.begin(), extents.end());
  summary.elements = tensor.type.shape.elements();
  summary.bytes = int64_t(tensor.bytes.size());
  summarize_values(tensor, summary);
  return summary;
}

bool is_statistic(std::string_view name) {
  return name.ends_with(".running_mean") || name.ends_with(".running_var") ||
         name.ends_with(".num_batches_tracked");
}

// The words that ModelInfo has no member for are shown as they are written.
ModelDescription describe(const ModelInfo& info, const TensorFile& file) {
  Json json = Json::parse(file.metadata.at(kDescriptionKey));
  auto word = [&](const char* key) {
    return json.contains(key) && json[key].is_string() ? json[key].get<std::string>() : "";
  };
  ModelDescription description;
  description.model = info.model;
  description.version = word("version");
  description.classes = info.classes;
  description.image_size = info.image_size;
  description.fit = word("fit");
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
  for (const NamedTensor& tensor : file.tensors) {
    bool is_parameter = !tensor.name.starts_with("optimizer.") && !is_statistic(tensor.name);
    if (is_parameter) description.parameters += tensor.type.shape.elements();
  }
  return description;
}

void refuse_other_forms(const std::string& path, const std::vector<uint8_t>& bytes) {
  std::string_view start(reinterpret_cast<const char*>(bytes.data()),
                         std::min<size_t>(4, bytes.size()));
  if (start != kZipStart) return;
  fail_with_hint(ErrorKind::BadData,
                 "in Python: safetensors.torch.save_file(torch.load(FILE), \"model.safetensors\")",
                 "{}: a zip archive, as PyTorch's .pth files are; expected a safetensors file",
                 path);
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
  Result<std::vector<uint8_t>> bytes = read_file(inspection.path);
  if (!bytes) throw bytes.error();
  refuse_other_forms(inspection.path, *bytes);
  inspection.bytes = int64_t(bytes->size());
  try {
    TensorFile file = read_safetensors(*bytes);
    for (const NamedTensor& tensor : file.tensors) inspection.tensors.push_back(summarize(tensor));
    if (std::optional<ModelInfo> info = read_description(file)) {
      inspection.description = describe(*info, file);
    }
    file.metadata.erase(kDescriptionKey);
    inspection.metadata = std::move(file.metadata);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::BadData) throw;
    throw Error(ErrorKind::BadData, fmt::format("{}: {}", inspection.path, error.message()),
                error.hint().empty() ? "copy or download the file again" : error.hint());
  }
  return inspection;
}

}  // namespace pounce
