#include "backend/kernels/program_text.h"

#include <fmt/format.h>

namespace pounce::kernels {

// Formulas speak of a and b: each stands in a block of its own.
std::string program_text(const ElementwiseProgram& program) {
  std::string text;
  int number = program.operands;
  for (const ProgramStep& step : program.steps) {
    const OpInfo& info = op_info(step.op);
    std::string operands = fmt::format("const float a = x{}", step.a);
    if (info.inputs.size() == 2) operands += fmt::format(", b = x{}", step.b);
    bool is_last = &step == &program.steps.back();
    if (is_last) {
      text += fmt::format("{{ {}; y = {}; }}", operands, info.formula);  // rounded by its store
    } else {
      text += fmt::format("float x{}; {{ {}; x{} = ROUND(Y_TYPE, {}); }} ", number, operands,
                          number, info.formula);
    }
    ++number;
  }
  return text;
}

}  // namespace pounce::kernels
