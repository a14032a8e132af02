// A oneDNN convolution over NHWC activations and KRSC weights, prepared once and run without
// allocating: weights are reordered to the layout oneDNN wants in the node's workspace.
#pragma once

#include <dnnl.hpp>

#include "backend/implementation.h"

namespace pounce::cpu {

// Forward and data gradient share their form: activations and weights in, activations out.
class OneDnnConvolution {
 public:
  // Chooses oneDNN's implementation for `context.target.threads` threads. Throws dnnl::error where
  // oneDNN has none.
  explicit OneDnnConvolution(const NodeContext& context);

  // oneDNN's name for it, such as "jit:avx2".
  const std::string& implementation() const { return implementation_; }
  size_t workspace_bytes() const { return scratch_offset_ + scratch_.get_size(); }
  // Generates the code. Call once, before run.
  void prepare();
  void run(const KernelArguments& arguments);

 private:
  template <typename PrimitiveDesc>
  void choose(const PrimitiveDesc& desc, const dnnl::memory::desc& weights);

  int threads_;
  dnnl::engine engine_;
  dnnl::memory::desc plain_weights_, weights_, input_, output_, scratch_;
  int input_argument_, output_argument_;
  size_t scratch_offset_ = 0;
  std::string implementation_;
  std::function<dnnl::primitive()> make_primitive_;

  dnnl::stream stream_;
  dnnl::primitive primitive_;
  dnnl::reorder reorder_;
  dnnl::memory input_memory_, plain_memory_, weights_memory_, output_memory_, scratch_memory_;
};

}  // namespace pounce::cpu
