// What is read, and how it becomes pixels.
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
  table.push_back(number({.name = "resize-ratio",
                          .group = kGroup,
                          .value_name = "X",
                          .default_text = "0.875",
                          .help = "evaluation: size of the centre crop / resized short side"},
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
}

}  // namespace pounce
