// What a user is told before a training starts.
#include "train/advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pounce {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct ClassImages {
  std::string name;
  int64_t train = 0, val = 0;
};

ImageFolder folder_of(const std::vector<ClassImages>& classes) {
  ImageFolder folder;
  folder.split_by_rule = true;
  folder.val_fraction = 0.2;
  for (const ClassImages& one : classes) {
    folder.classes.push_back(one.name);
    folder.class_counts.push_back({.train = one.train, .val = one.val});
    for (int64_t i = 0; i < one.train; ++i) folder.train.push_back({});
    for (int64_t i = 0; i < one.val; ++i) folder.val.push_back({});
  }
  return folder;
}

// With a complete configuration and no image mirrored.
TrainConfig plain_config() {
  TrainConfig config;
  config.model = "cnn";
  config.hflip = 0;
  return config;
}

TEST(Advice, ALargeEvenSetNeedsNone) {
  Advice advice = advise(plain_config(), folder_of({{"cat", 900, 100}, {"dog", 800, 100}}));
  EXPECT_THAT(advice.warnings, IsEmpty());
  EXPECT_THAT(advice.notes, IsEmpty());
}

TEST(Advice, LongPicturesAndTheirCentre) {
  auto folder = [](int32_t width, int32_t height) {
    ImageFolder data = folder_of({{"cat", 900, 100}, {"dog", 800, 100}});
    SampleList pictures;
    for (size_t i = 0; i < data.train.size(); ++i) {
      bool is_long = 2 * i >= data.train.size();
      pictures.push_back({.path = "",
                          .label = 0,
                          .id = i,
                          .width = is_long ? width : 100,
                          .height = is_long ? height : 100});
    }
    data.train = pictures;
    return data;
  };
  EXPECT_THAT(advise(plain_config(), folder(300, 200)).warnings, IsEmpty());
  for (ImageFolder data : {folder(1920, 1080), folder(1080, 1920)}) {
    EXPECT_THAT(advise(plain_config(), data).warnings,
                ElementsAre(AllOf(HasSubstr("1.8 times as long"), HasSubstr("--fit letterbox"))));
    TrainConfig letterbox = plain_config();
    letterbox.fit = Fit::Letterbox;
    EXPECT_THAT(advise(letterbox, data).warnings, IsEmpty());
  }
}

TEST(Advice, ImbalanceIsAWarningFromTenToOneOn) {
  ImageFolder even = folder_of({{"cat", 1000, 100}, {"dog", 100, 100}});
  EXPECT_FALSE(is_imbalanced(even));
  EXPECT_THAT(advise(plain_config(), even).warnings, IsEmpty());

  ImageFolder uneven = folder_of({{"cat", 5000, 100}, {"dog", 100, 100}});
  EXPECT_TRUE(is_imbalanced(uneven));
  EXPECT_THAT(advise(plain_config(), uneven).warnings,
              ElementsAre(AllOf(HasSubstr("differ 50:1 (cat 5,000, dog 100)"),
                                HasSubstr("--class-weights balanced"))));

  TrainConfig weighted = plain_config();
  weighted.class_weights = ClassWeights::Balanced;
  EXPECT_THAT(advise(weighted, uneven).warnings,
              ElementsAre(testing::Not(HasSubstr("--class-weights"))));
}

TEST(Advice, SmallSetsAreNamed) {
  Advice advice = advise(plain_config(), folder_of({{"cat", 10, 2}, {"dog", 6, 2}}));
  EXPECT_THAT(advice.notes,
              ElementsAre(AllOf(HasSubstr("16 images to learn from"),
                                HasSubstr("6 of the smallest class (dog)")),
                          AllOf(HasSubstr("4 images for validation"), HasSubstr("25.0 points"),
                                HasSubstr("--val-fraction 0.3"))));
  ImageFolder half = folder_of({{"cat", 500, 10}, {"dog", 500, 10}});
  half.val_fraction = 0.5;
  EXPECT_THAT(advise(plain_config(), half).notes,
              ElementsAre(AllOf(HasSubstr("20 images"), testing::Not(HasSubstr("--val")))));
  // A validation folder has no fraction.
  ImageFolder split = folder_of({{"cat", 500, 10}, {"dog", 500, 10}});
  split.split_by_rule = false;
  EXPECT_THAT(advise(plain_config(), split).notes,
              ElementsAre(AllOf(HasSubstr("20 images"), testing::Not(HasSubstr("--val")))));
}

TEST(Advice, RandomWeightsOnFewImagesProposePretrainedOnes) {
  TrainConfig config = plain_config();
  config.model = "resnet34";
  ImageFolder few = folder_of({{"cat", 900, 100}, {"dog", 696, 100}});
  EXPECT_THAT(advise(config, few).notes,
              ElementsAre(AllOf(HasSubstr("random weights on 1,596 images"),
                                HasSubstr("docs/pretrained.md"),
                                HasSubstr("--init resnet34.safetensors"))));
  ImageFolder many = folder_of({{"cat", 10000, 100}, {"dog", 10000, 100}});
  EXPECT_THAT(advise(config, many).notes, IsEmpty());
}

// The names that warn, with mirrored images.
bool warns(const std::vector<std::string>& names) {
  TrainConfig config = plain_config();
  config.hflip = 0.5;
  std::vector<ClassImages> classes;
  for (const std::string& name : names) classes.push_back({name, 500, 100});
  Advice advice = advise(config, folder_of(classes));
  for (const std::string& warning : advice.warnings) {
    EXPECT_THAT(warning, HasSubstr("use --hflip 0"));
  }
  return !advice.warnings.empty();
}

TEST(Advice, NamesThatDifferBySideWarn) {
  EXPECT_TRUE(warns({"left", "right"}));
  EXPECT_TRUE(warns({"ahead", "turn_Left", "turn_right"}));
  EXPECT_TRUE(warns({"arrow-left", "arrow_right", "stop"}));
  EXPECT_TRUE(warns({"leftHand", "rightHand"}));
  EXPECT_TRUE(warns({"左转", "右转"}));
  EXPECT_TRUE(warns({"hand_l", "hand_r"}));
  EXPECT_TRUE(warns({"links", "rechts"}));
  EXPECT_FALSE(warns({"left", "centre"}));
  EXPECT_FALSE(warns({"left_eye", "right_ear"}));
  EXPECT_FALSE(warns({"bright", "light"}));
  EXPECT_FALSE(warns({"cat", "dog"}));
  EXPECT_FALSE(warns({"k", "l", "q", "r"}));  // letters
}

TEST(Advice, SidesDoNotMatterUnmirrored) {
  EXPECT_THAT(advise(plain_config(), folder_of({{"left", 500, 100}, {"right", 500, 100}})).warnings,
              IsEmpty());
}

TEST(Advice, DigitsAndLettersAreNoted) {
  TrainConfig config = plain_config();
  config.hflip = 0.5;
  auto notes = [&](const char* first, const char* second) {
    return advise(config, folder_of({{first, 500, 100}, {second, 500, 100}})).notes;
  };
  EXPECT_THAT(notes("0", "7"), ElementsAre(HasSubstr("use --hflip 0")));
  EXPECT_THAT(notes("A", "b"), ElementsAre(HasSubstr("use --hflip 0")));
  EXPECT_THAT(notes("あ", "い"), ElementsAre(HasSubstr("use --hflip 0")));
  EXPECT_THAT(notes("One", "two"), ElementsAre(HasSubstr("use --hflip 0")));
  EXPECT_THAT(notes("3", "12"), IsEmpty());
  EXPECT_THAT(notes("a", "cat"), IsEmpty());
  EXPECT_THAT(notes("猫", "狗"), IsEmpty());  // words
}

TEST(TimeEstimate, SaysWhatASmallerImageWouldBring) {
  MeasuredSpeed speed{
      .images_per_second = 10, .train_images = 24000, .image_size = 224, .is_cpu = true};
  EXPECT_EQ(time_estimate(speed),
            "about 40 min left at 10 img/s; --image-size 160 would need about 20 min");
  speed.val_images = 24000;  // an image costs less than half without its backward pass
  EXPECT_EQ(time_estimate(speed),
            "about 54 min left at 10 img/s; --image-size 160 would need about 28 min");
  speed.val_images = 0;
  speed.image_size = 128;
  EXPECT_EQ(time_estimate(speed),
            "about 40 min left at 10 img/s; --image-size 96 would need about 23 min");
  speed.image_size = 96;  // 64 would mean another model
  EXPECT_EQ(time_estimate(speed), "about 40 min left at 10 img/s");
  speed.is_cpu = false;
  EXPECT_EQ(time_estimate(speed), "about 40 min left at 10 img/s");
  speed.is_cpu = true;
  speed.data_wait_fraction = 0.9;  // smaller images would not help the decoder
  EXPECT_EQ(time_estimate(speed), "about 40 min left at 10 img/s");
  speed.train_images = 500;
  EXPECT_EQ(time_estimate(speed), "");
}

}  // namespace
}  // namespace pounce
