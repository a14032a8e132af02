// GIF through giflib's low-level calls, which allocate nothing by the size of the picture: the
// first frame on its canvas, in its colours.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include <gif_lib.h>

#include "data/codecs.h"
#include "data/header_reader.h"

namespace pounce {
namespace {

struct CloseGif {
  void operator()(GifFileType* gif) const { DGifCloseFile(gif, nullptr); }
};
using Gif = std::unique_ptr<GifFileType, CloseGif>;

int read_bytes(GifFileType* gif, GifByteType* into, int n) {
  auto& rest = *static_cast<std::span<const uint8_t>*>(gif->UserData);
  size_t got = std::min(rest.size(), size_t(n));
  std::copy_n(rest.begin(), got, into);
  rest = rest.subspan(got);
  return int(got);
}

tl::unexpected<Error> gif_error(int code) {
  if (code == D_GIF_ERR_NOT_ENOUGH_MEM) {
    return tl::unexpected<Error>(Error(ErrorKind::OutOfMemory, "no memory for a GIF image"));
  }
  if (code == D_GIF_ERR_READ_FAILED || code == D_GIF_ERR_EOF_TOO_SOON) {
    return damaged("cut GIF: the file ends in its first frame");
  }
  const char* reason = GifErrorString(code);
  return damaged(fmt::format("damaged GIF: {}", reason ? reason : "not readable"));
}

// Reads on to the first frame's description. The transparent index, or -1, where one is given.
Result<int> find_frame(GifFileType* gif) {
  int transparent = NO_TRANSPARENT_COLOR;
  for (;;) {
    GifRecordType type;
    if (DGifGetRecordType(gif, &type) == GIF_ERROR) return gif_error(gif->Error);
    if (type == TERMINATE_RECORD_TYPE) return damaged("damaged GIF: it holds no picture");
    if (type == IMAGE_DESC_RECORD_TYPE) {
      if (DGifGetImageDesc(gif) == GIF_ERROR) return gif_error(gif->Error);
      return transparent;
    }
    if (type != EXTENSION_RECORD_TYPE) continue;
    int code = 0;
    GifByteType* block = nullptr;
    if (DGifGetExtension(gif, &code, &block) == GIF_ERROR) return gif_error(gif->Error);
    GraphicsControlBlock control;
    // A block begins with its length.
    if (code == GRAPHICS_EXT_FUNC_CODE && block &&
        DGifExtensionToGCB(block[0], block + 1, &control) == GIF_OK) {
      transparent = control.TransparentColor;
    }
    while (block) {
      if (DGifGetExtensionNext(gif, &block) == GIF_ERROR) return gif_error(gif->Error);
    }
  }
}

using Palette = std::array<std::array<uint8_t, 3>, 256>;

// Indices without a colour are levels of grey, as in Pillow.
Palette palette_of(const GifFileType& gif) {
  Palette palette;
  for (size_t i = 0; i < palette.size(); ++i) palette[i].fill(uint8_t(i));
  const ColorMapObject* map = gif.Image.ColorMap ? gif.Image.ColorMap : gif.SColorMap;
  for (int i = 0; map && i < std::min(map->ColorCount, 256); ++i) {
    palette[size_t(i)] = {map->Colors[i].Red, map->Colors[i].Green, map->Colors[i].Blue};
  }
  return palette;
}

// The rows of an interlaced picture come in four passes. Source: GIF89a, appendix E.
std::vector<int> row_order(int height, bool is_interlaced) {
  std::vector<int> rows;
  rows.reserve(size_t(height));
  constexpr int kStarts[] = {0, 4, 2, 1}, kSteps[] = {8, 8, 4, 2};
  for (int pass = 0; pass < 4 && is_interlaced; ++pass) {
    for (int y = kStarts[pass]; y < height; y += kSteps[pass]) rows.push_back(y);
  }
  for (int y = 0; y < height && !is_interlaced; ++y) rows.push_back(y);
  return rows;
}

Result<void> read_pixels(GifFileType* gif, const Palette& palette, Image& image) {
  const GifImageDesc& frame = gif->Image;
  std::vector<uint8_t> indices(size_t(frame.Width));
  for (int y : row_order(frame.Height, frame.Interlace)) {
    if (DGifGetLine(gif, indices.data(), frame.Width) == GIF_ERROR) return gif_error(gif->Error);
    size_t first = size_t(frame.Top + y) * size_t(image.width) + size_t(frame.Left);
    uint8_t* out = image.rgb.data() + 3 * first;
    for (uint8_t index : indices) out = std::copy_n(palette[index].data(), 3, out);
  }
  return {};
}

void fill_canvas(Image& image, const std::array<uint8_t, 3>& colour) {
  image.rgb.resize(size_t(image.width) * size_t(image.height) * 3);
  for (size_t i = 0; i < image.rgb.size(); i += 3) std::copy_n(colour.data(), 3, &image.rgb[i]);
}

}  // namespace

Result<void> decode_gif(std::span<const uint8_t> bytes, Image& image, const DecodeRule&) {
  // Extents and cuts are judged before giflib sees the file.
  HeaderReader reader(bytes);
  Result<ImageHeader> header = read_gif_header(reader);
  if (!header) return tl::make_unexpected(header.error());
  int code = 0;
  Gif gif(DGifOpen(&bytes, read_bytes, &code));
  if (!gif) return gif_error(code);
  Result<int> transparent = find_frame(gif.get());
  if (!transparent) return tl::make_unexpected(transparent.error());
  const GifImageDesc& frame = gif->Image;
  POUNCE_ASSERT(frame.Left + frame.Width <= header->width);
  POUNCE_ASSERT(frame.Top + frame.Height <= header->height);
  image.width = header->width;
  image.height = header->height;
  Palette palette = palette_of(*gif);
  fill_canvas(image, palette[*transparent < 0 ? 0 : size_t(*transparent)]);
  return read_pixels(gif.get(), palette, image);
}

}  // namespace pounce
