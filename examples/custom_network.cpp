// A network of one's own: residual blocks, described once, trained, saved and loaded again.
#include <cstdio>
#include <iostream>
#include <string>
#include <utility>

#include <pounce/pounce.h>

namespace {

using pounce::Builder;
using pounce::Expr;

// x + f(x): names of layers are those in the model's file.
Expr block(Builder& b, const std::string& name, const Expr& x, int channels) {
  Expr y = b.conv(name + ".conv1", x, channels, {.kernel = 3, .padding = 1});
  y = relu(b.batch_norm(name + ".bn1", y));
  y = b.conv(name + ".conv2", y, channels, {.kernel = 3, .padding = 1});
  return relu(x + b.batch_norm(name + ".bn2", y));
}

// images: N,S,S,3, normalised. Returns N,classes.
Expr network(Builder& b, const Expr& images, int classes) {
  Expr x = relu(b.batch_norm("bn", b.conv("conv", images, 32, {.kernel = 3, .padding = 1})));
  x = block(b, "block1", x, 32);
  x = b.max_pool(x);
  x = block(b, "block2", x, 32);
  // Two linear layers with GELU between, as in a transformer.
  x = gelu(b.linear("hidden", b.layer_norm("norm", b.global_avg_pool(x)), 64));
  return b.linear("head", x, classes);
}

}  // namespace

int main(int argc, char** argv) try {
  pounce::Dataset data(argc > 1 ? argv[1] : "samples/digits");
  pounce::Model model(network, {.classes = data.classes(), .image_size = 8});
  int64_t parameters = 0;
  for (const pounce::NamedValue& each : model.parameters()) parameters += each.tensor.elements();
  std::printf("%lld parameters\n", static_cast<long long>(parameters));
  std::cout << model.parameters().back().name << ": " << model.parameters().back().tensor << '\n';

  pounce::Trainer trainer(
      model, pounce::Loader(data.train(), {.batch_size = 64, .image_size = 8, .shuffle = true}),
      pounce::Loader(data.val(), {.image_size = 8}), pounce::AdamW{.learning_rate = 3e-3},
      {.epochs = 4});
  trainer.fit([](const pounce::EpochResult& epoch) {
    std::printf("epoch %d: loss %.2f, validation accuracy %.3f\n", epoch.train.epoch,
                epoch.train.loss, epoch.validation->accuracy);
  });

  // The file holds the weights, this program the network.
  trainer.save_best("own.safetensors");
  pounce::Model loaded = pounce::Model::load("own.safetensors", network);
  std::printf("loaded: %s, %zu tensors\n", loaded.network().c_str(), loaded.state().size());
} catch (const pounce::Error& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
