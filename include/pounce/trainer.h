// Training a model, epoch by epoch or all at once.
//
//   pounce::Trainer trainer(model, std::move(train), std::move(val), pounce::AdamW{}, {.epochs =
//   5}); trainer.fit(); trainer.save_best("best.safetensors");
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "pounce/export.h"
#include "pounce/expr.h"
#include "pounce/loader.h"
#include "pounce/model.h"
#include "pounce/optimizer.h"

namespace pounce {

class TrainerState;

struct TrainerOptions {
  int epochs = 30;  // 1 to 100000; the schedule ends with the last
  Schedule schedule = {};
  double label_smoothing = 0;              // 0 to 0.99
  std::vector<double> class_weights = {};  // by label, above 0; empty: all 1
  double clip_grad = 0;                    // largest norm of the mean gradient; 0: no limit
  double ema_decay = 0;                    // of averaged weights, which the model then has; 0: none
  int patience = 0;                        // of fit: epochs without a better model; 0: no limit
  LossFunction loss = {};                  // default: cross-entropy
  Precision precision = Precision::Auto;   // of products and activations, until the Trainer ends
};

// Of one pass over the training images, while the weights changed.
struct TrainResult {
  int epoch = 0;    // from 1
  double loss = 0;  // mean over the images, as weighted
  double accuracy = 0;
  int64_t images = 0;
  int64_t skipped = 0;          // images that could not be used, in this epoch
  double learning_rate = 0;     // of the last update
  int64_t skipped_updates = 0;  // of all epochs so far, for their gradients overflowed: fp16 alone
  double loss_scale = 1;        // of fp16
  // What overflowed in half precision, and what became of it: a sentence each.
  std::vector<std::string> warnings;
  double seconds = 0;
  bool interrupted = false;
};

// Of one pass over the validation images.
struct ValidationResult {
  double loss = 0;  // mean cross-entropy, without smoothing, weights or an own loss
  double accuracy = 0;
  double top5_accuracy = 0;
  int64_t images = 0;
  bool interrupted = false;
};

struct EpochResult {
  TrainResult train;
  std::optional<ValidationResult> validation;  // absent without validation images
  bool is_best = false;
};

struct FitResult {
  int epochs = 0;  // completed by this call
  int best_epoch = 0;
  std::optional<double> best_accuracy;  // of validation
  bool interrupted = false;
};

// Memory is planned and allocated by the constructor, nothing by a step. A model has one Trainer at
// a time; it is free again when the Trainer is destroyed, and keeps the weights it has then. The
// model always computes with the current weights. Several Trainers, of several models, may live at
// once. Movable; a moved-from Trainer can only be assigned or destroyed, anything else throws
// InvalidArgument.
class POUNCE_API Trainer {
 public:
  // Takes the loaders over. Throws InvalidArgument for options out of range; where classes or image
  // size of a loader, or the centre crop of an unaugmented one, are not the model's; where
  // the model has a Trainer; where the network cannot train on a batch so small. OutOfMemory.
  // Device where the model's device does not compute in the precision.
  Trainer(Model& model, Loader train, std::optional<Loader> validation = std::nullopt,
          Optimizer optimizer = AdamW{}, TrainerOptions options = {});
  Trainer(Trainer&&) noexcept;
  Trainer& operator=(Trainer&&) noexcept;
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;
  ~Trainer();

  // The next epoch. A stop ends it after the current step; it counts as an epoch nevertheless.
  // Throws InvalidArgument after the last epoch, BadData where no image can be used, Diverged,
  // naming what was not finite: from then on training throws and the weights stay as they were
  // before that update.
  TrainResult train_epoch(std::stop_token stop = {});
  // With the current weights. Throws InvalidArgument without a validation loader. Remembers the
  // weights where they are the best so far: highest accuracy, then lowest loss.
  ValidationResult validate(std::stop_token stop = {});
  // All epochs that are left, each with its validation; `on_epoch` is called after each. Without
  // validation images the last weights are the best. An exception of on_epoch ends it.
  FitResult fit(const std::function<void(const EpochResult&)>& on_epoch = {},
                std::stop_token stop = {});

  int epochs_done() const;
  // Planned and allocated on the device, equal to the byte.
  int64_t memory_bytes() const;

  // 0: none yet; restore_best and save_best throw InvalidArgument then.
  int best_epoch() const;
  // Gives the model its best weights back. Training may go on from there.
  void restore_best();
  // A model file.
  void save_best(const std::string& path) const;

 private:
  friend struct Access;
  TrainerState& state() const;
  std::shared_ptr<TrainerState> state_;
};

}  // namespace pounce
