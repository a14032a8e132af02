#include "ir/program.h"

#include <algorithm>
#include <charconv>

#include "base/error.h"

namespace pounce {
namespace {

bool has_two_inputs(OpKind op) {
  return op_info(op).inputs.size() == 2;
}

// Reads the text; every expect_ method throws InvalidArgument naming the place.
class ProgramParser {
 public:
  ProgramParser(std::string_view text, int operands) : text_(text) { program_.operands = operands; }

  ElementwiseProgram parse() {
    do {
      if (int(program_.steps.size()) == kMostProgramSteps) {
        fail(ErrorKind::InvalidArgument, "program \"{}\": more than {} steps", text_,
             kMostProgramSteps);
      }
      parse_step();
    } while (accept(';'));
    if (at_ != text_.size()) reject("; and a step");
    return std::move(program_);
  }

 private:
  [[noreturn]] void reject(std::string_view expected) const {
    fail(ErrorKind::InvalidArgument, "program \"{}\": expected {} at column {}", text_, expected,
         at_ + 1);
  }
  bool accept(char c) {
    skip_spaces();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) reject(std::string_view(&c, 1));
  }
  OpKind expect_op() {
    skip_spaces();
    size_t begin = at_;
    while (at_ < text_.size() && (isalnum(uint8_t(text_[at_])) || text_[at_] == '_')) ++at_;
    const OpInfo* info = find_op(text_.substr(begin, at_ - begin));
    if (info == nullptr || !is_elementwise(info->kind)) {
      at_ = begin;
      reject("an elementwise op");
    }
    return info->kind;
  }
  int expect_operand() {
    skip_spaces();
    int number = 0;
    auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), number);
    int known = program_.operands + int(program_.steps.size());
    if (error != std::errc() || number < 0 || number >= known) {
      reject(fmt::format("a number below {}", known));
    }
    at_ = size_t(end - text_.data());
    return number;
  }
  void parse_step() {
    ProgramStep step;
    step.op = expect_op();
    expect('(');
    step.a = step.b = expect_operand();
    if (has_two_inputs(step.op)) {
      expect(',');
      step.b = expect_operand();
    }
    expect(')');
    program_.steps.push_back(step);
  }
  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  std::string_view text_;
  size_t at_ = 0;
  ElementwiseProgram program_;
};

void check_all_used(const ElementwiseProgram& program, std::string_view text) {
  int values = program.operands + int(program.steps.size());
  for (int value = 0; value < values - 1; ++value) {
    bool used = std::any_of(program.steps.begin(), program.steps.end(),
                            [&](const ProgramStep& s) { return s.a == value || s.b == value; });
    if (!used) {
      fail(ErrorKind::InvalidArgument, "program \"{}\": nothing uses number {}", text, value);
    }
  }
}

}  // namespace

bool is_elementwise(OpKind op) {
  return !op_info(op).formula.empty();
}

std::string to_string(const ElementwiseProgram& program) {
  std::string text;
  for (const ProgramStep& step : program.steps) {
    text += fmt::format("{}{}({}", text.empty() ? "" : "; ", op_info(step.op).name, step.a);
    text += has_two_inputs(step.op) ? fmt::format(",{})", step.b) : ")";
  }
  return text;
}

ElementwiseProgram parse_program(std::string_view text, int operands) {
  if (operands > kMostProgramOperands) {
    fail(ErrorKind::InvalidArgument, "program \"{}\": {} operands, at most {} are allowed", text,
         operands, kMostProgramOperands);
  }
  ElementwiseProgram program = ProgramParser(text, operands).parse();
  check_all_used(program, text);
  return program;
}

TensorType infer_program(const ElementwiseProgram& program, std::span<const TensorType> operands) {
  POUNCE_ASSERT(int(operands.size()) == program.operands);
  std::vector<TensorType> types(operands.begin(), operands.end());
  for (const ProgramStep& step : program.steps) {
    const OpInfo& info = op_info(step.op);
    std::vector<TensorType> inputs = {types[size_t(step.a)]};
    if (has_two_inputs(step.op)) inputs.push_back(types[size_t(step.b)]);
    try {
      types.push_back(info.infer({inputs, {}})[0]);
    } catch (const Error& error) {
      fail(ErrorKind::InvalidArgument, "program \"{}\", step {} ({}): {}", to_string(program),
           types.size() - operands.size() + 1, info.name, error.message());
    }
  }
  return types.back();
}

}  // namespace pounce
