#include <fmt/format.h>

#include "backend/cpu/gemm.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/onednn.h"
#include "backend/cpu/winograd.h"
#include "base/error.h"
#include "ir/conv_params.h"

namespace pounce::cpu {
namespace {

std::optional<std::string> refuse_empty(const NodeContext& context) {
  if (auto reason = refuse_other_floats(context)) return reason;
  ConvParams p = conv_params(context.graph, context.node);
  if (p.batch * p.channels * p.out_channels == 0) return "a tensor is empty";
  return std::nullopt;
}

std::optional<std::string> refuse_winograd_node(const NodeContext& context) {
  if (auto reason = refuse_empty(context)) return reason;
  if (context.target.direct_convolutions) return "direct sums are asked for";
  return refuse_winograd(conv_params(context.graph, context.node));
}

template <ConvPass kPass>
size_t winograd_workspace(const NodeContext& context) {
  return winograd_workspace_bytes(conv_params(context.graph, context.node), kPass,
                                  context.target.threads);
}

// `kRun` is one of winograd.h.
template <auto kRun>
HostKernel make_winograd(const NodeContext& context) {
  ConvParams p = conv_params(context.graph, context.node);
  int threads = context.target.threads;
  return [=](const KernelArguments& arguments) {
    kRun({p, arguments.workspace, threads}, arguments.input<float>(0), arguments.input<float>(1),
         arguments.output<float>(0));
  };
}

template <ConvPass kPass, auto kRun>
Implementation winograd() {
  return {.name = "winograd",
          .refuse = refuse_winograd_node,
          .workspace_bytes = winograd_workspace<kPass>,
          .make = make_winograd<kRun>};
}

// oneDNN's direct kernels add in one order whatever the threads and the batch; its others do not
// (docs/decisions/001-onednn-invariance.md).
std::optional<std::string> refuse_onednn(const NodeContext& context) {
  if (auto reason = refuse_empty(context)) return reason;
  try {
    OneDnnConvolution convolution(context);
    const std::string& name = convolution.implementation();
    if (name.starts_with("jit")) return std::nullopt;
    return fmt::format("oneDNN offers only {}, whose sums depend on threads or batch", name);
  } catch (const dnnl::error& error) {
    return fmt::format("oneDNN has no such convolution: {}", error.what());
  }
}

size_t onednn_workspace(const NodeContext& context) {
  return OneDnnConvolution(context).workspace_bytes();
}

HostKernel make_onednn(const NodeContext& context) {
  // Shared: a std::function is copied.
  auto convolution = std::make_shared<OneDnnConvolution>(context);
  convolution->prepare();
  return [convolution](const KernelArguments& arguments) { convolution->run(arguments); };
}

// grad_weights[K, RSC] = grad_y[pixels, K] transposed times the patches of x[pixels, RSC].
GemmShape weights_gemm(const ConvParams& p) {
  return {p.out_channels, p.kernel_height * p.kernel_width * p.channels,
          p.batch * p.out_height * p.out_width, true};
}

std::optional<std::string> refuse_implicit_gemm(const NodeContext& context) {
  if (auto reason = refuse_empty(context)) return reason;
  ConvParams p = conv_params(context.graph, context.node);
  if (p.groups != 1) return fmt::format("{} groups, only one is served", p.groups);
  if (p.dilation_h != 1 || p.dilation_w != 1) {
    return fmt::format("dilation [{},{}], only [1,1] is served", p.dilation_h, p.dilation_w);
  }
  return std::nullopt;
}

size_t implicit_gemm_workspace(const NodeContext& context) {
  return gemm_workspace_bytes(weights_gemm(conv_params(context.graph, context.node)),
                              context.target.threads);
}

HostKernel make_implicit_gemm(const NodeContext& context) {
  ConvParams p = conv_params(context.graph, context.node);
  int threads = context.target.threads;
  return [=](const KernelArguments& arguments) {
    gemm({weights_gemm(p), arguments.workspace, threads},
         MatrixView{arguments.input<float>(1), 1, p.out_channels},
         PatchView{arguments.input<float>(0), p}, arguments.output<float>(0));
  };
}

}  // namespace

std::vector<Row> conv_kernels() {
  const Implementation onednn = {.name = "onednn",
                                 .refuse = refuse_onednn,
                                 .workspace_bytes = onednn_workspace,
                                 .make = make_onednn};
  return {
      {OpKind::Conv2d, winograd<ConvPass::Forward, winograd_forward>()},
      {OpKind::Conv2d, onednn},
      {OpKind::Conv2dBwdData, winograd<ConvPass::Data, winograd_data>()},
      {OpKind::Conv2dBwdData, onednn},
      {OpKind::Conv2dBwdWeights, winograd<ConvPass::Weights, winograd_weights>()},
      {OpKind::Conv2dBwdWeights,
       {.name = "implicit_gemm",
        .refuse = refuse_implicit_gemm,
        .workspace_bytes = implicit_gemm_workspace,
        .make = make_implicit_gemm}},
  };
}

}  // namespace pounce::cpu
