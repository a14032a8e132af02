#include "targets.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "data/codecs.h"
#include "data/header.h"
#include "data/prepare.h"

namespace pounce::fuzz {
namespace {

// Larger pictures only make runs slow: what is done with a pixel does not depend on their number.
constexpr int64_t kMaxFuzzedPixels = 1 << 16;

using Decode = Result<void> (*)(std::span<const uint8_t>, Image&, const DecodeRule&);

bool is_too_large(std::span<const uint8_t> bytes) {
  Result<ImageHeader> header = read_image_header(bytes);
  return header && int64_t(header->width) * header->height > kMaxFuzzedPixels;
}

// libheif's decoder leaves what lay in memory where a damaged file has no pixels. decode_heic finds
// most of that by soiling the memory, which AddressSanitizer's allocator does not let it do.
bool is_repeatable(std::span<const uint8_t> bytes) {
  ImageFormat format = sniff_format(bytes.first(std::min<size_t>(bytes.size(), 32)));
  return format != ImageFormat::Heic;
}

template <Decode decode>
void run_decoder(std::span<const uint8_t> bytes) {
  if (is_too_large(bytes)) return;
  Image image, again;
  for (bool exif : {true, false}) {
    Result<void> done = decode(bytes, image, {.exif = exif});
    if (!done) {
      POUNCE_ASSERT(!done.error().message().empty());
      continue;
    }
    POUNCE_ASSERT(image.width > 0 && image.height > 0);
    POUNCE_ASSERT(image.rgb.size() == size_t(image.width) * size_t(image.height) * 3);
    // Equal bytes give equal pixels, so nothing was read that no one wrote.
    if (decode == decode_heic || !is_repeatable(bytes)) continue;
    POUNCE_ASSERT(decode(bytes, again, {.exif = exif}) && again.rgb == image.rgb);
  }
}

// Random crops of several sizes: windows and reduced scales of a JPEG, and what they are resized
// to.
void run_prepare(std::span<const uint8_t> bytes) {
  if (is_too_large(bytes) || !is_repeatable(bytes)) return;
  Image image;
  bool is_sound = bool(decode_image(bytes, image, {}));
  for (int size : {3, 24}) {
    PrepareRule rule;
    rule.preprocessing.image_size = size;
    rule.augmentation.crop_min = 0.08;
    Preparer preparer(rule), other(rule);
    std::vector<uint8_t> out(size_t(size) * size_t(size) * 3), again(out.size(), 0xFF);
    for (uint64_t seed = 0; seed < 3; ++seed) {
      AugmentKey key{.seed = seed};
      Result<void> done = preparer.from_bytes(bytes, key, out.data());
      POUNCE_ASSERT(bool(other.from_bytes(bytes, key, again.data())) == bool(done));
      // What can be decoded as a whole can be in part, and gives the same pixels.
      POUNCE_ASSERT(done || !is_sound);
      if (!done) continue;
      POUNCE_ASSERT(out == again);
      if (!is_sound || may_decode_scaled(image.width, image.height, rule)) continue;
      preparer.from_pixels(image, key, out.data());
      POUNCE_ASSERT(out == again);
    }
  }
}

void run_exif(std::span<const uint8_t> bytes) {
  int orientation = exif_orientation(bytes);
  POUNCE_ASSERT(orientation >= 1 && orientation <= 8);
}

void run_header(std::span<const uint8_t> bytes) {
  ImageFormat format = ImageFormat::Unknown;
  Result<ImageHeader> header = read_image_header(bytes, &format);
  if (!header) {
    POUNCE_ASSERT(!header.error().message().empty());
    return;
  }
  POUNCE_ASSERT(header->format != ImageFormat::Unknown);
  // A JPEG that is decoded row by row may have more pixels than fit into memory.
  bool is_jpeg = header->format == ImageFormat::Jpeg;
  POUNCE_ASSERT(header->width > 0 && header->height > 0);
  POUNCE_ASSERT(is_jpeg || !check_extents(header->width, header->height));
}

constexpr Decode kDecodeAny = decode_image;

constexpr Target kTargets[] = {
    {"avif", run_decoder<decode_avif>},
    {"bmp", run_decoder<decode_bmp>},
    {"exif", run_exif},
    {"gif", run_decoder<decode_gif>},
    {"header", run_header},
    {"heic", run_decoder<decode_heic>},
    {"image", run_decoder<kDecodeAny>},
    {"jpeg", run_decoder<decode_jpeg>},
    {"png", run_decoder<decode_png>},
    {"prepare", run_prepare},
    {"tiff", run_decoder<decode_tiff>},
    {"webp", run_decoder<decode_webp>},
};

}  // namespace

std::span<const Target> targets() {
  return kTargets;
}

const Target& find_target(std::string_view name) {
  for (const Target& target : kTargets) {
    if (target.name == name) return target;
  }
  std::fprintf(stderr, "no fuzz target named %.*s\n", int(name.size()), name.data());
  std::abort();
}

}  // namespace pounce::fuzz
