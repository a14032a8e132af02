#include "data/sample_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/checksum.h"

namespace pounce {
namespace {

using testing::ElementsAre;

std::vector<std::string> paths_of(const SampleList& list) {
  std::vector<std::string> paths;
  for (const Sample& sample : list) paths.push_back(sample.path);
  return paths;
}

// Names as a camera gives them, in so many folders.
SampleList make_list(size_t images, size_t folders) {
  SampleList list;
  for (size_t i = 0; i < images; ++i) {
    std::string path = "train/class_" + std::to_string(i * folders / images) + "/IMG_20240311_" +
                       std::to_string(100000 + i) + ".jpg";
    list.push_back({path, int32_t(i % 7), xxh3_64(path), 640, int32_t(i)});
  }
  return list;
}

TEST(SampleList, GivesBackWhatWasPut) {
  std::string odd("a/\0b\xff", 5), deep = "x/y/z/1.jpg", bare = "2.png", trailing = "d/";
  SampleList list(std::vector<Sample>{
      {odd, 1, 10, 2, 3}, {deep, 4, 11, 5, 6}, {bare, 7, 12, 8, 9}, {trailing, 0, 13, 1, 1}, {}});
  EXPECT_THAT(paths_of(list), ElementsAre(odd, deep, bare, trailing, ""));
  EXPECT_EQ(list.size(), 5U);
  EXPECT_EQ(list.label(1), 4);
  EXPECT_EQ(list.id(2), 12U);
  EXPECT_EQ(list.width(0), 2);
  EXPECT_EQ(list.height(1), 6);
  EXPECT_EQ(list[2].path, bare);
  EXPECT_EQ(list[2].height, 9);
}

TEST(SampleList, HoldsNamesOfAnyLengthAndMoreThanABlock) {
  SampleList list;
  for (size_t i = 0; i < 40000; ++i) {
    std::string name(i % 1000 == 0 ? 300000 : i % 40, char('a' + i % 26));
    list.push_back({"f/" + name, int32_t(i), i, 1, 1});
  }
  for (size_t i = 0; i < list.size(); i += 997) {
    size_t length = i % 1000 == 0 ? 300000 : i % 40;
    ASSERT_EQ(list.path(i), "f/" + std::string(length, char('a' + i % 26))) << i;
    ASSERT_EQ(list.label(i), int32_t(i));
  }
}

TEST(SampleList, CopiesAreIndependent) {
  SampleList list = make_list(3, 1), copy = list;
  copy.set_label(0, 9);
  copy.push_back({"new/1.jpg", 0, 1, 1, 1});
  list.push_back({"own/2.jpg", 0, 1, 1, 1});
  EXPECT_EQ(list.label(0), 0);
  EXPECT_EQ(copy.label(0), 9);
  EXPECT_EQ(list.path(3), "own/2.jpg");
  EXPECT_EQ(copy.path(3), "new/1.jpg");
  SampleList moved = std::move(copy);
  EXPECT_EQ(moved.size(), 4U);
}

TEST(SampleList, APartKeepsTheGivenOrder) {
  SampleList list = make_list(10, 3);
  std::vector<uint32_t> wanted = {7, 2, 7};
  SampleList part = list.part(wanted);
  EXPECT_THAT(paths_of(part), ElementsAre(list.path(7), list.path(2), list.path(7)));
  part.push_back({"other/1.jpg", 0, 1, 1, 1});
  EXPECT_EQ(part.path(3), "other/1.jpg");
  EXPECT_EQ(list.size(), 10U);
  SampleList joined;
  joined.append(part);
  joined.append(list);
  EXPECT_EQ(joined.size(), 14U);
  EXPECT_EQ(joined.path(4), list.path(0));
  EXPECT_EQ(part.size(), 4U);
}

TEST(SampleList, ComparesPathsAcrossFolders) {
  SampleList list(std::vector<Sample>{{"a b/1.jpg"}, {"a/1.jpg"}, {"a/10.jpg"}, {"a/2.jpg"}});
  for (size_t i = 0; i < list.size(); ++i) {
    for (size_t j = 0; j < list.size(); ++j) {
      EXPECT_EQ(list.is_path_less(i, j), list.path(i) < list.path(j)) << i << " " << j;
    }
  }
}

TEST(SampleList, TakesLessThanAHundredBytesAnImage) {
  constexpr size_t kImages = 100000;
  SampleList list = make_list(kImages, 1000);
  EXPECT_LT(double(list.memory_bytes()) / kImages, 80);
  EXPECT_GT(double(list.memory_bytes()) / kImages, 30);
}

}  // namespace
}  // namespace pounce
