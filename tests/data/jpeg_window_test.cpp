// A window of a JPEG has the pixels that the whole picture has there, whatever the file's kind.
#include <algorithm>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/fixtures.h"
#include "data/jpeg_decoder.h"

namespace pounce {
namespace {

using namespace test;

int divide_up(int a, int b) {
  return (a + b - 1) / b;
}

// The pixels of a window.
std::vector<uint8_t> read_window(const Bytes& file, int denominator, const CropBox& window,
                                 JpegReach reach = JpegReach::Window) {
  JpegDecoder decoder;
  Result<void> done = decoder.open(file);
  if (done) done = decoder.start(denominator, window, reach);
  if (!done) throw done.error();
  std::vector<uint8_t> pixels;
  for (;;) {
    JpegDecoder::Rows rows = decoder.next_rows().value();
    for (int i = 0; i < rows.count; ++i) {
      const uint8_t* row = rows.first + size_t(i) * rows.stride;
      pixels.insert(pixels.end(), row, row + window.width * 3);
    }
    if (rows.count == 0) return pixels;
  }
}

std::vector<uint8_t> cut(const std::vector<uint8_t>& whole, int width, const CropBox& window) {
  std::vector<uint8_t> pixels;
  for (int y = window.top; y < window.top + window.height; ++y) {
    auto row = whole.begin() + 3 * (int64_t(y) * width + window.left);
    pixels.insert(pixels.end(), row, row + 3 * window.width);
  }
  return pixels;
}

CropBox random_window(int width, int height, std::mt19937& random) {
  CropBox window;
  window.width = 1 + int(random() % unsigned(width));
  window.height = 1 + int(random() % unsigned(height));
  window.left = int(random() % unsigned(width - window.width + 1));
  window.top = int(random() % unsigned(height - window.height + 1));
  return window;
}

struct Kind {
  const char* name;
  JpegOptions options;
};

constexpr int kQuality = 80;

std::vector<Kind> kinds() {
  std::vector<Kind> kinds;
  constexpr struct {
    const char* name;
    int horizontal, vertical;
  } kSamplings[] = {{"4:4:4", 1, 1}, {"4:2:2", 2, 1}, {"4:2:0", 2, 2},
                    {"4:4:0", 1, 2}, {"4:1:1", 4, 1}, {"4:1:0", 4, 2}};
  for (const auto& sampling : kSamplings) {
    JpegOptions base{.quality = kQuality};
    base.horizontal = sampling.horizontal;
    base.vertical = sampling.vertical;
    kinds.push_back({sampling.name, base});
    kinds.push_back({sampling.name, base});
    kinds.back().options.progressive = true;
    kinds.push_back({sampling.name, base});
    kinds.back().options.restart_interval = 3;
    kinds.push_back({sampling.name, base});
    kinds.back().options.arithmetic = true;
    kinds.push_back({sampling.name, base});
    kinds.back().options.arithmetic = kinds.back().options.progressive = true;
  }
  kinds.push_back({"grey", {.quality = kQuality, .grey = true}});
  kinds.push_back(
      {"grey 2x2", {.quality = kQuality, .horizontal = 2, .vertical = 2, .grey = true}});
  kinds.push_back({"rgb", {.quality = kQuality, .as_rgb = true}});
  return kinds;
}

class JpegWindow : public testing::TestWithParam<int> {};

TEST_P(JpegWindow, EqualsTheWholePicture) {
  int denominator = GetParam();
  std::mt19937 random(7);
  constexpr std::pair<int, int> kSizes[] = {{131, 97}, {64, 64}, {17, 150}, {200, 33}, {9, 5}};
  for (const Kind& kind : kinds()) {
    for (auto [width, height] : kSizes) {
      Bytes file = encode_jpeg(pattern_image(width, height), kind.options);
      int scaled_width = divide_up(width, denominator);
      int scaled_height = divide_up(height, denominator);
      std::vector<uint8_t> whole =
          read_window(file, denominator, {0, 0, scaled_width, scaled_height});
      if (denominator == 1) {
        ASSERT_EQ(whole, decode_image(file).value().rgb);
      }
      for (int i = 0; i < 40; ++i) {
        CropBox window = random_window(scaled_width, scaled_height, random);
        JpegReach reach = i % 2 ? JpegReach::Window : JpegReach::WholeFile;
        ASSERT_EQ(read_window(file, denominator, window, reach), cut(whole, scaled_width, window))
            << kind.name << (kind.options.progressive ? " progressive " : " ")
            << (kind.options.arithmetic ? "arithmetic " : "") << kind.options.restart_interval
            << " of " << width << "x" << height << ": " << window.width << "x" << window.height
            << " at " << window.left << "," << window.top;
      }
    }
  }
}

// Windows that begin at every row, and at every column.
TEST_P(JpegWindow, MayBeginAnywhere) {
  int denominator = GetParam();
  constexpr int kWidth = 83, kHeight = 71;
  for (const Kind& kind : kinds()) {
    Bytes file = encode_jpeg(pattern_image(kWidth, kHeight), kind.options);
    int width = divide_up(kWidth, denominator), height = divide_up(kHeight, denominator);
    std::vector<uint8_t> whole = read_window(file, denominator, {0, 0, width, height});
    for (int at = 0; at < std::max(width, height); ++at) {
      int left = at % width, top = at % height;
      CropBox window{left, top, std::min(2, width - left), std::min(3, height - top)};
      ASSERT_EQ(read_window(file, denominator, window), cut(whole, width, window))
          << kind.name << " at " << left << "," << top;
      window = {left, top, width - left, height - top};
      ASSERT_EQ(read_window(file, denominator, window), cut(whole, width, window))
          << kind.name << " from " << left << "," << top;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Scale, JpegWindow, testing::Values(1, 2, 4, 8));

}  // namespace
}  // namespace pounce
