#include "train/config_file.h"

#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include "base/file.h"

namespace pounce {

std::string recorded_data_folder(const std::string& path) {
  Result<std::vector<uint8_t>> bytes = read_file(path);
  if (!bytes) return "";
  toml::parse_result parsed = toml::parse(std::string(bytes->begin(), bytes->end()));
  if (!parsed) return "";
  return parsed.table()["data"].value_or(std::string());
}

}  // namespace pounce
