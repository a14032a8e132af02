// Describing a network of one's own, layer by layer.
//
//   pounce::Expr tiny(pounce::Builder& b, const pounce::Expr& images, int classes) {
//     pounce::Expr x = relu(b.conv("conv1", images, 16, {.kernel = 3, .padding = 1}));
//     return b.linear("fc", b.global_avg_pool(x), classes);
//   }
//   pounce::Model model(tiny, {.classes = {"cat", "dog"}, .image_size = 64});
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "pounce/expr.h"

namespace pounce {

struct ConvOptions {
  int kernel = 1;
  int stride = 1;
  int padding = 0;
  int dilation = 1;
  int groups = 1;
  bool bias = false;
};

struct PoolOptions {
  int kernel = 2;
  int stride = 2;
  int padding = 0;
};

// How a parameter starts.
enum class Init {
  Zeros,
  Ones,
  Normal,  // of deviation 0.02, as transformers start their tokens and positions
};

// Layers with parameters have a name, unique in the network: files and `Model::state` hold
// "<name>.weight" and so on, as PyTorch's modules of the same kind do. Images and maps are N,H,W,C.
// Every function throws InvalidArgument as those of expr.h do, and for a name that is empty, taken,
// or starts with "gradient.", "optimizer." or "ema.".
class POUNCE_API Builder {
 public:
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  // x N,H,W,C to N,H',W',channels. He's normal start.
  Expr conv(const std::string& name, const Expr& x, int channels, const ConvOptions& options = {});
  // Over all axes but the last; momentum 0.1, epsilon 1e-5. Batch statistics in training, running
  // ones in evaluation.
  Expr batch_norm(const std::string& name, const Expr& x);
  // Over the last axis; epsilon 1e-5.
  Expr layer_norm(const std::string& name, const Expr& x);
  // Over the last axis: ..., C to ..., features. With bias; torch.nn.Linear's start.
  Expr linear(const std::string& name, const Expr& x, int features);
  // A trained tensor as it is. Weight decay applies to those of 2 axes and more.
  Expr parameter(const std::string& name, const std::vector<int64_t>& shape, Init init);

  Expr max_pool(const Expr& x, const PoolOptions& options = {});
  // Padding counts, as in torch.nn.AvgPool2d.
  Expr avg_pool(const Expr& x, const PoolOptions& options = {});
  // N,H,W,C to N,C.
  Expr global_avg_pool(const Expr& x);

  // Whether this is the training's network or the evaluation's, which has the same parameters.
  bool is_training() const;

 private:
  friend struct Access;
  explicit Builder(std::shared_ptr<ExprGraph> graph);
  ~Builder();
  std::shared_ptr<ExprGraph> graph_;
};

// A network: images N,S,S,3 F32, normalised with the model's mean and deviation, to logits
// N,classes. Called for each batch size, for training and for evaluation; must describe the same
// parameters every time. Exceptions pass through.
using NetworkFunction = std::function<Expr(Builder& builder, const Expr& images, int classes)>;

}  // namespace pounce
