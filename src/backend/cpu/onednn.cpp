#include "backend/cpu/onednn.h"

#include "backend/cpu/parallel.h"
#include "ir/conv_params.h"
#include "plan/plan.h"

namespace pounce::cpu {
namespace {

using Desc = dnnl::memory::desc;
using Tag = dnnl::memory::format_tag;
constexpr auto kF32 = dnnl::memory::data_type::f32;
constexpr auto kAlgorithm = dnnl::algorithm::convolution_direct;

dnnl::primitive_attr user_scratch() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

dnnl::memory unbound(const Desc& desc, const dnnl::engine& engine) {
  return {desc, engine, DNNL_MEMORY_NONE};
}

// oneDNN prefers "brgconv" on AVX-512, which cuts sums over channels by the number of threads.
// These weight layouts lead to its direct kernels, whose sums have one order, and which are faster
// here.
constexpr Tag kDirectLayouts[] = {Tag::OIhw16i16o, Tag::Ohwi16o};
constexpr Tag kDirectGroupLayouts[] = {Tag::Goihw16g, Tag::Goihw8g, Tag::gOIhw16i16o};

std::span<const Tag> direct_layouts(const ConvParams& p) {
  if (p.groups == 1) return kDirectLayouts;
  return kDirectGroupLayouts;
}

bool is_direct(const dnnl::convolution_forward::primitive_desc& desc) {
  return std::string_view(desc.impl_info_str()).starts_with("jit");
}

// make(layout), or `otherwise` where oneDNN has no such convolution.
template <typename Make, typename PrimitiveDesc>
PrimitiveDesc first_that_exists(const Make& make, Tag layout, const PrimitiveDesc& otherwise) {
  try {
    return make(layout);
  } catch (const dnnl::error&) {
    return otherwise;
  }
}

}  // namespace

OneDnnConvolution::OneDnnConvolution(const NodeContext& context)
    : threads_(context.target.threads), engine_(dnnl::engine::kind::cpu, 0) {
  ScopedThreads scope(threads_);
  const ConvParams p = conv_params(context.graph, context.node);
  Desc x({p.batch, p.channels, p.height, p.width}, kF32, Tag::nhwc);
  Desc y({p.batch, p.out_channels, p.out_height, p.out_width}, kF32, Tag::nhwc);
  dnnl::memory::dims extents{p.out_channels, p.channels, p.kernel_height, p.kernel_width};
  if (p.groups != 1) {
    extents = {p.groups, p.out_channels / p.groups, p.channels / p.groups, p.kernel_height,
               p.kernel_width};
  }
  plain_weights_ = Desc(extents, kF32, p.groups == 1 ? Tag::ohwi : Tag::gohwi);
  dnnl::memory::dims stride{p.stride_h, p.stride_w};
  dnnl::memory::dims dilation{p.dilation_h - 1, p.dilation_w - 1};
  dnnl::memory::dims pad{p.pad_h, p.pad_w};
  // oneDNN counts the padding that windows reach, which may be less at the far sides.
  auto reached = [](int64_t out, int64_t step, int64_t kernel, int64_t gap, int64_t size,
                    int64_t near) {
    return (out - 1) * step + gap * (kernel - 1) + 1 - size - near;
  };
  dnnl::memory::dims far{
      reached(p.out_height, p.stride_h, p.kernel_height, p.dilation_h, p.height, p.pad_h),
      reached(p.out_width, p.stride_w, p.kernel_width, p.dilation_w, p.width, p.pad_w)};
  auto forward_with = [&](Tag layout) {
    return dnnl::convolution_forward::primitive_desc(
        {dnnl::prop_kind::forward_training, kAlgorithm, x, Desc(extents, kF32, layout), y, stride,
         dilation, pad, far},
        user_scratch(), engine_);
  };
  auto forward = forward_with(Tag::any);
  if (context.node.op == OpKind::Conv2d) {
    input_ = x, output_ = y;
    input_argument_ = DNNL_ARG_SRC, output_argument_ = DNNL_ARG_DST;
    for (Tag layout : direct_layouts(p)) {
      if (is_direct(forward)) break;
      forward = first_that_exists(forward_with, layout, forward);
    }
    make_primitive_ = [forward] { return dnnl::convolution_forward(forward); };
    choose(forward, forward.weights_desc());
    return;
  }
  dnnl::convolution_backward_data::primitive_desc backward(
      {kAlgorithm, x, Desc(extents, kF32, Tag::any), y, stride, dilation, pad, far}, user_scratch(),
      engine_, forward);
  input_ = y, output_ = x;
  input_argument_ = DNNL_ARG_DIFF_DST, output_argument_ = DNNL_ARG_DIFF_SRC;
  make_primitive_ = [backward] { return dnnl::convolution_backward_data(backward); };
  choose(backward, backward.weights_desc());
}

template <typename PrimitiveDesc>
void OneDnnConvolution::choose(const PrimitiveDesc& desc, const Desc& weights) {
  weights_ = weights;
  scratch_ = desc.scratchpad_desc();
  implementation_ = desc.impl_info_str();
  scratch_offset_ = weights_ == plain_weights_ ? 0 : align_up(weights_.get_size());
}

void OneDnnConvolution::prepare() {
  ScopedThreads scope(threads_);
  stream_ = dnnl::stream(engine_);
  primitive_ = make_primitive_();
  input_memory_ = unbound(input_, engine_);
  output_memory_ = unbound(output_, engine_);
  plain_memory_ = unbound(plain_weights_, engine_);
  weights_memory_ = unbound(weights_, engine_);
  scratch_memory_ = unbound(scratch_, engine_);
  if (scratch_offset_ != 0) reorder_ = dnnl::reorder(plain_memory_, weights_memory_);
}

void OneDnnConvolution::run(const KernelArguments& arguments) {
  ScopedThreads scope(threads_);
  char* workspace = static_cast<char*>(arguments.workspace);
  // oneDNN's handles are not const; it only reads these.
  input_memory_.set_data_handle(const_cast<void*>(arguments.inputs[0]), stream_);
  plain_memory_.set_data_handle(const_cast<void*>(arguments.inputs[1]), stream_);
  output_memory_.set_data_handle(arguments.outputs[0], stream_);
  scratch_memory_.set_data_handle(workspace + scratch_offset_, stream_);
  dnnl::memory* weights = &plain_memory_;
  if (scratch_offset_ != 0) {
    weights = &weights_memory_;
    weights_memory_.set_data_handle(workspace, stream_);
    reorder_.execute(stream_, plain_memory_, weights_memory_);
  }
  const dnnl_exec_arg_t list[] = {{input_argument_, input_memory_.get()},
                                  {DNNL_ARG_WEIGHTS, weights->get()},
                                  {output_argument_, output_memory_.get()},
                                  {DNNL_ARG_SCRATCHPAD, scratch_memory_.get()}};
  dnnl::error::wrap_c_api(
      dnnl_primitive_execute(primitive_.get(), stream_.get(), int(std::size(list)), list),
      "a oneDNN convolution failed");
}

}  // namespace pounce::cpu
