#include "data/dataset.h"

#include <functional>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "data/fixtures.h"

namespace pounce {
namespace {

using namespace test;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

const Bytes& small_png() {
  static const Bytes bytes = encode_png(pattern_image(8, 6));
  return bytes;
}

void put_images(const TempDir& dir, const std::string& folder, int n) {
  for (int i = 0; i < n; ++i) dir.put(folder + "/" + std::to_string(i) + ".png", small_png());
}

ScanOptions options_for(const TempDir& dir, double val_fraction = 0.2) {
  ScanOptions options;
  options.root = dir.path();
  options.val_fraction = val_fraction;
  return options;
}

std::set<std::string> paths_of(const SampleList& samples) {
  std::set<std::string> paths;
  for (const Sample& sample : samples) paths.insert(sample.path);
  return paths;
}

// "config: message | hint" of what a call throws.
std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return std::string(error_kind_name(error.kind())) + ": " + error.message() + " | " +
           error.hint();
  }
  return "no error";
}

std::string scan_error(const ScanOptions& options) {
  return error_of([&] { scan_dataset(options); });
}

TEST(ScanDataset, ReadsASplitLayout) {
  TempDir dir;
  put_images(dir, "train/dog", 3);
  put_images(dir, "train/cat", 4);
  put_images(dir, "val/cat", 2);
  put_images(dir, "test_set/dog", 1);
  ImageFolder dataset = scan_dataset(options_for(dir));
  EXPECT_EQ(dataset.layout, Layout::Splits);
  EXPECT_THAT(dataset.classes, ElementsAre("cat", "dog"));
  EXPECT_EQ(dataset.train.size(), 7U);
  EXPECT_EQ(dataset.val.size(), 2U);
  EXPECT_EQ(dataset.test.size(), 1U);
  EXPECT_FALSE(dataset.split_by_rule);
  EXPECT_EQ(dataset.train[0].path, "train/cat/0.png");
  EXPECT_EQ(dataset.train[0].width, 8);
  EXPECT_EQ(dataset.train[0].height, 6);
  EXPECT_EQ(dataset.test[0].label, 1);
  EXPECT_EQ(dataset.class_counts[0].train, 4);
  EXPECT_EQ(dataset.class_counts[0].val, 2);
  EXPECT_EQ(dataset.class_counts[1].test, 1);
}

TEST(ScanDataset, KnowsTheOtherNamesOfSplits) {
  for (const char* train : {"train", "Training", "training_set"}) {
    for (const char* val : {"val", "valid", "validation", "eval"}) {
      TempDir dir;
      put_images(dir, std::string(train) + "/a", 1);
      put_images(dir, std::string(train) + "/b", 1);
      put_images(dir, std::string(val) + "/b", 1);
      EXPECT_EQ(scan_dataset(options_for(dir)).layout, Layout::Splits) << train << val;
    }
  }
}

TEST(ScanDataset, HoldsValidationBackByRule) {
  for (std::string prefix : {"", "train/"}) {
    TempDir dir;
    put_images(dir, prefix + "cat", 100);
    put_images(dir, prefix + "dog", 100);
    ImageFolder dataset = scan_dataset(options_for(dir));
    EXPECT_EQ(dataset.layout, prefix.empty() ? Layout::ClassFolders : Layout::TrainOnly);
    EXPECT_TRUE(dataset.split_by_rule);
    EXPECT_EQ(dataset.train.size() + dataset.val.size(), 200U);
    EXPECT_NEAR(double(dataset.val.size()), 40, 15);
  }
}

TEST(ScanDataset, TheRuleIsStableWhenFilesAreAdded) {
  TempDir dir;
  put_images(dir, "cat", 40);
  put_images(dir, "dog", 40);
  std::set<std::string> before = paths_of(scan_dataset(options_for(dir)).val);
  put_images(dir, "cat", 80);
  put_images(dir, "ant", 30);
  std::set<std::string> after = paths_of(scan_dataset(options_for(dir)).val);
  for (const std::string& path : before) EXPECT_TRUE(after.contains(path)) << path;
  EXPECT_GT(after.size(), before.size());
}

TEST(ScanDataset, TheRuleIsTheSameBelowATrainFolder) {
  TempDir plain, nested;
  for (const char* name : {"cat", "dog"}) {
    put_images(plain, name, 30);
    put_images(nested, std::string("train/") + name, 30);
  }
  std::set<std::string> expected;
  for (const std::string& path : paths_of(scan_dataset(options_for(plain)).val)) {
    expected.insert("train/" + path);
  }
  EXPECT_EQ(paths_of(scan_dataset(options_for(nested)).val), expected);
}

TEST(ScanDataset, SmallClassesLieOnBothSides) {
  for (double fraction : {0.01, 0.99}) {
    TempDir dir;
    put_images(dir, "one", 1);
    put_images(dir, "two", 2);
    put_images(dir, "many", 5);
    ImageFolder dataset = scan_dataset(options_for(dir, fraction));
    for (size_t i = 0; i < 3; ++i) EXPECT_GE(dataset.class_counts[i].train, 1) << i;
    EXPECT_EQ(dataset.class_counts[1].val, 0);  // "one"
    EXPECT_EQ(dataset.class_counts[2].val, 1);  // "two"
    EXPECT_GE(dataset.class_counts[0].val, 1);  // "many"
  }
}

TEST(ScanDataset, FractionZeroMeansNoValidation) {
  TempDir dir;
  put_images(dir, "cat", 5);
  put_images(dir, "dog", 5);
  ImageFolder dataset = scan_dataset(options_for(dir, 0));
  EXPECT_THAT(dataset.val, IsEmpty());
  EXPECT_FALSE(dataset.split_by_rule);
  EXPECT_THAT(scan_error(options_for(dir, 1.0)), HasSubstr("invalid_argument: val_fraction is 1"));
}

TEST(ScanDataset, DescendsIntoAWrapper) {
  TempDir dir;
  put_images(dir, "photos/inner/cat", 2);
  put_images(dir, "photos/inner/dog", 2);
  dir.put("__MACOSX/x.jpg", small_png());
  ImageFolder dataset = scan_dataset(options_for(dir, 0));
  EXPECT_THAT(dataset.root, testing::EndsWith("photos/inner"));
  EXPECT_THAT(dataset.notes,
              ElementsAre(HasSubstr("only the folder photos"), HasSubstr("only the folder inner")));
}

TEST(ScanDataset, ReadsNestedFoldersAndLinksOfAClass) {
  TempDir dir, elsewhere;
  put_images(dir, "cat/2021/may", 2);
  put_images(dir, "dog", 1);
  put_images(elsewhere, "more", 3);
  ASSERT_EQ(symlink((elsewhere / "more").c_str(), (dir / "dog/linked").c_str()), 0);
  ASSERT_EQ(symlink("..", (dir / "dog/loop").c_str()), 0);
  ImageFolder dataset = scan_dataset(options_for(dir, 0));
  EXPECT_EQ(dataset.class_counts[0].train, 2);
  EXPECT_EQ(dataset.class_counts[1].train, 4);
  EXPECT_THAT(paths_of(dataset.train), Contains("dog/linked/2.png"));
}

TEST(ScanDataset, IgnoresAndCountsWhatIsNoImage) {
  TempDir dir;
  put_images(dir, "cat", 2);
  put_images(dir, "dog", 2);
  put_images(dir, "runs/photos-1", 2);
  put_images(dir, "cat/.cache", 2);
  dir.put("cat/Thumbs.db", std::string("x"));
  dir.put("cat/._0.png", std::string("x"));
  dir.put("cat/notes.txt", std::string("x"));
  dir.put("top.jpg", small_png());
  put_images(dir, "cat/dir.jpg", 1);
  dir.make_folder("empty");
  ImageFolder dataset = scan_dataset(options_for(dir, 0));
  EXPECT_EQ(dataset.train.size(), 4U);
  EXPECT_THAT(dataset.skipped, IsEmpty());
  EXPECT_THAT(dataset.empty_classes, ElementsAre("empty"));
  EXPECT_THAT(
      dataset.ignored,
      AllOf(Contains(Pair("runs folder", 1)), Contains(Pair("hidden folder", 1)),
            Contains(Pair("hidden file", 1)), Contains(Pair("system file", 1)),
            Contains(Pair("not an image", 1)), Contains(Pair("folder named like an image", 1)),
            Contains(Pair("image outside the class folders", 1))));
}

TEST(ScanDataset, SaysThatImagesLieBesideTheFolders) {
  TempDir classes, splits;
  put_images(classes, "a", 6);
  put_images(classes, "b", 6);
  put_images(classes, ".", 6);
  const char* kBesideClasses =
      "6 images lie beside the class folders and are left out; move them into one";
  EXPECT_THAT(scan_dataset(options_for(classes)).notes, ElementsAre(kBesideClasses));
  EvalScanOptions eval;
  eval.root = classes.path();
  eval.classes = {"a", "b"};
  EXPECT_THAT(scan_for_eval(eval).notes, ElementsAre(kBesideClasses));
  put_images(splits, "train/a", 2);
  put_images(splits, "train/b", 2);
  put_images(splits, "val/a", 2);
  put_images(splits, ".", 1);
  const char* kBesideSplits =
      "1 image lies beside the split folders and is left out; move it into one";
  EXPECT_THAT(scan_dataset(options_for(splits)).notes, ElementsAre(kBesideSplits));
  eval.root = splits.path();
  EXPECT_THAT(scan_for_eval(eval).notes, ElementsAre(kBesideSplits));
}

TEST(ScanDataset, RefusesAClassThatIsNotUtf8) {
  TempDir dir;
  put_images(dir, "caf\xe9", 2);
  put_images(dir, "caf\xe8", 2);
  std::string root = dir.path();
  testing::Matcher<std::string> refused =
      AllOf(HasSubstr("config: the name of the class folder " + root + "/caf\\xe8/ is not valid"),
            HasSubstr("mv " + root + "/$'caf\\xe8' " + root + "/NAME; then: pounce "));
  EXPECT_THAT(scan_error(options_for(dir)), refused);
  EvalScanOptions eval;
  eval.root = root;
  eval.classes = {"caf\uFFFD"};
  EXPECT_THAT(error_of([&] { scan_for_eval(eval); }), refused);
}

TEST(ScanDataset, TakesFilesAndEmptyFoldersThatAreNotUtf8) {
  TempDir dir;
  put_images(dir, "cat", 2);
  put_images(dir, "dog", 2);
  dir.put("dog/\xe9.png", small_png());
  dir.make_folder("\xe9");
  EXPECT_EQ(scan_dataset(options_for(dir, 0)).train.size(), 5U);
}

TEST(ScanDataset, RefusesALabelThatIsNotUtf8) {
  TempDir dir;
  for (const char* name : {"\xe9_1.png", "\xe9_2.png", "cat_1.png"}) dir.put(name, small_png());
  ScanOptions options = options_for(dir);
  options.labels = "names";
  EXPECT_THAT(scan_error(options), HasSubstr("config: the class \\xe9 of \xe9_1.png is not valid"));
}

TEST(ScanDataset, OrdersClassesByCodePoint) {
  TempDir dir;
  for (const char* name : {"a", "B", "ä", "猫", "10", "9"}) put_images(dir, name, 1);
  EXPECT_THAT(scan_dataset(options_for(dir, 0)).classes,
              ElementsAre("10", "9", "B", "a", "ä", "猫"));
}

TEST(ScanDataset, ResultDoesNotDependOnThreads) {
  TempDir dir;
  put_images(dir, "cat", 150);
  put_images(dir, "dog", 150);
  dir.put("dog/bad.jpg", std::string());
  ScanOptions one = options_for(dir), seven = options_for(dir);
  one.threads = 1;
  seven.threads = 7;
  ImageFolder a = scan_dataset(one), b = scan_dataset(seven);
  ASSERT_EQ(a.train.size(), b.train.size());
  for (size_t i = 0; i < a.train.size(); ++i) {
    EXPECT_EQ(a.train[i].path, b.train[i].path);
    EXPECT_EQ(a.train[i].id, b.train[i].id);
  }
  EXPECT_EQ(a.skipped.size(), b.skipped.size());
}

TEST(OnBad, DecidesAboutUnusableFiles) {
  TempDir dir;
  put_images(dir, "cat", 20);
  put_images(dir, "dog", 20);
  dir.put("cat/empty.jpg", std::string());
  dir.put("cat/page.jpg", std::string("<html>"));
  ASSERT_EQ(symlink("nowhere.jpg", (dir / "cat/dangling.jpg").c_str()), 0);
  ScanOptions options = options_for(dir, 0);
  EXPECT_THAT(scan_error(options),
              AllOf(HasSubstr("config: class cat: 3 of 23 files are unusable"),
                    HasSubstr("empty.jpg (the file is empty)"), HasSubstr("--on-bad skip")));
  options.on_bad = OnBad::Stop;
  EXPECT_THAT(scan_error(options), HasSubstr("bad_data: "));
  options.on_bad = OnBad::Skip;
  ImageFolder dataset = scan_dataset(options);
  ASSERT_EQ(dataset.skipped.size(), 3U);
  EXPECT_EQ(dataset.skipped[0].path, "cat/dangling.jpg");
  EXPECT_EQ(dataset.skipped[0].kind, SkipKind::Unreadable);
  EXPECT_EQ(dataset.skipped[1].kind, SkipKind::Damaged);
  EXPECT_EQ(dataset.class_counts[0].skipped, 3);
  // 2 of 22: below the limit.
  ASSERT_EQ(unlink((dir / "cat/dangling.jpg").c_str()), 0);
  options.on_bad = OnBad::Auto;
  EXPECT_EQ(scan_dataset(options).skipped.size(), 2U);
}

TEST(OnBad, AClassWithoutAUsableImageIsNone) {
  TempDir dir;
  for (const char* name : {"ant", "cat", "dog"}) put_images(dir, name, 2);
  dir.put("bee/1.jpg", std::string("<html>"));
  ScanOptions options = options_for(dir, 0);
  options.on_bad = OnBad::Skip;
  ImageFolder dataset = scan_dataset(options);
  EXPECT_THAT(dataset.classes, ElementsAre("ant", "cat", "dog"));
  EXPECT_THAT(dataset.empty_classes, ElementsAre("bee"));
  EXPECT_EQ(dataset.train.label(dataset.train.size() - 1), 2);
}

TEST(ScanErrors, NameWhatWasFoundAndWhatToDo) {
  TempDir dir;
  ScanOptions options;
  options.root = dir / "none";
  EXPECT_THAT(scan_error(options), HasSubstr("config: " + dir.path() + "/none does not exist"));
  dir.make_folder("empty");
  options.root = dir / "empty";
  EXPECT_THAT(scan_error(options), HasSubstr("no class folders and no images: it is empty"));
  options.root = dir.put("photo.jpg", small_png());
  EXPECT_THAT(scan_error(options), HasSubstr("config: " + options.root + " is a file"));
  options.root = dir.put("pets.tar.gz", std::string("x"));
  EXPECT_THAT(scan_error(options), AllOf(HasSubstr("is an archive"), HasSubstr("tar -xf")));
  options.root = dir.path();
  EXPECT_THAT(scan_error(options), HasSubstr("holds 1 image without class folders"));
}

TEST(ScanErrors, OneClass) {
  TempDir dir;
  put_images(dir, "cat", 3);
  EXPECT_THAT(scan_error(options_for(dir)),
              HasSubstr("config: 1 class (cat); a classifier needs 2 or more"));
}

TEST(ScanErrors, FlatFoldersAreNotGuessed) {
  TempDir dir;
  for (int i = 0; i < 3; ++i) {
    dir.put("cat." + std::to_string(i) + ".jpg", small_png());
    dir.put("dog." + std::to_string(i) + ".jpg", small_png());
  }
  EXPECT_THAT(scan_error(options_for(dir)),
              AllOf(HasSubstr("config: "), HasSubstr("6 images without class folders"),
                    HasSubstr("2 classes: cat 3, dog 3")));
}

TEST(ScanErrors, MixedLayouts) {
  TempDir dir;
  put_images(dir, "train/cat", 1);
  put_images(dir, "train/dog", 1);
  dir.make_folder("docs");
  EXPECT_EQ(scan_error(options_for(dir)), "no error");
  put_images(dir, "bird", 1);
  EXPECT_THAT(scan_error(options_for(dir)),
              AllOf(HasSubstr("config: "), HasSubstr("(train/)"), HasSubstr("(bird)")));
}

TEST(ScanErrors, ValidationWithoutTraining) {
  TempDir dir;
  put_images(dir, "val/cat", 1);
  put_images(dir, "val/dog", 1);
  EXPECT_THAT(scan_error(options_for(dir)), HasSubstr("holds val/ but no train/"));
  put_images(dir, "train/cat", 1);
  put_images(dir, "train/ant", 1);
  EXPECT_THAT(scan_error(options_for(dir)),
              HasSubstr("val/ holds a class that training has no images of: dog"));
}

TEST(ScanErrors, OnlyUnsupportedFormats) {
  TempDir dir;
  std::string xl("\xFF\x0A"), pnm("P6\n1 1\n255\n...");
  dir.put("cat/1.jxl", xl);
  dir.put("cat/2.jpg", xl);
  dir.put("dog/1.ppm", pnm);
  EXPECT_THAT(
      scan_error(options_for(dir)),
      AllOf(HasSubstr("config: "), HasSubstr("2 JPEG XL, 1 PNM"), HasSubstr("convert them")));
}

// Root may read everything; while this lives, the process acts as a user who may not.
class Unprivileged {
 public:
  Unprivileged() {
    if (was_ == 0) dropped_ = seteuid(kNobody) == 0;
  }
  Unprivileged(const Unprivileged&) = delete;
  Unprivileged& operator=(const Unprivileged&) = delete;
  ~Unprivileged() {
    if (dropped_ && seteuid(was_) != 0) ADD_FAILURE() << "still unprivileged";
  }

 private:
  static constexpr uid_t kNobody = 65534;
  uid_t was_ = geteuid();
  bool dropped_ = false;
};

TEST(ScanErrors, WithoutRights) {
  TempDir dir;
  put_images(dir, "cat", 1);
  ASSERT_EQ(chmod(dir.path().c_str(), 0755), 0);
  ASSERT_EQ(chmod((dir / "cat").c_str(), 0), 0);
  std::string text;
  {
    Unprivileged user;
    text = scan_error(options_for(dir));
  }
  chmod((dir / "cat").c_str(), 0700);
  EXPECT_THAT(text, AllOf(HasSubstr("io: "), HasSubstr("permission denied")));
}

TEST(ScanDataset, StopsWhenAsked) {
  TempDir dir;
  put_images(dir, "cat", 5);
  put_images(dir, "dog", 5);
  std::stop_source source;
  source.request_stop();
  ScanOptions options = options_for(dir);
  options.stop = source.get_token();
  EXPECT_THAT(scan_error(options), HasSubstr("interrupted"));
}

// Folders that would be refused for what lies in them: the walk must stop before it knows.
TEST(ScanDataset, StopsWhileFoldersAreWalked) {
  TempDir without_images, mixed, unlabelled;
  without_images.put("cat/notes.txt", std::string("x"));
  put_images(mixed, "train/cat", 1);
  put_images(mixed, "dog", 1);
  unlabelled.put("deep/1.png", small_png());
  std::stop_source source;
  source.request_stop();
  for (const TempDir* dir : {&without_images, &mixed, &unlabelled}) {
    ScanOptions options = options_for(*dir);
    if (dir == &unlabelled) options.labels = "names";
    EXPECT_THAT(scan_error(options), HasSubstr("config: "));
    options.stop = source.get_token();
    EXPECT_THAT(scan_error(options), HasSubstr("interrupted: "));
    EvalScanOptions eval;
    eval.root = dir->path();
    eval.labels = options.labels;
    eval.classes = {"bird", "fish"};
    eval.stop = source.get_token();
    EXPECT_THAT(error_of([&] { scan_for_eval(eval); }), HasSubstr("interrupted: "));
  }
  EXPECT_THAT(error_of([&] { find_image_files(mixed.path(), source.get_token()); }),
              HasSubstr("interrupted: "));
}

class ScanForEval : public testing::Test {
 protected:
  EvalScanOptions options(Split split = Split::Val) {
    EvalScanOptions result;
    result.root = dir_.path();
    result.classes = {"ant", "cat", "dog"};
    result.split = split;
    return result;
  }

  std::string error(const EvalScanOptions& given) {
    return error_of([&] { scan_for_eval(given); });
  }

  TempDir dir_;
};

TEST_F(ScanForEval, LabelsByTheModelsClasses) {
  put_images(dir_, "train/ant", 3);
  put_images(dir_, "val/dog", 2);
  put_images(dir_, "val/cat", 1);
  EvalSet set = scan_for_eval(options());
  ASSERT_EQ(set.samples.size(), 3U);
  EXPECT_EQ(set.samples[0].path, "val/cat/0.png");
  EXPECT_EQ(set.samples[0].label, 1);
  EXPECT_EQ(set.samples[1].label, 2);
  EXPECT_THAT(set.absent_classes, ElementsAre("ant"));
  EXPECT_EQ(scan_for_eval(options(Split::Train)).samples.size(), 3U);
  EXPECT_EQ(scan_for_eval(options(Split::All)).samples.size(), 6U);
  EXPECT_THAT(error(options(Split::Test)), HasSubstr("has no test part (found train/, val/)"));
}

TEST_F(ScanForEval, RefusesAnUnknownClassByName) {
  put_images(dir_, "cat", 1);
  put_images(dir_, "dogs", 1);
  dir_.make_folder("empty");
  EXPECT_THAT(error(options()), AllOf(HasSubstr("config: the class dogs (folder dogs/) is unknown"),
                                      HasSubstr("did you mean dog?")));
}

TEST_F(ScanForEval, TakesThePartThatTrainingHeldBack) {
  put_images(dir_, "ant", 30);
  put_images(dir_, "cat", 30);
  put_images(dir_, "dog", 2);
  ImageFolder trained = scan_dataset(options_for(dir_, 0.2));
  EvalScanOptions val = options(), train = options(Split::Train), all = options(Split::All);
  val.split_fraction = train.split_fraction = all.split_fraction = 0.2;
  EvalSet held = scan_for_eval(val);
  EXPECT_TRUE(held.held_back_only);
  EXPECT_EQ(paths_of(held.samples), paths_of(trained.val));
  EXPECT_THAT(held.notes,
              ElementsAre("only the " + std::to_string(trained.val.size()) +
                          " images that the rule of the model's split holds back; images that "
                          "training never saw want --split all"));
  EXPECT_EQ(paths_of(scan_for_eval(train).samples), paths_of(trained.train));
  EXPECT_EQ(scan_for_eval(all).samples.size(), 62U);
  EXPECT_EQ(scan_for_eval(options()).samples.size(), 62U);
}

TEST_F(ScanForEval, RecordedSidesGoBeforeTheRule) {
  put_images(dir_, "ant", 30);
  put_images(dir_, "cat", 30);
  ImageFolder trained = scan_dataset(options_for(dir_, 0.2));
  EvalScanOptions val = options(), train = options(Split::Train);
  val.split_fraction = train.split_fraction = 0.2;
  // Training had it the other way round, but for the dogs that came later.
  for (const Sample& sample : trained.val) val.recorded_sides[sample.path] = Split::Train;
  for (const Sample& sample : trained.train) val.recorded_sides[sample.path] = Split::Val;
  train.recorded_sides = val.recorded_sides;
  EvalSet held = scan_for_eval(val);
  EXPECT_EQ(paths_of(held.samples), paths_of(trained.train));
  EXPECT_EQ(held.notes.back(),
            "only the " + std::to_string(trained.train.size()) +
                " images that training held back; --split all takes every image");
  EXPECT_EQ(paths_of(scan_for_eval(train).samples), paths_of(trained.val));
  put_images(dir_, "dog", 2);  // the rule leaves one on either side
  held = scan_for_eval(val);
  EXPECT_EQ(held.samples.size(), trained.train.size() + 1);
  EXPECT_THAT(held.notes.back(), HasSubstr("held back and 1 newer one by the same rule; "));
}

TEST_F(ScanForEval, AcceptsASingleKnownClass) {
  put_images(dir_, "cat", 4);
  EXPECT_EQ(scan_for_eval(options()).samples.size(), 4U);
}

TEST(FindImageFiles, RecursesInOrder) {
  TempDir dir;
  put_images(dir, "b/deep", 1);
  dir.put("a.JPG", small_png());
  dir.put("b/notes.txt", std::string("x"));
  dir.put(".hidden/x.png", small_png());
  EXPECT_THAT(find_image_files(dir.path()), ElementsAre(dir / "a.JPG", dir / "b/deep/0.png"));
  EXPECT_THAT(error_of([&] { find_image_files(dir / "none"); }), HasSubstr("io: cannot list"));
}

}  // namespace
}  // namespace pounce
