// How the library reaches what the public classes hold: each is a handle of a shared state, which
// is null in an empty or moved-from object. Internal to src/api.
#pragma once

#include <memory>
#include <utility>

#include "base/error.h"
#include "pounce/network.h"

namespace pounce {

struct Access {
  // The state of a handle; throws InvalidArgument where it has none. `type`: the class's name.
  template <typename Handle>
  static auto& state(Handle& handle, const char* type) {
    if (handle.state_ == nullptr) {
      fail_with_hint(ErrorKind::InvalidArgument, "assign one to it before using it",
                     "this {} is empty: it was moved from, or never given a value", type);
    }
    return handle.state_;
  }

  // A handle of `state`: of a class that can be empty, or of one that cannot.
  template <typename Handle, typename State>
  static Handle fill(std::shared_ptr<State> state) {
    Handle handle;
    handle.state_ = std::move(state);
    return handle;
  }
  template <typename Handle, typename State>
  static Handle make(std::shared_ptr<State> state) {
    return Handle(std::move(state));
  }

  // Runs a NetworkFunction with a Builder of its own over `graph`.
  static Expr describe(const NetworkFunction& function, std::shared_ptr<ExprGraph> graph,
                       const Expr& images, int classes) {
    Builder builder(std::move(graph));
    return function(builder, images, classes);
  }

  static std::weak_ptr<ExprGraph>& graph(Expr& expr) { return expr.graph_; }
  static const std::weak_ptr<ExprGraph>& graph(const Expr& expr) { return expr.graph_; }
  static int32_t& id(Expr& expr) { return expr.id_; }
  static int32_t id(const Expr& expr) { return expr.id_; }
};

}  // namespace pounce
