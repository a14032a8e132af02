#include "pounce/model.h"

#include <algorithm>
#include <cmath>

#include "api/expr_graph.h"
#include "api/model_state.h"
#include "base/parallel.h"
#include "data/loader.h"
#include "train/inference.h"

namespace pounce {
namespace {

constexpr int kLeastImageSize = 8;
constexpr int kMostImageSize = 4096;
constexpr double kLeastStd = 1e-6;

void check(const ModelOptions& options) {
  auto require = [](bool is_fine, const std::string& what) {
    if (!is_fine) throw Error(ErrorKind::InvalidArgument, "model: " + what);
  };
  auto is_empty = [](const std::string& name) { return name.empty(); };
  require(options.classes.size() >= 2,
          fmt::format("{} classes were given, expected 2 or more", options.classes.size()));
  require(std::none_of(options.classes.begin(), options.classes.end(), is_empty),
          "a class has no name");
  require(options.image_size >= kLeastImageSize && options.image_size <= kMostImageSize,
          fmt::format("image_size is {}, expected {} to {}", options.image_size, kLeastImageSize,
                      kMostImageSize));
  require(options.resize_ratio >= 0.1 && options.resize_ratio <= 1,
          fmt::format("resize_ratio is {}, expected 0.1 to 1", options.resize_ratio));
  for (size_t i = 0; i < 3; ++i) {
    require(std::isfinite(options.mean[i]), "a mean is not finite");
    require(std::isfinite(options.std[i]) && options.std[i] >= kLeastStd,
            fmt::format("a deviation is {}, expected {} or more", options.std[i], kLeastStd));
  }
}

std::shared_ptr<ModelState> make_state(const std::string& name, NetworkBuilder network,
                                       const ModelOptions& options, const Device& device) {
  check(options);
  ModelInfo info{.model = name,
                 .classes = options.classes,
                 .image_size = options.image_size,
                 .resize_ratio = options.resize_ratio,
                 .fit = options.fit,
                 .mean = options.mean,
                 .std = options.std,
                 .split_fraction = {}};
  auto state = std::make_shared<ModelState>(std::move(info), std::move(network),
                                            Access::state(device, "Device"));
  state->initialize(options.seed);
  return state;
}

std::shared_ptr<ModelState> load_state(const std::string& path, NetworkBuilder network,
                                       const Device& device) {
  ModelFile file = load_model(path, /*any_network=*/bool(network));
  auto state =
      std::make_shared<ModelState>(file.info, std::move(network), Access::state(device, "Device"));
  for (const StateEntry& entry : state->entries) {
    state->on_host[entry.name] = from_file_tensor(file, entry);
  }
  return state;
}

std::vector<int64_t> extents_of(const Shape& shape) {
  return {shape.extents().begin(), shape.extents().end()};
}

std::vector<NamedValue> named_values(ModelState& state, bool trained_only) {
  std::vector<NamedValue> values;
  Weights weights = state.weights();
  for (const StateEntry& entry : state.entries) {
    if (trained_only && !entry.trained) continue;
    NamedTensor tensor = to_file_tensor(entry, std::move(weights.at(entry.name)));
    values.push_back({entry.name, host_tensor(entry.type.dtype, extents_of(tensor.type.shape),
                                              std::move(tensor.bytes))});
  }
  return values;
}

}  // namespace

Model::Model(const std::string& network, const ModelOptions& options, const Device& device)
    : Model(make_state(network, {}, options, device)) {}

Model::Model(NetworkFunction network, const ModelOptions& options, const Device& device)
    : Model(make_state(kCustomModel, make_network_builder(std::move(network)), options, device)) {}

Model::Model(std::shared_ptr<ModelState> state) : state_(std::move(state)) {}

Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

Model Model::load(const std::string& path, const Device& device) {
  return Model(load_state(path, {}, device));
}

Model Model::load(const std::string& path, NetworkFunction network, const Device& device) {
  return Model(load_state(path, make_network_builder(std::move(network)), device));
}

void Model::save(const std::string& path) const {
  const auto& state = Access::state(*this, "Model");
  save_model(path, state->file(state->weights()));
}

const std::string& Model::network() const {
  return Access::state(*this, "Model")->info.model;
}

const std::vector<std::string>& Model::classes() const {
  return Access::state(*this, "Model")->info.classes;
}

int Model::image_size() const {
  return Access::state(*this, "Model")->info.image_size;
}

double Model::resize_ratio() const {
  return Access::state(*this, "Model")->info.resize_ratio;
}

Fit Model::fit() const {
  return Access::state(*this, "Model")->info.fit;
}

Device Model::device() const {
  return Access::make<Device>(Access::state(*this, "Model")->device);
}

Tensor Model::operator()(const Tensor& images) const {
  const auto& state = Access::state(*this, "Model");
  const auto& tensor = Access::state(images, "Tensor");
  int64_t size = state->info.image_size;
  bool fits = tensor->dtype == DType::U8 && tensor->shape.size() == 4 && tensor->shape[1] == size &&
              tensor->shape[2] == size && tensor->shape[3] == 3;
  if (!fits) {
    fail_with_hint(ErrorKind::InvalidArgument,
                   "Model::read_images and Loader make such tensors of image files",
                   "images are {}, expected u8[N,{},{},3]", describe(*tensor), size, size);
  }
  return state->evaluate(*tensor);
}

Tensor Model::read_images(const std::vector<std::string>& paths) const {
  const auto& state = Access::state(*this, "Model");
  int64_t size = state->info.image_size;
  size_t each = size_t(size * size * 3);
  std::vector<uint8_t> pixels(paths.size() * each);
  for_each_parallel(0, paths.size(), [&](size_t i) {
    Result<std::vector<uint8_t>> image =
        load_for_inference(paths[i], preprocessing_of(state->info));
    if (!image) {
      const Error& error = image.error();
      bool names_it = error.message().find(paths[i]) != std::string::npos;
      throw Error(error.kind(), names_it ? error.message() : paths[i] + ": " + error.message(),
                  error.hint());
    }
    std::copy(image->begin(), image->end(), pixels.begin() + int64_t(i * each));
  });
  return Tensor({int64_t(paths.size()), size, size, 3}, std::move(pixels));
}

std::vector<NamedValue> Model::parameters() const {
  return named_values(*Access::state(*this, "Model"), true);
}

std::vector<NamedValue> Model::state() const {
  return named_values(*Access::state(*this, "Model"), false);
}

void Model::set_state(const std::string& name, const Tensor& tensor) {
  const auto& state = Access::state(*this, "Model");
  const auto& given = Access::state(tensor, "Tensor");
  if (state->has_trainer) {
    fail(ErrorKind::InvalidArgument, "\"{}\" cannot be set while a Trainer has the model", name);
  }
  auto entry = std::find_if(state->entries.begin(), state->entries.end(),
                            [&](const StateEntry& each) { return each.name == name; });
  if (entry == state->entries.end()) {
    fail(ErrorKind::InvalidArgument, "the model has no tensor \"{}\"; state() lists those it has",
         name);
  }
  TensorType expected{entry->type.dtype, file_shape(*entry)};
  if (given->dtype != expected.dtype || given->shape != extents_of(expected.shape)) {
    fail(ErrorKind::InvalidArgument, "\"{}\" is {}, {} was given", name, to_string(expected),
         describe(*given));
  }
  std::vector<std::byte> bytes = read_bytes(*given);
  NamedTensor in_file{name, expected, std::vector<uint8_t>(bytes.size())};
  std::transform(bytes.begin(), bytes.end(), in_file.bytes.begin(),
                 [](std::byte byte) { return uint8_t(byte); });
  ModelFile file;
  file.info = state->info;
  file.tensors.tensors.push_back(std::move(in_file));
  Weights weights = state->weights();
  weights[name] = from_file_tensor(file, *entry);
  state->write(weights);
}

}  // namespace pounce
