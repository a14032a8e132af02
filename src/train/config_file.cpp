#include "train/config_file.h"

#include <toml++/toml.h>

#include "base/file.h"

namespace pounce {
namespace {

std::string recorded_text(const std::string& path, std::string_view key) {
  Result<std::vector<uint8_t>> bytes = read_file(path);
  if (!bytes) return "";
  try {
    toml::table table =
        toml::parse(std::string_view(reinterpret_cast<const char*>(bytes->data()), bytes->size()));
    return table[key].value_or(std::string());
  } catch (const toml::parse_error&) {
    return "";
  }
}

}  // namespace

std::string recorded_data_folder(const std::string& path) {
  return recorded_text(path, "data");
}

std::string recorded_labels(const std::string& path) {
  return recorded_text(path, "labels");
}

}  // namespace pounce
