#include "pounce/predict.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "data/loader.h"
#include "train/evaluation.h"
#include "train/inference.h"
#include "train/metrics.h"

namespace pounce {
namespace {

ErrorKind error_kind(SkipKind kind) {
  switch (kind) {
    case SkipKind::Damaged:
      return ErrorKind::BadData;
    case SkipKind::Unreadable:
      return ErrorKind::Io;
    case SkipKind::Unsupported:
      return ErrorKind::Unsupported;
  }
  return ErrorKind::BadData;
}

Prediction make_prediction(std::string path, std::span<const float> logits,
                           const std::vector<std::string>& classes, int top) {
  Prediction prediction;
  prediction.path = std::move(path);
  if (!all_finite(logits)) {
    prediction.error = no_finite_logits();
    return prediction;
  }
  prediction.logits.assign(logits.begin(), logits.end());
  std::vector<double> probabilities = softmax(logits);
  prediction.label = argmax(logits);
  prediction.class_name = classes[size_t(prediction.label)];
  prediction.probability = probabilities[size_t(prediction.label)];
  std::vector<size_t> order(classes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return logits[a] > logits[b]; });
  for (size_t i = 0; i < std::min(order.size(), size_t(std::max(0, top))); ++i) {
    prediction.top.push_back({classes[order[i]], probabilities[order[i]]});
  }
  return prediction;
}

}  // namespace

class Predictor::Impl {
 public:
  Impl(const std::string& path, PredictOptions options)
      : options_(std::move(options)),
        model_(path, checked_batch(options_), options_.device, options_.threads) {}

  const std::vector<std::string>& classes() const { return model_.info().classes; }

  void predict(const std::vector<std::string>& paths,
               const std::function<void(const Prediction&)>& on_prediction,
               const std::stop_token& stop) {
    std::vector<Sample> samples(paths.size());
    for (size_t i = 0; i < paths.size(); ++i) {
      samples[i].path = paths[i];
      samples[i].id = i;  // the same path may be given twice
    }
    BatchLoader loader({.root = "",
                        .batch_size = options_.batch_size,
                        .preprocessing = model_.preprocessing(),
                        .augmentation = {.enabled = false},
                        .shuffle = false,
                        .workers = options_.workers,
                        .stop = stop},
                       samples);
    auto on_batch = [&](const ImageBatch& batch, std::span<const float> logits) {
      report(batch, logits, paths, on_prediction);
    };
    evaluate_loader(model_.session(), model_.spec(), loader, stop, on_batch);
  }

 private:
  static int checked_batch(const PredictOptions& options) {
    if (options.batch_size < 1 || options.batch_size > 65536) {
      fail(ErrorKind::Config, "batch-size is {}, expected 1 to 65536", options.batch_size);
    }
    return options.batch_size;
  }

  // Predictions and failures of a batch, merged back into the order of the paths.
  void report(const ImageBatch& batch, std::span<const float> logits,
              const std::vector<std::string>& paths,
              const std::function<void(const Prediction&)>& on_prediction) {
    size_t used = 0, failed = 0;
    while (used < batch.indices.size() || failed < batch.hole_indices.size()) {
      bool is_hole =
          used == batch.indices.size() ||
          (failed < batch.hole_indices.size() && batch.hole_indices[failed] < batch.indices[used]);
      if (is_hole) {
        const SkippedFile& hole = batch.holes[failed];
        Prediction prediction;
        prediction.path = paths[batch.hole_indices[failed++]];
        prediction.error.emplace(error_kind(hole.kind), hole.reason);
        on_prediction(prediction);
        continue;
      }
      size_t count = classes().size();
      on_prediction(make_prediction(paths[batch.indices[used]], logits.subspan(used * count, count),
                                    classes(), options_.top));
      ++used;
    }
  }

  PredictOptions options_;
  InferenceModel model_;
};

Predictor::Predictor(const std::string& model, PredictOptions options)
    : impl_(std::make_unique<Impl>(model, std::move(options))) {}

Predictor::~Predictor() = default;

const std::vector<std::string>& Predictor::classes() const {
  return impl_->classes();
}

void Predictor::predict(const std::vector<std::string>& paths,
                        const std::function<void(const Prediction&)>& on_prediction,
                        std::stop_token stop) {
  impl_->predict(paths, on_prediction, stop);
}

}  // namespace pounce
