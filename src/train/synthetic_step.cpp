#include "train/synthetic_step.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/random.h"

namespace pounce {
namespace {

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

SyntheticStep::SyntheticStep(OpenDevice device, const StepSpec& spec, int batch)
    : runner_(std::move(device), spec, {batch}, {}),
      images_(random_images(spec, batch)),
      weights_(size_t(batch), 1.0F) {
  for (int i = 0; i < batch; ++i) labels_.push_back(int32_t(i % spec.classes));
  runner_.initialize(kSeed, runner_.device().backend->target().threads);
  runner_.set_learning_rates(std::vector<float>(size_t(spec.updates), kLearningRate));
}

std::vector<float> SyntheticStep::step(const std::stop_token& stop) {
  if (stop.stop_requested()) fail(ErrorKind::Interrupted, "the benchmark was interrupted");
  StepResult result = runner_.train(images_, labels_, weights_);
  if (std::optional<NonFinite> found = runner_.non_finite()) {
    fail(ErrorKind::Diverged, "the step left a number that is not finite in {}", found->tensor);
  }
  return result.losses;
}

}  // namespace pounce
