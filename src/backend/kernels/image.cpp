// Images and labels to what a network reads.
#include <fmt/format.h>

#include "backend/kernels/families.h"

namespace pounce::kernels {
namespace {

Launch image_launch(const NodeContext& context, const char* entry) {
  return {.program = {"image", {{"Y_TYPE", storage(context.output(0).dtype)}}},
          .entry = entry,
          .items = kItems};
}

// Up to 4 channels a launch.
std::vector<Launch> launch_normalize(const NodeContext& context) {
  const std::vector<double>& mean = context.node.attributes.numbers("mean");
  const std::vector<double>& std = context.node.attributes.numbers("std");
  int64_t channels = channels_of(context.input(0));
  std::vector<Launch> launches;
  for (int64_t first = 0; first < channels; first += 4) {
    int64_t pixels = context.input(0).shape.elements() / channels;
    Launch launch = image_launch(context, "normalize_image");
    launch.groups[0] = groups_for(pixels, kItems);
    launch.arguments = {input(0), output(0), pixels, int32_t(channels), int32_t(first)};
    for (int64_t c = first; c < first + 4; ++c) {
      bool exists = c < channels;
      launch.arguments.emplace_back(exists ? float(1 / (255 * std[size_t(c)])) : 0.0f);
      launch.arguments.emplace_back(exists ? float(-mean[size_t(c)] / std[size_t(c)]) : 0.0f);
    }
    launches.push_back(launch);
  }
  return launches;
}

std::vector<Launch> launch_one_hot(const NodeContext& context) {
  int64_t classes = context.output(0).shape[1], count = context.output(0).shape.elements();
  double smoothing = context.node.attributes.number("smoothing");
  double everywhere = smoothing / double(classes);
  Launch launch = image_launch(context, "one_hot");
  launch.groups[0] = groups_for(count, kElementsAGroup);
  launch.arguments = {
      input(0), output(0), int32_t(classes), float(everywhere), float(1 - smoothing + everywhere),
      count};
  return {launch};
}

}  // namespace

std::vector<Row> image_kernels() {
  return {
      {OpKind::NormalizeImage,
       {.name = "image", .refuse = refuse_f64, .launches = launch_normalize}},
      {OpKind::OneHot, {.name = "image", .refuse = refuse_f64, .launches = launch_one_hot}},
  };
}

}  // namespace pounce::kernels
