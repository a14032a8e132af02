#include "formats/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <set>

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace pounce {
namespace {

static_assert(std::endian::native == std::endian::little);

using Json = nlohmann::ordered_json;

constexpr size_t kLengthBytes = 8;
// As the reference implementation: a header beyond this is damage or an attack.
constexpr uint64_t kMaxHeaderBytes = 100'000'000;
constexpr size_t kAlignment = 8;

struct DTypeRow {
  DType dtype;
  std::string_view name;
};
constexpr DTypeRow kDTypes[] = {{DType::F64, "F64"},   {DType::F32, "F32"}, {DType::F16, "F16"},
                                {DType::BF16, "BF16"}, {DType::I64, "I64"}, {DType::I32, "I32"},
                                {DType::U8, "U8"}};

std::string_view file_dtype(DType dtype) {
  for (const DTypeRow& row : kDTypes) {
    if (row.dtype == dtype) return row.name;
  }
  fail(ErrorKind::Internal, "dtype {} has no safetensors name", dtype_name(dtype));
}

[[noreturn]] void reject(const std::string& what) {
  fail(ErrorKind::BadData, "not a safetensors file: {}", what);
}

Json parse_header(std::span<const uint8_t> bytes, size_t& data_begin) {
  if (bytes.size() < kLengthBytes) reject(fmt::format("it has only {} bytes", bytes.size()));
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), kLengthBytes);
  if (length > kMaxHeaderBytes || length > bytes.size() - kLengthBytes) {
    reject(fmt::format("its header says it has {} bytes, the file has {}", length, bytes.size()));
  }
  data_begin = kLengthBytes + size_t(length);
  std::set<std::string> names;
  std::string twice;
  auto watch_names = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth == 1 && event == Json::parse_event_t::key &&
        !names.insert(parsed.get<std::string>()).second) {
      twice = parsed.get<std::string>();
    }
    return true;
  };
  Json header = Json::parse(bytes.begin() + kLengthBytes, bytes.begin() + int64_t(data_begin),
                            watch_names, /*allow_exceptions=*/false);
  if (!header.is_object()) reject("its header is no JSON object");
  if (!twice.empty()) reject(fmt::format("its header names \"{}\" twice", twice));
  return header;
}

TensorType parse_type(const std::string& name, const Json& entry) {
  if (!entry.is_object() || !entry.contains("dtype") || !entry["dtype"].is_string() ||
      !entry.contains("shape") || !entry["shape"].is_array()) {
    reject(fmt::format("tensor \"{}\" has no dtype or shape", name));
  }
  std::string dtype = entry["dtype"];
  auto row = std::find_if(std::begin(kDTypes), std::end(kDTypes),
                          [&](const DTypeRow& each) { return each.name == dtype; });
  if (row == std::end(kDTypes)) {
    fail_with_hint(ErrorKind::BadData, "dtypes that are served: F64, F32, F16, BF16, I64, I32, U8",
                   "tensor \"{}\" has dtype {}, which is not supported", name, dtype);
  }
  std::vector<int64_t> extents;
  int64_t elements = 1;
  for (const Json& extent : entry["shape"]) {
    if (!extent.is_number_unsigned() || extents.size() == Shape::kMaxRank) {
      reject(fmt::format("tensor \"{}\" has a shape Pounce cannot hold", name));
    }
    uint64_t size = extent.get<uint64_t>();
    constexpr int64_t kLimit = std::numeric_limits<int64_t>::max() / 8;
    if (size > uint64_t(kLimit) || (size > 0 && elements > kLimit / int64_t(size))) {
      reject(fmt::format("tensor \"{}\" has an impossible size", name));
    }
    elements *= int64_t(size);
    extents.push_back(int64_t(size));
  }
  return {row->dtype, Shape(extents)};
}

struct Extent {
  uint64_t begin, end;
};

Extent parse_offsets(const std::string& name, const Json& entry, const TensorType& type,
                     size_t data_bytes) {
  auto at = entry.find("data_offsets");
  if (at == entry.end() || !at->is_array() || at->size() != 2 || !(*at)[0].is_number_unsigned() ||
      !(*at)[1].is_number_unsigned()) {
    reject(fmt::format("tensor \"{}\" has no data_offsets", name));
  }
  Extent extent{(*at)[0].get<uint64_t>(), (*at)[1].get<uint64_t>()};
  if (extent.begin > extent.end || extent.end > data_bytes) {
    reject(fmt::format("tensor \"{}\" ends at byte {} of {}: the file is cut short or damaged",
                       name, extent.end, data_bytes));
  }
  if (extent.end - extent.begin != uint64_t(type.bytes())) {
    reject(fmt::format("tensor \"{}\" has {} bytes, its type {} needs {}", name,
                       extent.end - extent.begin, to_string(type), type.bytes()));
  }
  return extent;
}

}  // namespace

const NamedTensor* TensorFile::find(std::string_view name) const {
  for (const NamedTensor& tensor : tensors) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

std::vector<uint8_t> write_safetensors(const TensorFile& file) {
  Json header = Json::object();
  if (!file.metadata.empty()) header["__metadata__"] = file.metadata;
  size_t data_bytes = 0;
  for (const NamedTensor& tensor : file.tensors) {
    POUNCE_ASSERT(tensor.bytes.size() == size_t(tensor.type.bytes()));
    POUNCE_ASSERT(!header.contains(tensor.name));
    std::vector<int64_t> shape(tensor.type.shape.extents().begin(),
                               tensor.type.shape.extents().end());
    header[tensor.name] = {{"dtype", file_dtype(tensor.type.dtype)},
                           {"shape", shape},
                           {"data_offsets", {data_bytes, data_bytes + tensor.bytes.size()}}};
    data_bytes += tensor.bytes.size();
  }
  std::string text = header.dump();
  // Spaces behind the header align the data.
  text.resize((text.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  std::vector<uint8_t> bytes(kLengthBytes + text.size());
  uint64_t length = text.size();
  std::memcpy(bytes.data(), &length, kLengthBytes);
  std::memcpy(bytes.data() + kLengthBytes, text.data(), text.size());
  bytes.reserve(bytes.size() + data_bytes);
  for (const NamedTensor& tensor : file.tensors) {
    bytes.insert(bytes.end(), tensor.bytes.begin(), tensor.bytes.end());
  }
  return bytes;
}

TensorFile read_safetensors(std::span<const uint8_t> bytes) {
  size_t data_begin = 0;
  Json header = parse_header(bytes, data_begin);
  std::span<const uint8_t> data = bytes.subspan(data_begin);
  TensorFile file;
  std::vector<Extent> extents;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") {
      if (!entry.is_object()) reject("its metadata is no JSON object");
      for (const auto& [key, value] : entry.items()) {
        if (!value.is_string()) reject(fmt::format("metadata \"{}\" is no text", key));
        file.metadata[key] = value.get<std::string>();
      }
      continue;
    }
    TensorType type = parse_type(name, entry);
    Extent extent = parse_offsets(name, entry, type, data.size());
    std::span<const uint8_t> content =
        data.subspan(size_t(extent.begin), size_t(extent.end - extent.begin));
    file.tensors.push_back({name, type, {content.begin(), content.end()}});
    extents.push_back(extent);
  }
  std::sort(extents.begin(), extents.end(), [](const Extent& a, const Extent& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  uint64_t end = 0;
  for (const Extent& extent : extents) {
    if (extent.begin != end) reject(fmt::format("its tensors overlap or leave a gap at {}", end));
    end = extent.end;
  }
  if (end != data.size()) {
    reject(fmt::format("{} bytes follow its last tensor", data.size() - end));
  }
  return file;
}

}  // namespace pounce
