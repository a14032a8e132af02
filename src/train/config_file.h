// What later commands read from a run's config.toml.
#pragma once

#include <string>

namespace pounce {

// The folder of images a run was trained on; empty when `path` does not say.
std::string recorded_data_folder(const std::string& path);
// Its `labels`; empty likewise.
std::string recorded_labels(const std::string& path);

}  // namespace pounce
