// Images that are no files: discs and squares, drawn when the loader asks for them. The same class
// reads a database, an archive or a camera.
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>

#include <pounce/pounce.h>

namespace {

class Shapes : public pounce::ImageSource {
 public:
  Shapes(int64_t first, int64_t count) : first_(first), count_(count) {}

  int64_t size() const override { return count_; }
  std::vector<std::string> classes() const override { return {"disc", "square"}; }
  int label(int64_t index) const override { return int((first_ + index) % 2); }
  // Unique: it decides the image's place in the shuffled order.
  std::string name(int64_t index) const override {
    return "shape " + std::to_string(first_ + index);
  }

  // Several threads call it at once, so it changes nothing.
  pounce::SourceImage load(int64_t index) const override {
    int64_t number = first_ + index;
    if (number == 13) throw pounce::Error(pounce::ErrorKind::BadData, "the pencil broke");
    pounce::SourceImage image;
    image.width = image.height = kSize;
    int radius = 4 + int(number * 7 % 5);
    int x = 10 + int(number * 5 % 5), y = 10 + int(number * 3 % 5);
    for (int row = 0; row < kSize; ++row) {
      for (int column = 0; column < kSize; ++column) {
        int dx = std::abs(column - x), dy = std::abs(row - y);
        bool inside =
            label(index) == 0 ? dx * dx + dy * dy <= radius * radius : dx <= radius && dy <= radius;
        image.pixels.insert(image.pixels.end(), 3, inside ? 220 : 30);
      }
    }
    return image;
  }

 private:
  static constexpr int kSize = 24;
  int64_t first_, count_;
};

}  // namespace

int main() try {
  pounce::Dataset data(std::make_shared<Shapes>(0, 400), std::make_shared<Shapes>(400, 100));
  pounce::LoaderOptions options{.batch_size = 50, .image_size = 24, .resize_ratio = 1};

  // A loader is a range of batches; any tensor can be printed.
  pounce::Loader val(data.val(), options);
  for (const pounce::Batch& batch : val) {
    std::cout << batch.paths.front() << ": " << data.classes()[size_t(batch.labels.front())] << '\n'
              << batch.images.summary() << '\n';
    break;
  }

  options.shuffle = true;
  pounce::Model model("cnn",
                      {.classes = data.classes(), .image_size = 24, .resize_ratio = 1, .seed = 1});
  pounce::Trainer trainer(model, pounce::Loader(data.train(), options), std::move(val),
                          pounce::AdamW{}, {.epochs = 6});
  trainer.fit([](const pounce::EpochResult& epoch) {
    std::printf("epoch %d: %lld images, %lld skipped, validation accuracy %.2f\n",
                epoch.train.epoch, static_cast<long long>(epoch.train.images),
                static_cast<long long>(epoch.train.skipped), epoch.validation->accuracy);
  });
} catch (const pounce::Error& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
