#include "train/step_runner.h"

#include <map>
#include <mutex>

#include "base/parallel.h"
#include "train/evaluation.h"

namespace pounce {
namespace {

std::vector<NamedGraph> make_graphs(const StepSpec& spec, const std::set<int>& train_sizes,
                                    const std::set<int>& evaluation_sizes) {
  std::vector<NamedGraph> graphs;
  for (int size : train_sizes) {
    graphs.push_back({StepRunner::train_program(size), build_fused_step(spec, size)});
  }
  for (int size : evaluation_sizes) {
    graphs.push_back({evaluation_program(size), build_evaluation(spec, size)});
  }
  return graphs;
}

}  // namespace

StepRunner::StepRunner(OpenDevice device, StepSpec spec, const std::set<int>& train_sizes,
                       const std::set<int>& evaluation_sizes)
    : spec_(std::move(spec)),
      device_(std::move(device)),
      train_sizes_(train_sizes),
      evaluation_sizes_(evaluation_sizes),
      state_(network_state(spec_)),
      session_(make_session()) {}

std::unique_ptr<Session> StepRunner::make_session() {
  SessionOptions options;
  options.passes.precision = spec_.precision;
  auto session =
      std::make_unique<Session>(*device_.backend, communicator_,
                                make_graphs(spec_, train_sizes_, evaluation_sizes_), options);
  if (session->has_variable(names::kLossScale)) {
    session->write(names::kLossScale, std::as_bytes(std::span(&spec_.loss_scale.start, 1)));
  }
  return session;
}

std::string StepRunner::train_program(int batch) {
  return fmt::format("train/{}", batch);
}

int64_t StepRunner::parameters() const {
  int64_t count = 0;
  for (const StateEntry& entry : state_) {
    if (entry.trained) count += entry.type.shape.elements();
  }
  return count;
}

void StepRunner::initialize(uint64_t seed, int threads, const StartWeights* start) {
  // Drawing millions of normal numbers is most of the time before the first step.
  std::mutex session;
  for_each_parallel(threads, state_.size(), [&](size_t i) {
    const StateEntry& entry = state_[i];
    if (entry.type.dtype != DType::F32) return;  // counters start at zero
    std::vector<float> values =
        start != nullptr ? start->values(entry, seed) : initial_values(entry, seed);
    std::lock_guard lock(session);
    session_->write(entry.name, bytes_of(values));
    if (spec_.optimizer.ema_decay > 0) {
      session_->write(ema_variable(entry.name), bytes_of(values));
    }
  });
}

void StepRunner::set_learning_rates(const std::vector<float>& rates) {
  session_->write(names::kLearningRates, bytes_of(rates));
}

bool StepRunner::has_train_size(int batch) const {
  return session_->has_program(train_program(batch));
}

void StepRunner::add_train_size(int batch) {
  session_->add_program({train_program(batch), build_fused_step(spec_, batch)});
  train_sizes_.insert(batch);
}

StepResult StepRunner::train(std::span<const uint8_t> images, const std::vector<int32_t>& labels,
                             const std::vector<float>& weights) {
  std::string program = train_program(int(labels.size()));
  float divisor = float(labels.size());
  const InputData inputs[] = {
      {names::kImages, std::as_bytes(images)},
      {names::kLabels, bytes_of(labels)},
      {.name = names::kSampleWeights, .bytes = bytes_of(weights), .is_steady = true},
      {.name = names::kDivisor, .bytes = std::as_bytes(std::span(&divisor, 1)), .is_steady = true}};
  session_->run(program, inputs);
  return {session_->output<float>(program, names::kLoss),
          session_->output<int32_t>(program, names::kRank)};
}

std::optional<NonFinite> StepRunner::non_finite() {
  std::vector<int64_t> stop = session_->read_values<int64_t>(names::kStop);
  if (stop[0] == 0) return std::nullopt;
  NonFinite found{describe_stop_tag(spec_, stop[0] - 1), std::nullopt};
  // Logits have a row for each image, the loss one element.
  int64_t per_image = found.tensor == "logits" ? spec_.classes : found.tensor == "loss" ? 1 : 0;
  if (per_image > 0) found.row = size_t(stop[1] / per_image);
  return found;
}

int64_t StepRunner::applied_updates() {
  return session_->read_values<int64_t>(names::kUpdates).at(0);
}

LossScaleState StepRunner::loss_scale() {
  if (!session_->has_variable(names::kScaleCounts)) return {};
  std::vector<int64_t> counts = session_->read_values<int64_t>(names::kScaleCounts);
  return {.scale = session_->read_values<float>(names::kLossScale).at(0),
          .good = counts[0],
          .skipped = counts[1],
          .in_a_row = counts[2]};
}

OverflowReport StepRunner::measure_ranges(std::span<const uint8_t> images,
                                          const std::vector<int32_t>& labels,
                                          const std::vector<float>& weights) {
  std::string program = fmt::format("ranges/{}", labels.size());
  Graph graph = build_range_check(spec_, int64_t(labels.size()));
  if (!session_->has_program(program)) session_->add_program({program, graph});
  const InputData inputs[] = {{names::kImages, std::as_bytes(images)},
                              {names::kLabels, bytes_of(labels)},
                              {names::kSampleWeights, bytes_of(weights)}};
  session_->run(program, inputs);
  OverflowReport report{.precision = spec_.precision, .ranges = {}};
  for (const Output& output : graph.outputs()) {
    if (!output.name.starts_with("forward ") && !output.name.starts_with("backward ")) continue;
    report.ranges.push_back({output.name, session_->output<float>(program, output.name).at(0)});
  }
  return report;
}

void StepRunner::change_precision(DType dtype) {
  std::map<std::string, std::vector<uint8_t>> values;
  for (const std::string& name : session_->variable_names()) {
    bool is_of_precision =
        name == names::kStop || name == names::kLossScale || name == names::kScaleCounts;
    if (!is_of_precision) values[name] = session_->read_values<uint8_t>(name);
  }
  session_.reset();  // before the new one asks for memory
  spec_.precision = dtype;
  session_ = make_session();
  for (const auto& [name, bytes] : values) session_->write(name, bytes_of(bytes));
}

std::vector<float> StepRunner::evaluate(std::span<const uint8_t> images, int batch) {
  return run_evaluation(*session_, spec_, images, batch);
}

}  // namespace pounce
