#include "api/model_state.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "base/parallel.h"
#include "train/evaluation.h"
#include "train/inference.h"

namespace pounce {
namespace {

// Images of one run: more are computed in pieces. No influence on any bit.
constexpr int64_t kMostImagesAtOnce = 64;

std::vector<uint8_t> initial_bytes(const StateEntry& entry, uint64_t seed) {
  std::vector<uint8_t> bytes(size_t(entry.type.bytes()));
  if (entry.type.dtype != DType::F32) return bytes;  // counters start at zero
  std::vector<float> values = initial_values(entry, seed);
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

}  // namespace

ModelState::ModelState(ModelInfo model_info, NetworkBuilder network,
                       std::shared_ptr<DeviceState> on)
    : info(std::move(model_info)), spec(make_step_spec(info)), device(std::move(on)) {
  if (network) spec.network = std::move(network);
  entries = network_state(spec);
}

void ModelState::initialize(uint64_t seed) {
  std::mutex guard;
  for_each_parallel(0, entries.size(), [&](size_t i) {
    std::vector<uint8_t> bytes = initial_bytes(entries[i], seed);
    std::lock_guard lock(guard);
    on_host[entries[i].name] = std::move(bytes);
  });
}

bool ModelState::has_averages() const {
  return runner && runner->spec().optimizer.ema_decay > 0;
}

Weights ModelState::weights() {
  Weights values = on_host;
  for (const StateEntry& entry : entries) {
    if (!runner || !runner->session().has_variable(entry.name)) continue;
    bool is_averaged = has_averages() && entry.type.dtype == DType::F32;
    values[entry.name] =
        runner->session().read_values<uint8_t>(is_averaged ? ema_variable(entry.name) : entry.name);
  }
  return values;
}

void ModelState::write(const Weights& values) {
  Weights left;
  for (const StateEntry& entry : entries) {
    const std::vector<uint8_t>& bytes = values.at(entry.name);
    if (!runner || !runner->session().has_variable(entry.name)) {
      left[entry.name] = bytes;
      continue;
    }
    runner->session().write(entry.name, bytes_of(bytes));
    if (has_averages() && entry.type.dtype == DType::F32) {
      runner->session().write(ema_variable(entry.name), bytes_of(bytes));
    }
  }
  on_host = std::move(left);
}

ModelFile ModelState::file(const Weights& values) const {
  ModelFile model = make_model_file(info);
  for (const StateEntry& entry : entries) {
    model.tensors.tensors.push_back(to_file_tensor(entry, values.at(entry.name)));
  }
  return model;
}

StepRunner& ModelState::runner_for(int batch) {
  if (!runner) {
    runner = std::make_unique<StepRunner>(device->open, spec, std::set<int>{}, std::set{batch});
    write(on_host);
  }
  std::string program = evaluation_program(batch);
  if (!runner->session().has_program(program)) {
    runner->session().add_program({program, build_evaluation(runner->spec(), batch)});
  }
  return *runner;
}

Tensor ModelState::evaluate(const TensorState& images) {
  int64_t count = images.shape[0];
  TensorState logits = allocate_tensor(device, DType::F32, {count, spec.classes});
  bool is_here = images.device == device;
  std::vector<std::byte> moved;
  if (!is_here && images.device) moved = read_bytes(images);
  std::span<const std::byte> bytes =
      images.device ? std::span<const std::byte>(moved) : images.bytes;
  for (int64_t begin = 0; begin < count; begin += kMostImagesAtOnce) {
    int64_t size = std::min(kMostImagesAtOnce, count - begin);
    Session& session = runner_for(int(size)).session();
    size_t each = images.byte_count() / size_t(count);
    InputData input{.name = names::kImages, .bytes = {}};
    if (is_here) {
      input.buffer = images.buffer.get();
      input.offset = size_t(begin) * each;
    } else {
      input.bytes = bytes.subspan(size_t(begin) * each, size_t(size) * each);
    }
    std::string program = evaluation_program(int(size));
    session.run(program, std::span(&input, 1));
    session.copy_output(program, names::kLogits, *logits.buffer,
                        size_t(begin * spec.classes) * sizeof(float));
  }
  return make_tensor(std::move(logits));
}

std::vector<float> ModelState::evaluate(std::span<const uint8_t> images, int batch) {
  return runner_for(batch).evaluate(images, batch);
}

void ModelState::begin_training(const StepSpec& training_spec, const std::set<int>& train_sizes,
                                const std::set<int>& evaluation_sizes) {
  Weights values = weights();
  auto trained =
      std::make_unique<StepRunner>(device->open, training_spec, train_sizes, evaluation_sizes);
  runner = std::move(trained);
  write(values);
  has_trainer = true;
}

void ModelState::end_training() noexcept {
  has_trainer = false;
  try {
    on_host = weights();
    runner.reset();
  } catch (const std::exception&) {
    // Without memory for a copy on the host the weights stay where they are.
  }
}

}  // namespace pounce
