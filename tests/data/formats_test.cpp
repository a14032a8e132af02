// Every format and variant against Pillow's pixels: make_formats.py writes the files.
#include <cmath>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "base/file.h"
#include "cases.h"
#include "data/fixtures.h"
#include "data/header.h"

namespace pounce {
namespace {

using namespace test;

struct Expected {
  std::string name;
  int width = 0, height = 0, tolerance = 0;
};

// Made once a test program.
struct Formats {
  TempDir folder;
  std::vector<Expected> files;

  Formats() {
    std::string python = environment("POUNCE_PYTHON", "");
    if (python.empty()) return;
    std::string script = std::string(POUNCE_SOURCE_DIR) + "/tests/data/make_formats.py";
    std::string command =
        "'" + python + "' -W ignore '" + script + "' '" + folder.path() + "' > /dev/null";
    if (std::system(command.c_str()) != 0) return;
    std::ifstream rows(folder / "expected.tsv");
    Expected file;
    while (rows >> file.name >> file.width >> file.height >> file.tolerance) files.push_back(file);
  }
};

class DecodeFormats : public testing::Test {
 protected:
  void SetUp() override {
    if (formats().files.empty()) GTEST_SKIP() << "POUNCE_PYTHON names no Python with Pillow";
  }

  static const Formats& formats() {
    static const Formats made;
    return made;
  }

  static bool is_available(const std::string& name) {
    return can_decode(sniff_format(content(name)));
  }

  static Bytes content(const std::string& name) {
    return read_file(formats().folder / name).value();
  }
};

// The largest difference, 256 where the extents differ.
int worst_difference(const Image& image, const Expected& expected, const Bytes& pixels) {
  if (image.width != expected.width || image.height != expected.height) return 256;
  int worst = 0;
  for (size_t i = 0; i < pixels.size(); ++i) {
    worst = std::max(worst, std::abs(int(image.rgb[i]) - int(pixels[i])));
  }
  return worst;
}

TEST_F(DecodeFormats, GivePillowsPixels) {
  for (const Expected& file : formats().files) {
    if (!is_available(file.name)) continue;
    Result<Image> image = decode_image(content(file.name));
    ASSERT_TRUE(image) << file.name << ": " << image.error().message();
    Bytes pixels = content(file.name + ".rgb");
    EXPECT_LE(worst_difference(*image, file, pixels), file.tolerance) << file.name;
  }
}

TEST_F(DecodeFormats, HeadersAgreeWithThePixelsAsStored) {
  for (const Expected& file : formats().files) {
    if (!is_available(file.name)) continue;
    Result<ImageHeader> header = read_image_header(formats().folder / file.name);
    ASSERT_TRUE(header) << file.name << ": " << header.error().message();
    Result<Image> image = decode_image(content(file.name), {.exif = false});
    ASSERT_TRUE(image) << file.name << ": " << image.error().message();
    EXPECT_EQ(header->width, image->width) << file.name;
    EXPECT_EQ(header->height, image->height) << file.name;
  }
}

// What is lost must be noticed: a picture decodes wholly from a part of its file or not at all.
TEST_F(DecodeFormats, CutFilesAreDamagedOrWhole) {
  for (const Expected& file : formats().files) {
    if (!is_available(file.name)) continue;
    Bytes bytes = content(file.name);
    Bytes pixels = content(file.name + ".rgb");
    size_t step = std::max<size_t>(1, bytes.size() / 150);
    for (size_t n = 0; n < bytes.size(); n += step) {
      Result<Image> image = decode_image(std::span(bytes).first(n));
      if (!image) {
        EXPECT_EQ(image.error().kind(), ErrorKind::BadData)
            << file.name << " " << n << " " << image.error().message();
        continue;
      }
      EXPECT_LE(worst_difference(*image, file, pixels), file.tolerance) << file.name << " " << n;
    }
  }
}

}  // namespace
}  // namespace pounce
