// Training on an OpenCL device by the built program. The tests run on PoCL, which takes its number
// of threads from the environment.
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>

#include <gmock/gmock.h>

#include "cli/process.h"

namespace pounce::cli {
namespace {

std::string file_content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The model of one epoch of the digits.
std::string train(const TemporaryFolder& work, const std::string& precision, const char* threads) {
  setenv("POCL_MAX_PTHREAD_COUNT", threads, 1);
  std::string out = work.path("run-" + precision + "-" + threads);
  Process process(
      {"train", POUNCE_SOURCE_DIR "/samples/digits", "--model", "cnn", "--image-size", "16",
       "--epochs", "1", "--device", "opencl", "--precision", precision, "--out", out},
      work.root());
  unsetenv("POCL_MAX_PTHREAD_COUNT");
  Outcome outcome = process.finish();
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out + outcome.err, testing::HasSubstr("device: opencl:0"));
  return file_content(out + "/best.safetensors");
}

TEST(OpenCl, GivesTheSameModelForAnyNumberOfThreads) {
  TemporaryFolder work;
  for (const char* precision : {"fp32", "bf16"}) {
    std::string one = train(work, precision, "1");
    EXPECT_FALSE(one.empty());
    EXPECT_TRUE(one == train(work, precision, "2")) << precision;
  }
}

// Mean loss of each epoch.
std::vector<double> losses(const std::string& metrics) {
  std::istringstream lines(metrics);
  std::string line, epoch, update, loss;
  std::vector<double> result;
  std::getline(lines, line);  // names of the columns
  while (std::getline(lines, line)) {
    std::istringstream fields(line);
    std::getline(fields, epoch, ',');
    std::getline(fields, update, ',');
    std::getline(fields, loss, ',');
    result.push_back(std::stod(loss));
  }
  return result;
}

TEST(OpenCl, TrainsResNet18InHalfPrecision) {
  TemporaryFolder work;
  for (const std::string digit : {"0", "1"}) {
    std::filesystem::path from = POUNCE_SOURCE_DIR "/samples/digits/" + digit;
    std::filesystem::path to = work.path("few/train/" + digit);
    std::filesystem::create_directories(to);
    std::set<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(from)) files.insert(entry.path());
    auto end = std::next(files.begin(), 8);
    for (auto file = files.begin(); file != end; ++file) {
      std::filesystem::copy_file(*file, to / file->filename());
    }
  }
  for (const std::string precision : {"auto", "bf16", "fp16"}) {
    std::string out = work.path("few-" + precision);
    std::string epochs =
        precision == "auto" ? "1" : "8";  // fp16 skips the first while its scale settles
    std::string words =
        "--model resnet18 --image-size 32 --batch-size 16 --optimizer sgd --lr 0.02 "
        "--warmup-epochs 0 --augment none --val-fraction 0 --device opencl";
    std::vector<std::string> all = {"train",       work.path("few"), "--epochs", epochs,
                                    "--precision", precision,        "--out",    out};
    std::istringstream more(words);
    all.insert(all.end(), std::istream_iterator<std::string>(more), {});
    Process process(all, work.root());
    Outcome outcome = process.finish();
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    std::string printed = outcome.out + outcome.err;
    if (precision == "auto") {
      EXPECT_THAT(printed, testing::HasSubstr("to try it: --precision bf16 or fp16"));
      continue;
    }
    EXPECT_THAT(printed, testing::HasSubstr("32 px, " + precision));
    std::vector<double> curve = losses(file_content(out + "/metrics.csv"));
    ASSERT_EQ(curve.size(), 8U);
    EXPECT_LT(curve.back(), 0.5 * curve.front()) << precision;
  }
}

}  // namespace
}  // namespace pounce::cli
