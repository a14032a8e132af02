// Small trainings for tests: a part of the shipped digits, a few epochs, events collected.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/temp_dir.h"
#include "pounce/train.h"

namespace pounce::test {

// `classes` folders of at most `images` digits each below `folder`.
inline void copy_digits(const std::string& folder, int classes, int images) {
  namespace fs = std::filesystem;
  for (int digit = 0; digit < classes; ++digit) {
    std::string name = std::to_string(digit);
    fs::create_directories(folder + "/" + name);
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(POUNCE_SOURCE_DIR "/samples/digits/" + name)) {
      files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    files.resize(std::min(files.size(), size_t(images)));
    for (const fs::path& file : files) {
      fs::copy_file(file, folder + "/" + name + "/" + file.filename().string());
    }
  }
}

inline TrainConfig small_config(const std::string& data, const std::string& out) {
  TrainConfig config;
  config.data = data;
  config.out = out;
  config.model = "cnn";
  config.image_size = 8;
  config.epochs = 2;
  config.batch_size = 16;
  config.hflip = 0;
  config.threads = 1;
  config.workers = 1;
  return config;
}

struct Training {
  RunEnd end;
  std::vector<Event> events;

  template <typename T>
  std::vector<T> all() const {
    std::vector<T> found;
    for (const Event& event : events) {
      if (const T* one = std::get_if<T>(&event)) found.push_back(*one);
    }
    return found;
  }
};

inline Training train(const TrainConfig& config, std::stop_token stop = {}) {
  Training training;
  TrainingRun training_run(config, [&](const Event& event) { training.events.push_back(event); });
  training.end = training_run.run(std::move(stop));
  return training;
}

inline std::vector<uint8_t> file_bytes(const std::string& path) {
  return read_file(path).value();
}

}  // namespace pounce::test
