// The values of a configuration that the user left open, chosen from the data alone: never from the
// machine, so that a run means the same everywhere.
#pragma once

#include "data/dataset.h"
#include "data/loader.h"
#include "pounce/train.h"

namespace pounce {

// Throws Config for values out of range; touches nothing.
void check_config(const TrainConfig& config);

// Every optional that applies filled in. Rules: docs/cli.md, the defaults of `pounce train`.
TrainConfig fill_defaults(TrainConfig config, const ImageFolder& dataset);

// At the peak of the schedule: grows with the batch size, less from trained weights.
double default_learning_rate(OptimizerKind optimizer, int batch_size, bool has_init = false);
double default_weight_decay(OptimizerKind optimizer);

// Optimizer updates of one epoch.
int64_t updates_per_epoch(int64_t train_images, int batch_size);

// What the loader does with training images: the preset, and what was given in its place.
Augmentation make_augmentation(const TrainConfig& config);

// The words that scan and loader have for them.
OnBad to_on_bad(BadFilePolicy policy);
Sampler to_sampler(SamplerKind kind);

}  // namespace pounce
