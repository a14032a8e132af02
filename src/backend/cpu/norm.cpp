// Batch normalisation, forward with or without a program of elementwise ops behind it. Sums over
// rows run in double, in pieces of rows whose number depends on the shape; the pieces are added in
// order.
#include <cmath>

#include <fmt/format.h>

#include "backend/cpu/kernels.h"
#include "backend/cpu/parallel.h"
#include "backend/cpu/simd.h"
#include "backend/cpu/tile_program.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/norm.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef POUNCE_CPU_NORM_ONCE
#define POUNCE_CPU_NORM_ONCE
namespace pounce::cpu {
namespace {

struct Rows {
  int64_t first, end, channels;
};

// y = (a - center) * slope + offset, with vectors over the channels.
struct Affine {
  const float *center, *slope, *offset;
};

}  // namespace
}  // namespace pounce::cpu
#endif  // POUNCE_CPU_NORM_ONCE

HWY_BEFORE_NAMESPACE();
namespace pounce::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <class D>
HWY_INLINE hn::Vec<D> load_as_double(D d, const float* from) {
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, D>(), from));
}

// The two terms of one element that the forward pass sums: x and x squared.
struct Moments {
  const float* x;

  template <class D>
  HWY_INLINE void operator()(D d, int64_t i, int64_t, hn::Vec<D>& a, hn::Vec<D>& b) const {
    hn::Vec<D> value = load_as_double(d, x + i);
    a = hn::Add(a, value);
    b = hn::MulAdd(value, value, b);
  }
};

// And the backward pass: the gradient, and the gradient times the centred x.
struct Gradients {
  const float *grad_y, *x, *mean;

  template <class D>
  HWY_INLINE void operator()(D d, int64_t i, int64_t c, hn::Vec<D>& a, hn::Vec<D>& b) const {
    hn::Vec<D> grad = load_as_double(d, grad_y + i);
    hn::Vec<D> centred = hn::Sub(load_as_double(d, x + i), load_as_double(d, mean + c));
    a = hn::Add(a, grad);
    b = hn::MulAdd(grad, centred, b);
  }
};

// Sums of kVectors vectors of channels from `c` on: those of a at sums[c], of b `channels` behind.
template <int kVectors, class D, class Terms>
HWY_INLINE void sum_channels(D d, const Rows& rows, int64_t c, const Terms& terms, double* sums) {
  constexpr int64_t kLanes = int64_t(hn::MaxLanes(D()));
  hn::Vec<D> a[kVectors], b[kVectors];
  for (int v = 0; v < kVectors; ++v) a[v] = b[v] = hn::Zero(d);
  for (int64_t row = rows.first; row < rows.end; ++row) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      int64_t channel = c + v * kLanes;
      terms(d, row * rows.channels + channel, channel, a[v], b[v]);
    }
  }
  for (int v = 0; v < kVectors; ++v) {
    hn::StoreU(a[v], d, sums + c + v * kLanes);
    hn::StoreU(b[v], d, sums + rows.channels + c + v * kLanes);
  }
}

template <class Terms>
void sum_rows(const Rows& rows, const Terms& terms, double* sums) {
  const hn::ScalableTag<double> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  int64_t c = 0;
  for (; c + 4 * lanes <= rows.channels; c += 4 * lanes) sum_channels<4>(d, rows, c, terms, sums);
  for (; c + lanes <= rows.channels; c += lanes) sum_channels<1>(d, rows, c, terms, sums);
  for (; c < rows.channels; ++c) sum_channels<1>(hn::CappedTag<double, 1>(), rows, c, terms, sums);
}

void sum_moments(const Rows& rows, const float* x, double* sums) {
  sum_rows(rows, Moments{x}, sums);
}

void sum_gradients(const Rows& rows, const float* grad_y, const float* x, const float* mean,
                   double* sums) {
  sum_rows(rows, Gradients{grad_y, x, mean}, sums);
}

void apply_affine(const Rows& rows, const Affine& by, const float* x, float* y) {
  for (int64_t row = rows.first; row < rows.end; ++row) {
    const float* from = x + row * rows.channels;
    float* to = y + row * rows.channels;
    POUNCE_VECTORIZE
    for (int64_t c = 0; c < rows.channels; ++c) {
      to[c] = (from[c] - by.center[c]) * by.slope[c] + by.offset[c];
    }
  }
}

// grad_x = grad_y * scale + ((x - center) * slope + offset).
void apply_gradient(const Rows& rows, const Affine& by, const float* scale, const float* x,
                    const float* grad_y, float* grad_x) {
  for (int64_t row = rows.first; row < rows.end; ++row) {
    int64_t at = row * rows.channels;
    POUNCE_VECTORIZE
    for (int64_t c = 0; c < rows.channels; ++c) {
      float through_statistics = (x[at + c] - by.center[c]) * by.slope[c] + by.offset[c];
      grad_x[at + c] = grad_y[at + c] * scale[c] + through_statistics;
    }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace pounce::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pounce::cpu {
namespace {

HWY_EXPORT(sum_moments);
HWY_EXPORT(sum_gradients);
HWY_EXPORT(apply_affine);
HWY_EXPORT(apply_gradient);

// x as a matrix: a row holds one value of every channel; how its rows are cut into pieces.
struct Extents {
  explicit Extents(const TensorType& x)
      : channels(channels_of(x)),
        rows(x.shape.elements() / channels),
        grain(std::max<int64_t>(kElementwiseGrain / channels, 1)),
        sum_grain(std::max((rows + kMostPieces - 1) / kMostPieces, grain)),
        sum_pieces((rows + sum_grain - 1) / sum_grain) {}

  static constexpr int64_t kMostPieces = 64;
  int64_t channels, rows, grain, sum_grain, sum_pieces;
};

// The program of a fused form, a few rows at a time; of a plain op nothing, and all rows at once.
class RowProgram {
 public:
  explicit RowProgram(const NodeContext& context) : channels_(channels_of(context.output(0))) {
    if (has_program(context.node.op)) program_.emplace(context);
  }

  bool exists() const { return program_.has_value(); }
  int64_t rows_at_once(int64_t all) const {
    return exists() ? std::max<int64_t>(TileProgram::kTile / channels_, 1) : all;
  }
  size_t scratch_bytes() const { return exists() ? program_->scratch_bytes() : 0; }
  // Over output 0, where the program begins; `scratch` has scratch_bytes for each thread.
  void run(const KernelArguments& arguments, const Rows& rows, float* scratch) const {
    if (!exists()) return;
    float* y = arguments.output<float>(0);
    OperandAddresses operands(y, arguments.inputs.subspan(kInputs));
    float* own = scratch + size_t(worker_index()) * scratch_bytes() / sizeof(float);
    program_->run(operands.all(), y, rows.first * channels_, rows.end * channels_, own);
  }

 private:
  static constexpr size_t kInputs = 5;  // of every plain op here

  int64_t channels_;
  std::optional<TileProgram> program_;
};

// Scratch: two double sums a channel and piece, three floats a channel for the elementwise pass,
// the program's own.
struct Scratch {
  Scratch(const KernelArguments& arguments, int64_t channels, int64_t sum_pieces)
      : sums(static_cast<double*>(arguments.workspace)),
        floats(reinterpret_cast<float*>(sums + 2 * channels * sum_pieces)),
        of_program(floats + kFloats * channels) {}

  static size_t bytes(const NodeContext& context, int64_t sum_pieces) {
    size_t of_channel = size_t(2 * sum_pieces) * sizeof(double) + size_t(kFloats) * sizeof(float);
    return size_t(channels_of(context.output(0))) * of_channel +
           RowProgram(context).scratch_bytes() * size_t(context.target.threads);
  }

  static constexpr int64_t kFloats = 3;
  double* sums;
  float *floats, *of_program;
};

size_t sums_workspace(const NodeContext& context) {
  return Scratch::bytes(context, Extents(context.output(0)).sum_pieces);
}

size_t affine_workspace(const NodeContext& context) {
  return Scratch::bytes(context, 0);
}

// f(channel, sum of a, sum of b) for every channel.
template <typename F>
void for_each_channel(const KernelArguments& arguments, const Extents& e, const double* sums, F f) {
  parallel_pieces(arguments.threads, e.channels, 64, [&](int64_t first, int64_t end) {
    for (int64_t c = first; c < end; ++c) {
      double a = 0, b = 0;
      for (int64_t piece = 0; piece < e.sum_pieces; ++piece) {
        a += sums[2 * piece * e.channels + c];
        b += sums[(2 * piece + 1) * e.channels + c];
      }
      f(c, a, b);
    }
  });
}

// center, slope and offset for one channel. The mean in double is a float and a rest, which goes
// to the offset: no digits are lost where the mean is far from 0.
void set_affine(float* floats, int64_t channels, int64_t c, double mean, double slope,
                double beta) {
  float center = float(mean);
  floats[c] = center;
  floats[channels + c] = float(slope);
  floats[2 * channels + c] = float(beta - (mean - double(center)) * slope);
}

// The affine function and the program behind it.
void apply_everywhere(const KernelArguments& arguments, const Extents& e, const Scratch& scratch,
                      const RowProgram& program) {
  const float* floats = scratch.floats;
  Affine by{floats, floats + e.channels, floats + 2 * e.channels};
  float* y = arguments.output<float>(0);
  parallel_pieces(arguments.threads, e.rows, e.grain, [&](int64_t first, int64_t end) {
    int64_t at_once = program.rows_at_once(end - first);
    for (int64_t row = first; row < end; row += at_once) {
      Rows rows{row, std::min(row + at_once, end), e.channels};
      HWY_DYNAMIC_DISPATCH(apply_affine)(rows, by, arguments.input<float>(0), y);
      program.run(arguments, rows, scratch.of_program);
    }
  });
}

HostKernel make_batch_norm(const NodeContext& context) {
  Extents e(context.input(0));
  double eps = context.node.attributes.number("eps");
  double momentum = context.node.attributes.number("momentum");
  return [=, program = RowProgram(context)](const KernelArguments& arguments) {
    Scratch scratch(arguments, e.channels, e.sum_pieces);
    parallel_pieces(arguments.threads, e.rows, e.sum_grain, [&](int64_t first, int64_t end) {
      double* sums = scratch.sums + first / e.sum_grain * 2 * e.channels;
      HWY_DYNAMIC_DISPATCH(sum_moments)({first, end, e.channels}, arguments.input<float>(0), sums);
    });
    auto update = [&](size_t index, int64_t c, double batch) {
      double running = double(arguments.input<float>(index)[c]);
      arguments.output<float>(index)[c] = float((1.0 - momentum) * running + momentum * batch);
    };
    double count = double(e.rows);
    for_each_channel(arguments, e, scratch.sums, [&](int64_t c, double sum, double squares) {
      double mean = sum / count;
      // Of squares in double: good to 1e-6 up to means of 1e4 standard deviations.
      double variance = std::max(squares / count - mean * mean, 0.0);
      double inv_std = 1.0 / std::sqrt(variance + eps);
      update(3, c, mean);
      update(4, c, variance * count / (count - 1.0));
      arguments.output<float>(1)[c] = float(mean);
      arguments.output<float>(2)[c] = float(inv_std);
      set_affine(scratch.floats, e.channels, c, mean,
                 double(arguments.input<float>(1)[c]) * inv_std,
                 double(arguments.input<float>(2)[c]));
    });
    apply_everywhere(arguments, e, scratch, program);
  };
}

HostKernel make_batch_norm_bwd(const NodeContext& context) {
  Extents e(context.input(1));
  return [=](const KernelArguments& arguments) {
    const float* grad_y = arguments.input<float>(0);
    const float* x = arguments.input<float>(1);
    const float* mean = arguments.input<float>(3);
    Scratch scratch(arguments, e.channels, e.sum_pieces);
    parallel_pieces(arguments.threads, e.rows, e.sum_grain, [&](int64_t first, int64_t end) {
      double* sums = scratch.sums + first / e.sum_grain * 2 * e.channels;
      HWY_DYNAMIC_DISPATCH(sum_gradients)({first, end, e.channels}, grad_y, x, mean, sums);
    });
    float* scale = scratch.floats;
    float* slope = scale + e.channels;
    float* offset = slope + e.channels;
    for_each_channel(arguments, e, scratch.sums, [&](int64_t c, double sum, double product) {
      double inv_std = double(arguments.input<float>(4)[c]);
      double factor = double(arguments.input<float>(2)[c]) * inv_std;
      // Through y directly, through the variance and through the mean.
      scale[c] = float(factor);
      slope[c] = float(-factor * product * inv_std * inv_std / double(e.rows));
      offset[c] = float(-factor * sum / double(e.rows));
      arguments.output<float>(1)[c] = float(product * inv_std);
      arguments.output<float>(2)[c] = float(sum);
    });
    parallel_pieces(arguments.threads, e.rows, e.grain, [&](int64_t first, int64_t end) {
      HWY_DYNAMIC_DISPATCH(apply_gradient)
      ({first, end, e.channels}, {mean, slope, offset}, scale, x, grad_y,
       arguments.output<float>(0));
    });
  };
}

HostKernel make_batch_norm_inference(const NodeContext& context) {
  Extents e(context.input(0));
  double eps = context.node.attributes.number("eps");
  return [=, program = RowProgram(context)](const KernelArguments& arguments) {
    Scratch scratch(arguments, e.channels, 0);
    for (int64_t c = 0; c < e.channels; ++c) {
      double inv_std = 1.0 / std::sqrt(double(arguments.input<float>(4)[c]) + eps);
      set_affine(scratch.floats, e.channels, c, double(arguments.input<float>(3)[c]),
                 double(arguments.input<float>(1)[c]) * inv_std,
                 double(arguments.input<float>(2)[c]));
    }
    apply_everywhere(arguments, e, scratch, program);
  };
}

Row simd_row(OpKind op, size_t (*workspace_bytes)(const NodeContext&),
             HostKernel (*make)(const NodeContext&)) {
  return {op,
          {.name = "simd",
           .refuse = refuse_other_floats,
           .workspace_bytes = workspace_bytes,
           .make = make}};
}

// The numbers by channel and the program's tiles have to share the nearest cache.
std::optional<std::string> refuse_wide_rows(const NodeContext& context) {
  constexpr int64_t kMostChannels = 1024;
  int64_t channels = channels_of(context.output(0));
  if (channels <= kMostChannels) return refuse_other_floats(context);
  return fmt::format("{} channels, a pass of its own is faster above {}", channels, kMostChannels);
}

Row fused_row(OpKind op, size_t (*workspace)(const NodeContext&),
              HostKernel (*make)(const NodeContext&)) {
  Row row = simd_row(op, workspace, make);
  row.implementation.refuse = refuse_wide_rows;
  return row;
}

}  // namespace

std::vector<Row> norm_kernels() {
  return {
      simd_row(OpKind::BatchNorm, sums_workspace, make_batch_norm),
      simd_row(OpKind::BatchNormBwd, sums_workspace, make_batch_norm_bwd),
      simd_row(OpKind::BatchNormInference, affine_workspace, make_batch_norm_inference),
      fused_row(OpKind::BatchNormFused, sums_workspace, make_batch_norm),
      fused_row(OpKind::BatchNormInferenceFused, affine_workspace, make_batch_norm_inference),
  };
}

}  // namespace pounce::cpu
#endif  // HWY_ONCE
