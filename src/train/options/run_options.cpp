// Seed, threads, device and the run folder.
#include <limits>
#include <optional>

#include "train/device.h"
#include "train/option_kinds.h"
#include "train/options/groups.h"

namespace pounce {
namespace {

using namespace option_kinds;

TrainOption seed(const OptionText& text) {
  TrainOption option = make_option(text);
  option.set = [name = text.name](TrainConfig& config, const std::string& given) {
    std::optional<uint64_t> value = parse_uint(given);
    if (!value) {
      refuse(name, given,
             fmt::format("a whole number from 0 to {}", std::numeric_limits<uint64_t>::max()));
    }
    config.seed = *value;
  };
  option.get = [](const TrainConfig& config) { return value_text(config.seed); };
  return option;
}

void set_device(TrainConfig& config, const std::string& given) {
  std::optional<DeviceChoice> choice = parse_device(given);
  if (choice && choice->kind != DeviceChoice::Kind::Reference) {
    config.device = given;
    return;
  }
  std::string hint = "use --device cpu, or leave the flag out";
  std::string lower = to_lower_ascii(given);
  if (lower == "mps") hint = "Apple GPUs are not served; " + hint;
  if (lower.starts_with("/gpu")) hint = "TensorFlow's word for a GPU is gpu here, or its number";
  if (given.find(',') != std::string::npos) hint = "a run uses one device; " + hint;
  refuse("device", given, "auto, cpu, gpu, a GPU's number, opencl or opencl:N", hint);
}

TrainOption device(const OptionText& text) {
  TrainOption option = make_option(text);
  option.choices = {"auto", "cpu", "gpu", "opencl"};
  option.set = set_device;
  option.get = [](const TrainConfig& config) { return value_text(config.device); };
  return option;
}

TrainOption out_folder(const OptionText& text) {
  TrainOption option = make_option(text);
  option.set = [name = text.name](TrainConfig& config, const std::string& given) {
    if (given.empty()) refuse(name, given, "the name of a folder that does not exist yet");
    config.out = given;
  };
  option.get = [](const TrainConfig& config) { return value_text(config.out); };
  return option;
}

}  // namespace

void add_run_options(std::vector<TrainOption>& table) {
  constexpr OptionGroup kGroup = OptionGroup::Run;
  table.push_back(seed({.name = "seed",
                        .group = kGroup,
                        .value_name = "N",
                        .default_text = "0",
                        .help = "equal seeds and settings give equal models, to the bit"}));
  table.push_back(thread_count({.name = "workers",
                                .short_name = 'j',
                                .group = kGroup,
                                .value_name = "N",
                                .default_text = "auto",
                                .help = "threads that read and decode images",
                                .details = "auto: as many as prove useful, up to those the process "
                                           "may use. No influence on any result."},
                               &TrainConfig::workers));
  table.push_back(thread_count({.name = "threads",
                                .group = kGroup,
                                .value_name = "N",
                                .default_text = "auto",
                                .help = "threads that compute",
                                .details = "auto: as many as the process may use. No influence on "
                                           "any result."},
                               &TrainConfig::threads));
  table.push_back(device({.name = "device",
                          .group = kGroup,
                          .value_name = "NAME",
                          .default_text = "auto",
                          .help = "where to compute: auto, cpu, gpu, a GPU's number, opencl[:N]"}));
  table.push_back(one_of<Precision>(
      {.name = "precision",
       .group = kGroup,
       .value_name = "NAME",
       .default_text = "auto",
       .help = "of products and activations: auto, fp32, bf16 or fp16",
       .details = "auto: bf16 or fp16 where the device is built for it, else fp32; an update that "
                  "overflows is repeated in a wider one. Weights, statistics, loss and files are "
                  "fp32 always. The cpu computes in fp32."},
      &TrainConfig::precision,
      {{"auto", Precision::Auto},
       {"fp32", Precision::Fp32},
       {"bf16", Precision::Bf16},
       {"fp16", Precision::Fp16}}));
  table.push_back(one_of<ConvAlgorithm>(
      {.name = "conv-algorithm",
       .group = kGroup,
       .value_name = "NAME",
       .default_text = "auto",
       .help = "how convolutions are computed: auto or direct",
       .details =
           "auto: on the cpu, windows of 3 x 3 by Winograd's form, whose rounding errors are "
           "a few times those of direct sums. direct: by the sums that define them, slower."},
      &TrainConfig::conv_algorithm,
      {{"auto", ConvAlgorithm::Auto}, {"direct", ConvAlgorithm::Direct}}));
  table.push_back(out_folder({.name = "out",
                              .short_name = 'o',
                              .group = kGroup,
                              .value_name = "DIR",
                              .default_text = "runs/<folder>-N",
                              .help = "folder for the results; must not exist yet"}));
}

}  // namespace pounce
