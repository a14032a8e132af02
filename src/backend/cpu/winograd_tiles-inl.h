// Tiles of images to rows of spectra and back, by the transforms of winograd_transforms-inl.h.
// Included once for each instruction set, after highway.h (hence Highway's form of include guard).
#if defined(POUNCE_CPU_WINOGRAD_TILES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef POUNCE_CPU_WINOGRAD_TILES_INL_H
#undef POUNCE_CPU_WINOGRAD_TILES_INL_H
#else
#define POUNCE_CPU_WINOGRAD_TILES_INL_H
#endif

#include <algorithm>

#include <hwy/highway.h>

#include "backend/cpu/winograd_problem.h"
#include "backend/cpu/winograd_transforms-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pounce::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kLanes = int64_t(hn::MaxLanes(FloatTag()));

// Lanes from `count` on are 0.
HWY_INLINE FloatVector load_lanes(const float* from, int64_t count) {
  if (count >= kLanes) return hn::LoadU(FloatTag(), from);
  HWY_ALIGN float lanes[kLanes] = {};
  std::copy_n(from, count, lanes);
  return hn::Load(FloatTag(), lanes);
}

HWY_INLINE void store_lanes(FloatVector v, float* to, int64_t count) {
  if (count >= kLanes) return hn::StoreU(v, FloatTag(), to);
  HWY_ALIGN float lanes[kLanes];
  hn::Store(v, FloatTag(), lanes);
  std::copy_n(lanes, count, to);
}

// Where a tile lies.
struct TilePlace {
  TilePlace(const TiledImages& images, int64_t tile) {
    int64_t tiles = images.tiles_h * images.tiles_w;
    top = tile % tiles / images.tiles_w * images.step - images.pad_h;
    left = tile % images.tiles_w * images.step - images.pad_w;
    origin = ((tile / tiles * images.height + top) * images.width + left) * images.pixel_stride;
    row_stride = images.width * images.pixel_stride;
  }

  int64_t top, left;
  int64_t origin;  // offset of its first pixel, which may lie outside
  int64_t row_stride;
};

// Writes the spectra of tiles [first, first + count) into rows 0 .. count - 1.
template <class T>
void transform_tiles(const TiledImages& images, const float* data, Range tiles,
                     const Spectrum& spectrum) {
  for (int64_t row = 0; row < tiles.count; ++row) {
    const TilePlace place(images, tiles.first + row);
    const bool is_inside = place.top >= 0 && place.left >= 0 &&
                           place.top + T::kFrom <= images.height &&
                           place.left + T::kFrom <= images.width;
    for (int64_t c = 0; c < images.channels; c += kLanes) {
      const int64_t count = images.channels - c;
      float* to = spectrum.at(0, row, c);
      auto store = [&](int i, int j, FloatVector v) {
        hn::StoreU(v, FloatTag(), to + (i * T::kTo + j) * spectrum.frequency_stride);
      };
      auto at = [&](int i, int j) {
        return data + place.origin + i * place.row_stride + j * images.pixel_stride + c;
      };
      if (is_inside && count >= kLanes) {
        transform_square<T>([&](int i, int j) { return hn::LoadU(FloatTag(), at(i, j)); }, store);
        continue;
      }
      auto load = [&](int i, int j) {
        bool is_pixel = uint64_t(place.top + i) < uint64_t(images.height) &&
                        uint64_t(place.left + j) < uint64_t(images.width);
        return is_pixel ? load_lanes(at(i, j), count) : hn::Zero(FloatTag());
      };
      transform_square<T>(load, store);
    }
  }
}

// The other way: rows of spectra become tiles of the images, cut off where these end.
template <class T>
void write_tiles(const TiledImages& images, const Spectrum& spectrum, Range tiles, float* data) {
  for (int64_t row = 0; row < tiles.count; ++row) {
    const TilePlace place(images, tiles.first + row);
    const bool is_inside =
        place.top + T::kTo <= images.height && place.left + T::kTo <= images.width;
    for (int64_t c = 0; c < images.channels; c += kLanes) {
      const int64_t count = images.channels - c;
      const float* from = spectrum.at(0, row, c);
      auto load = [&](int i, int j) {
        return hn::LoadU(FloatTag(), from + (i * T::kFrom + j) * spectrum.frequency_stride);
      };
      transform_square<T>(load, [&](int i, int j, FloatVector v) {
        if (!is_inside && (place.top + i >= images.height || place.left + j >= images.width)) {
          return;
        }
        store_lanes(v, data + place.origin + i * place.row_stride + j * images.pixel_stride + c,
                    count);
      });
    }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace pounce::cpu
HWY_AFTER_NAMESPACE();

#endif
