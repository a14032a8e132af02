#include "train/golden.h"

#include <cmath>
#include <cstring>
#include <numeric>
#include <sstream>
#include <stdexcept>

#include "base/file.h"
#include "nn/cnn.h"
#include "nn/resnet.h"
#include "train/model_file.h"

namespace pounce {
namespace {

constexpr int64_t kBatch = 8;

std::vector<double> numbers_of_list(const std::string& text) {
  std::vector<double> numbers;
  std::istringstream in(text);
  for (std::string item; std::getline(in, item, ',');) numbers.push_back(std::stod(item));
  return numbers;
}

NetworkBuilder network_of(const Golden& golden) {
  if (golden.text("kind") == "cnn") {
    CnnSpec spec{.width = int64_t(golden.number("width"))};
    return [spec](Graph& graph, Value images, int64_t classes, bool training) {
      return build_cnn(spec, graph, images, classes, training);
    };
  }
  ResNetSpec spec{.bottleneck = golden.text("block") == "bottleneck",
                  .width = int64_t(golden.number("width"))};
  std::vector<double> layers = numbers_of_list(golden.text("layers"));
  for (size_t i = 0; i < spec.blocks.size(); ++i) spec.blocks[i] = int(layers.at(i));
  return [spec](Graph& graph, Value images, int64_t classes, bool training) {
    return build_resnet(spec, graph, images, classes, training);
  };
}

StepSpec with_options(StepSpec spec, const GoldenSession::Options& options) {
  spec.optimizer = options.optimizer;
  spec.updates = options.updates;
  return spec;
}

SessionOptions session_options(bool reuse) {
  SessionOptions options;
  options.plan.reuse = reuse;
  options.compile.poison = true;
  options.check_plan = true;
  return options;
}

}  // namespace

Golden::Golden(const std::string& stem) {
  Result<std::vector<uint8_t>> bytes =
      read_file(std::string(POUNCE_SOURCE_DIR) + "/tests/goldens/" + stem + ".safetensors");
  if (!bytes) throw bytes.error();
  file_ = read_safetensors(*bytes);
}

std::vector<float> Golden::floats(std::string_view name) const {
  const NamedTensor* tensor = file_.find(name);
  if (tensor == nullptr || tensor->type.dtype != DType::F32) {
    throw std::runtime_error("no f32 tensor " + std::string(name));
  }
  std::vector<float> values(tensor->bytes.size() / sizeof(float));
  std::memcpy(values.data(), tensor->bytes.data(), tensor->bytes.size());
  return values;
}

std::vector<uint8_t> Golden::batch(std::string_view name, int index) const {
  const NamedTensor& tensor = *file_.find(name);
  size_t bytes = tensor.bytes.size() / size_t(tensor.type.shape[0]);
  auto begin = tensor.bytes.begin() + std::ptrdiff_t(bytes * size_t(index));
  return {begin, begin + std::ptrdiff_t(bytes)};
}

double Golden::squared_norm(std::string_view prefix) const {
  double sum = 0;
  for (const NamedTensor& tensor : file_.tensors) {
    if (!tensor.name.starts_with(prefix)) continue;
    for (float value : floats(tensor.name)) sum += double(value) * value;
  }
  return sum;
}

StepSpec Golden::spec() const {
  StepSpec spec;
  spec.network = network_of(*this);
  spec.classes = int64_t(number("classes"));
  spec.image_size = int64_t(number("image_size"));
  std::vector<double> mean = numbers_of_list(text("mean")), std = numbers_of_list(text("std"));
  std::copy_n(mean.begin(), 3, spec.mean.begin());
  std::copy_n(std.begin(), 3, spec.std.begin());
  spec.label_smoothing = number("label_smoothing");
  return spec;
}

OptimizerSettings Golden::optimizer() const {
  OptimizerSettings settings;
  settings.weight_decay = number("optimizer.weight_decay");
  if (text("optimizer.kind") == "sgd") {
    settings.kind = OptimizerKind::Sgd;
    settings.momentum = number("optimizer.momentum");
    settings.nesterov = text("optimizer.nesterov") == "true";
    return settings;
  }
  settings.kind = text("optimizer.kind") == "adamw" ? OptimizerKind::AdamW : OptimizerKind::Adam;
  settings.beta1 = number("optimizer.beta1");
  settings.beta2 = number("optimizer.beta2");
  settings.eps = number("optimizer.eps");
  return settings;
}

double golden_error(const std::vector<float>& a, const std::vector<float>& b, double squared_all) {
  if (a.size() != b.size()) throw std::runtime_error("tensors of two sizes compared");
  double difference = 0, norm = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference += (double(a[i]) - b[i]) * (double(a[i]) - b[i]);
    norm += double(b[i]) * b[i];
  }
  return std::sqrt(difference) / std::max(std::sqrt(norm), 1e-6 * std::sqrt(squared_all));
}

void WorstError::add(const std::string& name, double found) {
  // Written so that NaN counts as worst.
  if (!(found <= error)) error = found, tensor = name;
}

GoldenSession::GoldenSession(Backend& backend, const Golden& golden, const Options& options)
    : golden_(golden),
      spec_(with_options(golden.spec(), options)),
      state_(network_state(spec_)),
      session_(backend, alone_,
               {{"step", build_fused_step(spec_, kBatch)},
                {"evaluation", build_evaluation(spec_, kBatch)}},
               session_options(options.reuse)) {
  for (const StateEntry& entry : state_) {
    if (entry.type.dtype != DType::F32) continue;
    std::vector<float> values = golden.floats("param." + entry.name);
    if (entry.layout == FileLayout::ConvKcrs) values = krsc_from_kcrs(values, entry.type.shape);
    session_.write(entry.name, bytes_of(values));
  }
  session_.write(names::kLearningRates,
                 bytes_of(std::vector<float>(size_t(spec_.updates), float(options.learning_rate))));
}

std::vector<float> GoldenSession::step(int index) {
  std::vector<uint8_t> images = golden_.batch("images", index);
  std::vector<uint8_t> labels = golden_.batch("labels", index);
  std::vector<float> weights(size_t(kBatch), 1.0f), divisor(1, float(kBatch));
  InputData inputs[] = {{names::kImages, bytes_of(images)},
                        {names::kLabels, bytes_of(labels)},
                        {names::kSampleWeights, bytes_of(weights)},
                        {names::kDivisor, bytes_of(divisor)}};
  session_.run("step", inputs);
  return session_.output<float>("step", names::kLoss);
}

std::vector<float> GoldenSession::evaluate(int index) {
  std::vector<uint8_t> images = golden_.batch("images", index);
  InputData inputs[] = {{names::kImages, bytes_of(images)}};
  session_.run("evaluation", inputs);
  return session_.output<float>("evaluation", names::kLogits);
}

std::vector<float> GoldenSession::read(const std::string& variable, const StateEntry& entry) {
  std::vector<float> values = session_.read_values<float>(variable);
  if (entry.layout == FileLayout::ConvKcrs) return kcrs_from_krsc(values, entry.type.shape);
  return values;
}

}  // namespace pounce
