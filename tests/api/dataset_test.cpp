// Datasets and loaders: folders, sources of one's own, holes, exceptions, iteration.
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/drawn.h"
#include "base/file.h"
#include "base/temp_dir.h"
#include "expect_error.h"
#include "pounce/loader.h"
#include "train/run.h"

namespace pounce {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// Drawn images, some of which are changed by `body` before they are given.
class Changed : public Drawn {
 public:
  Changed(int64_t images, std::function<void(int64_t, SourceImage&)> body)
      : Drawn(images), body_(std::move(body)) {}
  SourceImage load(int64_t index) const override {
    SourceImage image = Drawn::load(index);
    body_(index, image);
    return image;
  }

 private:
  std::function<void(int64_t, SourceImage&)> body_;
};

ImageList changed(int64_t images, std::function<void(int64_t, SourceImage&)> body) {
  return Dataset(std::make_shared<Changed>(images, std::move(body))).train();
}

// Its own lists, true or not.
class Claimed : public ImageSource {
 public:
  std::vector<std::string> names = {"x", "y"}, images = {"a", "b", "c"};
  std::vector<int> labels = {0, 1, 0};
  int64_t size() const override { return int64_t(images.size()); }
  std::vector<std::string> classes() const override { return names; }
  int label(int64_t index) const override { return labels[size_t(index)]; }
  std::string name(int64_t index) const override { return images[size_t(index)]; }
  SourceImage load(int64_t) const override { return {}; }
};

std::vector<std::string> paths_of(Loader& loader) {
  std::vector<std::string> paths;
  for (const Batch& batch : loader) {
    paths.insert(paths.end(), batch.paths.begin(), batch.paths.end());
  }
  return paths;
}

TEST(Dataset, ReadsFoldersAsTheProgramDoes) {
  TempDir work;
  copy_digits(work / "digits", 3, 40);
  work.put("digits/1/broken.png", std::string("no picture"));
  Dataset data(work / "digits");
  EXPECT_THAT(data.classes(), ElementsAre("0", "1", "2"));
  EXPECT_EQ(data.train().size() + data.val().size(), 120);
  EXPECT_EQ(data.test().size(), 0);
  ASSERT_THAT(data.skipped(), SizeIs(1));
  EXPECT_EQ(data.skipped()[0].path, "1/broken.png");
  Training training = train(small_config(work / "digits", work / "run"));
  EXPECT_EQ(training.all<RunBegin>().at(0).val_images, data.val().size());
  EXPECT_EQ(data.train().path(0).substr(0, 2), "0/");
  EXPECT_EQ(data.train().label(data.train().size() - 1), 2);
  EXPECT_ERROR(data.train().label(data.train().size()), ErrorKind::InvalidArgument);
  EXPECT_ERROR(data.train().path(-1), ErrorKind::InvalidArgument, "-1");
}

TEST(Dataset, RefusesFoldersAsTheProgramDoes) {
  EXPECT_ERROR(Dataset("no/such/folder"), ErrorKind::Config, "no/such/folder");
  EXPECT_ERROR(Dataset(POUNCE_SOURCE_DIR "/samples/digits", {.val_fraction = 1}),
               ErrorKind::InvalidArgument, "val_fraction");
}

TEST(Dataset, ChecksSources) {
  auto source = std::make_shared<Claimed>();
  EXPECT_EQ(Dataset(source).train().size(), 3);
  EXPECT_THAT(Dataset(source).train().balanced_class_weights(), ElementsAre(0.75, 1.5));
  auto refused = [](auto change, const std::vector<std::string>& parts) {
    auto wrong = std::make_shared<Claimed>();
    change(*wrong);
    return throws_error([&] { Dataset data(wrong); }, ErrorKind::InvalidArgument, parts);
  };
  EXPECT_TRUE(refused([](Claimed& c) { c.labels[1] = 2; }, {"b: label 2", "0 to 1"}));
  EXPECT_TRUE(refused([](Claimed& c) { c.labels[1] = -1; }, {"label -1"}));
  EXPECT_TRUE(refused([](Claimed& c) { c.images[2] = "a"; }, {"0 and 2", "\"a\""}));
  EXPECT_TRUE(refused([](Claimed& c) { c.names = {"x"}; }, {"1 classes"}));
  EXPECT_TRUE(refused([](Claimed& c) { c.names[0].clear(); }, {"no name"}));
  EXPECT_ERROR(Dataset(std::shared_ptr<const ImageSource>()), ErrorKind::InvalidArgument, "null");
  EXPECT_ERROR(Dataset(source, std::make_shared<Drawn>(2)), ErrorKind::InvalidArgument, "x, y",
               "class 0");
}

TEST(Loader, GivesEveryImageOnceInOrder) {
  LoaderOptions whole = small_loader(8);
  whole.resize_ratio = 1;
  Loader loader(drawn(20), whole);
  EXPECT_EQ(loader.batches(), 3);
  std::vector<int64_t> sizes;
  std::vector<uint8_t> first;
  for (const Batch& batch : loader) {
    sizes.push_back(batch.images.shape()[0]);
    EXPECT_EQ(batch.images.dtype(), DType::U8);
    EXPECT_EQ(batch.labels.size(), size_t(sizes.back()));
    if (first.empty()) first = batch.images.values<uint8_t>();
  }
  EXPECT_THAT(sizes, ElementsAre(7, 7, 6));
  std::vector<uint8_t> expected = Drawn(20).load(0).pixels;
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), first.begin()));
  EXPECT_THAT(paths_of(loader), SizeIs(20));
  EXPECT_EQ(paths_of(loader).front(), "drawn 0");
}

TEST(Loader, ShufflesByEpochAndSeedAlone) {
  LoaderOptions options = small_loader();
  options.shuffle = true;
  Loader one(drawn(30), options);
  options.workers = 3;
  options.batch_size = 4;
  Loader three(drawn(30), options);
  std::vector<std::string> first = paths_of(one), second = paths_of(one);
  EXPECT_NE(first, second);
  EXPECT_EQ(std::set(first.begin(), first.end()), std::set(second.begin(), second.end()));
  EXPECT_EQ(paths_of(three), first);
  EXPECT_EQ(paths_of(three), second);
}

TEST(Loader, DecodesFilesOfASource) {
  std::string path = POUNCE_SOURCE_DIR "/samples/digits/0/0000.png";
  std::vector<uint8_t> file = read_file(path).value();
  Loader loader(changed(2,
                        [&](int64_t, SourceImage& image) {
                          image.pixels.clear();
                          image.file = file;
                        }),
                small_loader());
  Model model("cnn", {.classes = {"a", "b"}, .image_size = 8}, Device("cpu", 1));
  std::vector<uint8_t> expected = model.read_images({path, path}).values<uint8_t>();
  EXPECT_EQ(loader.begin()->images.values<uint8_t>(), expected);
}

TEST(Loader, LeavesOutWhatCannotBeUsed) {
  Loader loader(changed(8,
                        [](int64_t index, SourceImage& image) {
                          if (index == 1) throw Error(ErrorKind::BadData, "scratched");
                          if (index == 3) image.pixels.pop_back();
                          if (index == 5) image.width = -8;
                          if (index == 6) image.pixels.clear();  // nor a file
                          if (index == 7) throw Error(ErrorKind::Io, "gone");
                        }),
                small_loader());
  {
    Loader::Iterator it = loader.begin();
    EXPECT_THAT(it->paths, ElementsAre("drawn 0", "drawn 2", "drawn 4"));
    EXPECT_EQ(it->images.shape()[0], 3);
    ASSERT_THAT(it->skipped, SizeIs(5));
    EXPECT_EQ(it->skipped[0].path, "drawn 1");
    EXPECT_EQ(it->skipped[0].reason, "scratched");
    EXPECT_EQ(it->skipped[4].kind, "unreadable");
  }
  Loader::Iterator later = loader.begin();
  EXPECT_THAT(later->paths, SizeIs(3));
  EXPECT_THAT(later->skipped, IsEmpty());
}

TEST(Loader, HandsOtherExceptionsOver) {
  bool fail = true;
  Loader loader(changed(8,
                        [&](int64_t index, SourceImage&) {
                          if (fail && index == 5) throw std::runtime_error("mine");
                        }),
                small_loader(2));
  EXPECT_THROW(paths_of(loader), std::runtime_error);
  fail = false;
  EXPECT_THAT(paths_of(loader), SizeIs(8));
}

TEST(Loader, IteratorsKnowTheirEpoch) {
  auto loader = std::make_unique<Loader>(drawn(8), small_loader(2));
  Loader::Iterator old = loader->begin();
  Loader::Iterator now = loader->begin();
  EXPECT_ERROR(++old, ErrorKind::InvalidArgument, "another epoch");
  Loader moved = std::move(*loader);
  loader.reset();
  int batches = 0;
  for (; now != moved.end(); ++now) ++batches;
  EXPECT_EQ(batches, 4);
  EXPECT_ERROR(++now, ErrorKind::InvalidArgument, "is over");
  EXPECT_ERROR(*now, ErrorKind::InvalidArgument, "is over");
  EXPECT_ERROR(*Loader::Iterator(), ErrorKind::InvalidArgument, "is over");
}

TEST(Loader, RefusesOptionsOutOfRange) {
  auto refused = [](auto change, const std::vector<std::string>& parts) {
    LoaderOptions options = small_loader();
    change(options);
    return throws_error([&] { Loader loader(drawn(4), options); }, ErrorKind::InvalidArgument,
                        parts);
  };
  EXPECT_TRUE(refused([](LoaderOptions& o) { o.batch_size = 0; }, {"batch_size is 0"}));
  EXPECT_TRUE(refused([](LoaderOptions& o) { o.image_size = 5000; }, {"image_size is 5000"}));
  EXPECT_TRUE(refused([](LoaderOptions& o) { o.hflip = 2; }, {"hflip is 2"}));
  EXPECT_TRUE(refused([](LoaderOptions& o) { o.crop_scale_max = 0.1; }, {"crop_scale_max"}));
  EXPECT_TRUE(refused([](LoaderOptions& o) { o.workers = -1; }, {"workers is -1"}));
  EXPECT_TRUE(refused([](LoaderOptions& o) { o.resize_ratio = 0.0 / 0.0; }, {"resize_ratio"}));
  EXPECT_ERROR(Loader(ImageList(), small_loader()), ErrorKind::InvalidArgument,
               "ImageList is empty");
  EXPECT_ERROR(Loader(drawn(0), small_loader()), ErrorKind::InvalidArgument, "no images");
}

TEST(Loader, MovedFromThrows) {
  Loader loader(drawn(4), small_loader());
  Loader taken = std::move(loader);
  EXPECT_ERROR(loader.begin(), ErrorKind::InvalidArgument, "Loader is empty");
  EXPECT_ERROR(loader.batches(), ErrorKind::InvalidArgument, "Loader is empty");
  EXPECT_ERROR(loader.options(), ErrorKind::InvalidArgument, "Loader is empty");
  loader = std::move(taken);
  EXPECT_THAT(paths_of(loader), SizeIs(4));
  Dataset data(std::make_shared<Drawn>(2));
  Dataset other = std::move(data);
  EXPECT_ERROR(data.train(), ErrorKind::InvalidArgument, "Dataset is empty");
}

}  // namespace
}  // namespace pounce
