// Classifying images with a trained model.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "pounce/error.h"

namespace pounce {

struct PredictOptions {
  int batch_size = 32;  // no influence on any result
  int workers = 0;
  int threads = 0;
  std::string device = "auto";
  int top = 5;  // classes in Prediction::top, at most
};

struct ScoredClass {
  std::string name;
  double probability = 0;
};

struct Prediction {
  std::string path;
  std::optional<Error> error;  // set: the file could not be used, the rest is empty
  int label = 0;
  std::string class_name;
  double probability = 0;
  std::vector<float> logits;     // one a class
  std::vector<ScoredClass> top;  // best first
};

class POUNCE_API Predictor {
 public:
  // `model`: a model file, or a run folder (its best). Throws Config where there is none, BadData
  // for a file that is damaged or no Pounce model.
  explicit Predictor(const std::string& model, PredictOptions options = {});
  ~Predictor();

  const std::vector<std::string>& classes() const;

  // Calls `on_prediction` once a path, in order; unreadable files carry their error.
  void predict(const std::vector<std::string>& paths,
               const std::function<void(const Prediction&)>& on_prediction,
               std::stop_token stop = {});

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace pounce
