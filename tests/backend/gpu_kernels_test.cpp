// The shared GPU kernels, executed: as plain C++ and by OpenCL on PoCL they agree with the
// reference over the op cases, leave the same bits on every run, and write nowhere else.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backend/host_dialect.h"
#include "backend/op_cases.h"
#include "backend/opencl/opencl_backend.h"
#include "backend/registry.h"
#include "backend/run_graph.h"

namespace pounce {
namespace {

bool has_f64(const Graph& graph) {
  for (int id = 0; id < graph.value_count(); ++id) {
    if (graph.type(Value{id}).dtype == DType::F64) return true;
  }
  return false;
}

void expect_close(const RunResult& found, const RunResult& expected, double tolerance) {
  for (const auto& [name, tensor] : expected.outputs) {
    if (is_floating(tensor.type.dtype)) {
      EXPECT_LE(relative_error(found.outputs.at(name), tensor), tolerance) << name;
    } else {
      EXPECT_EQ(found.outputs.at(name), tensor) << name;
    }
  }
}

void expect_agreement(Backend& backend) {
  std::unique_ptr<Backend> reference = make_backend("reference");
  int cases = 0;
  for (const OpCase& op_case : op_cases()) {
    for (bool in_place : {false, true}) {
      Graph graph = build_case(op_case, DType::F32, in_place);
      if (has_f64(graph)) continue;
      SCOPED_TRACE(op_case.name + (in_place ? " in place" : ""));
      Tensors inputs = case_inputs(op_case, DType::F32);
      expect_close(run_graph(backend, graph, inputs), run_graph(*reference, graph, inputs),
                   op_case.tolerance);
      ++cases;
    }
  }
  EXPECT_GT(cases, 600);
}

TEST(GpuKernels, AgreeWithTheReferenceOnOpenCl) {
  expect_agreement(*make_opencl_backend({}));
}

TEST(GpuKernels, AgreeWithTheReferenceAsPlainCpp) {
  expect_agreement(*make_host_dialect_backend());
}

// Groups run in any order on a device: the host dialect runs them backwards.
TEST(GpuKernels, LeaveTheSameBitsInAnyOrderOfGroups) {
  std::unique_ptr<Backend> forward = make_host_dialect_backend();
  std::unique_ptr<Backend> backward = make_host_dialect_backend(GroupOrder::Backward);
  for (const OpCase& op_case : op_cases()) {
    Graph graph = build_case(op_case, DType::F32);
    if (has_f64(graph)) continue;
    Tensors inputs = case_inputs(op_case, DType::F32);
    EXPECT_EQ(run_graph(*backward, graph, inputs).outputs,
              run_graph(*forward, graph, inputs).outputs)
        << op_case.name;
  }
}

}  // namespace
}  // namespace pounce
