// The groups of the table of training options, in the table's order. Each adds its rows. Internal
// to src/train.
#pragma once

#include <vector>

#include "pounce/options.h"

namespace pounce {

void add_model_options(std::vector<TrainOption>& table);
void add_length_options(std::vector<TrainOption>& table);
void add_optimizer_options(std::vector<TrainOption>& table);
void add_robustness_options(std::vector<TrainOption>& table);
void add_augmentation_options(std::vector<TrainOption>& table);
void add_data_options(std::vector<TrainOption>& table);
void add_run_options(std::vector<TrainOption>& table);

}  // namespace pounce
