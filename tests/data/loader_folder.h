// What the tests of the loader share: a folder of pictures, and ways to empty a loader.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/checksum.h"
#include "data/fixtures.h"
#include "data/loader.h"

namespace pounce::test {

inline constexpr int kSize = 16;

// A folder of JPEGs of different sizes, every picture its own.
class LoaderFolder : public testing::Test {
 protected:
  void make_images(int n) {
    for (int i = 0; i < n; ++i) {
      std::string path = "cat/" + std::to_string(i) + ".jpg";
      Image image = pattern_image(20 + i % 13, 18 + i % 7);
      for (uint8_t& value : image.rgb) value = uint8_t(value + i * 3);
      dir_.put(path, encode_jpeg(image));
      samples_.push_back({path, i % 3, xxh3_64(path), image.width, image.height});
    }
  }

  // The header and the end marker stay, nearly all between is gone, so that every crop meets it.
  void damage(int i) {
    Bytes bytes = encode_jpeg(pattern_image(64, 64));
    constexpr uint8_t kStartOfScan[] = {0xFF, 0xDA};
    auto scan = std::search(bytes.begin(), bytes.end(), kStartOfScan, kStartOfScan + 2);
    bytes.erase(scan + 20, bytes.end() - 2);
    dir_.put(samples_[size_t(i)].path, bytes);
  }

  BatchLoaderOptions options(int workers = 2) const {
    BatchLoaderOptions result;
    result.root = dir_.path();
    result.batch_size = 8;
    result.preprocessing.image_size = kSize;
    result.seed = 5;
    result.workers = workers;
    return result;
  }

  static std::vector<ImageBatch> drain(BatchLoader& loader, uint32_t epoch) {
    loader.start_epoch(epoch);
    std::vector<ImageBatch> batches;
    while (auto batch = loader.next()) batches.push_back(std::move(*batch));
    return batches;
  }

  static std::vector<uint32_t> indices_of(const std::vector<ImageBatch>& batches) {
    std::vector<uint32_t> indices;
    for (const ImageBatch& batch : batches) {
      indices.insert(indices.end(), batch.indices.begin(), batch.indices.end());
    }
    return indices;
  }

  TempDir dir_;
  std::vector<Sample> samples_;
};

}  // namespace pounce::test
