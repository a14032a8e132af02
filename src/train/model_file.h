// A trained model as one safetensors file: weights exactly as torchvision's state_dict, and what is
// needed to use them (classes, preprocessing) as JSON in the metadata key `pounce`. No date, path,
// host, device or thread count: equal runs give equal bytes.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/session.h"
#include "formats/safetensors.h"
#include "nn/network.h"
#include "pounce/fit.h"

namespace pounce {

// ModelInfo::model of a network that a program describes: its file needs that program.
inline constexpr char kCustomModel[] = "custom";

struct ModelInfo {
  std::string model;                 // a name of network_names(), or kCustomModel
  std::vector<std::string> classes;  // in label order
  int image_size = 224;
  double resize_ratio = 0.875;
  Fit fit = Fit::Crop;  // so it was where a file does not say; the other fits use no resize_ratio
  int shrink = 0;       // Preprocessing::shrink
  bool exif = true;     // the orientation of EXIF is applied; so it was where a file does not say
  std::array<double, 3> mean = {0.485, 0.456, 0.406};
  std::array<double, 3> std = {0.229, 0.224, 0.225};
  std::string precision = "fp32";        // of the training; the weights are fp32 whatever it says
  std::optional<double> split_fraction;  // the rule that held validation images back
};

// "crop", "letterbox", "stretch"; and back, nothing for another word.
std::string_view fit_name(Fit fit);
std::optional<Fit> parse_fit(std::string_view name);

struct ModelFile {
  ModelInfo info;
  TensorFile tensors;  // torch layout
};

// A file without tensors.
ModelFile make_model_file(const ModelInfo& info);
// One entry's tensor as files lay it out, from its bytes in memory's layout.
NamedTensor to_file_tensor(const StateEntry& entry, std::vector<uint8_t> memory);
// The other way. Throws BadData where the tensor is absent or of another type than the network's.
std::vector<uint8_t> from_file_tensor(const ModelFile& file, const StateEntry& entry);

// Weights of the session, of those entries it has, converted to torchvision's layout.
// `averages`: of the moving averages where there are some.
ModelFile export_model(const ModelInfo& info, const std::vector<StateEntry>& state,
                       Session& session, bool averages = false);
// Written beside and renamed. Throws Io.
void save_model(const std::string& path, const ModelFile& file);

// `path`: a model file, or a run folder, whose best.safetensors is taken (else last.safetensors).
// Throws Config where there is nothing or a file of another form (a PyTorch file, a picture, a web
// page), BadData for damage or a file that is no Pounce model.
std::string find_model_file(const std::string& path);
// Networks of network_names() alone, unless `any_network`.
ModelFile load_model(const std::string& path, bool any_network = false);

// What the metadata says of a model; nullopt for a file that Pounce did not write. Throws BadData
// for a description that cannot be read or has impossible values.
std::optional<ModelInfo> read_description(const FileMetadata& file);

// Writes every entry the session has a variable for. Throws BadData naming the first tensor that
// is absent or of another shape than the network's.
// `averages`: into the moving averages instead.
void import_model(const ModelFile& file, const std::vector<StateEntry>& state, Session& session,
                  bool averages = false);

// The first F32 tensor that holds NaN or an infinity; null where there is none.
const NamedTensor* find_non_finite(const TensorFile& file);

// K,C,R,S to K,R,S,C and back, for 4-axis tensors of F32.
std::vector<float> krsc_from_kcrs(const std::vector<float>& values, const Shape& krsc);
std::vector<float> kcrs_from_krsc(const std::vector<float>& values, const Shape& krsc);
// The shape a state entry has in files.
Shape file_shape(const StateEntry& entry);

}  // namespace pounce
