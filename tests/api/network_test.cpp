// Networks and losses of one's own: every layer and function in use, and what is refused.
#include "pounce/network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/drawn.h"
#include "expect_error.h"

namespace pounce {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::HasSubstr;

ModelOptions options() {
  return {.classes = class_names(2), .image_size = 8};
}

// Describes the network; the error it makes reaches the test.
void describe(const NetworkFunction& network) {
  Model(network, options(), Device("cpu", 1));
}

// A network of `body`'s result, whatever its shape.
NetworkFunction ending_in(std::function<Expr(Builder&, const Expr&)> body) {
  return [body](Builder& b, const Expr& images, int classes) {
    return b.linear("fc", flatten(body(b, images)), classes);
  };
}

std::vector<double> losses(const LossFunction& loss, int epochs) {
  Model model = tiny_model(Device("cpu", 1));
  Trainer trainer(model, Loader(drawn(24), small_loader()), std::nullopt, Sgd{.learning_rate = 0.1},
                  {.epochs = epochs, .loss = loss});
  std::vector<double> found;
  for (int i = 0; i < epochs; ++i) found.push_back(trainer.train_epoch().loss);
  return found;
}

// Attention, normalisation over the last axis, tokens: what a transformer needs.
Expr transformer(Builder& b, const Expr& images, int classes) {
  Expr x = b.conv("patch", images, 8, {.kernel = 4, .stride = 4, .bias = true});
  x = reshape(x, {-1, 4, 8});
  x = x + b.parameter("position", {1, 4, 8}, Init::Normal);
  Expr y = b.layer_norm("norm", x);
  Expr scores = matmul(y, transpose(y, {0, 2, 1})) * 0.35;
  x = x + b.linear("proj", matmul(softmax(scores), y), 8);
  x = x + gelu(b.linear("mlp", x, 8));
  return b.linear("head", mean(x, {1}), classes);
}

TEST(Network, LearnsWithEveryKindOfLayer) {
  Device device("cpu", 1);
  Model model(transformer, options(), device);
  Trainer trainer(model, Loader(drawn(64), small_loader(16)), std::nullopt,
                  Adam{.learning_rate = 0.01}, {.epochs = 12});
  double first = trainer.train_epoch().loss;
  FitResult fit = trainer.fit();
  EXPECT_EQ(fit.epochs, 11);
  Loader check(drawn(64), small_loader(64));
  int64_t correct = 0;
  for (const Batch& batch : check) {
    std::vector<float> logits = model(batch.images).values<float>();
    for (size_t i = 0; i < batch.labels.size(); ++i) {
      correct += (logits[2 * i + 1] > logits[2 * i]) == (batch.labels[i] == 1);
    }
  }
  EXPECT_EQ(correct, 64) << "first loss " << first;
}

TEST(Network, FunctionsComputeWhatTheySay) {
  // Each gives the logits 1 and 2 for every image, in its own way.
  std::map<std::string, std::function<Expr(const Expr&)>> ways = {
      {"arithmetic", [](const Expr& c) { return (2 * c + 4 - c * 2) / 4 - 1 + c * 0 + c; }},
      {"divide", [](const Expr& c) { return 1 / (1 / c); }},
      {"negate", [](const Expr& c) { return -(0 - c); }},
      {"exp and log", [](const Expr& c) { return log(exp(c)); }},
      {"roots", [](const Expr& c) { return sqrt(c) * sqrt(c) * rsqrt(c) / rsqrt(c); }},
      {"bounds", [](const Expr& c) { return minimum(maximum(c, -c), c + 1); }},
      {"relu", [](const Expr& c) { return relu(c) - relu(-c); }},
      {"sigmoid", [](const Expr& c) { return c * (sigmoid(c) + sigmoid(-c)); }},
      {"tanh", [](const Expr& c) { return c + tanh(c) + tanh(-c); }},
      {"silu", [](const Expr& c) { return silu(c) / sigmoid(c); }},
      {"gelu", [](const Expr& c) { return gelu(c) - gelu(-c); }},
      {"hard", [](const Expr& c) { return hard_swish(c) / hard_sigmoid(c); }},
      {"softmax", [](const Expr& c) { return log(softmax(c)) - log_softmax(c) + c; }},
      {"sum", [](const Expr& c) { return c * 3 / sum(c, {1}, true); }},
      {"mean", [](const Expr& c) { return c + mean(c, {1}, true) - 1.5; }},
      {"max", [](const Expr& c) { return c * (max(c, {1}, true) - 1); }},
      {"shape",
       [](const Expr& c) {
         return transpose(reshape(transpose(c, {1, 0}), {2, -1}), {1, 0});
       }},
      {"cut",
       [](const Expr& c) {
         return concat({slice(c, 1, 0, 1), slice(c, 1, 1, 1)}, 1);
       }},
      {"broadcast", [](const Expr& c) { return c + 0 * broadcast(slice(c, 1, 0, 1), c.shape()); }},
      {"matmul",
       [](const Expr& c) {
         return reshape(matmul(reshape(c, {-1, 2, 1}), reshape(c * 0 + 1, {-1, 1, 2})), {-1, 4})
                        .shape()
                        .empty()
                    ? c
                    : matmul(c, matmul(transpose(c, {1, 0}), c)) * 0 + c;
       }},
  };
  for (const auto& [name, way] : ways) {
    auto network = [&](Builder& b, const Expr& images, int classes) {
      Expr zero = b.linear("fc", b.global_avg_pool(images), classes) * 0;
      Expr constant = concat({slice(zero, 1, 0, 1) + 1, slice(zero, 1, 1, 1) + 2}, 1);
      return way(constant);
    };
    Model model(network, options(), Device("cpu", 1));
    std::vector<float> logits = model(some_images(1)).values<float>();
    ASSERT_EQ(logits.size(), 2U) << name;
    EXPECT_NEAR(logits[0], 1, 1e-5) << name;
    EXPECT_NEAR(logits[1], 2, 1e-5) << name;
  }
}

TEST(Network, PoolsAndConvolutionsHaveTheirShapes) {
  std::vector<int64_t> conv, max_pool, avg_pool, grouped, dilated;
  describe(ending_in([&](Builder& b, const Expr& images) {
    Expr x = b.conv("a", images, 6, {.kernel = 3, .stride = 2, .padding = 1});
    conv = x.shape();
    grouped = b.conv("g", x, 9, {.kernel = 1, .groups = 3}).shape();
    dilated = b.conv("d", images, 2, {.kernel = 3, .dilation = 2}).shape();
    max_pool = b.max_pool(x).shape();
    avg_pool = b.avg_pool(x, {.kernel = 3, .stride = 1, .padding = 1}).shape();
    return x;
  }));
  EXPECT_THAT(conv, ElementsAre(1, 4, 4, 6));
  EXPECT_THAT(grouped, ElementsAre(1, 4, 4, 9));
  EXPECT_THAT(dilated, ElementsAre(1, 4, 4, 2));
  EXPECT_THAT(max_pool, ElementsAre(1, 2, 2, 6));
  EXPECT_THAT(avg_pool, ElementsAre(1, 4, 4, 6));
}

TEST(Network, RefusesWrongShapes) {
  auto expect_refused = [](std::function<Expr(Builder&, const Expr&)> body,
                           const std::vector<std::string>& parts) {
    EXPECT_TRUE(
        throws_error([&] { describe(ending_in(body)); }, ErrorKind::InvalidArgument, parts));
  };
  using B = Builder;
  using E = Expr;
  expect_refused([](B& b, const E& x) { return b.conv("c", flatten(x), 4); }, {"c", "4 axes"});
  expect_refused([](B& b, const E& x) { return b.conv("c", x, 0); }, {"0 channels"});
  expect_refused([](B& b, const E& x) { return b.conv("c", x, 4, {.kernel = 9}); }, {"c", "9"});
  expect_refused([](B& b, const E& x) { return b.conv("c", x, 4, {.kernel = 0}); }, {"c"});
  expect_refused([](B& b, const E& x) { return b.conv("c", x, 4, {.groups = 2}); },
                 {"c", "2 groups"});
  expect_refused([](B& b, const E& x) { return b.conv("c", x, 4, {.groups = 0}); }, {"0 groups"});
  expect_refused([](B& b, const E& x) { return b.conv("", x, 4); }, {"no name"});
  expect_refused([](B& b, const E& x) { return b.conv("ema.c", x, 4); }, {"ema."});
  expect_refused([](B& b, const E& x) { return b.conv("c", b.conv("c", x, 4), 4); }, {"c.weight"});
  expect_refused([](B& b, const E& x) { return b.linear("l", sum(x, {0, 1, 2}), 4); }, {"l"});
  expect_refused([](B& b, const E& x) { return b.linear("l", flatten(x), -1); }, {"-1"});
  expect_refused([](B& b, const E& x) { return x + b.parameter("p", {5}, Init::Ones); }, {"[5]"});
  expect_refused([](B& b, const E& x) { return x + b.parameter("p", {0}, Init::Ones); }, {"\"p\""});
  expect_refused([](B& b, const E& x) { return b.max_pool(flatten(x)); }, {"4 axes"});
  expect_refused([](B& b, const E& x) { return b.max_pool(x, {.stride = 0}); }, {"stride 0"});
  expect_refused([](B&, const E& x) { return reshape(x, {7, -1}); }, {"[7,-1]"});
  expect_refused([](B&, const E& x) { return reshape(x, {-1, -1}); }, {});
  expect_refused([](B&, const E& x) { return transpose(x, {0, 0, 1, 2}); }, {"permutation"});
  expect_refused([](B&, const E& x) { return slice(x, 1, 5, 9); }, {"9 from 5"});
  expect_refused([](B&, const E& x) { return sum(x, {4}); }, {"axes [4]"});
  expect_refused([](B&, const E&) { return concat({}, 0); }, {"nothing"});
  expect_refused([](B&, const E& x) { return matmul(x, x); }, {"matmul"});
  expect_refused([](B&, const E&) { return Expr(); }, {"empty Expr"});
}

TEST(Network, RefusesWhatIsNoClassifier) {
  auto images_itself = [](Builder&, const Expr& images, int) { return images; };
  EXPECT_ERROR(describe(images_itself), ErrorKind::InvalidArgument, "f32[1,8,8,3]", "f32[1,2]");
  auto nothing_trained = [](Builder&, const Expr& x, int) {
    return slice(mean(x, {1, 2}), 1, 0, 2);
  };
  EXPECT_ERROR(describe(nothing_trained), ErrorKind::InvalidArgument, "no parameter");
}

TEST(Network, RefusesValuesOfAnotherDescription) {
  Expr kept;
  auto first = [&](Builder& b, const Expr& images, int classes) {
    kept = images;
    return tiny_network(b, images, classes);
  };
  describe(first);
  EXPECT_ERROR(kept.shape(), ErrorKind::InvalidArgument, "finished");
  EXPECT_ERROR(Expr().shape(), ErrorKind::InvalidArgument, "empty Expr");
  auto second = [&](Builder& b, const Expr& images, int classes) {
    return tiny_network(b, images + kept, classes);
  };
  EXPECT_ERROR(describe(second), ErrorKind::InvalidArgument, "finished");
  auto nested = [](Builder& b, const Expr& images, int classes) {
    describe(
        [&](Builder& inner, const Expr&, int count) { return tiny_network(inner, images, count); });
    return tiny_network(b, images, classes);
  };
  EXPECT_ERROR(describe(nested), ErrorKind::InvalidArgument, "another network");
}

TEST(Network, MustBeTheSameInTraining) {
  auto changing = [](Builder& b, const Expr& images, int classes) {
    Expr x = b.is_training() ? b.conv("extra", images, 3) : images;
    return tiny_network(b, x, classes);
  };
  Model model(changing, options(), Device("cpu", 1));
  EXPECT_ERROR(Trainer(model, Loader(drawn(8), small_loader())), ErrorKind::InvalidArgument,
               "conv.weight", "extra.weight");
  EXPECT_EQ(model(some_images(1)).elements(), 2);
}

TEST(Network, ExceptionsPassThrough) {
  auto failing = [](Builder&, const Expr&, int) -> Expr { throw std::runtime_error("mine"); };
  EXPECT_THROW(describe(failing), std::runtime_error);
}

TEST(Loss, CrossEntropyByHandIsTheDefault) {
  auto by_hand = [](const Expr& logits, const Expr& targets) {
    return -sum(targets * log_softmax(logits), {1});
  };
  std::vector<double> expected = losses({}, 5), found = losses(by_hand, 5);
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-5);
  EXPECT_LT(expected.back(), expected.front());
}

TEST(Loss, ChangesWhatIsLearned) {
  auto squares = [](const Expr& logits, const Expr& targets) {
    Expr difference = softmax(logits) - targets;
    return sum(difference * difference, {1});
  };
  std::vector<double> found = losses(squares, 5);
  EXPECT_LT(found.back(), found.front());
  EXPECT_NE(found, losses({}, 5));
}

TEST(Loss, RefusesWrongShapes) {
  auto whole = [](const Expr& logits, const Expr&) { return logits; };
  EXPECT_ERROR(losses(whole, 1), ErrorKind::InvalidArgument, "f32[8,2]", "f32[8]");
  auto scalar = [](const Expr& logits, const Expr& targets) {
    return sum(logits * targets, {0, 1});
  };
  EXPECT_ERROR(losses(scalar, 1), ErrorKind::InvalidArgument, "f32[]");
  auto constant = [](const Expr&, const Expr& targets) { return sum(targets, {1}); };
  EXPECT_ERROR(losses(constant, 1), ErrorKind::InvalidArgument, "does not depend on the logits");
  auto nothing = [](const Expr&, const Expr&) { return Expr(); };
  EXPECT_ERROR(losses(nothing, 1), ErrorKind::InvalidArgument, "empty Expr");
}

}  // namespace
}  // namespace pounce
