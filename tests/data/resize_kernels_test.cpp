// Every instruction set gives the bytes of the plain formula.
#include "data/resize_kernels.h"

#include <algorithm>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include "data/fixtures.h"

namespace pounce {
namespace {

struct Sizes {
  double begin, length;
  int scaled;
  bool is_mirrored, flip;
};

constexpr Sizes kSizes[] = {{0, 57, 57, false, false},  {3, 61, 224, false, true},
                            {0, 300, 224, true, false}, {1.5, 301.25, 99, true, true},
                            {0, 1000, 7, false, false}, {5, 1, 9, false, false},
                            {0, 2000, 3, false, true}};

std::vector<uint8_t> noise(size_t bytes) {
  std::mt19937 random(3);
  std::vector<uint8_t> result(bytes);
  for (uint8_t& value : result) value = uint8_t(random() % 8 == 0 ? 255 : random());
  return result;
}

uint8_t plain(const ResizeAxis& axis, int entry, const uint8_t* from, size_t step) {
  int64_t sum = 1 << (kWeightBits - 1);
  for (int t = 0; t < axis.taps; ++t) {
    sum += int64_t(axis.weights[size_t(entry * axis.taps + t)]) *
           from[size_t(axis.first[size_t(entry)] + t) * step];
  }
  return uint8_t(std::min<int64_t>(sum >> kWeightBits, 255));
}

class ResizeKernels : public testing::TestWithParam<uint32_t> {
 protected:
  void SetUp() override {
    if ((hwy::SupportedTargets() & target()) == 0) GTEST_SKIP() << "not on this machine";
    hwy::SetSupportedTargetsForTest(target());
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
  void TearDown() override {
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
  int64_t target() const { return int64_t(1) << GetParam(); }
};

TEST_P(ResizeKernels, ScaleRows) {
  for (const Sizes& sizes : kSizes) {
    ResizeAxis axis;
    axis.compute(
        {sizes.begin, sizes.length, sizes.scaled, 0, sizes.scaled, sizes.is_mirrored, sizes.flip});
    RowWeights weights;
    weights.pack(axis);
    size_t stride = size_t(axis.end - axis.begin) * 3 + kRowPadding;
    size_t scaled_stride = size_t(axis.count()) * 3 + kScaledPadding;
    std::vector<uint8_t> source = noise(kRowsTogether * stride);
    for (int rows = 1; rows <= kRowsTogether; ++rows) {
      std::vector<uint8_t> scaled(size_t(rows) * scaled_stride);
      const uint8_t* from[kRowsTogether];
      uint8_t* to[kRowsTogether];
      for (int row = 0; row < rows; ++row) {
        from[row] = &source[size_t(row) * stride];
        to[row] = &scaled[size_t(row) * scaled_stride];
      }
      scale_rows(from, rows, weights, to);
      for (int i = 0; i < rows * axis.count() * 3; ++i) {
        int row = i / 3 / axis.count(), k = i / 3 % axis.count(), c = i % 3;
        int place = axis.is_reversed ? axis.count() - 1 - k : k;
        ASSERT_EQ(to[row][place * 3 + c], plain(axis, k, from[row] + c, 3))
            << sizes.length << " to " << sizes.scaled << " at " << place << ", row " << row;
      }
    }
  }
}

TEST_P(ResizeKernels, MixRows) {
  for (const Sizes& sizes : kSizes) {
    ResizeAxis axis;
    axis.compute({sizes.begin, sizes.length, sizes.scaled, 0, sizes.scaled, false, false});
    ColumnWeights weights;
    weights.pack(axis);
    for (size_t bytes : {3U, 15U, 16U, 18U, 63U, 64U, 66U, 672U}) {
      std::vector<uint8_t> rows = noise(size_t(axis.end - axis.begin) * bytes);
      std::vector<uint8_t> out(bytes);
      std::vector<const uint8_t*> taps(size_t(weights.pairs) * 2);
      for (int k = 0; k < axis.count(); ++k) {
        for (int t = 0; t < weights.pairs * 2; ++t) {
          int row = axis.first[size_t(k)] + std::min(t, axis.taps - 1);
          taps[size_t(t)] = &rows[size_t(row) * bytes];
        }
        mix_rows(taps.data(), &weights.halves[size_t(k * weights.pairs * 2)], weights.pairs, bytes,
                 out.data());
        for (size_t at = 0; at < bytes; ++at) {
          ASSERT_EQ(out[at], plain(axis, k, rows.data() + at, bytes))
              << sizes.length << " to " << sizes.scaled << " byte " << at << " of " << bytes;
        }
      }
    }
  }
}

// Bits of Highway's targets; those that this program was not built for are skipped.
std::vector<uint32_t> target_bits() {
  std::vector<uint32_t> bits;
  for (uint32_t bit = 0; bit < 63; ++bit) {
    if (hwy::SupportedTargets() & (int64_t(1) << bit)) bits.push_back(bit);
  }
  return bits;
}

INSTANTIATE_TEST_SUITE_P(Target, ResizeKernels, testing::ValuesIn(target_bits()),
                         [](const auto& bit) {
                           return std::string(hwy::TargetName(int64_t(1) << bit.param));
                         });

}  // namespace
}  // namespace pounce
