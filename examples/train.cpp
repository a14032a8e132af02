// Trains a classifier on a folder of images. usage: train [FOLDER]
#include <cstdio>
#include <iostream>
#include <utility>

#include <pounce/pounce.h>

int main(int argc, char** argv) try {
  // Class folders alone: a part is held back for validation, the same one every time.
  pounce::Dataset data(argc > 1 ? argv[1] : "samples/digits");
  pounce::Model model("cnn", {.classes = data.classes(), .image_size = 8});
  // Digits must not be mirrored.
  pounce::Loader train(
      data.train(),
      {.batch_size = 64, .image_size = 8, .shuffle = true, .augment = true, .hflip = 0});
  pounce::Loader val(data.val(), {.batch_size = 64, .image_size = 8});
  pounce::Trainer trainer(model, std::move(train), std::move(val),
                          pounce::AdamW{.learning_rate = 3e-3}, {.epochs = 8});

  // An epoch by hand ...
  pounce::TrainResult trained = trainer.train_epoch();
  pounce::ValidationResult checked = trainer.validate();
  std::printf("by hand: loss %.2f, validation accuracy %.3f\n", trained.loss, checked.accuracy);
  // ... and all that are left.
  trainer.fit([](const pounce::EpochResult& epoch) {
    std::printf("epoch %d: loss %.2f, validation accuracy %.3f\n", epoch.train.epoch,
                epoch.train.loss, epoch.validation->accuracy);
  });
  trainer.restore_best();
  model.save("digits.safetensors");  // for pounce predict, or for PyTorch
  std::puts("saved digits.safetensors");
} catch (const pounce::Error& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
