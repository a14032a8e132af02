// How long and by what rule weights are updated.
#include "train/option_kinds.h"
#include "train/options/groups.h"

namespace pounce {

using namespace option_kinds;

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
             &TrainConfig::learning_rate, {.least = 0, .most = 1000}));
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

}  // namespace pounce
