// Training on an OpenCL device by the built program. The tests run on PoCL, which takes its number
// of threads from the environment.
#include <cstdlib>

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

}  // namespace
}  // namespace pounce::cli
