// How training images are varied.
#include "train/option_kinds.h"
#include "train/options/groups.h"

namespace pounce {
namespace {

using namespace option_kinds;

TrainOption crop_scale(const OptionText& text) {
  TrainOption option = make_option(text);
  option.set = [name = text.name](TrainConfig& config, const std::string& given) {
    constexpr Range kShare = {.least = 0, .most = 1, .above_least = true};
    size_t comma = given.find(',');
    std::string_view least = std::string_view(given).substr(0, comma);
    double from = parse_in_range(name, given, least, kShare), to = 1;
    if (comma != std::string::npos) {
      to = parse_in_range(name, given, std::string_view(given).substr(comma + 1), kShare);
    }
    if (from > to) refuse(name, given, "MIN not above MAX");
    config.crop_scale_min = from;
    config.crop_scale_max = to;
  };
  option.get = [](const TrainConfig& config) -> std::string {
    if (!config.crop_scale_min) return "";
    return fmt::format("[{}, {}]", value_text(*config.crop_scale_min),
                       value_text(config.crop_scale_max.value_or(1)));
  };
  option.check = [set = option.set](const TrainConfig& config) {
    if (!config.crop_scale_min && !config.crop_scale_max) return;
    TrainConfig scratch = config;
    double most = config.crop_scale_max.value_or(1);
    set(scratch, fmt::format("{},{}", config.crop_scale_min.value_or(most), most));
  };
  return option;
}

TrainOption augment(const OptionText& text) {
  TrainOption option = one_of<Augment>(
      text, &TrainConfig::augment,
      {{"none", Augment::None}, {"light", Augment::Light}, {"standard", Augment::Standard}});
  option.is_preset = true;
  option.set = [set_word = option.set](TrainConfig& config, const std::string& given) {
    set_word(config, given);
    for (auto member : {&TrainConfig::crop_scale_min, &TrainConfig::crop_scale_max,
                        &TrainConfig::hflip, &TrainConfig::vflip}) {
      (config.*member).reset();
    }
  };
  return option;
}

}  // namespace

void add_augmentation_options(std::vector<TrainOption>& table) {
  constexpr OptionGroup kGroup = OptionGroup::Augmentation;
  table.push_back(augment({.name = "augment",
                           .group = kGroup,
                           .value_name = "WORD",
                           .default_text = "standard",
                           .help = "how training images are varied: none, light or standard",
                           .details = "standard: --crop-scale 0.35,1 --hflip 0.5; light: "
                                      "--crop-scale 0.8,1 --hflip 0.5; none: images are prepared "
                                      "as for evaluation. The flags below go first."}));
  table.push_back(crop_scale({.name = "crop-scale",
                              .group = kGroup,
                              .value_name = "MIN[,MAX]",
                              .default_text = "by --augment: 0.35,1",
                              .help = "share of the image's area that a random crop takes",
                              .details = "1,1 takes the whole image. MAX is 1 when it is not "
                                         "given."}));
  table.push_back(number({.name = "hflip",
                          .group = kGroup,
                          .value_name = "P",
                          .default_text = "by --augment: 0.5",
                          .help = "probability that a training image is mirrored",
                          .details = "Use 0 where left and right carry meaning, such as digits, "
                                     "letters or arrows."},
                         &TrainConfig::hflip, {}));
  table.push_back(number({.name = "vflip",
                          .group = kGroup,
                          .value_name = "P",
                          .default_text = "0",
                          .help = "probability that a training image is turned upside down"},
                         &TrainConfig::vflip, {}));
  table.push_back(number({.name = "color-jitter",
                          .group = kGroup,
                          .value_name = "X",
                          .default_text = "0: off",
                          .help = "brightness, contrast and saturation by 1-X to 1+X each",
                          .details = "As torchvision's ColorJitter(X, X, X), in this order. 0.4 is "
                                     "usual. No --augment turns it on or off."},
                         &TrainConfig::color_jitter, {}));
  table.push_back(number({.name = "random-erasing",
                          .group = kGroup,
                          .value_name = "P",
                          .default_text = "0: off",
                          .help = "probability that a rectangle of a training image is erased",
                          .details = "As torchvision's RandomErasing: 2 to 33 % of the area, ratio "
                                     "0.3 to 3.3, filled with the mean colour. 0.25 is usual. No "
                                     "--augment turns it on or off."},
                         &TrainConfig::random_erasing, {}));
}

}  // namespace pounce
