#include "data/picture_print.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "base/error.h"

namespace pounce {
namespace {

constexpr int kGrid = 32;        // of the grey picture that is hashed
constexpr int kFrequencies = 8;  // of the cosine transform, each way

using Grid = std::array<float, kGrid * kGrid>;

// Which cells of the grid a pixel belongs to, and the share that the first of them gets.
struct Share {
  int cell = 0;
  float first = 1, second = 0;
};

// Areas: a pixel is shared out by how much of it lies in each cell. Pictures with fewer pixels than
// cells are enlarged first, see sample_up.
std::vector<Share> shares_of(int pixels) {
  std::vector<Share> shares(static_cast<size_t>(pixels));
  double scale = double(kGrid) / pixels;
  for (int i = 0; i < pixels; ++i) {
    double begin = i * scale, end = (i + 1) * scale;
    int cell = std::min(kGrid - 1, int(begin));
    double border = cell + 1;
    if (end <= border || cell + 1 == kGrid) {
      shares[size_t(i)] = {cell, float(end - begin), 0};
    } else {
      shares[size_t(i)] = {cell, float(border - begin), float(end - border)};
    }
  }
  return shares;
}

// Every pixel repeated, so that each side has at least as many as the grid.
Image sample_up(const PixelView& image) {
  Image large;
  large.width = std::max(image.width, kGrid);
  large.height = std::max(image.height, kGrid);
  large.rgb.resize(size_t(large.width) * size_t(large.height) * 3);
  for (int y = 0; y < large.height; ++y) {
    int64_t from_y = int64_t(y) * image.height / large.height;
    for (int x = 0; x < large.width; ++x) {
      int64_t from_x = int64_t(x) * image.width / large.width;
      const uint8_t* pixel = image.rgb + (from_y * image.width + from_x) * 3;
      std::copy_n(pixel, 3, &large.rgb[(size_t(y) * size_t(large.width) + size_t(x)) * 3]);
    }
  }
  return large;
}

Grid to_grid(const PixelView& image) {
  std::vector<Share> columns = shares_of(image.width), rows = shares_of(image.height);
  Grid grid{};
  std::array<float, kGrid + 1> line;
  for (int y = 0; y < image.height; ++y) {
    line.fill(0);
    const uint8_t* pixel = image.rgb + int64_t(y) * image.width * 3;
    for (int x = 0; x < image.width; ++x, pixel += 3) {
      float grey = 0.299F * pixel[0] + 0.587F * pixel[1] + 0.114F * pixel[2];
      const Share& share = columns[size_t(x)];
      line[size_t(share.cell)] += grey * share.first;
      line[size_t(share.cell) + 1] += grey * share.second;
    }
    const Share& share = rows[size_t(y)];
    float* first = &grid[size_t(share.cell) * kGrid];
    for (size_t x = 0; x < kGrid; ++x) first[x] += line[x] * share.first;
    if (share.second == 0) continue;
    float* second = first + kGrid;
    for (size_t x = 0; x < kGrid; ++x) second[x] += line[x] * share.second;
  }
  return grid;
}

const std::array<float, kFrequencies * kGrid>& cosines() {
  static const auto table = [] {
    std::array<float, kFrequencies * kGrid> values{};
    for (int u = 0; u < kFrequencies; ++u) {
      for (int x = 0; x < kGrid; ++x) {
        values[size_t(u * kGrid + x)] =
            float(std::cos(std::numbers::pi * u * (2 * x + 1) / (2 * kGrid)));
      }
    }
    return values;
  }();
  return table;
}

using Coefficients = std::array<float, kFrequencies * kFrequencies>;

// The lowest frequencies: [vertical][horizontal].
Coefficients transform(const Grid& grid) {
  const auto& table = cosines();
  std::array<float, kGrid * kFrequencies> rows{};
  for (size_t y = 0; y < kGrid; ++y) {
    for (size_t u = 0; u < kFrequencies; ++u) {
      float sum = 0;
      for (size_t x = 0; x < kGrid; ++x) sum += grid[y * kGrid + x] * table[u * kGrid + x];
      rows[y * kFrequencies + u] = sum;
    }
  }
  Coefficients found{};
  for (size_t v = 0; v < kFrequencies; ++v) {
    for (size_t u = 0; u < kFrequencies; ++u) {
      float sum = 0;
      for (size_t y = 0; y < kGrid; ++y) sum += rows[y * kFrequencies + u] * table[v * kGrid + y];
      found[v * kFrequencies + u] = sum;
    }
  }
  return found;
}

// A bit a coefficient: above the median or not; the mean of the picture (the first) is left out.
uint64_t to_hash(const Coefficients& values) {
  Coefficients sorted = values;
  auto middle = sorted.begin() + 1 + (sorted.size() - 1) / 2;
  std::nth_element(sorted.begin() + 1, middle, sorted.end());
  uint64_t hash = 0;
  for (size_t i = 1; i < values.size(); ++i) hash |= uint64_t(values[i] > *middle) << i;
  return hash;
}

// In a mirror image the odd horizontal frequencies change their sign.
Coefficients mirrored(Coefficients values) {
  for (size_t i = 1; i < values.size(); i += 2) values[i] = -values[i];
  return values;
}

struct Moments {
  double mean_a = 0, mean_b = 0, var_a = 0, var_b = 0, covariance = 0;
};

// Of two grey pictures, the second as its mirror image where `mirror` is true.
Moments moments_of(const PicturePrint& a, const PicturePrint& b, bool mirror) {
  constexpr size_t kSide = PicturePrint::kSide;
  constexpr double kCount = kSide * kSide;
  double sum_a = 0, sum_b = 0, sum_aa = 0, sum_bb = 0, sum_ab = 0;
  for (size_t y = 0; y < kSide; ++y) {
    for (size_t x = 0; x < kSide; ++x) {
      double p = a.grey[y * kSide + x];
      double q = b.grey[y * kSide + (mirror ? kSide - 1 - x : x)];
      sum_a += p;
      sum_b += q;
      sum_aa += p * p;
      sum_bb += q * q;
      sum_ab += p * q;
    }
  }
  double mean_a = sum_a / kCount, mean_b = sum_b / kCount;
  return {mean_a, mean_b, sum_aa / kCount - mean_a * mean_a, sum_bb / kCount - mean_b * mean_b,
          sum_ab / kCount - mean_a * mean_b};
}

constexpr double kLeastDeviation = 6;

bool is_same(const PicturePrint& a, const PicturePrint& b, bool mirror) {
  constexpr double kMostShift = 8, kLeastCorrelation = 0.995;
  Moments found = moments_of(a, b, mirror);
  double least = kLeastDeviation * kLeastDeviation;
  if (found.var_a < least || found.var_b < least) return false;
  if (std::abs(found.mean_a - found.mean_b) > kMostShift) return false;
  return found.covariance / std::sqrt(found.var_a * found.var_b) >= kLeastCorrelation;
}

}  // namespace

PicturePrint make_print(const PixelView& image) {
  POUNCE_ASSERT(image.width >= 1 && image.height >= 1);
  bool is_small = image.width < kGrid || image.height < kGrid;
  Image enlarged;
  if (is_small) enlarged = sample_up(image);
  Grid grid = to_grid(is_small ? PixelView(enlarged) : image);
  Coefficients values = transform(grid);
  PicturePrint print;
  print.hash = to_hash(values);
  print.mirrored_hash = to_hash(mirrored(values));
  print.aspect = float(image.width) / float(image.height);
  constexpr size_t kSide = PicturePrint::kSide;
  for (size_t y = 0; y < kSide; ++y) {
    for (size_t x = 0; x < kSide; ++x) {
      const float* cell = &grid[2 * y * kGrid + 2 * x];
      float mean = (cell[0] + cell[1] + cell[kGrid] + cell[kGrid + 1]) / 4;
      print.grey[y * kSide + x] = uint8_t(std::clamp(std::lround(mean), 0L, 255L));
    }
  }
  return print;
}

bool has_structure(const PicturePrint& print) {
  return moments_of(print, print, false).var_a >= kLeastDeviation * kLeastDeviation;
}

Likeness compare_prints(const PicturePrint& a, const PicturePrint& b) {
  // Copies keep their shape, but for the rounding of small sizes.
  constexpr float kMostStretch = 1.05F;
  float stretch = a.aspect > b.aspect ? a.aspect / b.aspect : b.aspect / a.aspect;
  if (stretch > kMostStretch) return Likeness::Different;
  if (is_same(a, b, false)) return Likeness::Same;
  return is_same(a, b, true) ? Likeness::Mirrored : Likeness::Different;
}

HashSearch::HashSearch(std::span<const uint64_t> hashes) : hashes_(hashes) {
  constexpr size_t kValues = size_t{1} << kBandBits;
  for (size_t band = 0; band < kBands; ++band) {
    auto value_of = [&](uint64_t hash) { return (hash >> (band * kBandBits)) % kValues; };
    std::vector<uint32_t>& begins = begins_[band];
    begins.assign(kValues + 1, 0);
    for (uint64_t hash : hashes) ++begins[value_of(hash) + 1];
    for (size_t i = 0; i < kValues; ++i) begins[i + 1] += begins[i];
    std::vector<uint32_t> next = begins;
    indices_[band].resize(hashes.size());
    for (size_t i = 0; i < hashes.size(); ++i) {
      indices_[band][next[value_of(hashes[i])]++] = uint32_t(i);
    }
  }
}

// Of four bands that differ in at most seven bits together, one differs in at most one.
void HashSearch::for_each_near(uint64_t hash,
                               const std::function<void(uint32_t index)>& take) const {
  for (size_t band = 0; band < kBands; ++band) {
    auto value = uint32_t((hash >> (band * kBandBits)) % (uint64_t{1} << kBandBits));
    for (int flip = -1; flip < kBandBits; ++flip) {
      uint32_t wanted = flip < 0 ? value : value ^ uint32_t(1) << flip;
      for (uint32_t i = begins_[band][wanted]; i < begins_[band][wanted + 1]; ++i) {
        uint32_t index = indices_[band][i];
        if (std::popcount(hashes_[index] ^ hash) <= kMostBits) take(index);
      }
    }
  }
}

}  // namespace pounce
