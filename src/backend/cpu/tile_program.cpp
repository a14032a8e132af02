#include "backend/cpu/tile_program.h"

#include <algorithm>

namespace pounce::cpu {
namespace {

// Steps after which a number (operand or step result) is read no more; by number.
std::vector<int> find_last_uses(const ElementwiseProgram& program) {
  std::vector<int> last(size_t(program.operands) + program.steps.size(), -1);
  for (int i = 0; i < int(program.steps.size()); ++i) {
    last[size_t(program.steps[size_t(i)].a)] = i;
    last[size_t(program.steps[size_t(i)].b)] = i;
  }
  return last;
}

// Elements [first, first + count) of what the walk makes of `from`.
void write_repeated(const StridedWalk& walk, const float* from, int64_t first, int64_t count,
                    float* to) {
  for (int64_t i = first; i < first + count;) {
    int64_t column = i % walk.inner();
    int64_t run = std::min(walk.inner() - column, first + count - i);
    const float* row = from + walk.row_offsets(i / walk.inner()).a + column * walk.inner_a();
    if (walk.inner_a() == 0) {
      std::fill_n(to, run, *row);
    } else {
      std::copy_n(row, run, to);
    }
    i += run, to += run;
  }
}

}  // namespace

// Values between lie in the result's own place where they can, which costs no further memory: not
// before an operand that the result may lie over was read, nor over another value that waits there.
bool TileProgram::may_use_result(int step, const std::vector<Place>& places,
                                 const std::vector<int>& last) {
  for (size_t number = 0; number < places.size(); ++number) {
    bool waits = last[number] > step;
    if (waits && places[number].kind != Place::Kind::Slot) return false;
  }
  return true;
}

TileProgram::TileProgram(const NodeContext& context) {
  const ElementwiseProgram program = program_of(context.node);
  const Shape& shape = context.output(0).shape;
  std::vector<int> last = find_last_uses(program);
  std::vector<Place> places;
  for (Value operand : program_operands(context.node)) {
    const Shape& own = context.graph.shape(operand);
    int number = int(places.size());
    if (own.elements() == shape.elements()) {
      places.push_back({Place::Kind::Operand, number});
    } else {
      repeated_.push_back({number, slots_, broadcast_walk(shape, own, own)});
      places.push_back({Place::Kind::Slot, slots_++});
    }
  }
  std::vector<int> free_slots;
  for (int i = 0; i < int(program.steps.size()); ++i) {
    const ProgramStep& step = program.steps[size_t(i)];
    Place a = places[size_t(step.a)], b = places[size_t(step.b)];
    // A slot is free for the step that reads it last: loops may run in place.
    for (int number : {step.a, step.b}) {
      Place place = places[size_t(number)];
      if (last[size_t(number)] != i || place.kind != Place::Kind::Slot) continue;
      last[size_t(number)] = -1;  // once, where a is b
      free_slots.push_back(place.index);
    }
    Place y = {Place::Kind::Result, 0};
    if (!may_use_result(i, places, last)) {
      if (free_slots.empty()) free_slots.push_back(slots_++);
      y = {Place::Kind::Slot, free_slots.back()};
      free_slots.pop_back();
    }
    places.push_back(y);
    steps_.push_back({elementwise_loop(step.op), a, b, y});
  }
}

void TileProgram::run(const ProgramOperands& operands, float* result, int64_t first, int64_t end,
                      float* scratch) const {
  for (int64_t begin = first; begin < end; begin += kTile) {
    int64_t count = std::min(kTile, end - begin);
    auto address = [&](const Place& place) -> const float* {
      if (place.kind == Place::Kind::Slot) return scratch + place.index * kTile;
      if (place.kind == Place::Kind::Result) return result + begin;
      return static_cast<const float*>(operands[size_t(place.index)]) + begin;
    };
    for (const Repeated& each : repeated_) {
      write_repeated(each.walk, static_cast<const float*>(operands[size_t(each.operand)]), begin,
                     count, scratch + each.slot * kTile);
    }
    for (const Step& step : steps_) {
      bool is_result = step.y.kind == Place::Kind::Result;
      float* to = is_result ? result + begin : scratch + step.y.index * kTile;
      step.loop({address(step.a), address(step.b)}, to, count);
    }
  }
}

}  // namespace pounce::cpu
