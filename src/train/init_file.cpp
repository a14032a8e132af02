#include "train/init_file.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/checksum.h"
#include "base/error.h"
#include "base/file.h"
#include "base/half.h"
#include "base/text.h"
#include "train/inference.h"
#include "train/weights_file.h"

namespace pounce {
namespace {

constexpr int kLeastPercent = 90;
constexpr size_t kExamples = 3;
constexpr std::string_view kHead = "fc.";
// Tensors of the optimizer in checkpoints.
constexpr std::string_view kOptimizer = "optimizer.";
constexpr const char* kGuide = "docs/pretrained.md shows how to get a file for --init";

// ---- Reading ----

std::string checksum_of(std::span<const uint8_t> bytes) {
  return fmt::format("xxh3:{:016x}", xxh3_64(bytes));
}

void check_recorded(const InitFile& file, const std::string& given, const std::string& checksum) {
  if (checksum.empty() || checksum == file.checksum) return;
  fail_with_hint(
      ErrorKind::Config,
      fmt::format("bring the recorded file back, or start from this one: --init {}", given),
      "--init {}: the file is not the recorded one: its checksum is {}, expected {}", file.path,
      file.checksum, checksum);
}

// ---- Matching ----

bool is_head(std::string_view name) {
  return name.starts_with(kHead);
}

bool is_counter(std::string_view name) {
  return name.ends_with("num_batches_tracked");
}

bool fits(const StateEntry& entry, const NamedTensor& tensor) {
  return is_floating(tensor.type.dtype) && tensor.type.shape == file_shape(entry);
}

using TensorsByName = std::map<std::string, const NamedTensor*, std::less<>>;
using Names = std::vector<std::string>;

// How the tensors of a file meet the entries of a network.
struct Match {
  std::string prefix;
  TensorsByName loaded;  // without the head
  TensorsByName head;    // what the file has of it, whatever its shapes
  Names missing, wrong_shape, unknown;

  size_t entries() const { return loaded.size() + missing.size() + wrong_shape.size(); }
  bool is_enough() const { return loaded.size() * 100 >= entries() * kLeastPercent; }
  size_t misfits() const { return missing.size() + wrong_shape.size() + unknown.size(); }
};

// What stands before the network's names in most of the tensors that have one of them.
std::string find_prefix(const TensorFile& file, const std::vector<StateEntry>& state) {
  std::map<std::string_view, const StateEntry*> entries;
  for (const StateEntry& entry : state) entries[entry.name] = &entry;
  std::map<std::string_view, int> counts;
  for (const NamedTensor& tensor : file.tensors) {
    std::string_view name = tensor.name;
    for (size_t begin = 0; begin != std::string::npos;) {
      if (entries.contains(name.substr(begin))) ++counts[name.substr(0, begin)];
      size_t dot = name.find('.', begin);
      begin = dot == std::string::npos ? dot : dot + 1;
    }
  }
  auto most = std::max_element(counts.begin(), counts.end(),
                               [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == counts.end() ? "" : std::string(most->first);
}

Match match_network(const TensorFile& file, const std::vector<StateEntry>& state) {
  Match match;
  match.prefix = find_prefix(file, state);
  TensorsByName rest;
  for (const NamedTensor& tensor : file.tensors) {
    if (tensor.name.starts_with(kOptimizer)) continue;
    bool has_prefix = tensor.name.starts_with(match.prefix);
    rest[has_prefix ? tensor.name.substr(match.prefix.size()) : tensor.name] = &tensor;
  }
  for (const StateEntry& entry : state) {
    auto found = rest.find(entry.name);
    const NamedTensor* tensor = found == rest.end() ? nullptr : found->second;
    if (tensor != nullptr) rest.erase(found);
    if (is_counter(entry.name)) continue;
    if (is_head(entry.name)) {
      if (tensor != nullptr) match.head[entry.name] = tensor;
    } else if (tensor == nullptr) {
      match.missing.push_back(entry.name);
    } else if (!fits(entry, *tensor)) {
      match.wrong_shape.push_back(fmt::format("{} is {}, expected {}", entry.name,
                                              to_string(tensor->type),
                                              to_string({entry.type.dtype, file_shape(entry)})));
    } else {
      match.loaded[entry.name] = tensor;
    }
  }
  for (const auto& [name, tensor] : rest) match.unknown.push_back(tensor->name);
  return match;
}

std::vector<StateEntry> state_of(const ModelInfo& network) {
  return network_state(make_step_spec(network));
}

// The known network that the file fits best, when it is another one than `asked`.
std::optional<std::string> better_network(const TensorFile& file, const std::string& asked,
                                          const Match& match) {
  std::optional<std::string> better;
  std::optional<size_t> fewest;
  if (match.is_enough()) fewest = match.misfits();
  for (std::string_view name : network_names()) {
    if (name == asked) continue;
    ModelInfo network;
    network.model = std::string(name);
    network.classes = {"a", "b"};
    Match other = match_network(file, state_of(network));
    if (!other.is_enough() || (fewest && other.misfits() >= *fewest)) continue;
    fewest = other.misfits();
    better = std::string(name);
  }
  return better;
}

std::string examples(const char* what, const Names& names) {
  return names.empty() ? "" : fmt::format("; {}: {}", what, list_some(names, kExamples));
}

void check_fit(const InitFile& file, const std::string& model, const Match& match) {
  std::optional<std::string> better = better_network(file.tensors, model, match);
  if (match.is_enough() && !better) return;
  std::string found =
      fmt::format("--init {}: {} of the {} entries of {} (without its head) are in the file",
                  file.path, match.loaded.size(), match.entries(), model);
  if (better) {
    fail_with_hint(ErrorKind::Config, fmt::format("add --model {}", *better),
                   "{}{}; the file looks like a {}", found,
                   match.is_enough() ? fmt::format(", but {} others as well", match.unknown.size())
                                     : std::string(),
                   *better);
  }
  std::string holds = file.tensors.tensors.empty() ? "; it holds no tensor at all" : "";
  fail_with_hint(ErrorKind::Config,
                 fmt::format("the names must be torchvision's for {}, or give --model the network "
                             "of the file; {}",
                             model, kGuide),
                 "{}, at least {} % are needed{}{}{}{}", found, kLeastPercent, holds,
                 examples("found", match.unknown), examples("expected", match.missing),
                 examples("wrong shapes", match.wrong_shape));
}

// Why the file's head cannot be used; empty when it can.
std::string reason_for_new_head(const InitFile& file, const ModelInfo& network, const Match& match,
                                const std::vector<StateEntry>& state) {
  for (const StateEntry& entry : state) {
    if (!is_head(entry.name)) continue;
    auto found = match.head.find(entry.name);
    if (found == match.head.end()) return fmt::format("{} is not in the file", entry.name);
    const Shape& shape = found->second->type.shape;
    int64_t classes = shape.rank() > 0 ? shape[0] : 0;
    if (classes != int64_t(network.classes.size())) {
      return fmt::format("{} classes in the file, {} here", group_digits(classes),
                         network.classes.size());
    }
    if (!fits(entry, *found->second)) {
      return fmt::format("{} is {} in the file, expected {}", entry.name,
                         to_string(found->second->type),
                         to_string({entry.type.dtype, file_shape(entry)}));
    }
  }
  if (!file.classes.empty() && file.classes != network.classes) {
    return fmt::format("the file's classes are {}", list_some(file.classes, kExamples));
  }
  return "";
}

// ---- Values ----

template <typename T>
T element(const NamedTensor& tensor, size_t index) {
  T value;
  std::memcpy(&value, tensor.bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

std::vector<float> floats_of(const NamedTensor& tensor) {
  std::vector<float> values(size_t(tensor.type.shape.elements()));
  auto fill = [&](auto convert) {
    for (size_t i = 0; i < values.size(); ++i) values[i] = convert(i);
  };
  switch (tensor.type.dtype) {
    case DType::F64:
      fill([&](size_t i) { return float(element<double>(tensor, i)); });
      break;
    case DType::F32:
      fill([&](size_t i) { return element<float>(tensor, i); });
      break;
    case DType::F16:
      fill([&](size_t i) { return float_from_half(element<uint16_t>(tensor, i)); });
      break;
    case DType::BF16:
      fill([&](size_t i) { return float_from_bfloat16(element<uint16_t>(tensor, i)); });
      break;
    default:
      fail(ErrorKind::Internal, "weights of {}", to_string(tensor.type));
  }
  return values;
}

void check_values(const std::string& path, const NamedTensor& tensor,
                  const std::vector<float>& values) {
  bool is_variance = tensor.name.ends_with(".running_var");
  auto is_bad = [&](float value) { return !std::isfinite(value) || (is_variance && value < 0); };
  auto bad = std::find_if(values.begin(), values.end(), is_bad);
  if (bad == values.end()) return;
  fail_with_hint(
      ErrorKind::BadData, "get the file again; weights of a training that diverged are no start",
      "--init {}: tensor \"{}\" holds {} at element {}, expected {}", path, tensor.name, *bad,
      bad - values.begin(), is_variance ? "numbers of at least 0" : "finite numbers");
}

}  // namespace

InitFile read_init_file(const std::string& path, const std::string& checksum) {
  InitFile file;
  if (is_missing(path)) {
    fail_with_hint(ErrorKind::Config, kGuide, "--init {}: no such file", path);
  }
  file.path = find_model_file(path);
  WeightsSource source{.path = file.path,
                       .label = "--init ",
                       .hint = fmt::format("copy or download the file again; {}", kGuide)};
  read_weights_file(source, [&](std::span<const uint8_t> bytes) {
    file.checksum = checksum_of(bytes);
    check_recorded(file, path, checksum);
    file.tensors = read_safetensors(bytes);
    if (auto info = read_description(file.tensors.metadata)) file.classes = info->classes;
  });
  return file;
}

StartWeights::StartWeights(InitFile file, const ModelInfo& network) : file_(std::move(file)) {
  std::vector<StateEntry> state = state_of(network);
  Match match = match_network(file_.tensors, state);
  check_fit(file_, network.model, match);
  report_ = {.path = file_.path,
             .prefix = match.prefix,
             .head = {},
             .loaded = {},
             .replaced = {},
             .missing = match.missing,
             .wrong_shape = match.wrong_shape,
             .unknown = match.unknown};
  std::string reason = reason_for_new_head(file_, network, match, state);
  report_.head = reason.empty() ? fmt::format("head kept ({} classes in both)",
                                              group_digits(int64_t(network.classes.size())))
                                : fmt::format("head replaced ({})", reason);
  for (const StateEntry& entry : state) {
    const TensorsByName& found = is_head(entry.name) ? match.head : match.loaded;
    auto tensor = found.find(entry.name);
    if (is_head(entry.name) && !reason.empty()) {
      report_.replaced.push_back(entry.name);
    } else if (tensor != found.end()) {
      report_.loaded.push_back(entry.name);
      loaded_[entry.name] = tensor->second;
    }
  }
}

std::vector<float> StartWeights::values(const StateEntry& entry, uint64_t seed) const {
  auto found = loaded_.find(entry.name);
  if (found == loaded_.end()) return initial_values(entry, seed);
  std::vector<float> values = floats_of(*found->second);
  check_values(file_.path, *found->second, values);
  if (entry.layout == FileLayout::ConvKcrs) return krsc_from_kcrs(values, entry.type.shape);
  return values;
}

}  // namespace pounce
