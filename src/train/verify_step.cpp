#include "train/verify_step.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "backend/registry.h"
#include "base/error.h"
#include "base/system.h"
#include "train/synthetic_step.h"

namespace pounce {
namespace {

constexpr int64_t kImageSize = 64;
constexpr int kBatch = 2, kMostBatch = 8;
// Single precision; where a gradient is nearly zero, its sign turns the first step of Adam.
constexpr double kTolerance = 2e-3;
// Norms below this share of their family's count as that share. Some gradients are nothing but
// rounding: a shift has none in front of a normalisation.
constexpr double kLeastShareOfWeights = 1e-6, kLeastShareOfGradients = 1e-2;
constexpr float kBias = 3;  // of values with variance 1

// Tensors of one family are of one order of magnitude.
std::string_view family_of(std::string_view name) {
  for (std::string_view prefix :
       {"gradient.", "optimizer.first_moment.", "optimizer.second_moment."}) {
    if (name.starts_with(prefix)) return prefix;
  }
  return "";
}

// Around zero a ReLU passes or stops a gradient by the last bit of its input, and one such value
// can be several percent of a deep network's gradient at a small size. A large bias in every
// normalisation moves most values away from zero and leaves some below it.
void open_rectifiers(Session& session) {
  for (const std::string& name : session.variable_names()) {
    if (!name.ends_with(".bias") || !family_of(name).empty()) continue;
    session.write(name, bytes_of(std::vector<float>(
                            size_t(session.variable_type(name).shape.elements()), kBias)));
  }
}

double squared_norm(const std::vector<float>& values) {
  double sum = 0;
  for (float value : values) sum += double(value) * double(value);
  return sum;
}

double relative_error(const std::vector<float>& a, const std::vector<float>& b, double least_norm) {
  POUNCE_ASSERT(a.size() == b.size());
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    double difference = double(a[i]) - double(b[i]);
    sum += difference * difference;
  }
  if (sum == 0) return 0;
  double error = std::sqrt(sum) / std::max(std::sqrt(squared_norm(b)), least_norm);
  return std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
}

}  // namespace

StepState run_updates(OpenDevice device, const StepSpec& spec, int batch,
                      const std::stop_token& stop) {
  SyntheticStep synthetic(std::move(device), spec, batch);
  Session& session = synthetic.runner().session();
  open_rectifiers(session);
  StepState state;
  state.losses = synthetic.step(stop);
  for (const std::string& name : session.variable_names()) {
    if (session.variable_type(name).dtype != DType::F32) continue;
    state.tensors[name] = session.read_values<float>(name);
  }
  std::vector<float> next = synthetic.step(stop);
  state.losses.insert(state.losses.end(), next.begin(), next.end());
  return state;
}

StepVerification compare_states(const StepState& found, const StepState& expected) {
  POUNCE_ASSERT(found.tensors.size() == expected.tensors.size());
  StepVerification result;
  result.tolerance = kTolerance;
  result.loss_error = relative_error(found.losses, expected.losses, 0);
  std::map<std::string_view, double> families;
  for (const auto& [name, values] : expected.tensors) {
    families[family_of(name)] += squared_norm(values);
  }
  for (const auto& [name, values] : expected.tensors) {
    std::string_view family = family_of(name);
    double share = family.empty() ? kLeastShareOfWeights : kLeastShareOfGradients;
    double least = share * std::sqrt(families[family]);
    double error = relative_error(found.tensors.at(name), values, least);
    if (error < result.weight_error) continue;
    result.weight_error = error;
    result.worst_tensor = name;
  }
  return result;
}

void check_verification(const StepVerification& verification, std::string_view device) {
  bool is_weight = verification.weight_error > verification.tolerance;
  if (!is_weight && verification.loss_error <= verification.tolerance) return;
  fail_with_hint(ErrorKind::Device,
                 "do not train with this build on this machine; please report it with this line",
                 "{} computes a wrong training step: the relative error of {} against the "
                 "reference is {:.2g}, expected at most {:g}",
                 device, is_weight ? verification.worst_tensor : "the losses",
                 is_weight ? verification.weight_error : verification.loss_error,
                 verification.tolerance);
}

StepVerification verify_step(OpenDevice device, StepSpec spec, const std::stop_token& stop) {
  double start = monotonic_seconds();
  std::string name(device.backend->name());
  spec.image_size = std::min(spec.image_size, kImageSize);
  // Normalisation over very few values has no stable gradient: smaller images, more of them.
  int64_t pixels = spec.image_size * spec.image_size;
  int batch =
      int(std::clamp<int64_t>(kBatch * kImageSize * kImageSize / pixels, kBatch, kMostBatch));
  StepState found = run_updates(std::move(device), spec, batch, stop);
  OpenDevice reference{make_backend("reference"), "reference"};
  StepVerification result =
      compare_states(found, run_updates(std::move(reference), spec, batch, stop));
  result.image_size = int(spec.image_size);
  result.batch_size = batch;
  result.seconds = monotonic_seconds() - start;
  check_verification(result, name);
  return result;
}

}  // namespace pounce
