// A network with its weights, its classes and its preprocessing: what a model file holds.
//
//   pounce::Model model("resnet18", {.classes = {"cat", "dog"}});
//   pounce::Tensor logits = model(model.read_images({"felix.jpg"}));
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "pounce/device.h"
#include "pounce/export.h"
#include "pounce/fit.h"
#include "pounce/network.h"
#include "pounce/tensor.h"

namespace pounce {

struct ModelState;

struct ModelOptions {
  std::vector<std::string> classes;  // in label order; at least 2, none empty
  int image_size = 224;              // pixels, square; 8 to 4096
  double resize_ratio = 0.875;       // crop size / size of the resized short side; 0.1 to 1
  Fit fit = Fit::Crop;               // the other fits show the whole picture
  std::array<double, 3> mean = {0.485, 0.456, 0.406};  // of red, green, blue, in 0 to 1
  std::array<double, 3> std = {0.229, 0.224, 0.225};   // deviations, above 0
  uint64_t seed = 0;                                   // of the fresh weights
};

// A tensor of the network's state, named and laid out as in PyTorch's state_dict: weights of
// convolutions K,C,R,S.
struct NamedValue {
  std::string name;
  Tensor tensor;
};

// Owns its weights; a Trainer made for it keeps them alive and changes them. Movable; a moved-from
// Model can only be assigned or destroyed, anything else throws InvalidArgument.
class POUNCE_API Model {
 public:
  // Fresh weights. `network`: cnn, resnet18, resnet34, resnet50, resnet101. Throws Config for
  // another name, InvalidArgument for options out of range and, naming the layer, for images too
  // small for the network, OutOfMemory.
  Model(const std::string& network, const ModelOptions& options, const Device& device = Device());
  // The same with a network of one's own. Throws InvalidArgument where its logits are not N,K.
  Model(NetworkFunction network, const ModelOptions& options, const Device& device = Device());

  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
  ~Model();

  // A file that `pounce train` or `save` wrote, or a run folder (its best). Throws Config where
  // there is none; BadData for a damaged file, for one that is no Pounce model, and for one of an
  // own network, which needs its function.
  static Model load(const std::string& path, const Device& device = Device());
  static Model load(const std::string& path, NetworkFunction network,
                    const Device& device = Device());
  // The file `pounce eval`, `pounce predict` and PyTorch read. Throws Io.
  void save(const std::string& path) const;

  // "resnet18"; "custom" for a network of one's own.
  const std::string& network() const;
  const std::vector<std::string>& classes() const;
  int image_size() const;
  double resize_ratio() const;
  Fit fit() const;
  Device device() const;

  // Logits [N, classes] F32, on the model's device, of images U8 [N, image_size, image_size, 3]
  // (RGB), which may lie anywhere. The bits of an image's logits do not depend on the others.
  // Evaluation mode always. Throws InvalidArgument for another dtype or shape.
  Tensor operator()(const Tensor& images) const;

  // Image files as one such tensor, on the host, by the model's preprocessing. Throws Io, BadData,
  // Unsupported with the path.
  Tensor read_images(const std::vector<std::string>& paths) const;

  // Copies of the trained tensors, or of all with running statistics, on the host, in the
  // network's order. With a Trainer that averages weights: the averages.
  std::vector<NamedValue> parameters() const;
  std::vector<NamedValue> state() const;
  // Replaces one of state(). Throws InvalidArgument for an unknown name and for another dtype or
  // shape, and while a Trainer has the model.
  void set_state(const std::string& name, const Tensor& tensor);

 private:
  friend struct Access;
  explicit Model(std::shared_ptr<ModelState> state);
  std::shared_ptr<ModelState> state_;
};

}  // namespace pounce
