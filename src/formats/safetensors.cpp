#include "formats/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <set>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"

namespace pounce {
namespace {

static_assert(std::endian::native == std::endian::little);

using Json = nlohmann::ordered_json;

constexpr size_t kLengthBytes = 8;
// As the reference implementation: a header beyond this is damage or an attack.
constexpr uint64_t kMaxHeaderBytes = 100'000'000;
constexpr size_t kAlignment = 8;

struct DTypeRow {
  std::string_view name;
  size_t bytes;
  std::optional<DType> dtype;
};
constexpr DTypeRow kDTypes[] = {
    {"F64", 8, DType::F64},   {"F32", 4, DType::F32}, {"F16", 2, DType::F16},
    {"BF16", 2, DType::BF16}, {"I64", 8, DType::I64}, {"I32", 4, DType::I32},
    {"U8", 1, DType::U8},     {"BOOL", 1, {}},        {"I8", 1, {}},
    {"I16", 2, {}},           {"U16", 2, {}},         {"U32", 4, {}},
    {"U64", 8, {}},           {"C64", 8, {}},         {"F8_E4M3", 1, {}},
    {"F8_E5M2", 1, {}},       {"F8_E8M0", 1, {}}};

std::string_view file_dtype(DType dtype) {
  for (const DTypeRow& row : kDTypes) {
    if (row.dtype == dtype) return row.name;
  }
  fail(ErrorKind::Internal, "dtype {} has no safetensors name", dtype_name(dtype));
}

// Null for types of versions to come and of less than a byte an element.
const DTypeRow* find_dtype(std::string_view name) {
  for (const DTypeRow& row : kDTypes) {
    if (row.name == name) return &row;
  }
  return nullptr;
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

std::vector<int64_t> parse_shape(const std::string& name, const Json& extents) {
  std::vector<int64_t> shape;
  int64_t elements = 1;
  for (const Json& extent : extents) {
    if (!extent.is_number_unsigned()) {
      reject(fmt::format("tensor \"{}\" has a shape Pounce cannot hold", name));
    }
    uint64_t size = extent.get<uint64_t>();
    constexpr int64_t kLimit = std::numeric_limits<int64_t>::max() / 8;
    if (size > uint64_t(kLimit) || (size > 0 && elements > kLimit / int64_t(size))) {
      reject(fmt::format("tensor \"{}\" has an impossible size", name));
    }
    elements *= int64_t(size);
    shape.push_back(int64_t(size));
  }
  return shape;
}

struct Extent {
  uint64_t begin, end;
};

Extent parse_offsets(const std::string& name, const Json& entry, size_t data_bytes) {
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
  return extent;
}

void check_size(const TensorEntry& tensor) {
  const DTypeRow* row = find_dtype(tensor.dtype);
  if (row == nullptr) return;
  size_t needed = row->bytes;
  for (int64_t extent : tensor.shape) needed *= size_t(extent);
  if (tensor.bytes.size() == needed) return;
  reject(fmt::format("tensor \"{}\" has {} bytes, its type {}[{}] needs {}", tensor.name,
                     tensor.bytes.size(), to_lower_ascii(tensor.dtype),
                     fmt::join(tensor.shape, ","), needed));
}

TensorEntry parse_entry(const std::string& name, const Json& entry, std::span<const uint8_t> data) {
  if (!entry.is_object() || !entry.contains("dtype") || !entry["dtype"].is_string() ||
      !entry.contains("shape") || !entry["shape"].is_array()) {
    reject(fmt::format("tensor \"{}\" has no dtype or shape", name));
  }
  TensorEntry tensor;
  tensor.name = name;
  tensor.dtype = entry["dtype"];
  if (const DTypeRow* row = find_dtype(tensor.dtype)) tensor.known = row->dtype;
  tensor.shape = parse_shape(name, entry["shape"]);
  Extent extent = parse_offsets(name, entry, data.size());
  tensor.bytes = data.subspan(size_t(extent.begin), size_t(extent.end - extent.begin));
  check_size(tensor);
  return tensor;
}

FileMetadata parse_metadata(const Json& entry) {
  if (!entry.is_object()) reject("its metadata is no JSON object");
  FileMetadata metadata;
  for (const auto& [key, value] : entry.items()) {
    if (!value.is_string()) reject(fmt::format("metadata \"{}\" is no text", key));
    metadata[key] = value.get<std::string>();
  }
  return metadata;
}

// Tensors must cover the data, each byte once.
void check_cover(const std::vector<TensorEntry>& tensors, std::span<const uint8_t> data) {
  std::vector<std::span<const uint8_t>> parts;
  for (const TensorEntry& tensor : tensors) parts.push_back(tensor.bytes);
  std::sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) {
    return std::pair(a.data(), a.size()) < std::pair(b.data(), b.size());
  });
  const uint8_t* end = data.data();
  for (const auto& part : parts) {
    if (part.data() != end) {
      reject(fmt::format("its tensors overlap or leave a gap at {}", end - data.data()));
    }
    end += part.size();
  }
  size_t rest = data.size() - size_t(end - data.data());
  if (rest > 0) reject(fmt::format("{} bytes follow its last tensor", rest));
}

NamedTensor to_tensor(const TensorEntry& entry) {
  if (!entry.known) {
    fail_with_hint(ErrorKind::BadData, "dtypes that are served: F64, F32, F16, BF16, I64, I32, U8",
                   "tensor \"{}\" has dtype {}, which is not supported", entry.name, entry.dtype);
  }
  if (entry.shape.size() > Shape::kMaxRank) {
    reject(fmt::format("tensor \"{}\" has a shape Pounce cannot hold", entry.name));
  }
  return {entry.name, {*entry.known, Shape(entry.shape)}, {entry.bytes.begin(), entry.bytes.end()}};
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

TensorList list_safetensors(std::span<const uint8_t> bytes) {
  size_t data_begin = 0;
  Json header = parse_header(bytes, data_begin);
  std::span<const uint8_t> data = bytes.subspan(data_begin);
  TensorList list;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") {
      list.metadata = parse_metadata(entry);
    } else {
      list.tensors.push_back(parse_entry(name, entry, data));
    }
  }
  check_cover(list.tensors, data);
  return list;
}

TensorFile read_safetensors(std::span<const uint8_t> bytes) {
  TensorList list = list_safetensors(bytes);
  TensorFile file;
  file.metadata = std::move(list.metadata);
  for (const TensorEntry& entry : list.tensors) file.tensors.push_back(to_tensor(entry));
  return file;
}

}  // namespace pounce
