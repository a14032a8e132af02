// What the fast way to a training crop costs in fidelity, on real photographs.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/prepare.h"

namespace pounce {
namespace {

std::vector<std::string> photos(const char* root) {
  std::vector<std::string> paths;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(std::string(root) + "/data/pets/train")) {
    if (entry.is_regular_file()) paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::vector<uint8_t> read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

double psnr(const std::vector<uint8_t>& a, const std::vector<uint8_t>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += (double(a[i]) - b[i]) * (double(a[i]) - b[i]);
  // Equal pictures count as 99 dB.
  return sum == 0 ? 99 : std::min(99.0, 10 * std::log10(255.0 * 255.0 * double(a.size()) / sum));
}

// At 224 px few crops of these photos are large enough to be decoded smaller, at 96 px most are.
TEST(Pets, TheFastWayIsCloseToAFullDecode) {
  const char* root = std::getenv("POUNCE_TEST_DATA");
  if (!root) GTEST_SKIP() << "POUNCE_TEST_DATA is not set";
  std::vector<std::string> paths = photos(root);
  ASSERT_GT(paths.size(), 1000U);
  for (int size : {224, 96}) {
    PrepareRule rule;
    rule.preprocessing.image_size = size;
    rule.augmentation.crop_min = 0.08;
    Preparer preparer(rule);
    std::vector<uint8_t> fast(size_t(size) * size_t(size) * 3), full = fast;
    std::vector<double> all;
    int smaller = 0;
    for (size_t i = 0; i < paths.size(); ++i) {
      std::vector<uint8_t> file = read(paths[i]);
      Result<Image> image = decode_image(file);
      ASSERT_TRUE(image) << paths[i];
      ASSERT_TRUE(preparer.from_bytes(file, {1, 2, i}, fast.data())) << paths[i];
      preparer.from_pixels(*image, {1, 2, i}, full.data());
      bool may_differ = may_decode_scaled(image->width, image->height, rule);
      ASSERT_TRUE(may_differ || fast == full) << paths[i];
      smaller += fast != full;
      all.push_back(psnr(fast, full));
    }
    std::sort(all.begin(), all.end());
    double median = all[all.size() / 2], first_percentile = all[all.size() / 100];
    RecordProperty(fmt::format("median_{}", size), fmt::format("{:.1f}", median));
    fmt::print("{} px: median {:.1f} dB, first percentile {:.1f} dB, {} of {} decoded smaller\n",
               size, median, first_percentile, smaller, all.size());
    EXPECT_GE(median, 40);
    EXPECT_GE(first_percentile, 29);
  }
}

}  // namespace
}  // namespace pounce
