// Network, image size and start weights.
#include "train/option_kinds.h"
#include "train/options/groups.h"

namespace pounce {
namespace {

using namespace option_kinds;

TrainOption init_file(const OptionText& text) {
  TrainOption option = make_option(text);
  option.set = [name = text.name](TrainConfig& config, const std::string& given) {
    if (given.empty()) refuse(name, given, "the name of a safetensors file");
    config.init = given;
    config.init_checksum.clear();  // a recorded one belongs to the recorded file
  };
  option.get = [](const TrainConfig& config) { return value_text(config.init); };
  return option;
}

TrainOption init_checksum(const OptionText& text) {
  TrainOption option = make_option(text);
  option.set = [name = text.name](TrainConfig& config, const std::string& given) {
    constexpr std::string_view kForm = "xxh3:", kDigits = "0123456789abcdef";
    bool has_digits = given.find_first_not_of(kDigits, kForm.size()) == std::string::npos;
    if (!given.starts_with(kForm) || given.size() != kForm.size() + 16 || !has_digits) {
      refuse(name, given, "xxh3: and 16 hexadecimal digits, as config.toml has it");
    }
    config.init_checksum = given;
  };
  option.get = [](const TrainConfig& config) { return value_text(config.init_checksum); };
  return option;
}

}  // namespace

void add_model_options(std::vector<TrainOption>& table) {
  constexpr OptionGroup kGroup = OptionGroup::Model;
  table.push_back(one_of<std::string_view>(
      {.name = "model",
       .group = kGroup,
       .value_name = "NAME",
       .default_text = "resnet18; cnn when the image size comes out at 64 or less",
       .help = "network: cnn, resnet18, resnet34, resnet50, resnet101"},
      &TrainConfig::model,
      {{"cnn", "cnn"},
       {"resnet18", "resnet18"},
       {"resnet34", "resnet34"},
       {"resnet50", "resnet50"},
       {"resnet101", "resnet101"}}));
  table.push_back(whole_number(
      {.name = "image-size",
       .group = kGroup,
       .value_name = "N",
       .default_text = "224; when the median short side is under 160, the smallest of 32, 64, 96, "
                       "128, 160 that is not below it",
       .help = "side of the square images the network sees, in pixels"},
      &TrainConfig::image_size, 4096, 8));
  table.push_back(init_file(
      {.name = "init",
       .group = kGroup,
       .value_name = "FILE",
       .default_text = "none: random weights",
       .help = "start from the weights of a safetensors file or a Pounce model",
       .details = "Names are torchvision's; a common prefix such as module. is stripped. The head "
                  "is replaced when the classes differ. Refused when under 90 % of the network's "
                  "entries match. docs/pretrained.md shows how to get such a file."}));
  table.push_back(init_checksum({.name = "init-checksum",
                                 .group = kGroup,
                                 .value_name = "SUM",
                                 .default_text = "any",
                                 .help = "refuse another --init file; config.toml records it"}));
}

}  // namespace pounce
