// Offsets of variables, and the packing of buffers.
#include "plan/placement.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "expect_error.h"
#include "ir/text.h"
#include "plan/plan.h"

namespace pounce {
namespace {

TEST(VariableLayout, SharesNamesAndKeepsGradientsTogether) {
  Graph step = parse_graph(
      "%0:f32[4] = variable() {role=\"gradient\"} \"gradient.first\"\n"
      "%1:f32[4] = variable() {role=\"parameter\"} \"first\"\n"
      "%2:f32[20] = variable() {role=\"gradient\"} \"gradient.second\"\n"
      "%3:f32[20] = input() \"x\"\n"
      "%4:f32[20] = relu(%3)\n"
      "%5:f32[4] = relu(%1)\n"
      "store %0 <- %5\n"
      "store %2 <- %4\n");
  Graph other = parse_graph(
      "%0:f32[4] = variable() {role=\"parameter\"} \"first\"\n"
      "%1:i64[] = variable() {role=\"scalar\"} \"updates\"\n");
  VariableLayout layout = lay_out_variables({&step, &other});
  EXPECT_EQ(layout.placements.at("first").offset, 0u);
  EXPECT_EQ(layout.placements.at("updates").offset, 64u);
  // The second one is complete first.
  EXPECT_EQ(layout.gradients_offset, 128u);
  EXPECT_EQ(layout.placements.at("gradient.second").offset, 128u);
  EXPECT_EQ(layout.placements.at("gradient.first").offset, 256u);
  EXPECT_EQ(layout.gradients_bytes, 192u);
  EXPECT_EQ(layout.bytes, 320u);

  Graph wrong = parse_graph("%0:f32[5] = variable() {role=\"parameter\"} \"first\"\n");
  EXPECT_ERROR(lay_out_variables({&step, &wrong}), ErrorKind::InvalidArgument, "\"first\"",
               "f32[4]", "f32[5]");
}

TEST(Placement, KeepsBuffersAliveTogetherApart) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    RandomStream random(seed, RandomPurpose::Test, 3, 0);
    std::vector<PlannedBuffer> buffers;
    int nodes = 30;
    for (int i = 0; i < 40; ++i) {
      int first = int(random.below(uint32_t(nodes)));
      buffers.push_back(
          {64 * (1 + size_t(random.below(20))), {first, first + int(random.below(10))}});
    }
    size_t bytes = place_buffers(buffers);
    EXPECT_GE(bytes, find_peak(buffers, nodes + 10).bytes);
    for (size_t i = 0; i < buffers.size(); ++i) {
      const PlannedBuffer& a = buffers[i];
      EXPECT_LE(a.offset + a.bytes, bytes);
      for (size_t j = 0; j < i; ++j) {
        const PlannedBuffer& b = buffers[j];
        bool together = a.lifetime.first <= b.lifetime.last && b.lifetime.first <= a.lifetime.last;
        bool apart = a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset;
        ASSERT_TRUE(!together || apart) << "seed " << seed;
      }
    }
  }
  std::vector<PlannedBuffer> none;
  EXPECT_EQ(place_buffers(none), 0u);
}

}  // namespace
}  // namespace pounce
