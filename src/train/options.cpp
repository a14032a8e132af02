#include "pounce/options.h"

#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "train/option_kinds.h"

namespace pounce {
namespace {

using namespace option_kinds;

// ---- Options with a form of their own ----

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

// Device words of Pounce that another build would serve; everything else is a mistake.
bool names_a_gpu(const std::string& device) {
  return device == "gpu" || device == "cuda" || device == "opencl" || device.starts_with("cuda:") ||
         device.starts_with("opencl:") || parse_uint(device);
}

void set_device(TrainConfig& config, const std::string& given) {
  if (given == "auto" || given == "cpu") {
    config.device = given;
    return;
  }
  std::string hint = "use --device cpu, or leave the flag out";
  if (names_a_gpu(given)) {
    fail_with_hint(ErrorKind::Device, hint,
                   "--device {}: expected auto or cpu; this build of Pounce computes on the cpu "
                   "only",
                   given);
  }
  std::string lower = to_lower_ascii(given);
  if (lower == "mps") hint = "Apple GPUs are not served; " + hint;
  if (lower.starts_with("/gpu")) hint = "TensorFlow's word for a GPU, which is not served; " + hint;
  if (given.find(',') != std::string::npos) hint = "a run uses one device; " + hint;
  refuse("device", given, "auto or cpu, the devices this build serves", hint);
}

TrainOption device(const OptionText& text) {
  TrainOption option = make_option(text);
  option.choices = {"auto", "cpu"};
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

TrainOption labels(const OptionText& text) {
  TrainOption option = make_option(text);
  option.set = [name = text.name](TrainConfig& config, const std::string& given) {
    if (given.empty()) refuse(name, given, "names, FILE.csv or FILE.csv:file,label");
    config.labels = given;
  };
  option.get = [](const TrainConfig& config) { return value_text(config.labels); };
  return option;
}

// ---- The table ----

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

void add_length_options(std::vector<TrainOption>& table) {
  constexpr OptionGroup kGroup = OptionGroup::Training;
  table.push_back(
      whole_number({.name = "epochs",
                    .group = kGroup,
                    .value_name = "N",
                    .default_text = "30, raised to reach 1,000 updates, at most 200; with --init "
                                    "15, raised to reach 300, at most 60",
                    .help = "passes over the training images"},
                   &TrainConfig::epochs, 100'000));
  table.push_back(whole_number(
      {.name = "batch-size",
       .short_name = 'b',
       .group = kGroup,
       .value_name = "N",
       .default_text = "64; under 640 training images the largest power of two up to a tenth of "
                       "them, at least 8",
       .help = "images an update"},
      &TrainConfig::batch_size, 65536));
}

void add_optimizer_options(std::vector<TrainOption>& table) {
  constexpr OptionGroup kGroup = OptionGroup::Training;
  table.push_back(one_of<OptimizerKind>({.name = "optimizer",
                                         .group = kGroup,
                                         .value_name = "NAME",
                                         .default_text = "adamw",
                                         .help = "adamw, adam or sgd"},
                                        &TrainConfig::optimizer,
                                        {{"adamw", OptimizerKind::AdamW},
                                         {"adam", OptimizerKind::Adam},
                                         {"sgd", OptimizerKind::Sgd}}));
  table.push_back(
      number({.name = "lr",
              .group = kGroup,
              .value_name = "X",
              .default_text = "0.001 x sqrt(batch / 64), sgd 0.05 x batch / 64; with --init "
                              "0.3 of it",
              .help = "learning rate at its peak",
              .details = "A given value is never scaled with the batch size. How the "
                         "rate falls from its peak is for --schedule."},
             &TrainConfig::learning_rate, {.least = 0, .most = 100, .above_least = true}));
  table.push_back(number({.name = "momentum",
                          .group = kGroup,
                          .value_name = "X",
                          .default_text = "0.9",
                          .help = "momentum of sgd"},
                         &TrainConfig::momentum, {.least = 0, .most = 1, .below_most = true}));
  table.push_back(flag({.name = "nesterov",
                        .group = kGroup,
                        .default_text = "off",
                        .help = "Nesterov's form of the momentum of sgd"},
                       &TrainConfig::nesterov));
  table.push_back(number({.name = "weight-decay",
                          .group = kGroup,
                          .value_name = "X",
                          .default_text = "adamw 0.05, sgd 0.0005, adam 0",
                          .help = "pull of the weights towards 0",
                          .details = "Never applied to normalisation layers and biases."},
                         &TrainConfig::weight_decay, {.least = 0, .most = 100}));
  table.push_back(one_of<ScheduleKind>(
      {.name = "schedule",
       .group = kGroup,
       .value_name = "NAME",
       .default_text = "cosine",
       .help = "learning rate after the warm-up: cosine, step or constant",
       .details = "cosine falls to 0 at the end, step by --step-gamma every --step-epochs."},
      &TrainConfig::schedule,
      {{"cosine", ScheduleKind::Cosine},
       {"step", ScheduleKind::Step},
       {"constant", ScheduleKind::Constant}}));
  table.push_back(number({.name = "step-epochs",
                          .group = kGroup,
                          .value_name = "X",
                          .default_text = "30",
                          .help = "epochs between two steps of --schedule step"},
                         &TrainConfig::step_epochs,
                         {.least = 0, .most = 100'000, .above_least = true}));
  table.push_back(number({.name = "step-gamma",
                          .group = kGroup,
                          .value_name = "X",
                          .default_text = "0.1",
                          .help = "factor of a step of --schedule step"},
                         &TrainConfig::step_gamma, {.least = 0, .most = 1, .above_least = true}));
  table.push_back(number({.name = "warmup-epochs",
                          .group = kGroup,
                          .value_name = "X",
                          .default_text = "1",
                          .help = "epochs in which the learning rate rises from 0 to its peak"},
                         &TrainConfig::warmup_epochs, {.least = 0, .most = 100'000}));
  table.push_back(number({.name = "label-smoothing",
                          .group = kGroup,
                          .value_name = "X",
                          .default_text = "0",
                          .help = "share of each target that is spread over all classes"},
                         &TrainConfig::label_smoothing,
                         {.least = 0, .most = 1, .below_most = true}));
}

void add_robustness_options(std::vector<TrainOption>& table) {
  constexpr OptionGroup kGroup = OptionGroup::Training;
  table.push_back(one_of<ClassWeights>(
      {.name = "class-weights",
       .group = kGroup,
       .value_name = "WORD",
       .default_text = "none",
       .help = "none, or balanced: images of rare classes weigh more in the loss",
       .details = "balanced weighs an image by the inverse of its class's share of the training "
                  "images; the weights of all training images are 1 on average."},
      &TrainConfig::class_weights,
      {{"none", ClassWeights::None}, {"balanced", ClassWeights::Balanced}}));
  table.push_back(one_of<SamplerKind>(
      {.name = "sampler",
       .group = kGroup,
       .value_name = "WORD",
       .default_text = "uniform",
       .help = "uniform, or balanced: every class equally often in an epoch",
       .details = "An epoch keeps its length, so with balanced an image may come several times in "
                  "an epoch, each time varied anew, or not at all."},
      &TrainConfig::sampler,
      {{"uniform", SamplerKind::Uniform}, {"balanced", SamplerKind::Balanced}}));
  table.push_back(
      number({.name = "ema",
              .group = kGroup,
              .value_name = "DECAY",
              .default_text = "0 (off)",
              .help = "average the weights over updates; validate and keep the average",
              .details = "The average moves by 1 - DECAY an update, faster in the first "
                         "ones. 0.999 suits runs of some thousand updates."},
             &TrainConfig::ema_decay, {.least = 0, .most = 1, .below_most = true}));
  table.push_back(number({.name = "clip-grad",
                          .group = kGroup,
                          .value_name = "NORM",
                          .default_text = "0 (off)",
                          .help = "largest norm of the gradient over all weights together"},
                         &TrainConfig::clip_grad, {.least = 0, .most = 1e6}));
  table.push_back(whole_number({.name = "patience",
                                .group = kGroup,
                                .value_name = "N",
                                .default_text = "0 (off)",
                                .help = "stop after N epochs without a better model"},
                               &TrainConfig::patience, 100'000, 0));
}

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
}

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
                                .details = "auto: as many as the process may use. No influence on "
                                           "any result."},
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
                          .help = "where to compute: auto or cpu"}));
  table.push_back(out_folder({.name = "out",
                              .short_name = 'o',
                              .group = kGroup,
                              .value_name = "DIR",
                              .default_text = "runs/<folder>-N",
                              .help = "folder for the results; must not exist yet"}));
}

}  // namespace

std::span<const TrainOption> train_options() {
  static const std::vector<TrainOption> table = [] {
    std::vector<TrainOption> options;
    add_model_options(options);
    add_length_options(options);
    add_optimizer_options(options);
    add_robustness_options(options);
    add_augmentation_options(options);
    add_data_options(options);
    add_run_options(options);
    return options;
  }();
  return table;
}

std::string to_toml(const TrainConfig& config) {
  std::string text;
  if (!config.data.empty()) text += fmt::format("data = {}\n", value_text(config.data));
  for (const TrainOption& option : train_options()) {
    // A repeated run gets a folder of its own.
    if (option.name == "out") continue;
    std::string value = option.get(config);
    if (!value.empty()) text += fmt::format("{} = {}\n", option.name, value);
  }
  return text;
}

}  // namespace pounce
