#include "cli/config_file.h"

#include <optional>
#include <vector>

#include <toml++/toml.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace pounce::cli {
namespace {

std::string place(const std::string& file, const toml::source_region& source) {
  return fmt::format("{}:{}", file, source.begin.line);
}

[[noreturn]] void fail_unknown_key(const std::string& where, const std::string& key) {
  std::vector<std::string> keys = config_keys();
  std::optional<std::string> close = nearest(key, keys);
  fail_with_hint(ErrorKind::Config,
                 close ? fmt::format("did you mean {}?", *close)
                       : "keys are the names of the flags; pounce train --help lists them",
                 "{}: unknown key {}", where, key);
}

// A scalar as the text a flag would have; nullopt for anything else.
std::optional<std::string> scalar_text(const toml::node& node) {
  if (const auto* value = node.as_string()) return value->get();
  if (const auto* value = node.as_integer()) return fmt::format("{}", value->get());
  if (const auto* value = node.as_boolean()) return value->get() ? "true" : "false";
  if (const auto* value = node.as_floating_point()) {
    std::string text = fmt::format("{}", value->get());
    // 3.0 must not pass where a whole number is expected.
    return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
  }
  return std::nullopt;
}

// Arrays of scalars are joined by commas: [0.35, 1.0] is --crop-scale 0.35,1.0.
std::optional<std::string> value_text(const toml::node& node) {
  const toml::array* items = node.as_array();
  if (!items) return scalar_text(node);
  std::vector<std::string> texts;
  for (const toml::node& item : *items) {
    std::optional<std::string> text = scalar_text(item);
    if (!text) return std::nullopt;
    texts.push_back(*text);
  }
  return fmt::format("{}", fmt::join(texts, ","));
}

std::string type_name(const toml::node& node) {
  if (node.is_table()) return "a table";
  if (node.is_array()) return "an array with more than plain values";
  return "a date or time";
}

void take_value(Settings& settings, const std::string& where, const std::string& key,
                const toml::node& node) {
  std::optional<std::string> text = value_text(node);
  if (!text) {
    fail(ErrorKind::Config, "{}: {}: expected a plain value, found {}", where, key,
         type_name(node));
  }
  try {
    set_config_key(settings, key, *text);
  } catch (const Error& error) {
    // In a file the option is a key, not a flag.
    std::string message = error.message();
    if (message.starts_with("--")) message.erase(0, 2);
    throw Error(error.kind(), fmt::format("{}: {}", where, message), error.hint());
  }
}

}  // namespace

void read_config_text(std::string_view text, const std::string& name, Settings& settings) {
  toml::table table;
  try {
    table = toml::parse(text, name);
  } catch (const toml::parse_error& error) {
    fail_with_hint(ErrorKind::Config, "lines look like: epochs = 30, or model = \"resnet18\"",
                   "{}: not TOML: {}", place(name, error.source()), error.description());
  }
  std::vector<std::string> keys = config_keys();
  for (const auto& [key, node] : table) {
    std::string key_name(key.str());
    std::string where = place(name, key.source());
    if (std::find(keys.begin(), keys.end(), key_name) == keys.end()) {
      fail_unknown_key(where, key_name);
    }
  }
  for (bool is_preset : {true, false}) {
    for (const auto& [key, node] : table) {
      std::string key_name(key.str());
      if (is_preset_key(key_name) != is_preset) continue;
      take_value(settings, place(name, key.source()), key_name, node);
    }
  }
}

void read_config_file(const std::string& path, Settings& settings) {
  if (!is_regular_file(path)) {
    fail_with_hint(ErrorKind::Config, "give a TOML file, such as config.toml of a run folder",
                   "--config {}: expected a file, found {}", path,
                   is_directory(path)  ? "a folder"
                   : path_exists(path) ? "a pipe or device"
                                       : "nothing of this name");
  }
  Result<InputFile> file = InputFile::open(path);
  if (!file) throw file.error();
  // Far above any real one: the parser's recursion has no bound of its own.
  constexpr int64_t kMostBytes = int64_t{1} << 16;
  if (file->size() > kMostBytes) {
    fail_with_hint(ErrorKind::Config, "give a TOML file, such as config.toml of a run folder",
                   "--config {}: expected at most {} bytes, found {}", path, kMostBytes,
                   file->size());
  }
  Result<std::vector<uint8_t>> content = read_file(path);
  if (!content) throw content.error();
  std::string_view text(reinterpret_cast<const char*>(content->data()), content->size());
  read_config_text(text, path, settings);
}

}  // namespace pounce::cli
