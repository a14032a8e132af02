// Classes from file names and from tables, and what is said about those that do not fit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "data/dataset.h"
#include "data/fixtures.h"
#include "data/label_source.h"
#include "expect_error.h"

namespace pounce {
namespace {

using namespace test;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

class Labels : public testing::Test {
 protected:
  void put(const std::vector<std::string>& paths) {
    for (const std::string& path : paths) dir_.put(path, png_);
  }

  ImageFolder scan(const std::string& labels, double val_fraction = 0) {
    ScanOptions options;
    options.root = dir_ / "d";
    options.labels = labels;
    options.val_fraction = val_fraction;
    return scan_dataset(options);
  }

  // "d/a.png cat" of all samples.
  static std::vector<std::string> labelled(const ImageFolder& dataset) {
    std::vector<std::string> lines;
    for (const auto* list : {&dataset.train, &dataset.val, &dataset.test}) {
      for (const Sample& sample : *list) {
        lines.push_back(sample.path + " " + dataset.classes[size_t(sample.label)]);
      }
    }
    return lines;
  }

  // Scans with `table` as labels.csv beside four images.
  ImageFolder scan_table(const std::string& table, const std::string& columns = "") {
    put({"d/a.png", "d/b.png", "d/sub/c.png", "d/sub/d.png"});
    return scan(dir_.put("labels.csv", table) + columns);
  }

  TempDir dir_;
  const Bytes png_ = encode_png(pattern_image(8, 6));
};

TEST_F(Labels, OfFileNames) {
  for (const auto& [path, name] : std::vector<std::pair<const char*, const char*>>{
           {"cat.0.jpg", "cat"},
           {"x/Abyssinian_1.jpg", "Abyssinian"},
           {"american_bulldog_12.jpg", "american_bulldog"},
           {"dog (3).jpg", "dog"},
           {"猫-7.png", "猫"},
           {"12.jpg", ""},
           {"cat.jpg", "cat"}}) {
    EXPECT_EQ(class_suggested_by(path), name) << path;
  }
  put({"d/cat.0.png", "d/Cat.1.png", "d/dog.1.png", "d/deep/dog.2.png", "d/17.png", "d/.x.png"});
  ImageFolder dataset = scan("names");
  EXPECT_THAT(dataset.classes, ElementsAre("Cat", "cat", "dog"));
  EXPECT_THAT(labelled(dataset),
              ElementsAre("Cat.1.png Cat", "cat.0.png cat", "deep/dog.2.png dog", "dog.1.png dog"));
  EXPECT_THAT(dataset.ignored, Contains(Pair("no class in the file name", 1)));
  EXPECT_THAT(dataset.ignored, Contains(Pair("hidden file", 1)));
  EXPECT_THAT(dataset.warnings,
              ElementsAre("images whose name begins with no class, left out: 1 of 5 (17.png)"));
}

TEST_F(Labels, OfFileNamesInSplits) {
  put({"d/train/cat.0.png", "d/train/dog.0.png", "d/val/dog.1.png", "d/test/cat.2.png"});
  ImageFolder dataset = scan("names");
  EXPECT_EQ(dataset.layout, Layout::Splits);
  EXPECT_THAT(labelled(dataset), ElementsAre("train/cat.0.png cat", "train/dog.0.png dog",
                                             "val/dog.1.png dog", "test/cat.2.png cat"));
  put({"d/val/bird.1.png"});
  EXPECT_ERROR(scan("names"), ErrorKind::Config, "training has no images of: bird");
}

TEST_F(Labels, TheSplitRuleIsThatOfTheSamePathsInClassFolders) {
  std::vector<std::string> paths;
  for (int i = 0; i < 60; ++i) {
    for (const char* name : {"cat", "dog"}) {
      paths.push_back("d/" + std::string(name) + "/" + name + std::to_string(i) + ".png");
    }
  }
  put(paths);
  ImageFolder folders = scan("", 0.25), names = scan("names", 0.25);
  EXPECT_TRUE(names.split_by_rule);
  EXPECT_GT(names.val.size(), 10U);
  EXPECT_EQ(labelled(folders), labelled(names));
}

TEST_F(Labels, ATableNamesFilesInManyWays) {
  // Names, paths from different folders, ids, an absolute path, backslashes.
  EXPECT_THAT(labelled(scan_table("file,label\na.png,cat\nb.png,dog\nc.png,cat\n"
                                  "d.png,\"\"\"big\"\", dog\"\n")),
              ElementsAre("a.png cat", "b.png dog", "sub/c.png cat", "sub/d.png \"big\", dog"));
  EXPECT_THAT(labelled(scan_table("id;breed\r\na;cat\r\nb;dog\r\nc;cat\r\nsub/d;cat\r\n")),
              ElementsAre("a.png cat", "b.png dog", "sub/c.png cat", "sub/d.png cat"));
  EXPECT_THAT(labelled(scan_table("\xEF\xBB\xBFPath\tClass\n./a.png\tcat\nd/b.png\tdog\n"
                                  "/some/where/d/sub/c.png\tcat\nsub\\d.png\tdog\n")),
              ElementsAre("a.png cat", "b.png dog", "sub/c.png cat", "sub/d.png dog"));
  // Two columns, of which one is known; columns by name; no header.
  EXPECT_EQ(scan_table("image,what\na.png,cat\nb.png,dog\n").train.size(), 2U);
  EXPECT_EQ(scan_table("x,image,y1,y2\n1,a.png,cat,c\n2,b.png,dog,c\n", ":image,y1").classes,
            (std::vector<std::string>{"cat", "dog"}));
  EXPECT_EQ(scan_table("a.png,cat\nb.png,dog\n").train.size(), 2U);
  EXPECT_EQ(scan_table("cat,1,a\ndog,2,b\n", ":3,1").train.size(), 2U);
}

TEST_F(Labels, TheRowWithMostOfThePathCounts) {
  put({"d/x/1.png", "d/y/1.png"});
  std::string table = dir_.put("t.csv", std::string("file,label\nx/1.png,cat\ny/1.png,dog\n"));
  EXPECT_THAT(labelled(scan(table)), ElementsAre("x/1.png cat", "y/1.png dog"));
  dir_.put("t.csv", std::string("file,label\n1.png,cat\n2.png,dog\n"));
  EXPECT_ERROR(scan(table), ErrorKind::Config,
               "that fit several images: 1 (1.png in line 2: x/1.png and y/1.png)");
}

TEST_F(Labels, SmallAndLargeMismatches) {
  std::string table = "file,label\n";
  for (int i = 0; i < 40; ++i) {
    put({"d/" + std::to_string(i) + ".png"});
    if (i != 7) table += fmt::format("{}.png,{}\n", i, i % 2 ? "cat" : "dog");
  }
  std::string path = dir_.put("d/t.csv", table + "absent.png,cat\n");
  ImageFolder dataset = scan(path);
  EXPECT_EQ(dataset.train.size(), 39U);
  EXPECT_THAT(dataset.warnings, IsEmpty());
  EXPECT_THAT(dataset.notes,
              Contains("images without a label in " + path + ", left out: 1 of 40 (7.png)"));
  EXPECT_THAT(dataset.notes, Contains("rows of " + path + " without an image in " + (dir_ / "d") +
                                      ": 1 of 40 (absent.png in line 41)"));
  // The table itself is not among what is ignored.
  EXPECT_THAT(dataset.ignored, ElementsAre(Pair("no label in " + path, 1)));
  for (int i = 100; i < 110; ++i) table += fmt::format("{}.png,cat\n", i);
  dir_.put("d/t.csv", table);
  EXPECT_THAT(scan(path).warnings, ElementsAre(HasSubstr("100.png in line 41, 101.png in line 42, "
                                                         "102.png in line 43 and 7 more")));
}

TEST_F(Labels, RowsWithoutALabelAndRepeatedRowsAreNone) {
  ImageFolder dataset = scan_table("file,label\na.png,cat\na.png,cat\nb.png,\nc.png,dog\nd.png\n");
  EXPECT_THAT(labelled(dataset), ElementsAre("a.png cat", "sub/c.png dog"));
  EXPECT_THAT(dataset.warnings, ElementsAre(HasSubstr("left out: 2 of 4 (b.png, sub/d.png)")));
}

TEST_F(Labels, TablesThatCannotBeUsed) {
  EXPECT_ERROR(scan_table("file,label\na.png,cat\na.png,dog\n"), ErrorKind::Config, "another label",
               "1 (a.png: cat in line 2, dog in line 3)", "pounce train");
  EXPECT_ERROR(scan_table("file,label\nx.png,cat\ny.png,dog\n"), ErrorKind::Config, "no image of",
               "(a.png, b.png, sub/c.png and 1 more) has a row in",
               "whose column file has x.png, y.png", "labels.csv:FILE,LABEL");
  EXPECT_ERROR(scan_table("name,kind,note\na.png,cat,x\n"), ErrorKind::Config,
               "which column names the file cannot be told", "its columns are: name, kind, note",
               "--labels", "labels.csv:FILE,LABEL");
  EXPECT_ERROR(scan_table("file,image_id,label\na.png,1,x\n"), ErrorKind::Config,
               "several might: file, image_id");
  EXPECT_ERROR(scan_table("file,class,label\na.png,1,x\n"), ErrorKind::Config,
               "which column has the label", "several might: class, label");
  EXPECT_ERROR(scan_table("a.png,1,cat\n"), ErrorKind::Config,
               "its columns are: 1 (a.png), 2 (1), 3 (cat)", "labels.csv:1,2");
  EXPECT_ERROR(scan_table("file,label\n", ":fil,label"), ErrorKind::Config,
               "has no column fil (did you mean file?)");
  EXPECT_ERROR(scan_table(""), ErrorKind::Config, "is empty");
  EXPECT_ERROR(scan("none.csv"), ErrorKind::Config, "--labels none.csv: there is no such file");
  EXPECT_ERROR(scan(dir_.path()), ErrorKind::Config, "a folder; a CSV file was expected");
}

TEST_F(Labels, OfAMetadataTable) {
  put({"d/a.png", "d/b.png", "d/more/c.png"});
  dir_.put("d/metadata.csv",
           std::string("file_name,id,label\na.png,1,cat\nb.png,2,dog\nmore/c.png,3,cat\n"));
  ImageFolder dataset = scan("");
  EXPECT_THAT(labelled(dataset), ElementsAre("a.png cat", "b.png dog", "more/c.png cat"));
  EXPECT_THAT(dataset.notes, ElementsAre("labels from " + (dir_ / "d/metadata.csv") +
                                         " (columns file_name and label)"));
  EXPECT_THAT(dataset.ignored, IsEmpty());
  // Folders that name classes go before it.
  put({"d/other/x.png"});
  dataset = scan("");
  EXPECT_THAT(dataset.classes, ElementsAre("more", "other"));
  EXPECT_THAT(dataset.notes, Contains(HasSubstr("metadata.csv is not used")));
}

TEST_F(Labels, OfMetadataTablesInSplits) {
  put({"d/train/1.png", "d/train/2.png", "d/validation/1.png"});
  dir_.put("d/train/metadata.csv", std::string("file_name,label\n1.png,cat\n2.png,dog\n"));
  dir_.put("d/validation/metadata.csv", std::string("file_name,label\n1.png,dog\n"));
  ImageFolder dataset = scan("");
  EXPECT_THAT(labelled(dataset),
              ElementsAre("train/1.png cat", "train/2.png dog", "validation/1.png dog"));
}

TEST_F(Labels, ATestFolderWithoutLabelsIsNotUsed) {
  put({"d/train/cat/1.png", "d/train/dog/2.png", "d/test/1.png"});
  ImageFolder dataset = scan("");
  EXPECT_THAT(dataset.test, IsEmpty());
  EXPECT_THAT(dataset.notes, ElementsAre(HasSubstr("pounce predict MODEL")));
  put({"d/train/1.png", "d/train/2.png"});
  std::string table = dir_.put("t.csv", std::string("id,label\ntrain/1,cat\ntrain/2,dog\n"));
  EXPECT_THAT(scan(table).test, IsEmpty());
}

TEST_F(Labels, EvaluationByTheModelsClasses) {
  put({"d/cat.0.png", "d/cat.1.png", "d/dog.1.png", "d/dog.2.png"});
  EvalScanOptions options;
  options.root = dir_ / "d";
  options.labels = "names";
  options.classes = {"ant", "cat", "dog"};
  EvalSet set = scan_for_eval(options);
  ASSERT_EQ(set.samples.size(), 4U);
  EXPECT_EQ(set.samples[0].label, 1);
  EXPECT_EQ(set.samples[3].label, 2);
  options.labels = "";
  options.program = "pounce eval runs/d-1";
  EXPECT_ERROR(scan_for_eval(options), ErrorKind::Config, "pounce eval runs/d-1", "--labels");
  put({"d/cow.1.png"});
  options.labels = "names";
  EXPECT_ERROR(scan_for_eval(options), ErrorKind::Config, "the class cow (cow.1.png) is unknown");
}

constexpr const char* kComposed = "caf\xC3\xA9";     // é
constexpr const char* kDecomposed = "cafe\xCC\x81";  // e and an accent, as macOS writes it

TEST_F(Labels, ClassNamesMatchInNfc) {
  put({"d/train/" + std::string(kDecomposed) + "/1.png", "d/train/bar/1.png",
       "d/val/" + std::string(kComposed) + "/2.png"});
  ImageFolder dataset = scan("");
  EXPECT_THAT(dataset.classes, ElementsAre("bar", kComposed));
  ASSERT_EQ(dataset.val.size(), 1U);
  EXPECT_EQ(dataset.val[0].label, 1);
  EXPECT_THAT(dataset.train[1].path, HasSubstr(kDecomposed));
  EvalScanOptions options;
  options.root = dir_ / "d";
  options.split = Split::All;
  options.classes = {"bar", kDecomposed};
  EXPECT_EQ(scan_for_eval(options).samples.size(), 3U);
}

TEST_F(Labels, TwoFoldersOfOneNameInNfcAreRefused) {
  put({"d/" + std::string(kDecomposed) + "/1.png", "d/" + std::string(kComposed) + "/2.png"});
  EXPECT_ERROR(scan(""), ErrorKind::Config, "two folders of the class", "cafe\\u0301",
               "caf\\u00E9");
}

}  // namespace
}  // namespace pounce
