#include "pounce/expr.h"

#include <algorithm>

#include "api/expr_graph.h"

namespace pounce {
namespace {

[[noreturn]] void fail_handle(const char* what) {
  fail_with_hint(ErrorKind::InvalidArgument,
                 "use what this call of the function was given, or made itself", "{}", what);
}

Expr unary(OpKind op, const Expr& x) {
  return graph_of(x)->add(op, {x});
}

Expr binary(OpKind op, const Expr& a, const Expr& b) {
  return graph_of(a)->add(op, {a, b});
}

// A scalar in the graph of `beside`.
Expr constant(const Expr& beside, double value) {
  return graph_of(beside)->add(OpKind::Fill, {},
                               {{"value", value}, {"shape", std::vector<int64_t>{}}});
}

Expr reduce(OpKind op, const Expr& x, const std::vector<int64_t>& axes, bool keep_axes) {
  return graph_of(x)->add(op, {x}, {{"axes", axes}, {"keep_dims", int64_t(keep_axes)}});
}

int64_t product(const std::vector<int64_t>& extents) {
  return Shape(std::span(extents)).elements();
}

bool depends_on(const Graph& graph, Value value, Value source) {
  std::vector<bool> depends(size_t(graph.value_count()));
  depends[size_t(source.id)] = true;
  for (const Node& node : graph.nodes()) {
    bool any = std::any_of(node.inputs.begin(), node.inputs.end(),
                           [&](Value input) { return depends[size_t(input.id)]; });
    for (Value output : node.outputs) depends[size_t(output.id)] = any || output == source;
  }
  return depends[size_t(value.id)];
}

}  // namespace

Expr ExprGraph::wrap(Value value) {
  Expr expr;
  Access::graph(expr) = weak_from_this();
  Access::id(expr) = value.id;
  return expr;
}

Value ExprGraph::unwrap(const Expr& expr) const {
  if (graph_of(expr).get() != this) fail_handle("an Expr of another network or loss was given");
  return Value{Access::id(expr)};
}

Expr ExprGraph::add(OpKind op, const std::vector<Expr>& inputs, Attributes attributes,
                    const std::string& name) {
  std::vector<Value> values;
  for (const Expr& input : inputs) values.push_back(unwrap(input));
  return wrap(graph.add(op, std::move(values), std::move(attributes), name)[0]);
}

std::shared_ptr<ExprGraph> graph_of(const Expr& expr) {
  if (Access::id(expr) < 0) fail_handle("an empty Expr was given");
  std::shared_ptr<ExprGraph> graph = Access::graph(expr).lock();
  if (graph == nullptr) fail_handle("an Expr of a network or loss that is finished was given");
  return graph;
}

LossBuilder make_loss_builder(LossFunction function) {
  if (!function) return {};
  return [function = std::move(function)](Graph& graph, Value logits, Value targets) {
    auto scope = std::make_shared<ExprGraph>(graph, true);
    Value loss = scope->unwrap(function(scope->wrap(logits), scope->wrap(targets)));
    if (!depends_on(graph, loss, logits)) {
      fail(ErrorKind::InvalidArgument, "the loss does not depend on the logits: nothing to learn");
    }
    return loss;
  };
}

std::vector<int64_t> Expr::shape() const {
  std::shared_ptr<ExprGraph> graph = graph_of(*this);
  std::span<const int64_t> extents = graph->graph.shape(Value{id_}).extents();
  return {extents.begin(), extents.end()};
}

Expr operator+(const Expr& a, const Expr& b) {
  return binary(OpKind::Add, a, b);
}
Expr operator-(const Expr& a, const Expr& b) {
  return binary(OpKind::Sub, a, b);
}
Expr operator*(const Expr& a, const Expr& b) {
  return binary(OpKind::Mul, a, b);
}
Expr operator/(const Expr& a, const Expr& b) {
  return binary(OpKind::Div, a, b);
}
Expr operator+(const Expr& a, double b) {
  return a + constant(a, b);
}
Expr operator-(const Expr& a, double b) {
  return a - constant(a, b);
}
Expr operator*(const Expr& a, double b) {
  return a * constant(a, b);
}
Expr operator/(const Expr& a, double b) {
  return a / constant(a, b);
}
Expr operator+(double a, const Expr& b) {
  return constant(b, a) + b;
}
Expr operator-(double a, const Expr& b) {
  return constant(b, a) - b;
}
Expr operator*(double a, const Expr& b) {
  return constant(b, a) * b;
}
Expr operator/(double a, const Expr& b) {
  return constant(b, a) / b;
}
Expr operator-(const Expr& x) {
  return unary(OpKind::Neg, x);
}
Expr maximum(const Expr& a, const Expr& b) {
  return binary(OpKind::Max, a, b);
}
Expr minimum(const Expr& a, const Expr& b) {
  return binary(OpKind::Min, a, b);
}
Expr exp(const Expr& x) {
  return unary(OpKind::Exp, x);
}
Expr log(const Expr& x) {
  return unary(OpKind::Log, x);
}
Expr sqrt(const Expr& x) {
  return unary(OpKind::Sqrt, x);
}
Expr rsqrt(const Expr& x) {
  return unary(OpKind::Rsqrt, x);
}
Expr relu(const Expr& x) {
  return unary(OpKind::Relu, x);
}
Expr sigmoid(const Expr& x) {
  return unary(OpKind::Sigmoid, x);
}
Expr tanh(const Expr& x) {
  return unary(OpKind::Tanh, x);
}
Expr silu(const Expr& x) {
  return unary(OpKind::Silu, x);
}
Expr gelu(const Expr& x) {
  return unary(OpKind::Gelu, x);
}
Expr hard_sigmoid(const Expr& x) {
  return unary(OpKind::HardSigmoid, x);
}
Expr hard_swish(const Expr& x) {
  return unary(OpKind::HardSwish, x);
}
Expr softmax(const Expr& x) {
  return unary(OpKind::Softmax, x);
}
Expr log_softmax(const Expr& x) {
  return unary(OpKind::LogSoftmax, x);
}
Expr sum(const Expr& x, const std::vector<int64_t>& axes, bool keep_axes) {
  return reduce(OpKind::ReduceSum, x, axes, keep_axes);
}
Expr mean(const Expr& x, const std::vector<int64_t>& axes, bool keep_axes) {
  return reduce(OpKind::ReduceMean, x, axes, keep_axes);
}
Expr max(const Expr& x, const std::vector<int64_t>& axes, bool keep_axes) {
  return reduce(OpKind::ReduceMax, x, axes, keep_axes);
}

Expr matmul(const Expr& a, const Expr& b) {
  bool is_plain = a.shape().size() == 2 && b.shape().size() == 2;
  return binary(is_plain ? OpKind::MatMul : OpKind::BatchMatMul, a, b);
}

Expr reshape(const Expr& x, const std::vector<int64_t>& shape) {
  std::vector<int64_t> extents = shape;
  auto open = std::find(extents.begin(), extents.end(), -1);
  if (open != extents.end()) {
    *open = 1;
    int64_t given = product(extents), all = product(x.shape());
    if (given == 0 || all % given != 0) {
      fail(ErrorKind::InvalidArgument, "[{}] does not become [{}]", fmt::join(x.shape(), ","),
           fmt::join(shape, ","));
    }
    *open = all / given;
  }
  return graph_of(x)->add(OpKind::Reshape, {x}, {{"shape", extents}});
}

Expr flatten(const Expr& x) {
  std::vector<int64_t> shape = x.shape();
  if (shape.empty()) fail(ErrorKind::InvalidArgument, "a scalar cannot be flattened");
  int64_t rows = shape[0];
  shape.erase(shape.begin());
  return reshape(x, {rows, product(shape)});
}

Expr transpose(const Expr& x, const std::vector<int64_t>& permutation) {
  return graph_of(x)->add(OpKind::Transpose, {x}, {{"permutation", permutation}});
}

Expr slice(const Expr& x, int64_t axis, int64_t start, int64_t size) {
  return graph_of(x)->add(OpKind::Slice, {x}, {{"axis", axis}, {"start", start}, {"size", size}});
}

Expr concat(const std::vector<Expr>& parts, int64_t axis) {
  if (parts.empty()) fail(ErrorKind::InvalidArgument, "concat of nothing, expected a part or more");
  return graph_of(parts[0])->add(OpKind::Concat, parts, {{"axis", axis}});
}

Expr broadcast(const Expr& x, const std::vector<int64_t>& shape) {
  return graph_of(x)->add(OpKind::Broadcast, {x}, {{"shape", shape}});
}

}  // namespace pounce
