// Values of a network or a loss that is being described: not numbers yet, but what will be computed
// at every step. Pounce differentiates, plans and compiles the description.
//
//   pounce::Expr mean_squares(const pounce::Expr& logits, const pounce::Expr& targets) {
//     pounce::Expr difference = softmax(logits) - targets;
//     return sum(difference * difference, {1});
//   }
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "pounce/dtype.h"
#include "pounce/export.h"

namespace pounce {

struct ExprGraph;

// A handle, cheap to copy; lives as long as the function it was made in or given to runs. Every
// function below throws InvalidArgument for a handle that is empty, from another description or
// from one that is finished, and for shapes that do not fit, naming them. All are F32, 0 to 6 axes.
class POUNCE_API Expr {
 public:
  Expr() = default;  // empty

  std::vector<int64_t> shape() const;

 private:
  friend struct Access;
  std::weak_ptr<ExprGraph> graph_;
  int32_t id_ = -1;
};

// Element by element. Axes that are missing in front or 1 long are repeated, as in NumPy.
POUNCE_API Expr operator+(const Expr& a, const Expr& b);
POUNCE_API Expr operator-(const Expr& a, const Expr& b);
POUNCE_API Expr operator*(const Expr& a, const Expr& b);
POUNCE_API Expr operator/(const Expr& a, const Expr& b);
POUNCE_API Expr operator+(const Expr& a, double b);
POUNCE_API Expr operator-(const Expr& a, double b);
POUNCE_API Expr operator*(const Expr& a, double b);
POUNCE_API Expr operator/(const Expr& a, double b);
POUNCE_API Expr operator+(double a, const Expr& b);
POUNCE_API Expr operator-(double a, const Expr& b);
POUNCE_API Expr operator*(double a, const Expr& b);
POUNCE_API Expr operator/(double a, const Expr& b);
POUNCE_API Expr operator-(const Expr& x);
POUNCE_API Expr maximum(const Expr& a, const Expr& b);
POUNCE_API Expr minimum(const Expr& a, const Expr& b);
POUNCE_API Expr exp(const Expr& x);
POUNCE_API Expr log(const Expr& x);
POUNCE_API Expr sqrt(const Expr& x);
POUNCE_API Expr rsqrt(const Expr& x);  // 1 / sqrt(x)
POUNCE_API Expr relu(const Expr& x);
POUNCE_API Expr sigmoid(const Expr& x);
POUNCE_API Expr tanh(const Expr& x);
POUNCE_API Expr silu(const Expr& x);
POUNCE_API Expr gelu(const Expr& x);  // by erf, torch.nn.GELU's default
POUNCE_API Expr hard_sigmoid(const Expr& x);
POUNCE_API Expr hard_swish(const Expr& x);

// Over the last axis.
POUNCE_API Expr softmax(const Expr& x);
POUNCE_API Expr log_softmax(const Expr& x);
// Over `axes`, in ascending order; each goes, or keeps an extent of 1.
POUNCE_API Expr sum(const Expr& x, const std::vector<int64_t>& axes, bool keep_axes = false);
POUNCE_API Expr mean(const Expr& x, const std::vector<int64_t>& axes, bool keep_axes = false);
POUNCE_API Expr max(const Expr& x, const std::vector<int64_t>& axes, bool keep_axes = false);

// Two axes, or more where the leading ones are equal: then one product for each of them.
POUNCE_API Expr matmul(const Expr& a, const Expr& b);

// The same elements in the same order; one extent may be -1: what is left.
POUNCE_API Expr reshape(const Expr& x, const std::vector<int64_t>& shape);
// N,... to N, all others together.
POUNCE_API Expr flatten(const Expr& x);
// Axis i of the result is x's axis permutation[i].
POUNCE_API Expr transpose(const Expr& x, const std::vector<int64_t>& permutation);
// `size` entries of an axis from `start` on.
POUNCE_API Expr slice(const Expr& x, int64_t axis, int64_t start, int64_t size);
// One behind the other along an axis. At least one.
POUNCE_API Expr concat(const std::vector<Expr>& parts, int64_t axis);
POUNCE_API Expr broadcast(const Expr& x, const std::vector<int64_t>& shape);

// A loss: logits N,K (classes K) and targets N,K (0 and 1, or softer with label smoothing) to one
// number an image, N. Class weights multiply it afterwards; the gradient is derived. Called once
// for each batch size; must do the same every time. Exceptions pass through.
using LossFunction = std::function<Expr(const Expr& logits, const Expr& targets)>;

}  // namespace pounce
