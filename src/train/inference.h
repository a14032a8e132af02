// A loaded model ready to compute logits.
#pragma once

#include <memory>

#include "backend/communicator.h"
#include "data/transform.h"
#include "engine/session.h"
#include "pounce/error.h"
#include "train/device.h"
#include "train/model_file.h"
#include "train/step.h"

namespace pounce {

// How the model's images are prepared.
inline Preprocessing preprocessing_of(const ModelInfo& info) {
  return {.image_size = info.image_size,
          .resize_ratio = info.resize_ratio,
          .exif = info.exif,
          .fit = info.fit,
          .shrink = info.shrink};
}

class InferenceModel {
 public:
  // Loads `path` (find_model_file's rules) and prepares batches of up to `batch` images.
  InferenceModel(const std::string& path, int batch, const std::string& device, int threads);

  const ModelInfo& info() const { return info_; }
  const StepSpec& spec() const { return spec_; }
  Session& session() { return *session_; }
  Preprocessing preprocessing() const { return preprocessing_of(info_); }

 private:
  ModelInfo info_;
  StepSpec spec_;
  OpenDevice device_;
  SingleProcess communicator_;
  std::unique_ptr<Session> session_;
};

// What to say of an image for which a model's numbers overflow or are no numbers.
Error no_finite_logits();

// The step's description for a model of network_names().
StepSpec make_step_spec(const ModelInfo& info);

}  // namespace pounce
