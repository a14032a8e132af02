// The folders of cases/make_cases.py (needs Python with Pillow) and the right answer to each.
#include "cases.h"

#include <fstream>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "data/dataset.h"
#include "data/fixtures.h"
#include "data/loader.h"
#include "data/transform.h"

namespace pounce {
namespace {

using namespace test;
using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

class DataCases : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (cases().problem.empty()) std::ifstream(cases().folder / "expected.json") >> expected_;
  }

  void SetUp() override {
    if (!cases().problem.empty()) GTEST_SKIP() << cases().problem;
  }

  static Image decoded(const std::string& name) {
    return decode_image(read_file(cases().folder / name).value()).value();
  }

  // Rows of grey levels, after checking that the three channels agree.
  static std::vector<std::vector<int>> grey_rows(const Image& image) {
    std::vector<std::vector<int>> rows(static_cast<size_t>(image.height));
    for (size_t i = 0; i < image.rgb.size(); i += 3) {
      EXPECT_EQ(image.rgb[i], image.rgb[i + 1]);
      EXPECT_EQ(image.rgb[i], image.rgb[i + 2]);
      rows[i / 3 / size_t(image.width)].push_back(image.rgb[i]);
    }
    return rows;
  }

  static std::vector<std::vector<int>> colours(const Image& image) {
    std::vector<std::vector<int>> pixels;
    for (size_t i = 0; i < image.rgb.size(); i += 3) {
      pixels.push_back({image.rgb[i], image.rgb[i + 1], image.rgb[i + 2]});
    }
    return pixels;
  }

  static ImageFolder scan(const std::string& name, double val_fraction) {
    ScanOptions options;
    options.root = cases().folder / name;
    options.val_fraction = val_fraction;
    options.on_bad = OnBad::Skip;
    return scan_dataset(options);
  }

  static inline json expected_;
};

TEST_F(DataCases, Modes) {
  const json& modes = expected_["modes"];
  EXPECT_EQ(json(grey_rows(decoded("modes/g16.png"))), modes["g16.png"]["rounded_div257"]);
  for (const char* name : {"cyan", "red", "black", "white", "mix"}) {
    std::string file = std::string("cmyk_") + name + ".jpg";
    Image image = decoded("modes/" + file);
    EXPECT_EQ(json(colours(image)[8 * 16 + 8]), modes[file]) << name;
  }
  EXPECT_EQ(json(colours(decoded("modes/rgba.png"))), modes["rgba.png"]["drop_alpha"]);
  EXPECT_EQ(json(colours(decoded("modes/pal_trns.png"))), modes["pal_trns.png"]["drop_alpha"]);
  EXPECT_EQ(json(grey_rows(decoded("modes/bilevel.png"))[0]), modes["bilevel.png"]);
  std::vector<std::vector<int>> grey = grey_rows(decoded("modes/gray.png"));
  for (int i = 0; i < 256; ++i) EXPECT_EQ(grey[size_t(i / 16)][size_t(i % 16)], i);
}

TEST_F(DataCases, ExifOrientations) {
  const std::map<std::pair<int, int>, std::vector<int>> quadrants = {{{16, 8}, {255, 0, 0}},
                                                                     {{48, 8}, {0, 255, 0}},
                                                                     {{16, 24}, {0, 0, 255}},
                                                                     {{48, 24}, {255, 255, 0}}};
  for (int orientation = 1; orientation <= 8; ++orientation) {
    Image image = decoded("exif/o" + std::to_string(orientation) + ".jpg");
    ASSERT_EQ(image.width, 64);
    ASSERT_EQ(image.height, 32);
    for (const auto& [place, colour] : quadrants) {
      std::vector<int> found = colours(image)[size_t(place.second * 64 + place.first)];
      for (size_t c = 0; c < 3; ++c) EXPECT_NEAR(found[c], colour[c], 3) << orientation;
    }
  }
}

TEST_F(DataCases, AntialiasedResize) {
  Image image = decoded("resize/stripes.png");
  Resizer resizer;
  std::vector<uint8_t> out(12);
  resize_box(image, {0, 0, 8, 8}, {2, 2, 0, 0, 2, 2}, resizer, out.data());
  EXPECT_EQ(out[0], expected_["resize"]["antialias"][0]);
  EXPECT_EQ(out[3], expected_["resize"]["antialias"][1]);
}

TEST_F(DataCases, OddFiles) {
  ImageFolder dataset = scan("odd", 0);
  EXPECT_THAT(dataset.classes, ElementsAre("green", "red"));
  EXPECT_THAT(dataset.empty_classes, ElementsAre("blue"));
  EXPECT_EQ(dataset.class_counts[0].train, 10);
  EXPECT_EQ(dataset.class_counts[1].train, 14);
  std::vector<std::string> damaged, unreadable;
  for (const SkippedFile& file : dataset.skipped) {
    (file.kind == SkipKind::Damaged ? damaged : unreadable)
        .push_back(std::string(base_name(file.path)));
  }
  EXPECT_THAT(damaged, UnorderedElementsAre("trunc_half.jpg", "zero.jpg", "html.jpg", "nulls.jpg",
                                            "no_eoi.jpg"));
  EXPECT_THAT(unreadable, ElementsAre("dangling.jpg"));
  // Every image the scan accepts decodes.
  BatchLoaderOptions options;
  options.root = dataset.root;
  options.preprocessing.image_size = 32;
  BatchLoader loader(options, dataset.train);
  loader.start_epoch(0);
  std::optional<ImageBatch> batch = loader.next();
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->size(), 24);
  EXPECT_FALSE(loader.next());
}

TEST_F(DataCases, OddFilesAreTooManyForAuto) {
  ScanOptions options;
  options.root = cases().folder / "odd";
  try {
    scan_dataset(options);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Config);
    EXPECT_THAT(error.message(), HasSubstr("class red: 6 of 20 files are unusable"));
  }
}

TEST_F(DataCases, SplitsWithDifferentClasses) {
  ImageFolder dataset = scan("split", 0.2);
  EXPECT_THAT(dataset.classes, ElementsAre("blue", "green", "red"));
  EXPECT_EQ(dataset.layout, Layout::Splits);
  EvalScanOptions options;
  options.root = cases().folder / "split";
  options.classes = dataset.classes;
  EvalSet set = scan_for_eval(options);
  EXPECT_EQ(set.samples.size(), 8U);
  for (const Sample& sample : set.samples) {
    EXPECT_EQ(sample.label, sample.path.find("green") != std::string::npos ? 1 : 2);
  }
  options.root = cases().folder / "split_extra";
  try {
    scan_for_eval(options);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Config);
    EXPECT_THAT(error.message(), HasSubstr("class grey"));
  }
}

TEST_F(DataCases, ThirtyThreeImagesMakeNoBatchOfOne) {
  ImageFolder dataset = scan("n33", 0);
  BatchLoaderOptions options;
  options.root = dataset.root;
  options.batch_size = 32;
  options.preprocessing.image_size = 32;
  BatchLoader loader(options, dataset.train);
  loader.start_epoch(0);
  std::vector<int> sizes;
  while (auto batch = loader.next()) sizes.push_back(batch->size());
  EXPECT_THAT(sizes, ElementsAre(17, 16));
}

}  // namespace
}  // namespace pounce
