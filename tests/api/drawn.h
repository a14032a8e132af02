// Small drawn data and a small network for the tests of the library.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pounce/pounce.h"

namespace pounce::test {

// Images of 8 x 8 pixels: class 0 is dark, the last is bright; with a texture that differs.
class Drawn : public ImageSource {
 public:
  explicit Drawn(int64_t images, int classes = 2, std::string prefix = "drawn ")
      : images_(images), classes_(classes), prefix_(std::move(prefix)) {}

  int64_t size() const override { return images_; }
  std::vector<std::string> classes() const override {
    std::vector<std::string> names;
    for (int i = 0; i < classes_; ++i) names.push_back("class " + std::to_string(i));
    return names;
  }
  int label(int64_t index) const override { return int(index % classes_); }
  std::string name(int64_t index) const override { return prefix_ + std::to_string(index); }
  SourceImage load(int64_t index) const override {
    SourceImage image{.width = 8, .height = 8, .pixels = {}, .file = {}};
    for (int i = 0; i < 8 * 8 * 3; ++i) {
      int noise = int((uint64_t(index) * 7919 + uint64_t(i) * 104729) % 61);
      image.pixels.push_back(uint8_t(noise + 190 * label(index) / (classes_ - 1)));
    }
    return image;
  }

 private:
  int64_t images_;
  int classes_;
  std::string prefix_;
};

inline ImageList drawn(int64_t images, int classes = 2) {
  return Dataset(std::make_shared<Drawn>(images, classes)).train();
}

inline std::vector<std::string> class_names(int classes) {
  return Drawn(1, classes).classes();
}

inline LoaderOptions small_loader(int batch_size = 8) {
  return {.batch_size = batch_size, .image_size = 8, .workers = 1};
}

inline Expr tiny_network(Builder& b, const Expr& images, int classes) {
  Expr x = relu(b.batch_norm("bn", b.conv("conv", images, 4, {.kernel = 3, .padding = 1})));
  return b.linear("fc", b.global_avg_pool(x), classes);
}

inline Model tiny_model(const Device& device, int classes = 2, uint64_t seed = 0) {
  return Model(tiny_network, {.classes = class_names(classes), .image_size = 8, .seed = seed},
               device);
}

// Images U8 [n, 8, 8, 3] on the host.
inline Tensor some_images(int64_t n) {
  std::vector<uint8_t> pixels(size_t(n) * 8 * 8 * 3);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = uint8_t(i * 37 % 251);
  return Tensor({n, 8, 8, 3}, std::move(pixels));
}

}  // namespace pounce::test
