#include "train/inference.h"

#include "train/evaluation.h"

namespace pounce {

StepSpec make_step_spec(const ModelInfo& info) {
  StepSpec spec;
  spec.network = [model = info.model](Graph& graph, Value images, int64_t classes, bool training) {
    return build_network(model, graph, images, classes, training);
  };
  spec.classes = int64_t(info.classes.size());
  spec.image_size = info.image_size;
  spec.mean = info.mean;
  spec.std = info.std;
  return spec;
}

InferenceModel::InferenceModel(const std::string& path, int batch, const std::string& device,
                               int threads) {
  ModelFile file = load_model(path);
  info_ = file.info;
  spec_ = make_step_spec(info_);
  device_ = open_device(device, {.threads = threads});
  session_ = std::make_unique<Session>(
      *device_.backend, communicator_,
      std::vector<NamedGraph>{{evaluation_program(batch), build_evaluation(spec_, batch)}});
  import_model(file, network_state(spec_), *session_);
}

Error no_finite_logits() {
  return Error(ErrorKind::BadData, "the model computes no finite logits for this image",
               "its training diverged or its file was altered: pounce inspect MODEL");
}

}  // namespace pounce
