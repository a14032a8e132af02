// Products of matrices and convolutions in launches of gemm.k.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "backend/kernels/families.h"
#include "backend/kernels/reduce.h"
#include "base/error.h"
#include "ir/conv_params.h"

namespace pounce::kernels {
namespace {

struct Tile {
  int m, n, k, micro_m, micro_n;

  int items() const { return m / micro_m * (n / micro_n); }
};

constexpr Tile kTiles[] = {
    {128, 128, 8, 8, 8}, {128, 64, 16, 8, 8}, {64, 64, 16, 8, 4}, {32, 32, 16, 4, 4}};
constexpr Tile kSmallestTile = kTiles[3];

// What gemm.k computes, before it is cut: `products` products of rows x depth by depth x columns.
struct Gemm {
  const char* operation = "MATMUL";
  int64_t rows = 0, columns = 0, depth = 0, products = 1;
  bool a_along_k = true, b_along_k = true;
  bool a_vector = false, b_vector = false, y_vector = false;
  int64_t a_line = 0, b_line = 0, y_line = 0;           // elements from line to line
  int64_t a_product = 0, b_product = 0, y_product = 0;  // and from product to product
  std::vector<int64_t> geometry;                        // i32s of a convolution
  std::vector<int64_t> taps;                            // INDEX
  std::vector<int64_t> placement;                       // i32s
};

int64_t tiles_of(const Gemm& gemm, const Tile& tile) {
  return groups_for(gemm.rows, tile.m) * groups_for(gemm.columns, tile.n) * gemm.products;
}

// The largest tile that the result fills and that leaves enough groups for a large GPU; groups that
// split the depth count, too. No sum's order depends on it.
Tile choose_tile(const Gemm& gemm, int64_t splits_possible) {
  constexpr int64_t kEnoughGroups = 264;
  for (const Tile& tile : kTiles) {
    bool filled = gemm.rows * 4 > tile.m * 3 && gemm.columns * 4 > tile.n * 3;
    if (filled && tiles_of(gemm, tile) * splits_possible >= kEnoughGroups) return tile;
  }
  return kSmallestTile;
}

// Elements of the largest operand.
int64_t most_elements(const NodeContext& context) {
  int64_t most = context.output(0).shape.elements();
  for (size_t i : {size_t{0}, size_t{1}}) {
    most = std::max(most, context.input(i).shape.elements());
  }
  return most;
}

struct Types {
  DType a, b, y;
};

// a and b are given by the node's inputs in gemm.k's order.
struct Operands {
  Operand a, b, y;
  Types types;
};

struct Split {
  int64_t count = 1, tiles = 0;  // splits, and steps of the depth in each
};

Program program_of(const Gemm& gemm, const Tile& tile, const Types& types, const char* index) {
  auto vector = [](bool wide) { return wide ? "4" : "1"; };
  auto number = [](int value) { return fmt::format("{}", value); };
  return {"gemm",
          {{"OPERATION", gemm.operation},
           {"A_TYPE", storage(types.a)},
           {"B_TYPE", storage(types.b)},
           {"Y_TYPE", storage(types.y)},
           {"TILE_M", number(tile.m)},
           {"TILE_N", number(tile.n)},
           {"TILE_K", number(tile.k)},
           {"MICRO_M", number(tile.micro_m)},
           {"MICRO_N", number(tile.micro_n)},
           {"A_ALONG_K", gemm.a_along_k ? "1" : "0"},
           {"B_ALONG_K", gemm.b_along_k ? "1" : "0"},
           {"A_VECTOR", vector(gemm.a_vector)},
           {"B_VECTOR", vector(gemm.b_vector)},
           {"Y_VECTOR", vector(gemm.y_vector)},
           {"INDEX", index}}};
}

// Grids have at most 65535 groups along y: more products take more launches.
std::vector<Launch> gemm_launches(const Gemm& gemm, const Tile& tile, const Operands& operands,
                                  const IndexType& index, const Split& split) {
  constexpr int64_t kMostGroups = 65535;
  std::vector<Launch> launches;
  int64_t column_tiles = groups_for(gemm.columns, tile.n);
  for (int64_t first = 0; first < gemm.products; first += kMostGroups) {
    Launch launch{.program = program_of(gemm, tile, operands.types, index.name().c_str()),
                  .entry = "gemm",
                  .groups = {groups_for(gemm.rows, tile.m) * column_tiles,
                             std::min(kMostGroups, gemm.products - first), split.count},
                  .items = tile.items()};
    launch.arguments = {operands.a,
                        operands.b,
                        operands.y,
                        index(gemm.rows),
                        index(gemm.columns),
                        index(gemm.depth),
                        int32_t(column_tiles),
                        int32_t(split.tiles),
                        int32_t(first),
                        index(gemm.a_line),
                        index(gemm.b_line),
                        index(gemm.y_line),
                        gemm.a_product,
                        gemm.b_product,
                        gemm.y_product,
                        gemm.products * gemm.y_product};
    for (int64_t number : gemm.geometry) launch.arguments.emplace_back(int32_t(number));
    for (int64_t number : gemm.taps) launch.arguments.push_back(index(number));
    for (int64_t number : gemm.placement) launch.arguments.emplace_back(int32_t(number));
    launches.push_back(std::move(launch));
  }
  return launches;
}

Operands operands_of(const NodeContext& context, size_t a, size_t b) {
  return {input(a),
          input(b),
          output(0),
          {context.input(a).dtype, context.input(b).dtype, context.output(0).dtype}};
}

std::vector<Launch> whole_launches(const NodeContext& context, const Gemm& gemm) {
  Tile tile = choose_tile(gemm, 1);
  return gemm_launches(gemm, tile, operands_of(context, 0, 1), IndexType(most_elements(context)),
                       {1, int32_t(groups_for(gemm.depth, tile.k))});
}

// A long depth over a small result: cut into splits that are summed up by a second launch.
struct SplitGemm {
  explicit SplitGemm(const Gemm& gemm) {
    constexpr int64_t kLeastDepth = 512;
    tile = choose_tile(gemm, std::max<int64_t>(1, gemm.depth / kLeastDepth));
    int64_t steps = groups_for(gemm.depth, tile.k);
    int64_t wanted = groups_for(512, std::max<int64_t>(1, tiles_of(gemm, tile)));
    // Sums of no more than 16384 products in a row keep their digits.
    int64_t least = groups_for(gemm.depth, 16384);
    int64_t most = std::max<int64_t>(1, gemm.depth / kLeastDepth);
    split.tiles = groups_for(steps, std::max<int64_t>(1, std::max(least, std::min(wanted, most))));
    split.tiles = std::max<int64_t>(1, split.tiles);
    split.count = std::max<int64_t>(1, groups_for(steps, split.tiles));
  }

  Tile tile{};
  Split split;
};

size_t split_bytes(const NodeContext& context, const Gemm& gemm) {
  int64_t splits = SplitGemm(gemm).split.count;
  if (splits == 1) return 0;
  Sections sections(context.target);
  sections.add(splits * context.output(0).shape.elements(), sizeof(float));
  return sections.bytes();
}

std::vector<Launch> split_launches(const NodeContext& context, const Gemm& gemm, size_t a,
                                   size_t b) {
  SplitGemm plan(gemm);
  Operands operands = operands_of(context, a, b);
  IndexType index(most_elements(context));
  if (plan.split.count == 1) {
    return gemm_launches(gemm, plan.tile, operands, index, plan.split);
  }
  int64_t results = context.output(0).shape.elements();
  operands.y = {Operand::Kind::Workspace, 0, 0};
  operands.types.y = DType::F32;
  std::vector<Launch> launches = gemm_launches(gemm, plan.tile, operands, index, plan.split);
  launches.push_back(
      sum_parts(operands.y, plan.split.count, results, output(0), context.output(0).dtype));
  return launches;
}

// Of matrices, or of as many pairs of them as the leading axes count.
Gemm matmul_gemm(const NodeContext& context) {
  const Shape &a = context.input(0).shape, &b = context.input(1).shape;
  const Shape& y = context.output(0).shape;
  int rank = a.rank();
  Gemm gemm;
  gemm.a_along_k = context.node.attributes.integer("transpose_a") == 0;
  gemm.b_along_k = context.node.attributes.integer("transpose_b") != 0;
  gemm.rows = y[rank - 2], gemm.columns = y[rank - 1];
  gemm.depth = a[gemm.a_along_k ? rank - 1 : rank - 2];
  gemm.products = 1;
  for (int i = 0; i < rank - 2; ++i) gemm.products *= a[i];
  gemm.a_line = a[rank - 1], gemm.b_line = b[rank - 1], gemm.y_line = gemm.columns;
  gemm.a_vector = gemm.a_line % 4 == 0, gemm.b_vector = gemm.b_line % 4 == 0;
  gemm.y_vector = gemm.columns % 4 == 0;
  gemm.a_product = gemm.rows * gemm.depth, gemm.b_product = gemm.depth * gemm.columns;
  gemm.y_product = gemm.rows * gemm.columns;
  return gemm;
}

std::vector<Launch> launch_matmul(const NodeContext& context) {
  return whole_launches(context, matmul_gemm(context));
}

std::optional<std::string> refuse_split_matmul(const NodeContext& context) {
  if (auto reason = refuse_f64(context)) return reason;
  Gemm gemm = matmul_gemm(context);
  if (gemm.depth < 4096 || tiles_of(gemm, kTiles[2]) > 128) {
    return fmt::format("a depth of {} over {} x {} results gains nothing by a split", gemm.depth,
                       gemm.rows, gemm.columns);
  }
  return std::nullopt;
}

size_t split_matmul_bytes(const NodeContext& context) {
  return split_bytes(context, matmul_gemm(context));
}

std::vector<Launch> launch_split_matmul(const NodeContext& context) {
  return split_launches(context, matmul_gemm(context), 0, 1);
}

// The numbers of one group of a convolution.
struct ConvGroup {
  explicit ConvGroup(const ConvParams& p)
      : channels(p.channels / p.groups),
        out_channels(p.out_channels / p.groups),
        weights(p.kernel_height * p.kernel_width * channels) {}

  int64_t channels, out_channels, weights;  // weights: of one output channel
};

std::vector<Launch> launch_conv(const NodeContext& context) {
  ConvParams p = conv_params(context.graph, context.node);
  ConvGroup group(p);
  Gemm gemm;
  gemm.operation = "CONV";
  gemm.rows = p.batch * p.out_height * p.out_width;
  gemm.columns = group.out_channels, gemm.depth = group.weights, gemm.products = p.groups;
  gemm.a_vector = group.channels % 4 == 0, gemm.b_vector = group.weights % 4 == 0;
  gemm.y_vector = group.out_channels % 4 == 0;
  gemm.a_line = p.channels, gemm.b_line = group.weights, gemm.y_line = p.out_channels;
  gemm.a_product = group.channels, gemm.b_product = group.out_channels * group.weights;
  gemm.y_product = group.out_channels;
  gemm.geometry = {p.out_height, p.out_width, p.height, p.width,  p.kernel_width, group.channels,
                   p.stride_h,   p.stride_w,  -p.pad_h, -p.pad_w, p.dilation_h,   p.dilation_w};
  return whole_launches(context, gemm);
}

// Along one axis of x, the positions offset, offset + stride, ...: the same taps lead from each of
// them to positions of y that are neighbours, too.
struct Phase {
  // `size`: of x; `kernel`: taps.
  Phase(int64_t first, int64_t size, int64_t kernel, int64_t stride, int64_t pad, int64_t dilation)
      : offset(first), count(groups_for(size - first, stride)) {
    tap_step = stride / std::gcd(stride, dilation);
    while (first_tap < kernel && (offset + pad - first_tap * dilation) % stride != 0) ++first_tap;
    taps = first_tap < kernel ? groups_for(kernel - first_tap, tap_step) : 0;
    base = taps > 0 ? (offset + pad - first_tap * dilation) / stride : 0;
    step = -(tap_step * dilation / stride);
  }

  int64_t offset, count;
  int64_t first_tap = 0, tap_step = 1, taps = 0;
  int64_t base = 0, step = 0;  // position in y of tap number i for position j: j + base + i step
};

Gemm data_gemm(const ConvParams& p, const Phase& h, const Phase& w) {
  ConvGroup group(p);
  Gemm gemm;
  gemm.operation = "CONV_DATA";
  gemm.rows = p.batch * h.count * w.count;
  gemm.columns = group.channels, gemm.depth = h.taps * w.taps * group.out_channels;
  gemm.products = p.groups;
  gemm.b_along_k = false;
  gemm.a_vector = group.out_channels % 4 == 0;
  gemm.b_vector = gemm.y_vector = group.channels % 4 == 0;
  gemm.a_line = p.out_channels, gemm.b_line = group.weights, gemm.y_line = p.channels;
  gemm.a_product = group.out_channels, gemm.b_product = group.out_channels * group.weights;
  gemm.y_product = group.channels;
  int64_t some_taps = std::max<int64_t>(1, w.taps);  // a divisor even where there are none
  gemm.geometry = {h.count, w.count, p.out_height, p.out_width, some_taps, group.out_channels,
                   1,       1,       h.base,       w.base,      h.step,    w.step};
  int64_t row = p.kernel_width * group.channels;
  gemm.taps = {h.first_tap * row + w.first_tap * group.channels, h.tap_step * row,
               w.tap_step * group.channels};
  gemm.placement = {p.height, p.width, h.offset, w.offset, p.stride_h, p.stride_w};
  return gemm;
}

// Strides leave gaps between the pixels of y: one launch for every phase of them, so that no work
// is done on zeros.
std::vector<Launch> launch_conv_data(const NodeContext& context) {
  ConvParams p = conv_params(context.graph, context.node);
  std::vector<Launch> launches;
  for (int64_t h = 0; h < std::min(p.stride_h, p.height); ++h) {
    Phase of_h(h, p.height, p.kernel_height, p.stride_h, p.pad_h, p.dilation_h);
    for (int64_t w = 0; w < std::min(p.stride_w, p.width); ++w) {
      Phase of_w(w, p.width, p.kernel_width, p.stride_w, p.pad_w, p.dilation_w);
      for (Launch& launch : whole_launches(context, data_gemm(p, of_h, of_w))) {
        launches.push_back(std::move(launch));
      }
    }
  }
  return launches;
}

Gemm weights_gemm(const NodeContext& context) {
  ConvParams p = conv_params(context.graph, context.node);
  ConvGroup group(p);
  Gemm gemm;
  gemm.operation = "CONV_WEIGHTS";
  gemm.rows = group.out_channels, gemm.columns = group.weights, gemm.products = p.groups;
  gemm.depth = p.batch * p.out_height * p.out_width;
  gemm.a_along_k = gemm.b_along_k = false;
  gemm.a_vector = group.out_channels % 4 == 0, gemm.b_vector = group.channels % 4 == 0;
  gemm.y_vector = group.weights % 4 == 0;
  gemm.a_line = p.out_channels, gemm.b_line = p.channels, gemm.y_line = group.weights;
  gemm.a_product = group.out_channels, gemm.b_product = group.channels;
  gemm.y_product = group.out_channels * group.weights;
  gemm.geometry = {p.out_height, p.out_width, p.height, p.width,  p.kernel_width, group.channels,
                   p.stride_h,   p.stride_w,  -p.pad_h, -p.pad_w, p.dilation_h,   p.dilation_w};
  return gemm;
}

size_t weights_bytes(const NodeContext& context) {
  return split_bytes(context, weights_gemm(context));
}

std::vector<Launch> launch_conv_weights(const NodeContext& context) {
  return split_launches(context, weights_gemm(context), 1, 0);
}

}  // namespace

std::vector<Row> gemm_kernels() {
  return {
      {OpKind::MatMul,
       {.name = "gemm_split",
        .batch_invariant = false,
        .refuse = refuse_split_matmul,
        .workspace_bytes = split_matmul_bytes,
        .launches = launch_split_matmul}},
      {OpKind::MatMul, {.name = "gemm", .refuse = refuse_f64, .launches = launch_matmul}},
      {OpKind::BatchMatMul, {.name = "gemm", .refuse = refuse_f64, .launches = launch_matmul}},
      {OpKind::Conv2d, {.name = "gemm", .refuse = refuse_f64, .launches = launch_conv}},
      {OpKind::Conv2dBwdData, {.name = "gemm", .refuse = refuse_f64, .launches = launch_conv_data}},
      {OpKind::Conv2dBwdWeights,
       {.name = "gemm_split",
        .refuse = refuse_f64,
        .workspace_bytes = weights_bytes,
        .launches = launch_conv_weights}},
  };
}

}  // namespace pounce::kernels
