#include <algorithm>
#include <cmath>
#include <new>
#include <set>
#include <utility>

#include "base/cache_folder.h"
#include "base/error.h"
#include "base/system.h"
#include "data/loader.h"
#include "data/order.h"
#include "engine/report.h"
#include "pounce/train.h"
#include "train/advice.h"
#include "train/balance.h"
#include "train/defaults.h"
#include "train/evaluation.h"
#include "train/guarded_updates.h"
#include "train/inference.h"
#include "train/init_file.h"
#include "train/run_cache.h"
#include "train/run_clock.h"
#include "train/run_folder.h"
#include "train/run_setup.h"
#include "train/schedule.h"
#include "train/step_runner.h"
#include "train/validation.h"

namespace pounce {
namespace {

constexpr double kWaitWorthNaming = 0.05;  // share of an epoch's training

struct Best {
  int epoch = 0;
  std::optional<double> accuracy;
  double loss = 0;
};

}  // namespace

class TrainingRun::Impl {
 public:
  Impl(TrainConfig config, EventSink sink) : config_(std::move(config)), sink_(std::move(sink)) {
    check_config(config_);
  }

  // Throws InvalidArgument the second time, Config where the run folder cannot be made.
  void begin_once();
  RunEnd run(const std::stop_token& stop);
  void dry_run(const std::stop_token& stop);
  void log(const Error& error) noexcept;

 private:
  Session& session() { return runner_->session(); }
  void emit(Event event);
  void prepare(const std::stop_token& stop);
  void make_runner();
  void open_folder();
  void write_plan(RunFolder& folder);
  void announce();
  void make_loaders(const std::stop_token& stop);

  bool train_epoch(int epoch, const std::stop_token& stop);
  bool train_batches(int epoch, const std::stop_token& stop);
  void train_batch(const ImageBatch& batch);
  bool add_train_program(int size);
  void estimate_time();
  void report(const std::string& program);
  void fail_if_stopped(const ImageBatch& batch, const UpdateOutcome& outcome) const;
  [[noreturn]] void fail_diverged(int64_t update, const std::string& where) const;
  void note_holes(const ImageBatch& batch, const BatchLoader& loader);
  void lose_image(int32_t label);
  [[noreturn]] static void fail_without_validation();
  Validation validate(BatchLoader& loader, int epoch, const std::stop_token& stop);
  void end_epoch(int epoch, const Validation* validation);
  void report_progress(int epoch, bool validating, const Tally& tally, int64_t total);
  void save(bool is_best);
  bool is_patience_over(int epoch);
  RunEnd finish(bool interrupted, const std::stop_token& stop);
  std::optional<double> test_with_best(const std::stop_token& stop);

  bool has_begun_ = false;
  TrainConfig config_;
  EventSink sink_;
  ImageFolder dataset_;
  std::vector<SkippedFile> skipped_;
  std::unique_ptr<RunFolder> folder_;
  ModelInfo info_;
  StepSpec spec_;
  std::unique_ptr<StartWeights> start_;  // of --init; until the weights lie on the device
  std::vector<float> learning_rates_;
  std::vector<int64_t> images_left_;  // by label: usable ones of training
  std::vector<float> class_weights_;  // by label; 1 where all count alike
  OpenDevice device_;                 // until the runner has it
  std::unique_ptr<StepRunner> runner_;
  std::unique_ptr<GuardedUpdates> updates_;
  std::unique_ptr<RunCache> cache_;
  std::unique_ptr<BatchLoader> train_loader_;
  std::unique_ptr<BatchLoader> val_loader_;

  std::set<int> too_small_;  // batch sizes the network cannot train on

  Tally tally_;  // of the epoch in progress
  RunClock clock_;
  double start_seconds_ = 0;
  int64_t update_ = 0;
  int epochs_done_ = 0;
  TransferCount transfers_before_;
  Best best_;
};

void TrainingRun::Impl::emit(Event event) {
  if (folder_) folder_->append_event(event);
  if (sink_) sink_(event);
}

// What ended the run. The log may be what failed.
void TrainingRun::Impl::log(const Error& error) noexcept {
  if (!folder_) return;
  try {
    folder_->append_error(error);
  } catch (...) {
    return;
  }
}

void TrainingRun::Impl::prepare(const std::stop_token& stop) {
  // Before the data is looked at: what the device cannot do is an error at once.
  device_ = open_device(config_.device, {config_.threads, config_.conv_algorithm});
  DType precision = choose_precision(config_.precision, *device_.backend);
  std::optional<InitFile> init;
  if (!config_.init.empty()) {
    init = read_init_file(config_.init, config_.init_checksum);
    config_.init_checksum = init->checksum;
  }
  dataset_ = scan_dataset({.root = config_.data,
                           .labels = config_.labels,
                           .val_fraction = config_.val_fraction,
                           .on_bad = to_on_bad(config_.on_bad),
                           .threads = config_.workers,
                           .cache_folder = cache_folder(),
                           .progress =
                               [this](const ScanCount& at) {
                                 emit(ScanProgress{at.files, at.total});
                               },
                           .stop = stop});
  skipped_ = dataset_.skipped;
  config_ = fill_defaults(config_, dataset_);
  info_ = model_info_of(config_, dataset_);
  int64_t each = updates_per_epoch(int64_t(dataset_.train.size()), *config_.batch_size);
  spec_ = step_spec_of(config_, info_);
  spec_.precision = precision;
  spec_.updates = each * *config_.epochs;
  learning_rates_ = make_schedule(config_, spec_.updates, each);
  class_weights_ = make_class_weights(config_.class_weights, dataset_);
  for (const ClassCounts& counts : dataset_.class_counts) images_left_.push_back(counts.train);
  if (init) start_ = std::make_unique<StartWeights>(std::move(*init), info_);
  make_runner();
  make_loaders(stop);
}

// Last of the preparations, so that nothing is left behind by a run that could not begin.
void TrainingRun::Impl::open_folder() {
  auto folder = std::make_unique<RunFolder>(config_);
  try {
    folder->write_config(config_);
    folder->write_split(dataset_);
    folder->write_skipped(skipped_);
    write_plan(*folder);
  } catch (...) {
    folder->discard();
    throw;
  }
  folder_ = std::move(folder);
}

void TrainingRun::Impl::write_plan(RunFolder& folder) {
  folder.write_plan_record(session(), runner_->device().backend->target().libraries,
                           precision_name(runner_->spec().precision));
}

void TrainingRun::Impl::make_runner() {
  int batch = *config_.batch_size;
  std::set<int> evaluated = distinct_sizes(dataset_.val, batch);
  evaluated.merge(distinct_sizes(dataset_.test, batch));
  runner_ = std::make_unique<StepRunner>(std::move(device_), spec_,
                                         distinct_sizes(dataset_.train, batch), evaluated);
  updates_ = std::make_unique<GuardedUpdates>(
      *runner_, config_.precision == Precision::Auto,
      [this](const std::string& report) { emit(WarningIssued{report}); });
  runner_->initialize(config_.seed, config_.workers, start_.get());
  runner_->set_learning_rates(learning_rates_);
}

void TrainingRun::Impl::make_loaders(const std::stop_token& stop) {
  BatchLoaderOptions options{.root = dataset_.root,
                             .batch_size = *config_.batch_size,
                             .preprocessing = preprocessing_of(info_),
                             .augmentation = make_augmentation(config_),
                             .sampler = to_sampler(config_.sampler),
                             .seed = config_.seed,
                             .workers = config_.workers,
                             .stop = stop};
  cache_ = std::make_unique<RunCache>(
      config_, dataset_.root,
      std::vector<CachedList>{
          {dataset_.train, {options.preprocessing, options.augmentation}},
          {dataset_.val, {options.preprocessing, Augmentation{.enabled = false}}}});
  options.cache = cache_->cache();
  train_loader_ = std::make_unique<BatchLoader>(options, dataset_.train);
  if (dataset_.val.empty()) return;
  options.augmentation = {.enabled = false};
  options.shuffle = false;
  val_loader_ = std::make_unique<BatchLoader>(options, dataset_.val);
}

void TrainingRun::Impl::announce() {
  RunBegin begin;
  if (folder_) begin.run_folder = folder_->path();
  begin.device = runner_->device().description;
  begin.precision = precision_name(spec_.precision);
  begin.model = info_.model;
  begin.parameters = runner_->parameters();
  begin.classes = dataset_.classes;
  for (const ClassCounts& counts : dataset_.class_counts) {
    begin.class_images.push_back(counts.train + counts.val + counts.test);
  }
  begin.train_images = int64_t(dataset_.train.size());
  begin.val_images = int64_t(dataset_.val.size());
  begin.test_images = int64_t(dataset_.test.size());
  begin.val_is_split_off = dataset_.split_by_rule && !dataset_.val.empty();
  begin.skipped = int64_t(skipped_.size());
  begin.is_imbalanced = is_imbalanced(dataset_);
  begin.updates = spec_.updates;
  begin.memory_bytes = int64_t(session().planned_bytes());
  begin.config = config_;
  for (const std::string& note : dataset_.notes) emit(NoteIssued{note});
  for (const std::string& warning : dataset_.warnings) emit(WarningIssued{warning});
  for (const std::string& name : dataset_.empty_classes) {
    emit(WarningIssued{fmt::format("class folder {} has no usable image and is left out", name)});
  }
  emit(std::move(begin));
  if (start_) emit(start_->report());
  start_.reset();
  Advice advice = advise(config_, dataset_, runner_->device().backend.get());
  for (const std::string& warning : advice.warnings) emit(WarningIssued{warning});
  for (const std::string& note : advice.notes) emit(NoteIssued{note});
  for (const std::string& program : session().program_names()) report(program);
}

void TrainingRun::Impl::begin_once() {
  if (has_begun_) fail(ErrorKind::InvalidArgument, "a TrainingRun runs once; make another one");
  has_begun_ = true;
  RunFolder::check(config_);
}

RunEnd TrainingRun::Impl::run(const std::stop_token& stop) {
  // The clock knows from then on how many images the run has; scan and planning count as well.
  double start = monotonic_seconds();
  prepare(stop);
  clock_ = RunClock(start, int64_t(dataset_.train.size()), int64_t(dataset_.val.size()),
                    *config_.epochs);
  open_folder();
  announce();
  for (const std::string& note : cache_->start(int64_t(session().planned_bytes()))) {
    emit(NoteIssued{note});
  }
  bool interrupted = false;
  for (int epoch = 1; epoch <= *config_.epochs && !interrupted; ++epoch) {
    if (is_patience_over(epoch)) break;
    clock_.start_epoch();
    transfers_before_ = session().transfers();
    interrupted = !train_epoch(epoch, stop);
    if (interrupted) break;
    if (val_loader_) {
      Validation validation = validate(*val_loader_, epoch, stop);
      if (validation.tally().images == 0 && !stop.stop_requested()) fail_without_validation();
      interrupted = stop.stop_requested();
      if (!interrupted) end_epoch(epoch, &validation);
    } else {
      end_epoch(epoch, nullptr);
    }
  }
  return finish(interrupted, stop);
}

void TrainingRun::Impl::dry_run(const std::stop_token& stop) {
  begin_once();
  prepare(stop);
  announce();
}

bool TrainingRun::Impl::is_patience_over(int epoch) {
  bool over = config_.patience > 0 && epoch - 1 - best_.epoch >= config_.patience;
  if (over) {
    emit(
        NoteIssued{fmt::format("no better model for {} epochs (--patience): stopped after epoch {}",
                               config_.patience, epoch - 1)});
  }
  return over;
}

// False when it was stopped.
bool TrainingRun::Impl::train_epoch(int epoch, const std::stop_token& stop) {
  try {
    return train_batches(epoch, stop);
  } catch (const Error& error) {
    // The loader's answer to a stop while it is waited for.
    if (error.kind() != ErrorKind::Interrupted || !stop.stop_requested()) throw;
    return false;
  }
}

bool TrainingRun::Impl::train_batches(int epoch, const std::stop_token& stop) {
  tally_ = {};
  train_loader_->start_epoch(uint32_t(epoch - 1));
  int64_t total = int64_t(dataset_.train.size());
  while (!stop.stop_requested()) {
    std::optional<ImageBatch> batch = train_loader_->next();
    if (!batch) {
      if (tally_.images == 0) {
        fail_with_hint(ErrorKind::BadData, "see skipped.tsv in the run folder",
                       "no training image of epoch {} could be used", epoch);
      }
      clock_.tick_training();
      return true;
    }
    note_holes(*batch, *train_loader_);
    if (batch->size() > 0) train_batch(*batch);
    clock_.tick_training();
    estimate_time();
    report_progress(epoch, false, tally_, total);
    train_loader_->recycle(std::move(*batch));
  }
  return false;
}

void TrainingRun::Impl::train_batch(const ImageBatch& batch) {
  if (!runner_->has_train_size(batch.size()) && !add_train_program(batch.size())) return;
  std::vector<float> weights;
  for (int32_t label : batch.labels) weights.push_back(class_weights_[size_t(label)]);
  if (start_seconds_ == 0) start_seconds_ = seconds_since_process_start();
  DType precision = runner_->spec().precision;
  UpdateOutcome outcome = updates_->train(batch.images, batch.labels, weights);
  fail_if_stopped(batch, outcome);
  for (size_t i = 0; i < outcome.result.losses.size(); ++i) {
    tally_.add(outcome.result.losses[i], outcome.result.ranks[i]);
  }
  if (runner_->spec().precision != precision) write_plan(*folder_);
  clock_.count_update(batch.size());
  ++update_;
}

// Once, when the first updates have shown how fast this machine is.
void TrainingRun::Impl::estimate_time() {
  std::optional<MeasuredSpeed> speed = clock_.first_speed(train_loader_->wait_seconds());
  if (!speed) return;
  speed->image_size = *config_.image_size;
  speed->is_cpu = runner_->device().is_cpu();
  std::string text = time_estimate(*speed);
  if (!text.empty()) emit(NoteIssued{text});
}

// For a size that a hole made. False where the network cannot train on so few images.
bool TrainingRun::Impl::add_train_program(int size) {
  try {
    runner_->add_train_size(size);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::InvalidArgument) throw;
    if (too_small_.insert(size).second) {
      emit(
          WarningIssued{fmt::format("damaged files left a batch of {}, too small to train on; such "
                                    "a batch is left out of its epoch: {}",
                                    size, error.message())});
    }
    return false;
  }
  report(StepRunner::train_program(size));
  return true;
}

void TrainingRun::Impl::report(const std::string& program) {
  emit(ProgramBuilt{program, int64_t(session().plan(program).planned_bytes),
                    report_program(session(), program)});
}

void TrainingRun::Impl::fail_if_stopped(const ImageBatch& batch,
                                        const UpdateOutcome& outcome) const {
  if (!outcome.non_finite) return;
  std::string where = outcome.non_finite->tensor;
  std::optional<size_t> row = outcome.non_finite->row;
  if (row) where += " of " + dataset_.train.path(batch.indices.at(*row));
  if (!outcome.report.empty()) where += "; " + outcome.report;
  fail_diverged(update_ + 1, where);
}

void TrainingRun::Impl::fail_diverged(int64_t update, const std::string& where) const {
  fail_with_hint(ErrorKind::Diverged,
                 fmt::format("use a lower --lr (it was {}) or more --warmup-epochs; the model of "
                             "the last complete epoch is kept",
                             *config_.learning_rate),
                 "training diverged at update {}: a number that is not finite in {}", update,
                 where);
}

// A class without images is learnt no more, and metrics without it would look better than they are.
void TrainingRun::Impl::lose_image(int32_t label) {
  if (--images_left_[size_t(label)] > 0) return;
  fail_with_hint(ErrorKind::BadData,
                 "see skipped.tsv in the run folder; were files moved or deleted during the run? "
                 "The model of the last complete epoch is kept",
                 "the class {} has no usable image left", dataset_.classes[size_t(label)]);
}

void TrainingRun::Impl::note_holes(const ImageBatch& batch, const BatchLoader& loader) {
  for (const SkippedFile& hole : batch.holes) {
    if (config_.on_bad == BadFilePolicy::Stop) {
      fail_with_hint(ErrorKind::BadData, "remove or replace the file, or use --on-bad skip",
                     "{}: {}", hole.path, hole.reason);
    }
    emit(WarningIssued{fmt::format("{}: {}; left out from now on", hole.path, hole.reason)});
    skipped_.push_back(hole);
  }
  if (batch.holes.empty()) return;
  folder_->write_skipped(skipped_);
  if (&loader != train_loader_.get()) return;
  for (uint32_t index : batch.hole_indices) lose_image(loader.samples().label(index));
}

// No best model could be told from then on.
void TrainingRun::Impl::fail_without_validation() {
  fail_with_hint(ErrorKind::BadData,
                 "see skipped.tsv in the run folder; were files moved or deleted during the run? "
                 "The model of the last complete epoch is kept",
                 "no validation image is left that can be used");
}

Validation TrainingRun::Impl::validate(BatchLoader& loader, int epoch,
                                       const std::stop_token& stop) {
  Validation validation(dataset_.classes.size());
  int64_t total = int64_t(loader.samples().size());
  evaluate_loader(
      session(), spec_, loader, stop, [&](const ImageBatch& batch, std::span<const float> logits) {
        note_holes(batch, loader);
        size_t classes = size_t(spec_.classes);
        for (size_t i = 0; i < size_t(batch.size()); ++i) {
          std::span<const float> row = logits.subspan(i * classes, classes);
          if (!all_finite(row)) {
            fail_diverged(update_, "logits of " + loader.samples().path(batch.indices[i]));
          }
          validation.add(batch.indices[i], batch.labels[i], row);
        }
        clock_.count_validated(batch.size());
        report_progress(epoch, true, validation.tally(), total);
      });
  return validation;
}

void TrainingRun::Impl::report_progress(int epoch, bool validating, const Tally& tally,
                                        int64_t total) {
  StepProgress progress{.epoch = epoch, .epochs = *config_.epochs, .validating = validating};
  progress.images = tally.images;
  progress.images_total = total;
  progress.loss = tally.loss();
  progress.accuracy = tally.accuracy();
  progress.images_per_second = clock_.images_per_second(tally.images);
  progress.seconds_left = clock_.seconds_left();
  emit(progress);
}

void TrainingRun::Impl::end_epoch(int epoch, const Validation* validation) {
  epochs_done_ = epoch;
  EpochEnd end;
  end.epoch = epoch;
  end.epochs = *config_.epochs;
  end.update = runner_->applied_updates();
  end.skipped_updates = updates_->skipped_updates();
  end.loss_scale = double(runner_->loss_scale().scale);
  end.train_loss = tally_.loss();
  end.train_accuracy = tally_.accuracy();
  if (validation != nullptr) {
    end.val_loss = validation->tally().loss();
    end.val_accuracy = validation->tally().accuracy();
    end.val_balanced_accuracy = validation->confusion().balanced_accuracy();
    end.is_best = !best_.accuracy || *end.val_accuracy > *best_.accuracy ||
                  (*end.val_accuracy == *best_.accuracy && *end.val_loss < best_.loss);
  } else {
    end.is_best = true;  // without validation the last model is the best known
  }
  if (end.is_best) best_ = {epoch, end.val_accuracy, end.val_loss.value_or(0)};
  end.learning_rate = learning_rates_[size_t(std::max<int64_t>(0, end.update - 1))];
  end.images = tally_.images;
  end.images_per_second = clock_.images_per_second(tally_.images);
  end.data_wait_fraction = train_loader_->wait_seconds() / clock_.train_seconds();
  if (end.data_wait_fraction > kWaitWorthNaming) {
    end.data_limit = slowest_stage(train_loader_->stage_seconds());
  }
  end.skipped = int64_t(skipped_.size());
  end.planned_bytes = int64_t(session().planned_bytes());
  end.allocated_bytes = int64_t(session().allocated_bytes());
  end.peak_bytes = peak_resident_bytes();
  end.h2d_bytes = session().transfers().to_device_bytes - transfers_before_.to_device_bytes;
  end.d2h_bytes = session().transfers().to_host_bytes - transfers_before_.to_host_bytes;
  save(end.is_best);
  if (validation != nullptr && end.is_best) folder_->write_validation(*validation, dataset_);
  end.seconds = clock_.epoch_seconds();
  end.seconds_left = clock_.run_seconds() / epoch * (*config_.epochs - epoch);
  folder_->append_epoch(end);
  emit(end);
  bool is_last = epoch == *config_.epochs;
  RunCache::Wait wait{train_loader_->wait_seconds(), end.data_wait_fraction, end.data_limit};
  auto note = is_last ? std::nullopt : cache_->after_epoch(wait);
  if (note) emit(NoteIssued{*note});
}

void TrainingRun::Impl::save(bool is_best) {
  info_.precision = precision_name(runner_->spec().precision);
  ModelFile model = export_model(info_, runner_->state(), session());
  // Without validation images nothing else has looked at what the last update left.
  if (const NamedTensor* damaged = find_non_finite(model.tensors)) {
    fail_diverged(update_, damaged->name);
  }
  save_model(folder_->last_model(), model);
  emit(CheckpointSaved{folder_->last_model()});
  if (!is_best) return;
  // What was validated: the averaged weights, where there are some.
  bool averages = config_.ema_decay > 0;
  if (averages) model = export_model(info_, runner_->state(), session(), averages);
  save_model(folder_->best_model(), model);
  emit(CheckpointSaved{folder_->best_model()});
}

// Nothing where no image could be used.
std::optional<double> TrainingRun::Impl::test_with_best(const std::stop_token& stop) {
  import_model(load_model(folder_->best_model()), runner_->state(), session(),
               config_.ema_decay > 0);
  BatchLoaderOptions options{.root = dataset_.root,
                             .batch_size = *config_.batch_size,
                             .preprocessing = preprocessing_of(info_),
                             .augmentation = {.enabled = false},
                             .shuffle = false,
                             .workers = config_.workers,
                             .stop = stop};
  BatchLoader loader(options, dataset_.test);
  Validation test = validate(loader, epochs_done_, stop);
  if (test.tally().images > 0) return test.tally().accuracy();
  emit(WarningIssued{"no test image is left that can be used: the best model was not tested"});
  return std::nullopt;
}

RunEnd TrainingRun::Impl::finish(bool interrupted, const std::stop_token& stop) {
  RunEnd end;
  end.interrupted = interrupted;
  end.best_epoch = best_.epoch;
  end.best_val_accuracy = best_.accuracy;
  end.train_images = tally_.images;
  if (interrupted && update_ > 0) {
    save(best_.epoch == 0);
  }
  if (update_ > 0) end.model = folder_->best_model();
  if (!interrupted && !dataset_.test.empty() && best_.epoch > 0) {
    end.test_accuracy = test_with_best(stop);
    if (stop.stop_requested()) end.test_accuracy.reset(), end.interrupted = true;
  }
  folder_->write_skipped(skipped_);
  end.skipped = int64_t(skipped_.size());
  end.run_folder = folder_->path();
  end.seconds = clock_.run_seconds();
  end.start_seconds = start_seconds_;
  emit(end);
  return end;
}

TrainingRun::TrainingRun(TrainConfig config, EventSink sink)
    : impl_(std::make_unique<Impl>(std::move(config), std::move(sink))) {}

TrainingRun::~TrainingRun() = default;

RunEnd TrainingRun::run(std::stop_token stop) {
  impl_->begin_once();
  try {
    return impl_->run(stop);
  } catch (const Error& error) {
    impl_->log(error);
    throw;
  } catch (const std::bad_alloc&) {
    impl_->log(Error(ErrorKind::OutOfMemory, "the machine has no memory left"));
    throw;
  } catch (const std::exception& error) {
    impl_->log(Error(ErrorKind::Internal, error.what()));
    throw;
  }
}

void TrainingRun::dry_run(std::stop_token stop) {
  impl_->dry_run(stop);
}

}  // namespace pounce
