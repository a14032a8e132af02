// What a Trainer is a handle of: the loops over batches and the best weights so far.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "api/loader_state.h"
#include "api/model_state.h"
#include "pounce/trainer.h"
#include "train/guarded_updates.h"
#include "train/metrics.h"

namespace pounce {

class TrainerState {
 public:
  TrainerState(std::shared_ptr<ModelState> model, Loader train, std::optional<Loader> validation,
               const Optimizer& optimizer, TrainerOptions options);
  TrainerState(const TrainerState&) = delete;
  TrainerState& operator=(const TrainerState&) = delete;
  ~TrainerState();

  TrainResult train_epoch(const std::stop_token& stop);
  ValidationResult validate(const std::stop_token& stop);
  FitResult fit(const std::function<void(const EpochResult&)>& on_epoch,
                const std::stop_token& stop);

  int epochs_done() const { return epochs_done_; }
  int64_t memory_bytes() const;
  int best_epoch() const { return best_ ? best_->epoch : 0; }
  void restore_best();
  void save_best(const std::string& path) const;

 private:
  struct Best {
    int epoch = 0;
    std::optional<double> accuracy;
    double loss = 0;
    Weights weights;
  };

  void begin(const Optimizer& optimizer);
  void train_batch(const ImageBatch& batch, Tally& tally);
  bool can_train(int batch);
  void check_finite(const ImageBatch& batch, const UpdateOutcome& outcome);
  void remember(std::optional<double> accuracy, double loss);
  bool is_patience_over() const;
  const Best& best() const;

  std::shared_ptr<ModelState> model_;
  std::shared_ptr<LoaderState> train_;
  std::shared_ptr<LoaderState> validation_;  // null: none
  TrainerOptions options_;
  std::vector<float> class_weights_;  // by label
  std::vector<float> learning_rates_;
  std::optional<GuardedUpdates> guarded_;
  std::vector<std::string> warnings_;  // of the epoch in progress
  std::set<int> too_small_;            // batch sizes that the network cannot train on
  int64_t updates_ = 0;
  int epochs_done_ = 0;
  std::optional<Error> diverged_;
  std::optional<Best> best_;
};

}  // namespace pounce
