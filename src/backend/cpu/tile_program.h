// A program of elementwise ops (ir/program.h) over tiles that stay in the nearest caches while all
// its steps run: memory is read and written once. The loops are those of separate nodes, so are the
// bits.
#pragma once

#include <vector>

#include "backend/composed.h"
#include "backend/cpu/elementwise.h"
#include "ir/broadcast.h"

namespace pounce::cpu {

class TileProgram {
 public:
  // Elements: some such tiles fit into the second cache, and their start costs little.
  static constexpr int64_t kTile = 4096;

  // Of a node with a program; f32 only.
  explicit TileProgram(const NodeContext& context);

  // Scratch of one thread.
  size_t scratch_bytes() const { return size_t(slots_) * size_t(kTile) * sizeof(float); }

  // Computes the elements [first, end) of the result. Operands and result are whole tensors; the
  // result may lie over an operand as large as it. `scratch` belongs to the calling thread.
  void run(const ProgramOperands& operands, float* result, int64_t first, int64_t end,
           float* scratch) const;

 private:
  // Where a step finds an operand or leaves its result.
  struct Place {
    enum class Kind : uint8_t { Operand, Slot, Result };
    Kind kind;
    int index;
  };
  struct Step {
    ElementwiseLoop loop;
    Place a, b, y;
  };
  // An operand smaller than the result, written out tile by tile.
  struct Repeated {
    int operand, slot;
    StridedWalk walk;
  };

  static bool may_use_result(int step, const std::vector<Place>& places,
                             const std::vector<int>& last);

  std::vector<Step> steps_;
  std::vector<Repeated> repeated_;
  int slots_ = 0;  // tiles of scratch
};

}  // namespace pounce::cpu
