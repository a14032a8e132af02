#include <bit>
#include <cstring>

#include "backend/cpu/kernels.h"
#include "backend/cpu/parallel.h"
#include "backend/cpu/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/control.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace pounce::cpu {
namespace HWY_NAMESPACE {
namespace {

// Index of the first infinity or NaN, `count` when there is none.
int64_t first_non_finite(const float* x, int64_t count) {
  constexpr int64_t kBlock = 512;
  constexpr uint32_t kExponent = 0x7F800000;
  for (int64_t block = 0; block < count; block += kBlock) {
    int64_t end = std::min(count, block + kBlock);
    uint32_t found = 0;
    for (int64_t i = block; i < end; ++i) {
      found |= uint32_t((std::bit_cast<uint32_t>(x[i]) & kExponent) == kExponent);
    }
    if (found == 0) continue;
    int64_t at = block;
    while ((std::bit_cast<uint32_t>(x[at]) & kExponent) != kExponent) ++at;
    return at;
  }
  return count;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace pounce::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pounce::cpu {
namespace {

HWY_EXPORT(first_non_finite);

constexpr int64_t kGrain = 4 * kElementwiseGrain;

HostKernel make_fill(const NodeContext& context) {
  float value = float(context.node.attributes.number("value"));
  int64_t elements = context.output(0).shape.elements();
  return [=](const KernelArguments& arguments) {
    float* y = arguments.output<float>(0);
    parallel_pieces(arguments.threads, elements, kGrain,
                    [&](int64_t first, int64_t end) { std::fill(y + first, y + end, value); });
  };
}

std::optional<std::string> refuse_fill(const NodeContext& context) {
  if (context.output(0).dtype == DType::F32) return std::nullopt;
  return "only f32 is filled in parallel";
}

HostKernel make_copy(const NodeContext& context) {
  int64_t bytes = context.input(0).bytes();
  return [=](const KernelArguments& arguments) {
    const char* x = arguments.input<char>(0);
    char* y = arguments.output<char>(0);
    parallel_pieces(arguments.threads, bytes, kGrain, [&](int64_t first, int64_t end) {
      std::memcpy(y + first, x + first, size_t(end - first));
    });
  };
}

int64_t pieces_of(const NodeContext& context) {
  return (context.input(0).shape.elements() + kGrain - 1) / kGrain;
}

size_t check_finite_workspace(const NodeContext& context) {
  return size_t(pieces_of(context)) * sizeof(int64_t);
}

HostKernel make_check_finite(const NodeContext& context) {
  int64_t elements = context.input(0).shape.elements();
  int64_t pieces = pieces_of(context);
  int64_t tag = context.node.attributes.integer("tag");
  return [=](const KernelArguments& arguments) {
    const float* x = arguments.input<float>(0);
    const int64_t* before = arguments.input<int64_t>(1);
    int64_t flag[2] = {before[0], before[1]};
    int64_t* found = static_cast<int64_t*>(arguments.workspace);
    if (flag[0] == 0) {
      parallel_pieces(arguments.threads, elements, kGrain, [&](int64_t first, int64_t end) {
        found[first / kGrain] =
            first + HWY_DYNAMIC_DISPATCH(first_non_finite)(x + first, end - first);
      });
      for (int64_t piece = 0; piece < pieces && flag[0] == 0; ++piece) {
        if (found[piece] == std::min(elements, (piece + 1) * kGrain)) continue;
        flag[0] = tag + 1, flag[1] = found[piece];
      }
    }
    std::copy_n(flag, 2, arguments.output<int64_t>(0));
  };
}

}  // namespace

std::vector<Row> control_kernels() {
  return {
      {OpKind::Fill, {.name = "parallel", .refuse = refuse_fill, .make = make_fill}},
      {OpKind::Copy, {.name = "parallel", .make = make_copy}},
      {OpKind::CheckFinite,
       {.name = "simd",
        .refuse = refuse_other_floats,
        .workspace_bytes = check_finite_workspace,
        .make = make_check_finite}},
  };
}

}  // namespace pounce::cpu
#endif  // HWY_ONCE
