// Runs the evaluation program over a loader: shared by training, `eval` and `predict`.
#pragma once

#include <functional>
#include <span>
#include <stop_token>

#include "data/loader.h"
#include "engine/session.h"
#include "train/step.h"

namespace pounce {

// Name of the evaluation program for a batch of this size.
std::string evaluation_program(int batch);

// Logits of `batch` images, row after row. Adds the program for this size when it is new.
std::vector<float> run_evaluation(Session& session, const StepSpec& spec,
                                  std::span<const uint8_t> images, int batch);

// Calls `on_batch(batch, logits)` for every batch of the loader's epoch 0, in order, until stopped.
void evaluate_loader(
    Session& session, const StepSpec& spec, BatchLoader& loader, std::stop_token stop,
    const std::function<void(const ImageBatch&, std::span<const float> logits)>& on_batch);

}  // namespace pounce
