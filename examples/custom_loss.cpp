// A loss of one's own: the focal loss (Lin et al. 2017), which looks away from images that are
// easy already. Pounce derives its gradient.
#include <cstdio>
#include <iostream>

#include <pounce/pounce.h>

namespace {

// logits and targets: N,classes. Returns one number an image: N.
pounce::Expr focal_loss(const pounce::Expr& logits, const pounce::Expr& targets) {
  pounce::Expr log_p = log_softmax(logits);
  pounce::Expr miss = 1 - exp(log_p);
  return -sum(targets * miss * miss * log_p, {1});
}

double accuracy_with(const pounce::Dataset& data, const pounce::LossFunction& loss) {
  pounce::Model model("cnn", {.classes = data.classes(), .image_size = 8});
  pounce::Trainer trainer(
      model, pounce::Loader(data.train(), {.batch_size = 64, .image_size = 8, .shuffle = true}),
      pounce::Loader(data.val(), {.image_size = 8}), pounce::AdamW{.learning_rate = 3e-3},
      {.epochs = 4, .class_weights = data.train().balanced_class_weights(), .loss = loss});
  trainer.fit([](const pounce::EpochResult& epoch) {
    std::printf("  epoch %d: loss %.2f\n", epoch.train.epoch, epoch.train.loss);
  });
  return trainer.validate().accuracy;
}

}  // namespace

int main(int argc, char** argv) try {
  pounce::Dataset data(argc > 1 ? argv[1] : "samples/digits");
  std::printf("cross-entropy:\n");
  double plain = accuracy_with(data, {});
  std::printf("focal loss:\n");
  double focal = accuracy_with(data, focal_loss);
  std::printf("validation accuracy: %.3f and %.3f\n", plain, focal);
} catch (const pounce::Error& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
