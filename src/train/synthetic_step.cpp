#include "train/synthetic_step.h"

#include <algorithm>

#include "base/error.h"
#include "base/random.h"

namespace pounce {
namespace {

constexpr char kProgram[] = "step";
constexpr uint64_t kSeed = 0;
constexpr float kLearningRate = 1e-3F;
constexpr int64_t kCells = 8;  // along a side of an image
constexpr uint32_t kNoise = 64;

// Squares of random colours under noise. Noise alone would look alike from afar, and the networks'
// normalisations would enlarge its rounding to errors of several percent.
std::vector<uint8_t> random_images(const StepSpec& spec, int batch) {
  int64_t size = spec.image_size, cell = std::max<int64_t>(1, size / kCells);
  int64_t cells = (size + cell - 1) / cell;
  RandomStream random(kSeed, RandomPurpose::Test, 0, 0);
  std::vector<uint8_t> bytes;
  bytes.reserve(size_t(batch * size * size * 3));
  for (int image = 0; image < batch; ++image) {
    std::vector<uint32_t> colors(size_t(cells * cells * 3));
    for (uint32_t& color : colors) color = random.below(256 - kNoise);
    for (int64_t i = 0; i < size * size * 3; ++i) {
      int64_t x = i / 3 % size / cell, y = i / 3 / size / cell;
      uint32_t color = colors[size_t((y * cells + x) * 3 + i % 3)];
      bytes.push_back(uint8_t(color + random.below(kNoise)));
    }
  }
  return bytes;
}

}  // namespace

SyntheticStep::SyntheticStep(Backend& backend, const StepSpec& spec, int batch)
    : spec_(spec),
      session_(backend, alone_, {{kProgram, build_fused_step(spec, batch)}}),
      images_(random_images(spec, batch)),
      weights_(size_t(batch), 1.0F),
      divisor_(float(batch)) {
  for (int i = 0; i < batch; ++i) labels_.push_back(int32_t(i % spec.classes));
  for (const StateEntry& entry : network_state(spec)) {
    if (entry.type.dtype != DType::F32) continue;  // counters start at zero
    session_.write(entry.name, bytes_of(initial_values(entry, kSeed)));
  }
  std::vector<float> rates(size_t(spec.updates), kLearningRate);
  session_.write(names::kLearningRates, bytes_of(rates));
}

std::vector<float> SyntheticStep::step() {
  const InputData inputs[] = {{names::kImages, bytes_of(images_)},
                              {names::kLabels, bytes_of(labels_)},
                              {names::kSampleWeights, bytes_of(weights_)},
                              {names::kDivisor, std::as_bytes(std::span(&divisor_, 1))}};
  session_.run(kProgram, inputs);
  std::vector<float> losses = session_.output<float>(kProgram, names::kLoss);
  session_.output<int32_t>(kProgram, names::kRank);
  int64_t tag = session_.read_values<int64_t>(names::kStop)[0];
  if (tag != 0) {
    fail(ErrorKind::Diverged, "the step left a number that is not finite in {}",
         describe_stop_tag(spec_, tag - 1));
  }
  return losses;
}

}  // namespace pounce
