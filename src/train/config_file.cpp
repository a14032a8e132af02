#include "train/config_file.h"

#include <toml++/toml.h>

#include "base/file.h"

namespace pounce {

std::string recorded_data_folder(const std::string& path) {
  Result<std::vector<uint8_t>> bytes = read_file(path);
  if (!bytes) return "";
  try {
    toml::table table =
        toml::parse(std::string_view(reinterpret_cast<const char*>(bytes->data()), bytes->size()));
    return table["data"].value_or(std::string());
  } catch (const toml::parse_error&) {
    return "";
  }
}

}  // namespace pounce
