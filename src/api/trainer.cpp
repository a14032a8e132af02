#include "pounce/trainer.h"

#include "api/trainer_state.h"

namespace pounce {

Trainer::Trainer(Model& model, Loader train, std::optional<Loader> validation, Optimizer optimizer,
                 TrainerOptions options)
    : state_(std::make_shared<TrainerState>(Access::state(model, "Model"), std::move(train),
                                            std::move(validation), optimizer, std::move(options))) {
}

Trainer::Trainer(Trainer&&) noexcept = default;
Trainer& Trainer::operator=(Trainer&&) noexcept = default;
Trainer::~Trainer() = default;

TrainerState& Trainer::state() const {
  return *Access::state(*this, "Trainer");
}

TrainResult Trainer::train_epoch(std::stop_token stop) {
  return state().train_epoch(stop);
}

ValidationResult Trainer::validate(std::stop_token stop) {
  return state().validate(stop);
}

FitResult Trainer::fit(const std::function<void(const EpochResult&)>& on_epoch,
                       std::stop_token stop) {
  // A moved-from or destroyed handle inside on_epoch leaves the training alive until it returns.
  std::shared_ptr<TrainerState> kept = Access::state(*this, "Trainer");
  return kept->fit(on_epoch, stop);
}

int Trainer::epochs_done() const {
  return state().epochs_done();
}

int64_t Trainer::memory_bytes() const {
  return state().memory_bytes();
}

int Trainer::best_epoch() const {
  return state().best_epoch();
}

void Trainer::restore_best() {
  state().restore_best();
}

void Trainer::save_best(const std::string& path) const {
  state().save_best(path);
}

}  // namespace pounce
