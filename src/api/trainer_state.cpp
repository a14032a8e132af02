#include "api/trainer_state.h"

#include <algorithm>
#include <cmath>

#include "api/expr_graph.h"
#include "base/system.h"
#include "data/order.h"
#include "train/defaults.h"
#include "train/schedule.h"

namespace pounce {
namespace {

void check_range(const char* name, double value, double low, double high) {
  if (!(value >= low && value <= high)) {
    fail(ErrorKind::InvalidArgument, "trainer: {} is {}, expected {} to {}", name, value, low,
         high);
  }
}

void check(const TrainerOptions& options, size_t classes) {
  check_range("epochs", options.epochs, 1, 100000);
  check_range("warmup_epochs", options.schedule.warmup_epochs, 0, 100000);
  check_range("step_epochs", options.schedule.step_epochs, 1e-6, 100000);
  check_range("step_gamma", options.schedule.step_gamma, 1e-12, 1);
  check_range("label_smoothing", options.label_smoothing, 0, 0.99);
  check_range("clip_grad", options.clip_grad, 0, 1e6);
  check_range("ema_decay", options.ema_decay, 0, 0.9999999);
  check_range("patience", options.patience, 0, 100000);
  if (!options.class_weights.empty() && options.class_weights.size() != classes) {
    fail(ErrorKind::InvalidArgument,
         "trainer: {} class weights were given, the model has {} classes",
         options.class_weights.size(), classes);
  }
  for (double weight : options.class_weights) check_range("a class weight", weight, 1e-6, 1e6);
}

OptimizerSettings to_settings(const Optimizer& optimizer) {
  OptimizerSettings settings;
  auto adam = [&](const auto& given, OptimizerKind kind) {
    check_range("beta1", given.beta1, 0, 0.999999);
    check_range("beta2", given.beta2, 0, 0.9999999);
    check_range("epsilon", given.epsilon, 1e-30, 1);
    settings.kind = kind;
    settings.beta1 = given.beta1;
    settings.beta2 = given.beta2;
    settings.eps = given.epsilon;
  };
  if (const auto* adamw = std::get_if<AdamW>(&optimizer)) adam(*adamw, OptimizerKind::AdamW);
  if (const auto* plain = std::get_if<Adam>(&optimizer)) adam(*plain, OptimizerKind::Adam);
  if (const auto* sgd = std::get_if<Sgd>(&optimizer)) {
    check_range("momentum", sgd->momentum, 0, 0.9999);
    settings.kind = OptimizerKind::Sgd;
    settings.momentum = sgd->momentum;
    settings.nesterov = sgd->nesterov;
  }
  settings.weight_decay =
      std::visit([](const auto& given) { return given.weight_decay; }, optimizer);
  check_range("weight_decay", settings.weight_decay, 0, 1000);
  return settings;
}

std::vector<float> learning_rates(const Optimizer& optimizer, OptimizerKind kind,
                                  const Schedule& schedule, int batch_size, int64_t updates,
                                  int64_t epoch_updates) {
  auto given = std::visit([](const auto& each) { return each.learning_rate; }, optimizer);
  double rate = given.value_or(default_learning_rate(kind, batch_size));
  check_range("learning_rate", rate, 0, 1000);
  TrainConfig config;
  config.learning_rate = rate;
  config.schedule = schedule.kind;
  config.warmup_epochs = schedule.warmup_epochs;
  config.step_epochs = schedule.step_epochs;
  config.step_gamma = schedule.step_gamma;
  return make_schedule(config, updates, epoch_updates);
}

// What a loader gives must be what the model takes.
void check_loader(const LoaderState& loader, const ModelInfo& info, const char* which) {
  if (loader.images.classes() != info.classes) {
    fail(ErrorKind::InvalidArgument, "trainer: the {} loader has the classes {}, the model {}",
         which, fmt::join(loader.images.classes(), ", "), fmt::join(info.classes, ", "));
  }
  const LoaderOptions& options = loader.options;
  if (options.image_size != info.image_size) {
    fail(ErrorKind::InvalidArgument, "trainer: the {} loader's images have {} px, the model's {}",
         which, options.image_size, info.image_size);
  }
  if (options.fit != info.fit) {
    fail(ErrorKind::InvalidArgument, "trainer: the {} loader's fit is {}, the model's {}", which,
         fit_name(options.fit), fit_name(info.fit));
  }
  if (!options.augment && options.resize_ratio != info.resize_ratio) {
    fail(ErrorKind::InvalidArgument, "trainer: the {} loader's resize_ratio is {}, the model's {}",
         which, options.resize_ratio, info.resize_ratio);
  }
}

std::set<int> batch_sizes_of(const LoaderState& loader) {
  std::vector<int> sizes = batch_sizes(loader.images.size(), loader.options.batch_size);
  return {sizes.begin(), sizes.end()};
}

}  // namespace

TrainerState::TrainerState(std::shared_ptr<ModelState> model, Loader train,
                           std::optional<Loader> validation, const Optimizer& optimizer,
                           TrainerOptions options)
    : model_(std::move(model)),
      train_(Access::state(train, "Loader")),
      options_(std::move(options)) {
  if (validation) validation_ = Access::state(*validation, "Loader");
  check(options_, model_->info.classes.size());
  check_loader(*train_, model_->info, "training");
  if (validation_) {
    check_loader(*validation_, model_->info, "validation");
    if (validation_->options.augment) {
      fail(ErrorKind::InvalidArgument, "trainer: the validation loader augments its images");
    }
  }
  if (model_->has_trainer) {
    fail_with_hint(ErrorKind::InvalidArgument, "destroy the first Trainer before making another",
                   "trainer: the model has a Trainer already");
  }
  class_weights_.assign(model_->info.classes.size(), 1.0F);
  for (size_t i = 0; i < options_.class_weights.size(); ++i) {
    class_weights_[i] = float(options_.class_weights[i]);
  }
  begin(optimizer);
}

void TrainerState::begin(const Optimizer& optimizer) {
  StepSpec spec = model_->spec;
  spec.loss = make_loss_builder(options_.loss);
  spec.label_smoothing = options_.label_smoothing;
  spec.optimizer = to_settings(optimizer);
  spec.optimizer.clip_norm = options_.clip_grad;
  spec.optimizer.ema_decay = options_.ema_decay;
  spec.precision = choose_precision(options_.precision, *model_->device->open.backend);
  int batch = train_->options.batch_size;
  int64_t each = updates_per_epoch(train_->images.size(), batch);
  spec.updates = each * options_.epochs;
  learning_rates_ =
      learning_rates(optimizer, spec.optimizer.kind, options_.schedule, batch, spec.updates, each);
  model_->begin_training(spec, batch_sizes_of(*train_),
                         validation_ ? batch_sizes_of(*validation_) : std::set<int>{});
  model_->runner->set_learning_rates(learning_rates_);
  guarded_.emplace(*model_->runner, options_.precision == Precision::Auto,
                   [this](const std::string& warning) { warnings_.push_back(warning); });
}

TrainerState::~TrainerState() {
  // A constructor that threw has begun no training, and never comes here.
  model_->end_training();
}

int64_t TrainerState::memory_bytes() const {
  return int64_t(model_->runner->session().planned_bytes());
}

TrainResult TrainerState::train_epoch(const std::stop_token& stop) {
  if (diverged_) throw *diverged_;
  if (epochs_done_ >= options_.epochs) {
    fail_with_hint(ErrorKind::InvalidArgument, "ask for more epochs, or make another Trainer",
                   "trainer: all {} epochs are done", options_.epochs);
  }
  double start = monotonic_seconds();
  TrainResult result;
  Tally tally;
  warnings_.clear();
  train_->start_epoch(uint32_t(epochs_done_));
  result.epoch = ++epochs_done_;
  while (!stop.stop_requested()) {
    std::optional<ImageBatch> batch = train_->loader.next();
    if (!batch) break;
    result.skipped += int64_t(batch->holes.size());
    if (batch->size() > 0 && can_train(batch->size())) train_batch(*batch, tally);
    train_->loader.recycle(std::move(*batch));
  }
  result.interrupted = stop.stop_requested();
  if (tally.images == 0 && !result.interrupted) {
    fail(ErrorKind::BadData, "no training image of epoch {} could be used", result.epoch);
  }
  result.loss = tally.loss();
  result.accuracy = tally.accuracy();
  result.images = tally.images;
  int64_t applied = model_->runner->applied_updates();
  result.learning_rate = learning_rates_[size_t(std::max<int64_t>(0, applied - 1))];
  result.skipped_updates = guarded_->skipped_updates();
  result.loss_scale = double(model_->runner->loss_scale().scale);
  result.warnings = warnings_;
  model_->info.precision = precision_name(model_->runner->spec().precision);
  result.seconds = monotonic_seconds() - start;
  if (validation_ == nullptr && !result.interrupted) remember(std::nullopt, 0);
  return result;
}

void TrainerState::train_batch(const ImageBatch& batch, Tally& tally) {
  std::vector<float> weights;
  for (int32_t label : batch.labels) weights.push_back(class_weights_[size_t(label)]);
  UpdateOutcome outcome = guarded_->train(batch.images, batch.labels, weights);
  check_finite(batch, outcome);
  ++updates_;
  const StepResult& step = outcome.result;
  for (size_t i = 0; i < step.losses.size(); ++i) tally.add(step.losses[i], step.ranks[i]);
}

// Of a size that a hole made; false where the network cannot train on so few images.
bool TrainerState::can_train(int batch) {
  if (model_->runner->has_train_size(batch)) return true;
  if (too_small_.contains(batch)) return false;
  try {
    model_->runner->add_train_size(batch);
    return true;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::InvalidArgument) throw;
    too_small_.insert(batch);
    return false;
  }
}

void TrainerState::check_finite(const ImageBatch& batch, const UpdateOutcome& outcome) {
  const std::optional<NonFinite>& found = outcome.non_finite;
  if (!found) return;
  std::string where = found->tensor;
  if (found->row) where += " of " + train_->images.path(batch.indices.at(*found->row));
  if (!outcome.report.empty()) where += "; " + outcome.report;
  diverged_.emplace(ErrorKind::Diverged,
                    fmt::format("training diverged at update {}: a number that is not finite in {}",
                                updates_ + 1, where),
                    "use a lower learning rate or more warm-up");
  throw *diverged_;
}

ValidationResult TrainerState::validate(const std::stop_token& stop) {
  if (validation_ == nullptr) {
    fail(ErrorKind::InvalidArgument, "trainer: there is no validation loader");
  }
  Tally tally;
  size_t classes = model_->info.classes.size();
  validation_->start_epoch(0);
  while (!stop.stop_requested()) {
    std::optional<ImageBatch> batch = validation_->loader.next();
    if (!batch) break;
    if (batch->size() > 0) {
      std::vector<float> logits = model_->evaluate(batch->images, batch->size());
      for (size_t i = 0; i < size_t(batch->size()); ++i) {
        std::span<const float> row = std::span(logits).subspan(i * classes, classes);
        tally.add(cross_entropy(row, batch->labels[i]), target_rank(row, batch->labels[i]));
      }
    }
    validation_->loader.recycle(std::move(*batch));
  }
  ValidationResult result{.loss = tally.loss(),
                          .accuracy = tally.accuracy(),
                          .top5_accuracy = tally.top5_accuracy(),
                          .images = tally.images,
                          .interrupted = stop.stop_requested()};
  bool is_better = !best_ || result.accuracy > best_->accuracy ||
                   (result.accuracy == best_->accuracy && result.loss < best_->loss);
  if (epochs_done_ > 0 && !result.interrupted && is_better) remember(result.accuracy, result.loss);
  return result;
}

void TrainerState::remember(std::optional<double> accuracy, double loss) {
  best_ = {epochs_done_, accuracy, loss, model_->weights()};
}

bool TrainerState::is_patience_over() const {
  return options_.patience > 0 && epochs_done_ - best_epoch() >= options_.patience;
}

FitResult TrainerState::fit(const std::function<void(const EpochResult&)>& on_epoch,
                            const std::stop_token& stop) {
  if (diverged_) throw *diverged_;
  FitResult result;
  while (epochs_done_ < options_.epochs && !stop.stop_requested() && !is_patience_over()) {
    EpochResult epoch;
    epoch.train = train_epoch(stop);
    if (validation_ && !stop.stop_requested()) epoch.validation = validate(stop);
    if (stop.stop_requested()) break;
    epoch.is_best = best_epoch() == epochs_done_;
    ++result.epochs;
    if (on_epoch) on_epoch(epoch);
  }
  result.interrupted = stop.stop_requested();
  result.best_epoch = best_epoch();
  if (best_) result.best_accuracy = best_->accuracy;
  return result;
}

const TrainerState::Best& TrainerState::best() const {
  if (!best_) {
    fail_with_hint(ErrorKind::InvalidArgument, "train_epoch and validate first, or fit",
                   "trainer: there are no best weights yet");
  }
  return *best_;
}

void TrainerState::restore_best() {
  model_->write(best().weights);
}

void TrainerState::save_best(const std::string& path) const {
  save_model(path, model_->file(best().weights));
}

}  // namespace pounce
