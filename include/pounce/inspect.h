// What is in a model file: its description, its preprocessing and every tensor in numbers.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pounce/error.h"
#include "pounce/export.h"

namespace pounce {

// One tensor of a file; the numbers are those of its finite values.
struct TensorSummary {
  std::string name;
  std::string dtype;           // as the file says it: F32, BF16, BOOL, F8_E4M3, ...
  std::vector<int64_t> shape;  // as in the file
  int64_t elements = 0;
  int64_t bytes = 0;
  int64_t nan = 0;       // values that are no number
  int64_t infinite = 0;  // of either sign
  // Absent where no value is finite, and for types other than F64, F32, F16, BF16, I64, I32, U8.
  std::optional<double> min, max, mean, std;
};

// What `pounce train` wrote beside the weights.
struct ModelDescription {
  std::string model;                 // cnn, resnet18, ...
  std::string version;               // of the Pounce that wrote it
  int64_t parameters = 0;            // trained ones, in the file
  std::vector<std::string> classes;  // in label order
  std::string precision;             // of its training: fp32, bf16, fp16
  int image_size = 0;                // pixels, square
  std::string fit, crop, interpolation, alpha;
  int shrink = 0;                       // above 0: short sides beyond it were reduced to it first
  double resize = 0;                    // size of the crop / resized short side
  std::array<double, 3> mean{}, std{};  // by channel, of values from 0 to 1
  bool exif = false;                    // whether the orientation in EXIF data is applied
  std::string split_rule;               // that held validation images back; empty: none did
  double val_fraction = 0;
};

struct Inspection {
  std::string path;                             // of the file that was read
  int64_t bytes = 0;                            // of that file
  std::optional<ModelDescription> description;  // absent: no Pounce model
  std::map<std::string, std::string> metadata;  // other than the description
  std::vector<TensorSummary> tensors;           // in the order of the file

  bool is_finite() const;
};

// `model`: any safetensors file, or a run folder (its best). Throws Config where there is none or a
// file of another form (a PyTorch file, a picture, a web page), Io, BadData for a damaged file.
POUNCE_API Inspection inspect_model(const std::string& model);

}  // namespace pounce
