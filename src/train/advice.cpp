#include "train/advice.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "train/precision.h"

namespace pounce {
namespace {

constexpr int64_t kManyImages = 20'000;   // from here on random weights do well
constexpr int64_t kFewImages = 200;       // of training
constexpr int64_t kFewOfAClass = 20;      // training images
constexpr int64_t kFewValImages = 100;    // one image is worth a point of accuracy or more
constexpr double kMoreValidation = 0.3;   // share to propose where few are held back
constexpr double kLongPictures = 1.5;     // median of long side over short side
constexpr int64_t kImbalance = 10;        // largest class over smallest
constexpr double kShortRun = 60;          // seconds
constexpr double kLongRun = 600;          // seconds
constexpr double kEvaluationCost = 0.35;  // of an image, over its cost in training

struct ClassSizes {
  std::string smallest, largest;
  int64_t least = 0, most = 0;
};

ClassSizes class_sizes(const ImageFolder& data) {
  ClassSizes sizes;
  for (size_t i = 0; i < data.classes.size(); ++i) {
    int64_t count = data.class_counts[i].train;
    if (i == 0 || count < sizes.least) sizes.smallest = data.classes[i], sizes.least = count;
    if (i == 0 || count > sizes.most) sizes.largest = data.classes[i], sizes.most = count;
  }
  return sizes;
}

std::string images(int64_t count) {
  return count_of(count, "image", "images");
}

std::string imbalance_warning(const TrainConfig& config, const ClassSizes& sizes) {
  std::string text = fmt::format(
      "class sizes differ {}:1 ({} {}, {} {}): accuracy alone misleads, so balanced accuracy (the "
      "mean over the classes) stands beside it",
      sizes.most / std::max<int64_t>(1, sizes.least), sizes.largest, group_digits(sizes.most),
      sizes.smallest, group_digits(sizes.least));
  if (config.class_weights == ClassWeights::None) {
    text += "; --class-weights balanced lets every class count alike";
  }
  return text;
}

std::string small_set_note(int64_t total, const ClassSizes& sizes) {
  return fmt::format(
      "{} to learn from, {} of the smallest class ({}): expect a rough result; more photos help "
      "most, a hundred or more a class are usual",
      images(total), group_digits(sizes.least), sizes.smallest);
}

std::string small_validation_note(const ImageFolder& data) {
  int64_t total = int64_t(data.val.size());
  std::string text = fmt::format(
      "{} for validation: one image is worth {:.1f} points of accuracy, "
      "so small differences mean little",
      images(total), 100.0 / double(total));
  if (data.split_by_rule && data.val_fraction < kMoreValidation) {
    text += fmt::format("; --val-fraction {} holds more back", kMoreValidation);
  }
  return text;
}

// The words of a name: "turn_Left-2" is turn, left, 2.
std::vector<std::string> words_of(const std::string& name) {
  std::vector<std::string> words(1);
  for (char c : to_lower_ascii(name)) {
    bool separates = c == '_' || c == '-' || c == ' ' || c == '.';
    if (separates) {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  return words;
}

using SidePair = std::pair<std::string_view, std::string_view>;

// Whole words, and parts of words where these languages join or do not separate them.
constexpr std::array kSideWords = {SidePair{"l", "r"}, SidePair{"links", "rechts"},
                                   SidePair{"gauche", "droite"}, SidePair{"izquierda", "derecha"}};
constexpr std::array kSideParts = {SidePair{"left", "right"}, SidePair{"左", "右"}};

// `name` with its first left replaced by right; empty without one.
std::string other_side(const std::string& name) {
  std::vector<std::string> words = words_of(name);
  for (std::string& word : words) {
    for (auto [left, right] : kSideWords) {
      // A class l alone is a letter.
      if (word == left && (words.size() > 1 || left.size() > 1)) {
        word = right;
        return fmt::format("{}", fmt::join(words, "_"));
      }
    }
    for (auto [left, right] : kSideParts) {
      size_t at = word.find(left);
      if (at == std::string::npos) continue;
      word.replace(at, left.size(), right);
      return fmt::format("{}", fmt::join(words, "_"));
    }
  }
  return "";
}

std::string mirrored_names_warning(const TrainConfig& config,
                                   const std::vector<std::string>& classes) {
  for (const std::string& left : classes) {
    std::string wanted = other_side(left);
    if (wanted.empty()) continue;
    for (const std::string& right : classes) {
      if (fmt::format("{}", fmt::join(words_of(right), "_")) != wanted) continue;
      return fmt::format(
          "the classes {} and {} differ by left and right, and images are mirrored "
          "with probability {}: use --hflip 0",
          left, right, config.hflip.value_or(0));
    }
  }
  return "";
}

// Digits, and letters of scripts whose single letters are no words: Latin, Greek, Cyrillic, kana.
bool is_sign(const std::string& name) {
  size_t at = 0;
  char32_t c = name.empty() ? 0 : next_code_point(name, at);
  if (at != name.size()) return false;
  auto within = [c](char32_t first, char32_t last) { return c >= first && c <= last; };
  return within('0', '9') || within('A', 'Z') || within('a', 'z') || within(0xC0, 0x24F) ||
         within(0x370, 0x52F) || within(0x3041, 0x30FF) || within(0xFF10, 0xFF5A);
}

bool are_signs(const std::vector<std::string>& classes) {
  const std::set<std::string> digits = {"zero", "one", "two",   "three", "four",
                                        "five", "six", "seven", "eight", "nine"};
  return std::all_of(classes.begin(), classes.end(), [&](const std::string& name) {
    return is_sign(name) || digits.contains(to_lower_ascii(name));
  });
}

// Long side over short side of the picture in the middle; 0 without pictures.
double median_aspect_ratio(const SampleList& samples) {
  std::vector<double> ratios;
  for (size_t i = 0; i < samples.size(); ++i) {
    double width = samples.width(i), height = samples.height(i);
    if (width > 0 && height > 0) ratios.push_back(std::max(width / height, height / width));
  }
  if (ratios.empty()) return 0;
  auto middle = ratios.begin() + int64_t(ratios.size() / 2);
  std::nth_element(ratios.begin(), middle, ratios.end());
  return *middle;
}

std::string cropped_ends_warning(double ratio) {
  return fmt::format(
      "half of the pictures are {:.1f} times as long as wide or more, and --fit crop shows the "
      "middle alone: --fit letterbox shows the whole picture on black, --fit stretch without its "
      "proportions",
      ratio);
}

}  // namespace

bool is_imbalanced(const ImageFolder& data) {
  ClassSizes sizes = class_sizes(data);
  return sizes.most > kImbalance * sizes.least;
}

Advice advise(const TrainConfig& config, const ImageFolder& data, const Backend* backend) {
  Advice advice;
  if (backend && config.precision == Precision::Auto) {
    std::optional<std::string> reason = automatic_fp32_reason(*backend);
    if (reason) advice.notes.push_back(*reason);
  }
  ClassSizes sizes = class_sizes(data);
  int64_t total = int64_t(data.train.size());
  if (is_imbalanced(data)) advice.warnings.push_back(imbalance_warning(config, sizes));
  double ratio = config.fit == Fit::Crop ? median_aspect_ratio(data.train) : 0;
  if (ratio > kLongPictures) advice.warnings.push_back(cropped_ends_warning(ratio));
  if (config.hflip.value_or(0) > 0) {
    std::string mirrored = mirrored_names_warning(config, data.classes);
    if (!mirrored.empty()) advice.warnings.push_back(mirrored);
    if (are_signs(data.classes)) {
      advice.notes.push_back(
          "the classes look like digits or letters, and a mirrored one is another sign: use "
          "--hflip 0");
    }
  }
  if (total < kFewImages || sizes.least < kFewOfAClass) {
    advice.notes.push_back(small_set_note(total, sizes));
  }
  int64_t val = int64_t(data.val.size());
  if (val > 0 && val < kFewValImages) advice.notes.push_back(small_validation_note(data));
  // The cnn has no pretrained weights that people know.
  if (config.init.empty() && *config.model != "cnn" && total < kManyImages) {
    advice.notes.push_back(
        fmt::format("starting from random weights on {}; pretrained weights usually help much "
                    "(docs/pretrained.md): --init {}.safetensors",
                    images(total), *config.model));
  }
  return advice;
}

std::string time_estimate(const MeasuredSpeed& speed) {
  double weighted = double(speed.train_images) + kEvaluationCost * double(speed.val_images);
  double seconds = weighted / speed.images_per_second;
  if (seconds < kShortRun) return "";
  std::string text = fmt::format("about {} left at {:.{}f} img/s", human_duration(seconds),
                                 speed.images_per_second, speed.images_per_second < 10 ? 1 : 0);
  bool computes = speed.is_cpu && speed.data_wait_fraction < 0.5;
  if (!computes || seconds < kLongRun) return text;
  constexpr int kSizes[] = {160, 128, 96};  // from 64 on the default model is another
  for (int size : kSizes) {
    double share = double(size) / speed.image_size;
    if (share > 0.75) continue;
    return text + fmt::format("; --image-size {} would need about {}", size,
                              human_duration(seconds * share * share));
  }
  return text;
}

}  // namespace pounce
