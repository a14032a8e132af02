// Every form of folder that `pounce train` may be given, made here: the decision, exit code and
// every word on both streams.
#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/file.h"
#include "cli/process.h"

namespace pounce::cli {
namespace {

namespace fs = std::filesystem;

const std::string kComposed = "caf\xC3\xA9";     // "café" as Linux and Windows write it
const std::string kDecomposed = "cafe\xCC\x81";  // and as macOS does

// What stands between the lines about the data and the result.
const std::string kSettings =
    "device: cpu, 1 thread\n"
    "cnn, 8 px, random weights, 1 epoch, memory N planned\n"
    "batch 8, adamw, lr 0.000354, weight decay 0.05, warm-up 1, no augmentation, seed 0\n";

const std::string kClassFolders =
    "put the images of each class into a folder of its own: photos/cat/1.jpg, photos/dog/2.jpg";

// What is said of sets as small as these. `few`: "6 images to learn from, 3 of the smallest class
// (cat)"; `held_back`: validation images were chosen by rule.
std::string advice(const std::string& few, int val_images, bool held_back = true) {
  std::string text = "note: " + few +
                     ": expect a rough result; more photos help most, a hundred or more a class "
                     "are usual\n";
  const char* worth[] = {"", "100.0", "50.0", "33.3", "25.0"};
  if (val_images == 0) return text;
  text += "note: " + std::to_string(val_images) + (val_images == 1 ? " image" : " images") +
          " for validation: one image is worth " + worth[val_images] +
          " points of accuracy, so small differences mean little";
  return text + (held_back ? "; --val-fraction 0.3 holds more back\n" : "\n");
}

// Times and memory depend on the machine; what a network gets right after one epoch on six images
// depends on the network, and is not what is tested here.
std::string without_measures(std::string text) {
  text = std::regex_replace(text, std::regex("memory [0-9.]+ [KMG]B planned"), "memory N planned");
  text = std::regex_replace(text, std::regex("accuracy [0-9.]+%"), "accuracy N");
  return std::regex_replace(text, std::regex("done after [^:\n]+"), "done after N");
}

class FolderForms : public testing::Test {
 protected:
  // An 8-px picture of a 0 or a 1 at each path; a dog in the name makes it a 1.
  void put(const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
      const char* digit = path.find("dog") != std::string::npos ? "1" : "0";
      std::vector<fs::path> digits;
      for (const auto& entry :
           fs::directory_iterator(POUNCE_SOURCE_DIR "/samples/digits/" + std::string(digit))) {
        digits.push_back(entry.path());
      }
      std::sort(digits.begin(), digits.end());
      fs::create_directories(fs::path(work_.path(path)).parent_path());
      fs::copy_file(digits[pictures_++ % digits.size()], work_.path(path));
    }
  }

  // `n` pictures of each class, `folder`/cat/1.png and so on.
  void put_classes(const std::string& folder, int n) {
    for (const char* name : {"cat", "dog"}) {
      for (int i = 1; i <= n; ++i) {
        put({folder + "/" + name + "/" + std::to_string(i) + ".png"});
      }
    }
  }

  void write(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(work_.path(path)).parent_path());
    write_file(work_.path(path), text);
  }

  // One epoch of training in which nothing depends on the names of files.
  Outcome train(const std::vector<std::string>& more) const {
    std::vector<std::string> words = {"train"};
    words.insert(words.end(), more.begin(), more.end());
    for (const char* word :
         {"--model", "cnn", "--image-size", "8", "--epochs", "1", "--augment", "none", "--threads",
          "1", "--workers", "1", "--progress", "none", "--out", "out"}) {
      words.push_back(word);
    }
    fs::remove_all(work_.path("out"));
    Outcome outcome = run_pounce(words, work_.root());
    outcome.err = without_measures(outcome.err);
    return outcome;
  }

  // `lines`: about the data; `result`: what follows "best epoch 1, ".
  void expect_trained(const std::vector<std::string>& more, const std::string& lines,
                      const std::string& advised, const std::string& result) const {
    Outcome outcome = train(more);
    EXPECT_EQ(outcome.err,
              lines + kSettings + advised + "done after N: best epoch 1, " + result + "\n");
    EXPECT_EQ(outcome.out, "out/best.safetensors\n");
    EXPECT_EQ(outcome.exit_code, 0);
  }

  void expect_refused(const std::vector<std::string>& more, const std::string& error,
                      const std::string& hint) const {
    Outcome outcome = train(more);
    EXPECT_EQ(outcome.err, "pounce: error: " + error + "\nhint: " + hint + "\n");
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_FALSE(fs::exists(work_.path("out")));
  }

  TemporaryFolder work_;
  size_t pictures_ = 0;
};

TEST_F(FolderForms, SplitsUnderEachOfTheirNames) {
  put_classes("made/train", 3);
  put_classes("made/val", 1);
  for (const char* train : {"train", "training", "training_set", "Train"}) {
    for (const char* val : {"val", "valid", "validation", "eval", "VAL"}) {
      SCOPED_TRACE(std::string(train) + " " + val);
      fs::remove_all(work_.path("photos"));
      fs::create_directory(work_.path("photos"));
      fs::copy(work_.path("made/train"), work_.path("photos/") + train,
               fs::copy_options::recursive);
      fs::copy(work_.path("made/val"), work_.path("photos/") + val, fs::copy_options::recursive);
      expect_trained({"photos"},
                     "photos: 8 images, 2 classes (cat 4, dog 4)\n"
                     "6 images for training, 2 for validation\n",
                     advice("6 images to learn from, 3 of the smallest class (cat)", 2, false),
                     "validation accuracy N");
    }
  }
}

TEST_F(FolderForms, TheTestSplitIsMeasuredOnceAtTheEnd) {
  put_classes("photos/train", 3);
  put_classes("photos/val", 1);
  put_classes("photos/test", 2);
  for (const char* name : {"test", "test_set"}) {
    if (!fs::exists(work_.path("photos/") + name)) {
      fs::rename(work_.path("photos/test"), work_.path("photos/") + name);
    }
    expect_trained({"photos"},
                   "photos: 12 images, 2 classes (cat 6, dog 6)\n"
                   "6 images for training, 2 for validation, 4 for the test\n",
                   advice("6 images to learn from, 3 of the smallest class (cat)", 2, false),
                   "validation accuracy N, test accuracy N");
  }
}

TEST_F(FolderForms, TestImagesThatNobodyLabelled) {
  put_classes("photos/train", 3);
  put_classes("photos/val", 1);
  put({"photos/test/1.png"});
  expect_trained({"photos"},
                 "note: photos/test/ has no class folders and is not used; to classify its images: "
                 "pounce predict MODEL photos/test\n"
                 "photos: 8 images, 2 classes (cat 4, dog 4)\n"
                 "6 images for training, 2 for validation\n",
                 advice("6 images to learn from, 3 of the smallest class (cat)", 2, false),
                 "validation accuracy N");
}

TEST_F(FolderForms, SplitsAndClassesMixed) {
  put_classes("photos/train", 1);
  put_classes("photos/val", 1);
  put({"photos/bird/1.png", "photos/fish/1.png"});
  expect_refused({"photos"},
                 "photos mixes split folders (train/, val/) with what look like class folders "
                 "(bird, fish)",
                 "move the classes into a split: mv photos/bird photos/train/; or the splits away; "
                 "then: pounce train photos");
}

TEST_F(FolderForms, TwoFoldersForOneSplit) {
  put_classes("photos/train", 1);
  put_classes("photos/val", 1);
  put_classes("photos/valid", 1);
  expect_refused({"photos"}, "photos holds val/ and valid/, which name the same split",
                 "keep one of the two there, such as: mv photos/valid photos-valid; then: pounce "
                 "train photos");
}

TEST_F(FolderForms, ValidationWithoutTraining) {
  put_classes("photos/val", 1);
  expect_refused({"photos"}, "photos holds val/ but no train/",
                 "put training images into photos/train/; or, if these are they: pounce train "
                 "photos/val");
}

TEST_F(FolderForms, AClassThatOnlyValidationHas) {
  put_classes("photos/train", 1);
  put_classes("photos/val", 1);
  put({"photos/val/bird/1.png"});
  expect_refused({"photos"},
                 "photos/val/ holds a class that training has no images of: bird (training has "
                 "cat, dog)",
                 "put training images of it into photos/train/bird/, or take photos/val/bird/ out; "
                 "then: pounce train photos");
}

TEST_F(FolderForms, TrainingWithoutValidation) {
  put_classes("photos/train", 4);
  put_classes("photos/test", 1);
  expect_trained({"photos"},
                 "photos: 10 images, 2 classes (cat 5, dog 5)\n"
                 "no val folder: 3 images held back for validation\n",
                 advice("5 images to learn from, 2 of the smallest class (dog)", 3),
                 "validation accuracy N, test accuracy N");
}

TEST_F(FolderForms, ClassFoldersAlone) {
  put_classes("photos", 6);
  expect_trained({"photos"},
                 "photos: 12 images, 2 classes (cat 6, dog 6)\n"
                 "no val folder: 3 images held back for validation\n",
                 advice("9 images to learn from, 4 of the smallest class (dog)", 3),
                 "validation accuracy N");
  Outcome eval = run_pounce({"eval", "out", "-q"}, work_.root());
  EXPECT_EQ(eval.exit_code, 0) << eval.err;
  EXPECT_NE(eval.out.find(" of 3 images)"), std::string::npos) << eval.out;
}

TEST_F(FolderForms, NoValidationOnRequest) {
  put_classes("photos", 2);
  Outcome outcome = train({"photos", "--val-fraction", "0"});
  EXPECT_EQ(outcome.err,
            "photos: 4 images, 2 classes (cat 2, dog 2)\n"
            "4 images for training, none for validation: the last model is the best\n" +
                kSettings + advice("4 images to learn from, 2 of the smallest class (cat)", 0) +
                "done after N\n");
  EXPECT_EQ(outcome.exit_code, 0);
}

TEST_F(FolderForms, AWrapper) {
  put_classes("photos/Pets/all", 3);
  expect_trained({"photos"},
                 "note: photos holds only the folder Pets: using that\n"
                 "note: photos/Pets holds only the folder all: using that\n"
                 "photos: 6 images, 2 classes (cat 3, dog 3)\n"
                 "no val folder: 2 images held back for validation\n",
                 advice("4 images to learn from, 2 of the smallest class (cat)", 2),
                 "validation accuracy N");
}

TEST_F(FolderForms, NestedFoldersOfAClass) {
  put({"photos/cat/1.png", "photos/cat/2020/may/2.png", "photos/cat/2021/3.png",
       "photos/dog/2020/1.png", "photos/dog/2021/2.png"});
  expect_trained({"photos"},
                 "photos: 5 images, 2 classes (cat 3, dog 2)\n"
                 "no val folder: 2 images held back for validation\n",
                 advice("3 images to learn from, 1 of the smallest class (dog)", 2),
                 "validation accuracy N");
}

TEST_F(FolderForms, FlatWithNamesLikeKaggles) {
  put({"photos/cat.0.png", "photos/cat.1.png", "photos/cat.2.png", "photos/dog.0.png",
       "photos/dog.1.png"});
  expect_refused(
      {"photos"},
      "photos holds 5 images without class folders (their names suggest 2 classes: cat "
      "3, dog 2); which class an image has cannot be known",
      "if the names are right: pounce train photos --labels names; else " + kClassFolders);
  expect_trained({"photos", "--labels", "names"},
                 "photos: 5 images, 2 classes (cat 3, dog 2)\n"
                 "no val folder: 2 images held back for validation\n",
                 advice("3 images to learn from, 1 of the smallest class (dog)", 2),
                 "validation accuracy N");
  // A run's own labels serve its evaluation.
  Outcome eval = run_pounce({"eval", "out", "-q"}, work_.root());
  EXPECT_EQ(eval.exit_code, 0) << eval.err;
  Outcome given = run_pounce({"eval", "out", "photos", "--labels", "names", "-q"}, work_.root());
  EXPECT_EQ(given.out, eval.out);
  Outcome without = run_pounce({"eval", "out", "photos"}, work_.root());
  EXPECT_EQ(without.exit_code, 2);
  EXPECT_NE(without.err.find("hint: if the names are right: pounce eval out photos --labels names"),
            std::string::npos)
      << without.err;
}

TEST_F(FolderForms, FlatWithNamesLikeThePets) {
  put({"photos/Abyssinian_1.png", "photos/Abyssinian_2.png", "photos/bulldog_1.png",
       "photos/bulldog_20.png"});
  expect_refused(
      {"photos"},
      "photos holds 4 images without class folders (their names suggest 2 classes: "
      "Abyssinian 2, bulldog 2); which class an image has cannot be known",
      "if the names are right: pounce train photos --labels names; else " + kClassFolders);
  expect_trained({"photos", "--labels", "names"},
                 "photos: 4 images, 2 classes (Abyssinian 2, bulldog 2)\n"
                 "no val folder: 2 images held back for validation\n",
                 advice("2 images to learn from, 1 of the smallest class (Abyssinian)", 2),
                 "validation accuracy N");
}

TEST_F(FolderForms, FlatWithNamesThatSayNothing) {
  put({"photos/1.png", "photos/2.png"});
  expect_refused({"photos"},
                 "photos holds 2 images without class folders; which class an image has cannot be "
                 "known",
                 kClassFolders + "; then: pounce train photos");
  expect_refused({"photos", "--labels", "names"},
                 "no file name of photos begins with a class: 1.png, 2.png",
                 "name them like cat.0.jpg or cat_1.jpg, or give a table: pounce train photos "
                 "--labels FILE.csv");
}

TEST_F(FolderForms, FlatSplits) {
  put({"photos/train/cat.0.png", "photos/train/cat.1.png", "photos/train/dog.0.png",
       "photos/train/dog.1.png", "photos/val/cat.2.png", "photos/val/dog.2.png"});
  expect_refused({"photos"},
                 "photos/train holds 4 images without class folders (their names suggest 2 "
                 "classes: cat 2, dog 2); which class an image has cannot be known",
                 "if the names are right: pounce train photos --labels names; else put the images "
                 "of each class into a folder of its own: photos/train/cat/1.jpg, "
                 "photos/train/dog/2.jpg");
  expect_trained({"photos", "--labels", "names"},
                 "photos: 6 images, 2 classes (cat 3, dog 3)\n"
                 "4 images for training, 2 for validation\n",
                 advice("4 images to learn from, 2 of the smallest class (cat)", 2, false),
                 "validation accuracy N");
}

TEST_F(FolderForms, FlatWithATableInsideOrBeside) {
  put({"photos/a.png", "photos/b-dog.png", "photos/c.png", "photos/d-dog.png"});
  const std::string table = "id;breed\r\na;cat\r\nb-dog;dog\r\nc;cat\r\nd-dog;dog\r\n";
  for (const char* place : {"photos/labels.csv", "labels.csv"}) {
    SCOPED_TRACE(place);
    write(place, table);
    expect_refused({"photos"},
                   "photos holds 4 images without class folders; which class an image has cannot "
                   "be known",
                   std::string("if ") + place + " has the labels: pounce train photos --labels " +
                       place + "; else " + kClassFolders);
    expect_trained({"photos", "--labels", place},
                   "photos: 4 images, 2 classes (cat 2, dog 2)\n"
                   "no val folder: 2 images held back for validation\n",
                   advice("2 images to learn from, 1 of the smallest class (cat)", 2),
                   "validation accuracy N");
    fs::remove(work_.path(place));
  }
  EXPECT_EQ(run_pounce({"eval", "out"}, work_.root()).exit_code, 2);  // the table is gone
}

TEST_F(FolderForms, ATableThatFitsOnlyPartly) {
  put({"photos/a.png", "photos/b-dog.png", "photos/c.png", "photos/d-dog.png", "photos/e.png"});
  write("t.csv", "file,label\na.png,cat\nb-dog.png,dog\nc.png,cat\nd-dog.png,dog\nx.png,cat\n");
  expect_trained({"photos", "--labels", "t.csv"},
                 "warning: images without a label in t.csv, left out: 1 of 5 (e.png)\n"
                 "warning: rows of t.csv without an image in photos: 1 of 5 (x.png in line 6)\n"
                 "photos: 4 images, 2 classes (cat 2, dog 2)\n"
                 "no val folder: 2 images held back for validation\n",
                 advice("2 images to learn from, 1 of the smallest class (cat)", 2),
                 "validation accuracy N");
}

TEST_F(FolderForms, TablesThatCannotBeUsed) {
  put({"photos/a.png", "photos/b.png"});
  write("t.csv", "file,breed,class\na.png,cat,1\nb.png,dog,1\n");
  expect_refused({"photos", "--labels", "t.csv"},
                 "t.csv: which column has the label cannot be told (several might: breed, class); "
                 "its columns are: file, breed, class",
                 "name the two: pounce train photos --labels t.csv:FILE,LABEL");
  write("t.csv", "file,label\nx.png,cat\ny.png,dog\n");
  expect_refused({"photos", "--labels", "t.csv"},
                 "no image of photos (a.png, b.png) has a row in t.csv, whose column file has "
                 "x.png, y.png",
                 "is it the table of this folder? Where another column names the files (file, "
                 "label): pounce train photos --labels t.csv:FILE,LABEL");
  write("t.csv", "file,label\na.png,cat\nb.png,dog\na.png,dog\n");
  expect_refused({"photos", "--labels", "t.csv"},
                 "rows of t.csv that give a file another label than an earlier row: 1 (a.png: cat "
                 "in line 2, dog in line 4)",
                 "keep one label for each file, then: pounce train photos");
  expect_refused({"photos", "--labels", "none.csv"},
                 "--labels none.csv: there is no such file; a CSV file was expected",
                 "give a table with a column of files and one of labels, or names: pounce train "
                 "photos --labels names");
}

TEST_F(FolderForms, AMetadataTableIsFoundByItself) {
  put({"photos/a.png", "photos/b-dog.png", "photos/more/c.png", "photos/d-dog.png"});
  write("photos/metadata.csv",
        "file_name,label\na.png,cat\nb-dog.png,dog\nmore/c.png,cat\nd-dog.png,dog\n");
  expect_trained({"photos"},
                 "note: labels from photos/metadata.csv (columns file_name and label)\n"
                 "photos: 4 images, 2 classes (cat 2, dog 2)\n"
                 "no val folder: 2 images held back for validation\n",
                 advice("2 images to learn from, 1 of the smallest class (cat)", 2),
                 "validation accuracy N");
  EXPECT_EQ(run_pounce({"eval", "out"}, work_.root()).exit_code, 0);
}

TEST_F(FolderForms, Archives) {
  write("my pets.zip", "x");
  expect_refused({"my pets.zip"}, "my pets.zip is an archive; a folder of images was expected",
                 "unpack it first: unzip 'my pets.zip' -d images; then: pounce train images");
  write("photos/pets.tar.gz", "x");
  expect_refused({"photos"}, "photos holds no images, but the archive pets.tar.gz",
                 "unpack it first: mkdir images && tar -xf photos/pets.tar.gz -C images; then: "
                 "pounce train images");
}

TEST_F(FolderForms, OneClass) {
  put({"photos/cat/1.png", "photos/cat/2.png"});
  expect_refused({"photos"}, "1 class (cat); a classifier needs 2 or more",
                 "put images of another class into a folder beside photos/cat/; then: pounce train "
                 "photos");
  fs::create_directory(work_.path("photos/dog"));
  expect_refused({"photos"},
                 "1 class (cat); a classifier needs 2 or more; without usable images: dog",
                 "put images of another class into a folder beside photos/cat/; then: pounce train "
                 "photos");
}

TEST_F(FolderForms, OneFolderWhoseNamesSuggestClasses) {
  put({"photos/all/cat_1.png", "photos/all/cat_2.png", "photos/all/dog_1.png",
       "photos/all/dog_2.png"});
  expect_refused({"photos"},
                 "1 class (all); a classifier needs 2 or more (the file names suggest 2: cat 2, "
                 "dog 2)",
                 "pounce train photos --labels names");
}

TEST_F(FolderForms, WhatIsIgnoredIsCounted) {
  put_classes("photos", 3);
  put({"photos/runs/photos-1/1.png", "photos/.git/1.png", "photos/cat/.1.png", "photos/top.png"});
  write("photos/cat/Thumbs.db", "x");
  write("photos/dog/__MACOSX/1.png", "x");
  write("photos/dog/notes.txt", "x");
  write("photos/readme.md", "x");
  expect_trained({"photos"},
                 "note: 1 image lies beside the class folders and is left out; move it into one\n"
                 "note: ignored: hidden file (1), hidden folder (1), not an image (2), runs folder "
                 "(1), system file (1), system folder (1)\n"
                 "photos: 6 images, 2 classes (cat 3, dog 3)\n"
                 "no val folder: 2 images held back for validation\n",
                 advice("4 images to learn from, 2 of the smallest class (cat)", 2),
                 "validation accuracy N");
}

TEST_F(FolderForms, LinksAreFollowedAndCyclesEnd) {
  put({"photos/cat/1.png", "photos/cat/2.png", "elsewhere/dog1.png", "elsewhere/dog2.png"});
  fs::create_directory(work_.path("photos/dog"));
  fs::create_directory_symlink("../../elsewhere", work_.path("photos/dog/more"));
  fs::create_directory_symlink("..", work_.path("photos/dog/loop"));
  fs::create_symlink("../cat/1.png", work_.path("photos/cat/again.png"));
  expect_trained({"photos"},
                 "photos: 5 images, 2 classes (cat 3, dog 2)\n"
                 "no val folder: 2 images held back for validation\n",
                 advice("3 images to learn from, 1 of the smallest class (dog)", 2),
                 "validation accuracy N");
}

TEST_F(FolderForms, ClassNamesMatchInNfc) {
  put({"photos/train/" + kDecomposed + "/1.png", "photos/train/" + kDecomposed + "/2.png",
       "photos/train/dog/1.png", "photos/train/dog/2.png", "photos/val/" + kComposed + "/3.png",
       "photos/val/dog/3.png"});
  expect_trained(
      {"photos"},
      "photos: 6 images, 2 classes (" + kComposed + " 3, dog 3)\n" +
          "4 images for training, 2 for validation\n",
      advice("4 images to learn from, 2 of the smallest class (" + kComposed + ")", 2, false),
      "validation accuracy N");
  put({"mac/" + kDecomposed + "/1.png", "mac/dog/1.png"});
  Outcome eval = run_pounce({"eval", "out", "mac", "-q"}, work_.root());
  EXPECT_EQ(eval.exit_code, 0) << eval.err;
  EXPECT_NE(eval.out.find(kComposed), std::string::npos);
}

TEST_F(FolderForms, TwoFoldersOfOneNameInNfc) {
  put({"photos/" + kDecomposed + "/1.png", "photos/" + kComposed + "/1.png"});
  expect_refused({"photos"},
                 "photos holds two folders of the class " + kComposed + ": " + kDecomposed +
                     "/ and " + kComposed + "/ (spelled cafe\\u0301 and caf\\u00E9)",
                 "join them: mv photos/$'cafe\\u0301'/* photos/$'caf\\u00E9'/ && rmdir "
                 "photos/$'cafe\\u0301'; then: pounce train photos");
}

TEST_F(FolderForms, NothingThere) {
  fs::create_directory(work_.path("photos"));
  expect_refused({"photos"}, "photos holds no class folders and no images: it is empty",
                 kClassFolders + "; then: pounce train photos");
  expect_refused({"photo"}, "photo does not exist; a folder of images was expected",
                 "did you mean photos? pounce train photos");
  expect_refused({"some/where"}, "some/where does not exist; a folder of images was expected",
                 "see what is there: ls .");
  put({"photos/cat/1.png"});
  expect_refused({"photos/cat/1.png"},
                 "photos/cat/1.png is a file; a folder of images was expected",
                 "name the folder: pounce train photos/cat");
}

}  // namespace
}  // namespace pounce::cli
