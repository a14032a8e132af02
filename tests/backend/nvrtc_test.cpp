// NVIDIA's run-time compiler takes every program of the shared kernels, for every generation that
// Pounce serves. Needs no GPU: POUNCE_NVRTC names the library, e.g. of the package
// nvidia-cuda-nvrtc. Without it the test is skipped; with it, it never is.
#include <cstdlib>
#include <mutex>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backend/kernels/texts.h"
#include "backend/op_cases.h"
#include "base/parallel.h"
#include "base/shared_library.h"

namespace pounce {
namespace {

// What nvrtc.h declares.
using NvrtcProgram = struct _nvrtcProgram*;

class Nvrtc {
 public:
  explicit Nvrtc(const std::string& path) : library_(SharedLibrary::open(path).value()) {
    bool is_whole = library_.find("nvrtcCreateProgram", create_) &&
                    library_.find("nvrtcCompileProgram", compile_) &&
                    library_.find("nvrtcGetProgramLogSize", log_size_) &&
                    library_.find("nvrtcGetProgramLog", log_) &&
                    library_.find("nvrtcDestroyProgram", destroy_);
    if (!is_whole) throw std::runtime_error(path + " is not NVRTC");
  }

  // Empty when `text` compiles to machine code of `architecture`, else the compiler's words.
  std::string compile(const std::string& text, const char* architecture) const {
    NvrtcProgram program = nullptr;
    if (create_(&program, text.c_str(), "kernels.cu", 0, nullptr, nullptr) != 0) return "create";
    std::string target = fmt::format("--gpu-architecture={}", architecture);
    const char* options[] = {target.c_str(), "--fmad=false"};
    std::string words;
    if (compile_(program, 2, options) != 0) {
      size_t bytes = 0;
      log_size_(program, &bytes);
      words.resize(bytes);
      log_(program, words.data());
      if (words.empty()) words = "failed without a word";
    }
    destroy_(&program);
    return words;
  }

 private:
  SharedLibrary library_;
  int (*create_)(NvrtcProgram*, const char*, const char*, int, const char* const*,
                 const char* const*) = nullptr;
  int (*compile_)(NvrtcProgram, int, const char* const*) = nullptr;
  int (*log_size_)(NvrtcProgram, size_t*) = nullptr;
  int (*log_)(NvrtcProgram, char*) = nullptr;
  int (*destroy_)(NvrtcProgram*) = nullptr;
};

// Every text that the op cases in a floating type need.
std::set<std::string> module_texts(DType floating) {
  Target target;
  target.kind = DeviceKind::Cuda;
  std::set<std::string> texts;
  for (const OpCase& op_case : op_cases()) {
    if (floating != DType::F32 && !has_half_form(op_case)) continue;
    Graph graph = build_case(op_case, floating);
    for (const Node& node : graph.nodes()) {
      if (is_leaf(node.op)) continue;
      NodeContext context{graph, node, target};
      for (const kernels::Implementation& candidate : kernels::implementations(node.op)) {
        if (candidate.refuse != nullptr && candidate.refuse(context)) continue;
        for (const kernels::Launch& launch : candidate.launches(context)) {
          texts.insert(kernels::module_text(launch.program, launch.items, "cuda"));
        }
      }
    }
  }
  return texts;
}

class NvrtcTest : public testing::TestWithParam<const char*> {};

TEST_P(NvrtcTest, CompilesEveryProgram) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP()
      << "minutes of NVIDIA's code, which no sanitizer sees; the release build compiles all";
#endif
  const char* path = std::getenv("POUNCE_NVRTC");
  if (path == nullptr || *path == '\0') GTEST_SKIP() << "set POUNCE_NVRTC to libnvrtc.so";
  Nvrtc nvrtc(path);
  std::set<std::string> all;
  for (DType floating : {DType::F32, DType::F16, DType::BF16}) all.merge(module_texts(floating));
  std::vector<std::string> texts(all.begin(), all.end());
  ASSERT_GT(texts.size(), 50u);
  std::mutex failures;
  for_each_parallel(0, texts.size(), [&](size_t i) {
    std::string words = nvrtc.compile(texts[i], GetParam());
    if (words.empty()) return;
    std::lock_guard lock(failures);
    ADD_FAILURE() << texts[i].substr(0, 200) << "...\n" << words.substr(0, 2000);
  });
  RecordProperty("programs", int(texts.size()));
}

// Turing, Ampere (A100, GeForce), Ada, Hopper, Blackwell (B200, GeForce).
INSTANTIATE_TEST_SUITE_P(Architectures, NvrtcTest,
                         testing::Values("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100",
                                         "sm_120"),
                         [](const auto& row) { return std::string(row.param); });

}  // namespace
}  // namespace pounce
