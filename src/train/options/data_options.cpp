// What is read, and how it becomes pixels.
#include <cmath>
#include <optional>

#include "train/option_kinds.h"
#include "train/options/groups.h"

namespace pounce {
namespace {

using namespace option_kinds;

TrainOption labels(const OptionText& text) {
  TrainOption option = make_option(text);
  option.set = [name = text.name](TrainConfig& config, const std::string& given) {
    if (given.empty()) refuse(name, given, "names, FILE.csv or FILE.csv:file,label");
    config.labels = given;
  };
  option.get = [](const TrainConfig& config) { return value_text(config.labels); };
  return option;
}

// "4G", "512M", "1.5g", "30%".
std::optional<CacheLimit> parse_limit(std::string_view text) {
  constexpr double kMost = 1e18;
  if (text.empty()) return std::nullopt;
  constexpr std::string_view kUnits = "kmgt";
  size_t unit = kUnits.find(to_lower_ascii(text.substr(text.size() - 1)));
  bool is_percent = text.back() == '%';
  if (is_percent || unit != std::string_view::npos) text.remove_suffix(1);
  std::optional<double> value = parse_double(text);
  if (!value || *value <= 0 || (is_percent && *value > 100)) return std::nullopt;
  if (is_percent) return CacheLimit{.percent = *value};
  double bytes = *value * (unit == std::string_view::npos ? 1 : std::exp2(10.0 * double(unit + 1)));
  if (bytes < 1 || bytes > kMost) return std::nullopt;
  return CacheLimit{.bytes = int64_t(bytes)};
}

// In the largest unit that needs no fraction.
std::string limit_text(const CacheLimit& limit) {
  if (limit.percent > 0) return fmt::format("{}%", limit.percent);
  int64_t bytes = limit.bytes;
  std::string unit;
  for (std::string_view next : {"K", "M", "G", "T"}) {
    if (bytes % 1024 != 0) break;
    bytes /= 1024;
    unit = next;
  }
  return fmt::format("{}{}", bytes, unit);
}

TrainOption cache_limit(const OptionText& text) {
  TrainOption option = make_option(text);
  option.set = [name = text.name](TrainConfig& config, const std::string& given) {
    std::optional<CacheLimit> limit = given == "auto" ? CacheLimit{} : parse_limit(given);
    if (!limit) {
      refuse(name, given, "a size such as 4G or 512M (K, M, G: powers of 1024) or 30%",
             "--cache none keeps no image");
    }
    config.cache_limit = *limit;
  };
  option.get = [](const TrainConfig& config) {
    bool is_chosen = config.cache_limit == CacheLimit{};
    return value_text(is_chosen ? std::string("auto") : limit_text(config.cache_limit));
  };
  return option;
}

void add_cache_options(std::vector<TrainOption>& table) {
  constexpr OptionGroup kGroup = OptionGroup::Data;
  table.push_back(one_of<CacheMode>(
      {.name = "cache",
       .group = kGroup,
       .value_name = "WORD",
       .default_text = "auto",
       .help = "where images are kept between epochs: auto, none, ram, disk or shrunk",
       .details = "ram: in memory; disk: in the cache folder, for later runs as well. auto: in "
                  "memory, once the steps of an epoch have waited for images more than 5 % of "
                  "their time and more than a second. Kept are "
                  "decoded pixels where they fit, else files as they are. These have no influence "
                  "on any result. shrunk: a rule of its own, never chosen by auto. Pictures are "
                  "first reduced to a short side of 1.5 times the image size and kept so in the "
                  "cache folder, which takes far less room; results differ from the other words'. "
                  "The model file keeps the rule; eval and predict follow it. "
                  "`pounce cache` shows and clears what lies on the disk."},
      &TrainConfig::cache,
      {{"auto", CacheMode::Auto},
       {"none", CacheMode::None},
       {"ram", CacheMode::Ram},
       {"disk", CacheMode::Disk},
       {"shrunk", CacheMode::Shrunk}}));
  table.push_back(cache_limit(
      {.name = "cache-limit",
       .group = kGroup,
       .value_name = "SIZE",
       .default_text =
           "auto: with ram half of the free memory (a quarter where auto chose it), with "
           "disk and shrunk a tenth of the free space, at most 50G",
       .help = "most that --cache may hold: 4G, 512M, 30%",
       .details =
           "Percent are of the machine's memory, or of the disk with the cache folder, where "
           "the limit is for the cached images of all data sets together."}));
}

}  // namespace

void add_data_options(std::vector<TrainOption>& table) {
  constexpr OptionGroup kGroup = OptionGroup::Data;
  table.push_back(labels(
      {.name = "labels",
       .group = kGroup,
       .value_name = "FILE|names",
       .default_text = "the folders are the classes",
       .help = "classes from file names (names) or a table (FILE.csv)",
       .details = "names: cat.0.jpg and cat_1.jpg are of class cat. A table has a column with the "
                  "file (name, path, or id without extension) and one with the label; "
                  "FILE.csv:file,label says which. metadata.csv (file_name, label) among the "
                  "images is found by itself."}));
  table.push_back(flag({.name = "exif",
                        .group = kGroup,
                        .default_text = "on",
                        .help = "turn images upright as their EXIF orientation says",
                        .details = "--no-exif takes them as they are stored. The model file keeps "
                                   "the choice; eval and predict follow it."},
                       &TrainConfig::exif));
  table.push_back(one_of<Fit>(
      {.name = "fit",
       .group = kGroup,
       .value_name = "WORD",
       .default_text = "crop",
       .help = "pictures that are not square: crop, letterbox or stretch",
       .details =
           "crop: the short side fills the square, the ends of the long side are cut off. "
           "letterbox: the whole picture, centred on black. stretch: the whole picture, both "
           "sides scaled to the square. Random crops of training are taken from the picture "
           "and treated the same. The model file keeps the choice; eval and predict follow "
           "it."},
      &TrainConfig::fit,
      {{"crop", Fit::Crop}, {"letterbox", Fit::Letterbox}, {"stretch", Fit::Stretch}}));
  table.push_back(number({.name = "resize-ratio",
                          .group = kGroup,
                          .value_name = "X",
                          .default_text = "0.875",
                          .help = "evaluation: size of the centre crop / resized short side",
                          .details = "For --fit crop; the other fits show the whole picture."},
                         &TrainConfig::resize_ratio, {.least = 0.1, .most = 1}));
  table.push_back(number({.name = "val-fraction",
                          .group = kGroup,
                          .value_name = "X",
                          .default_text = "0.2",
                          .help = "share held back for validation where no folder is for it",
                          .details = "The choice depends on the names of the files alone and stays "
                                     "when files are added. 0: no validation; the last model is "
                                     "the best."},
                         &TrainConfig::val_fraction, {.least = 0, .most = 1, .below_most = true}));
  table.push_back(one_of<BadFilePolicy>(
      {.name = "on-bad",
       .group = kGroup,
       .value_name = "WORD",
       .default_text = "auto",
       .help = "files that cannot be used: auto, skip or stop",
       .details = "auto skips them, but stops before training when over 10 % of a class cannot be "
                  "used. Skipped files are listed in skipped.tsv of the run folder."},
      &TrainConfig::on_bad,
      {{"auto", BadFilePolicy::Auto},
       {"skip", BadFilePolicy::Skip},
       {"stop", BadFilePolicy::Stop}}));
  add_cache_options(table);
}

}  // namespace pounce
