// Programs that share variables and arenas, their inputs and outputs, and what is counted.
#include "engine/session.h"

#include <gtest/gtest.h>

#include "backend/registry.h"
#include "expect_error.h"
#include "ir/text.h"

namespace pounce {
namespace {

// sum += x * w over a batch; y is the product.
Graph product(int64_t batch) {
  Graph graph;
  TensorType type{DType::F32, {batch, 4}};
  Value x = graph.add_input("x", type);
  Value w = graph.add_variable("w", {DType::F32, {4, 4}}, VariableRole::Parameter);
  Value sum = graph.add_variable("sum", {DType::F32, {4}}, VariableRole::Statistic);
  Value y = graph.add_one(OpKind::MatMul, {x, w}, {}, "product");
  Value rows = graph.add_one(OpKind::BiasBwd, {y});
  graph.store(sum, graph.add_one(OpKind::Add, {sum, rows}));
  graph.add_output("y", y);
  graph.add_output("x again", x);
  graph.add_output("w", w);
  return graph;
}

class SessionTest : public testing::Test {
 protected:
  static constexpr int64_t kBatch = 3;

  SessionTest() : session_(*backend_, alone_, {{"product", product(kBatch)}}, checked()) {
    std::vector<float> identity(16);
    for (size_t i = 0; i < 4; ++i) identity[5 * i] = 2;
    session_.write("w", bytes_of(identity));
  }

  static SessionOptions checked() {
    SessionOptions options;
    options.check_plan = true;
    options.compile.poison = true;
    return options;
  }

  void run(std::string_view program, const std::vector<float>& x) {
    InputData input{"x", bytes_of(x)};
    session_.run(program, {&input, 1});
  }
  // The same with a steady x; bytes that travelled for it.
  int64_t run_steady(std::string_view program, const std::vector<float>& x) {
    int64_t before = session_.transfers().to_device_bytes;
    InputData input{.name = "x", .bytes = bytes_of(x), .is_steady = true};
    session_.run(program, {&input, 1});
    EXPECT_EQ(session_.output<float>(program, "x again"), x);
    return session_.transfers().to_device_bytes - before;
  }

  static std::vector<float> filled(int64_t batch, float value) {
    return std::vector<float>(size_t(4 * batch), value);
  }

  std::unique_ptr<Backend> backend_ = make_backend("reference");
  SingleProcess alone_;
  Session session_;
};

TEST_F(SessionTest, VariablesStartAsZerosAndOutliveARun) {
  EXPECT_EQ(session_.read_values<float>("sum"), filled(1, 0));
  for (int i = 1; i <= 3; ++i) {
    run("product", filled(kBatch, 1));
    EXPECT_EQ(session_.read_values<float>("sum"), filled(1, 2 * kBatch * float(i)));
  }
  EXPECT_EQ(session_.output<float>("product", "y"), filled(kBatch, 2));
}

TEST_F(SessionTest, LargeVariablesStartAsZerosToo) {
  Graph graph;
  Value large = graph.add_variable("large", {DType::F32, {1'000'003}}, VariableRole::Statistic);
  graph.add_output("y", large);
  Session session(*backend_, alone_, {{"large", graph}}, checked());
  EXPECT_EQ(session.read_values<float>("large"), std::vector<float>(1'000'003));
}

// The two staging arenas take turns: the batch of a run is that run's own.
TEST_F(SessionTest, EveryRunReadsItsOwnInputs) {
  for (int i = 0; i < 5; ++i) {
    run("product", filled(kBatch, float(i)));
    EXPECT_EQ(session_.output<float>("product", "y"), filled(kBatch, float(2 * i)));
    EXPECT_EQ(session_.output<float>("product", "x again"), filled(kBatch, float(i)));
    EXPECT_EQ(session_.output<float>("product", "w").at(0), 2);
  }
}

TEST_F(SessionTest, ProgramsShareVariablesAndArena) {
  size_t before = session_.allocated_bytes();
  session_.add_program({"smaller", product(kBatch - 1)});
  EXPECT_EQ(session_.allocated_bytes(), before);
  EXPECT_EQ(session_.planned_bytes(), before);
  run("product", filled(kBatch, 1));
  run("smaller", filled(kBatch - 1, 1));
  EXPECT_EQ(session_.read_values<float>("sum"), filled(1, 2 * (kBatch + kBatch - 1)));

  session_.add_program({"larger", product(100)});
  EXPECT_GT(session_.allocated_bytes(), before);
  EXPECT_EQ(session_.allocated_bytes(), session_.planned_bytes());
  run("larger", filled(100, 1));
  EXPECT_EQ(session_.output<float>("larger", "y"), filled(100, 2));
  run("product", filled(kBatch, 3));
  EXPECT_EQ(session_.output<float>("product", "y"), filled(kBatch, 6));
}

TEST_F(SessionTest, AllocatesExactlyWhatIsPlanned) {
  EXPECT_EQ(session_.planned_bytes(), session_.allocated_bytes());
  EXPECT_EQ(session_.allocated_bytes(), backend_->memory_info().allocated_bytes);
  const Plan& plan = session_.plan("product");
  EXPECT_EQ(session_.planned_bytes(),
            plan.persistent_bytes + plan.planned_bytes + 2 * plan.staging_bytes);
}

TEST_F(SessionTest, RejectsInputsThatDoNotFit) {
  std::vector<float> x = filled(kBatch, 1), longer = filled(kBatch + 1, 1);
  EXPECT_ERROR(run("product", longer), ErrorKind::InvalidArgument, "\"product\"", "\"x\"",
               "64 bytes", "expected 48", "f32[3,4]");
  EXPECT_ERROR(session_.run("product", {}), ErrorKind::InvalidArgument, "\"x\"", "0 bytes");
  InputData two[] = {{"x", bytes_of(x)}, {"z", bytes_of(x)}};
  EXPECT_ERROR(session_.run("product", two), ErrorKind::InvalidArgument, "1 inputs, 2 were given");
  // A rejected run leaves the session as it was.
  run("product", x);
  EXPECT_EQ(session_.output<float>("product", "y"), filled(kBatch, 2));
}

TEST_F(SessionTest, RejectsUnknownNames) {
  run("product", filled(kBatch, 1));
  std::vector<float> four(4);
  EXPECT_ERROR(run("quotient", four), ErrorKind::InvalidArgument, "\"quotient\"");
  EXPECT_ERROR(session_.output<float>("product", "z"), ErrorKind::InvalidArgument, "\"z\"");
  EXPECT_ERROR(session_.output<float>("quotient", "y"), ErrorKind::InvalidArgument, "\"quotient\"");
  EXPECT_ERROR(session_.read_values<float>("v"), ErrorKind::InvalidArgument, "\"v\"");
  EXPECT_ERROR(session_.write("v", bytes_of(four)), ErrorKind::InvalidArgument, "\"v\"");
  EXPECT_ERROR(session_.write("w", bytes_of(four)), ErrorKind::InvalidArgument, "\"w\"", "f32[4,4]",
               "64 bytes", "16 bytes");
  EXPECT_ERROR(session_.plan("quotient"), ErrorKind::InvalidArgument, "\"quotient\"");
  EXPECT_FALSE(session_.has_program("quotient"));
  EXPECT_FALSE(session_.has_variable("v"));
  EXPECT_TRUE(session_.has_variable("w"));
  EXPECT_EQ(session_.variable_names(), (std::vector<std::string>{"sum", "w"}));
}

TEST_F(SessionTest, RejectsOutputsOfAProgramNotLastRun) {
  EXPECT_ERROR(session_.output<float>("product", "y"), ErrorKind::InvalidArgument,
               "not the last one run");
  session_.add_program({"smaller", product(1)});
  run("product", filled(kBatch, 1));
  run("smaller", filled(1, 1));
  EXPECT_ERROR(session_.output<float>("product", "y"), ErrorKind::InvalidArgument,
               "not the last one run");
  EXPECT_EQ(session_.output<float>("smaller", "y"), filled(1, 2));
  // A larger arena replaces the one that held the outputs.
  session_.add_program({"larger", product(100)});
  EXPECT_ERROR(session_.output<float>("smaller", "y"), ErrorKind::InvalidArgument,
               "not the last one run");
}

TEST_F(SessionTest, RejectsProgramsThatDoNotFit) {
  EXPECT_ERROR(session_.add_program({"product", product(1)}), ErrorKind::InvalidArgument,
               "\"product\" exists");
  Graph unknown = parse_graph(
      "%0:f32[4] = variable() {role=\"scalar\"} \"v\"\n"
      "output %0 \"y\"\n");
  EXPECT_ERROR(session_.add_program({"other", unknown}), ErrorKind::InvalidArgument, "\"other\"",
               "\"v\"", "does not have");
  Graph wrong = parse_graph(
      "%0:f32[5] = variable() {role=\"parameter\"} \"w\"\n"
      "output %0 \"y\"\n");
  EXPECT_ERROR(session_.add_program({"other", wrong}), ErrorKind::InvalidArgument, "\"w\"",
               "f32[5]", "f32[4,4]");
  EXPECT_FALSE(session_.has_program("other"));
  EXPECT_ERROR(Session(*backend_, alone_, {{"a", product(1)}, {"a", product(2)}}),
               ErrorKind::InvalidArgument, "\"a\"");
}

// A program too large for memory leaves the others running.
TEST_F(SessionTest, SurvivesAProgramThatIsTooLarge) {
  size_t before = session_.allocated_bytes();
  EXPECT_ERROR(session_.add_program({"huge", product(int64_t{1} << 44)}), ErrorKind::OutOfMemory,
               "bytes");
  EXPECT_FALSE(session_.has_program("huge"));
  EXPECT_EQ(session_.allocated_bytes(), before);
  run("product", filled(kBatch, 1));
  EXPECT_EQ(session_.output<float>("product", "y"), filled(kBatch, 2));
}

TEST_F(SessionTest, CountsTransfers) {
  TransferCount before = session_.transfers();
  run("product", filled(kBatch, 1));
  EXPECT_EQ(session_.transfers().to_device_bytes - before.to_device_bytes, 48);
  EXPECT_EQ(session_.transfers().to_host_bytes, before.to_host_bytes);
  session_.output<float>("product", "y");
  session_.read_values<float>("sum");
  EXPECT_EQ(session_.transfers().to_host_bytes - before.to_host_bytes, 48 + 16);
  session_.write("sum", bytes_of(filled(1, 0)));
  EXPECT_EQ(session_.transfers().to_device_bytes - before.to_device_bytes, 48 + 16);
}

// A run finds steady inputs where the run before the last one left them, unless something else has
// been there since.
TEST_F(SessionTest, SteadyInputsTravelOnlyWhereTheyDiffer) {
  const std::vector<float> ones = filled(kBatch, 1), twos = filled(kBatch, 2);
  for (int64_t expected : {48, 48, 0, 0, 0}) EXPECT_EQ(run_steady("product", ones), expected);
  for (int64_t expected : {48, 48, 0, 0}) EXPECT_EQ(run_steady("product", twos), expected);
  EXPECT_EQ(run_steady("product", ones), 48);
  EXPECT_EQ(run_steady("product", twos), 0);
  EXPECT_EQ(run_steady("product", ones), 0);

  session_.add_program({"smaller", product(1)});
  run("smaller", filled(1, 3));  // over the twos
  EXPECT_EQ(run_steady("product", ones), 0);
  EXPECT_EQ(run_steady("product", twos), 48);

  std::unique_ptr<Buffer> held = backend_->allocate(48);
  backend_->upload(*held, 0, bytes_of(filled(kBatch, 4)));
  InputData on_device{.name = "x", .bytes = {}, .buffer = held.get()};
  session_.run("product", {&on_device, 1});  // over the ones
  EXPECT_EQ(run_steady("product", twos), 0);
  EXPECT_EQ(run_steady("product", ones), 48);

  session_.add_program({"larger", product(100)});  // in new arenas
  for (int64_t expected : {48, 48, 0}) EXPECT_EQ(run_steady("product", ones), expected);
}

TEST_F(SessionTest, NamesTheProgramThatCannotBeBuilt) {
  SessionOptions options;
  options.passes.disabled = {"no_such_pass"};
  EXPECT_ERROR(Session(*backend_, alone_, {{"product", product(1)}}, options),
               ErrorKind::InvalidArgument, "no_such_pass", "program \"product\"");
}

TEST_F(SessionTest, ReportsItsPasses) {
  EXPECT_EQ(session_.pass_reports("product").size(), pass_list().size());
  EXPECT_EQ(session_.lowered("product").nodes.size(), session_.graph("product").nodes().size());
}

}  // namespace
}  // namespace pounce
