// The files of tests/goldens: a network PyTorch computed, and sessions that compute the same.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backend/backend.h"
#include "engine/session.h"
#include "formats/safetensors.h"
#include "train/step.h"

namespace pounce {

class Golden {
 public:
  // `stem`: file name in tests/goldens without its ending.
  explicit Golden(const std::string& stem);

  const TensorFile& file() const { return file_; }
  const std::string& text(const std::string& key) const { return file_.metadata.at(key); }
  double number(const std::string& key) const { return std::stod(text(key)); }
  // F32 tensors only.
  std::vector<float> floats(std::string_view name) const;
  // The slice of batch `index` of a tensor with leading axis "batch".
  std::vector<uint8_t> batch(std::string_view name, int index) const;
  // Squared norm of all tensors whose name starts with `prefix`.
  double squared_norm(std::string_view prefix) const;

  // Network, classes, image size, normalisation and smoothing; no optimizer.
  StepSpec spec() const;
  // Of a file with 20 steps.
  OptimizerSettings optimizer() const;

 private:
  TensorFile file_;
};

// ||a - b|| / max(||b||, 1e-6 ||all||).
double golden_error(const std::vector<float>& a, const std::vector<float>& b, double squared_all);

// Errors by tensor and the largest among them.
struct WorstError {
  double error = 0;
  std::string tensor = "-";

  void add(const std::string& name, double found);
};

// A session with the programs "step" (batch of the goldens, fused) and "evaluation".
class GoldenSession {
 public:
  struct Options {
    bool reuse = true;  // of memory, in the plan
    double learning_rate = 0;
    int updates = 1;
    OptimizerSettings optimizer = {};
  };
  // Starts from the golden's initial weights.
  GoldenSession(Backend& backend, const Golden& golden, const Options& options);

  // One step over batch `index`; returns the loss of each sample.
  std::vector<float> step(int index);
  std::vector<float> evaluate(int index);
  // A variable of `entry`'s shape in the layout of files.
  std::vector<float> read(const std::string& variable, const StateEntry& entry);

  Session& session() { return session_; }
  const std::vector<StateEntry>& state() const { return state_; }

 private:
  const Golden& golden_;
  StepSpec spec_;
  std::vector<StateEntry> state_;
  SingleProcess alone_;
  Session session_;
};

}  // namespace pounce
