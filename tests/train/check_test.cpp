#include "pounce/check.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/decode.h"
#include "train/run.h"

namespace pounce {
namespace {

using namespace test;
namespace fs = std::filesystem;
using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

// As an uncompressed BMP; its rows begin at the bottom.
std::vector<uint8_t> encode_bmp(const Image& image, bool mirror) {
  size_t stride = (size_t(image.width) * 3 + 3) / 4 * 4;
  std::vector<uint8_t> bytes(54 + stride * size_t(image.height), 0);
  auto put = [&](size_t at, uint32_t value) {
    for (size_t i = 0; i < 4; ++i) bytes[at + i] = uint8_t(value >> 8 * i);
  };
  bytes[0] = 'B';
  bytes[1] = 'M';
  put(2, uint32_t(bytes.size()));
  put(10, 54);
  put(14, 40);
  put(18, uint32_t(image.width));
  put(22, uint32_t(image.height));
  bytes[26] = 1;
  bytes[28] = 24;
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      int from_x = mirror ? image.width - 1 - x : x;
      const uint8_t* rgb = &image.rgb[size_t(y * image.width + from_x) * 3];
      uint8_t* bgr = &bytes[54 + stride * size_t(image.height - 1 - y) + size_t(x) * 3];
      for (size_t c = 0; c < 3; ++c) bgr[c] = rgb[2 - c];
    }
  }
  return bytes;
}

// train/ and val/ of digits below data/.
class CheckTest : public testing::Test {
 protected:
  void make_splits(int classes = 2, int images = 6) {
    copy_digits(dir_ / "all", classes, images);
    for (int digit = 0; digit < classes; ++digit) {
      std::string name = std::to_string(digit);
      int moved = 0;
      for (const auto& entry : fs::directory_iterator(dir_ / ("all/" + name))) {
        std::string split = moved++ < 2 ? "val/" : "train/";
        fs::create_directories(dir_ / ("data/" + split + name));
        fs::copy_file(entry.path(),
                      dir_ / ("data/" + split + name + "/" + entry.path().filename().string()));
      }
    }
  }

  CheckReport check(bool quick = false, const std::string& folder = "data") {
    return check_folder({.data = dir_ / folder, .quick = quick, .workers = 2});
  }

  // Some image of a folder below data/.
  std::string some(const std::string& folder) {
    std::string least;
    for (const auto& entry : fs::directory_iterator(dir_ / ("data/" + folder))) {
      std::string name = entry.path().filename().string();
      if (least.empty() || name < least) least = name;
    }
    return "data/" + folder + "/" + least;
  }

  TempDir dir_;
};

TEST_F(CheckTest, ACleanFolderHasNoFindings) {
  make_splits();
  CheckReport report = check();
  ASSERT_EQ(report.classes.size(), 2U);
  EXPECT_EQ(report.classes[0].name, "0");
  EXPECT_EQ(report.classes[0].train, 4);
  EXPECT_EQ(report.classes[1].val, 2);
  EXPECT_EQ(report.usable, 12);
  EXPECT_EQ(report.findings(), 0);
  ASSERT_TRUE(report.sizes);
  EXPECT_EQ(report.sizes->width.median, 8);
  EXPECT_EQ(report.sizes->aspect.max, 1);
  EXPECT_EQ(report.sizes->short_side_under.at(32), 12);
}

TEST_F(CheckTest, DamageInTheBodyIsFoundUnlessQuick) {
  make_splits();
  std::string path = dir_ / some("train/1");
  std::vector<uint8_t> bytes = read_file(path).value();
  bytes[bytes.size() / 2] ^= 0x55;
  write_file(path, bytes);
  write_file(dir_ / "data/train/1/cut.png", std::span<const uint8_t>(bytes).first(30));
  CheckReport quick = check(true), full = check();
  EXPECT_TRUE(quick.is_quick);
  EXPECT_EQ(quick.damaged.size(), 1U);
  EXPECT_EQ(full.damaged.size(), 2U);
  EXPECT_EQ(full.usable, 11);
  EXPECT_EQ(full.classes[1].train, 3);
  EXPECT_EQ(full.classes[1].unusable, 2);
  EXPECT_EQ(quick.classes[1].unusable, 1);
}

TEST_F(CheckTest, EqualFilesAreFoundAcrossSplitsAndClasses) {
  make_splits();
  fs::copy_file(dir_ / some("train/0"), dir_ / "data/val/1/copy.png");
  CheckReport report = check();
  ASSERT_EQ(report.duplicates.size(), 1U);
  EXPECT_TRUE(report.duplicates[0].is_across_splits);
  EXPECT_TRUE(report.duplicates[0].is_across_classes);
  EXPECT_EQ(report.duplicates[0].files[1].path, "val/1/copy.png");
  EXPECT_EQ(report.duplicates[0].files[1].class_name, "1");
  EXPECT_EQ(report.duplicates[0].files[1].split, "val");
  EXPECT_THAT(report.near_duplicates, IsEmpty());
  EXPECT_EQ(report.findings(), 1);
  EXPECT_THAT(check(true).duplicates, IsEmpty());
}

TEST_F(CheckTest, CopiesInAnotherFormatAndMirroredOnesAreFound) {
  make_splits();
  std::string original = some("train/0");
  Image image = decode_image(read_file(dir_ / original).value()).value();
  write_file(dir_ / "data/val/0/as.bmp", encode_bmp(image, false));
  write_file(dir_ / "data/val/1/mirrored.bmp", encode_bmp(image, true));
  CheckReport report = check();
  ASSERT_EQ(report.near_duplicates.size(), 2U);
  for (const NearDuplicate& pair : report.near_duplicates) {
    EXPECT_EQ("data/" + pair.first.path, original);
    EXPECT_EQ(pair.first.split, "train");
    EXPECT_EQ(pair.is_mirrored, pair.second.path == "val/1/mirrored.bmp");
  }
  EXPECT_EQ(report.near_duplicates[0].second.path, "val/0/as.bmp");
  EXPECT_THAT(report.duplicates, IsEmpty());
}

TEST_F(CheckTest, ClassesThatDifferAreNamed) {
  make_splits(3);
  fs::remove_all(dir_ / "data/val/2");
  CheckReport missing = check();
  ASSERT_EQ(missing.differences.size(), 1U);
  EXPECT_EQ(missing.differences[0].class_name, "2");
  EXPECT_EQ(missing.differences[0].present, "train");
  EXPECT_EQ(missing.differences[0].absent, "val");
  fs::create_directories(dir_ / "data/val/9");
  fs::copy_file(dir_ / some("train/2"), dir_ / "data/val/9/x.png");
  CheckReport unknown = check();
  ASSERT_TRUE(unknown.refusal);
  EXPECT_THAT(unknown.refusal->message, HasSubstr("9"));
  EXPECT_THAT(unknown.differences, Contains(Field(&ClassDifference::present, "val")));
  EXPECT_EQ(unknown.classes.size(), 4U);
}

TEST_F(CheckTest, FoldersThatTrainingRefusesAreChecked) {
  copy_digits(dir_ / "one", 1, 3);
  CheckReport one = check(false, "one");
  ASSERT_TRUE(one.refusal);
  EXPECT_THAT(one.refusal->message, HasSubstr("1 class"));
  EXPECT_EQ(one.usable, 3);
  EXPECT_EQ(one.classes.size(), 1U);
  CheckReport flat = check(false, "one/0");
  ASSERT_TRUE(flat.refusal);
  EXPECT_EQ(flat.usable, 3);
  EXPECT_THAT(flat.classes, IsEmpty());
  fs::create_directories(dir_ / "empty");
  EXPECT_TRUE(check(false, "empty").refusal);
  EXPECT_THROW(check(false, "none"), Error);
}

TEST_F(CheckTest, UnevenClassesAreAFinding) {
  copy_digits(dir_ / "data/train", 1, 33);
  copy_digits(dir_ / "other", 2, 3);
  fs::copy(dir_ / "other/1", dir_ / "data/train/1");
  CheckReport report = check();
  EXPECT_GT(report.imbalance, 10);
  EXPECT_GE(report.findings(), 1);
}

TEST_F(CheckTest, TheFolderStaysAsItIs) {
  make_splits();
  auto listing = [&] {
    std::vector<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(dir_ / "data")) {
      names.push_back(entry.path().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  };
  std::vector<std::string> before = listing();
  check();
  EXPECT_EQ(listing(), before);
}

TEST_F(CheckTest, StopsWhenAsked) {
  make_splits();
  std::stop_source stop;
  stop.request_stop();
  try {
    check_folder({.data = dir_ / "data"}, {}, stop.get_token());
    FAIL() << "was not stopped";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Interrupted);
  }
}

}  // namespace
}  // namespace pounce
