// WebP through libwebp: the first frame on its canvas. The container is read by libwebp's demuxer,
// which refuses cut files and frames that leave their canvas.
#include <memory>

#include <webp/decode.h>
#include <webp/demux.h>

#include "data/codecs.h"
#include "data/header_reader.h"

namespace pounce {
namespace {

struct DeleteDemuxer {
  void operator()(WebPDemuxer* demuxer) const { WebPDemuxDelete(demuxer); }
};
using Demuxer = std::unique_ptr<WebPDemuxer, DeleteDemuxer>;

struct Frame : WebPIterator {
  Frame() : WebPIterator{} {}
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;
  ~Frame() { WebPDemuxReleaseIterator(this); }
};

tl::unexpected<Error> webp_error(VP8StatusCode status) {
  switch (status) {
    case VP8_STATUS_OUT_OF_MEMORY:
      return tl::unexpected<Error>(Error(ErrorKind::OutOfMemory, "no memory for a WebP image"));
    case VP8_STATUS_UNSUPPORTED_FEATURE:
      return unsupported("a WebP feature that libwebp does not know");
    case VP8_STATUS_NOT_ENOUGH_DATA:
      return damaged("cut WebP: its pixels end too early");
    default:
      return damaged("damaged WebP: its pixels cannot be decoded");
  }
}

// Into the frame's place on the canvas.
Result<void> decode_frame(const Frame& frame, Image& image) {
  WebPDecoderConfig config;
  if (!WebPInitDecoderConfig(&config)) return unsupported("another version of libwebp");
  VP8StatusCode status = WebPGetFeatures(frame.fragment.bytes, frame.fragment.size, &config.input);
  if (status != VP8_STATUS_OK) return webp_error(status);
  if (config.input.width != frame.width || config.input.height != frame.height) {
    return damaged("damaged WebP: the frame is not as large as its header says");
  }
  size_t stride = size_t(image.width) * 3;
  size_t first = size_t(frame.y_offset) * stride + size_t(frame.x_offset) * 3;
  // Without MODE_RGBA the colours are those stored, whatever their transparency.
  config.output.colorspace = MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA.rgba = image.rgb.data() + first;
  config.output.u.RGBA.stride = int(stride);
  config.output.u.RGBA.size = image.rgb.size() - first;
  status = WebPDecode(frame.fragment.bytes, frame.fragment.size, &config);
  WebPFreeDecBuffer(&config.output);
  if (status != VP8_STATUS_OK) return webp_error(status);
  return {};
}

int orientation_of(const WebPDemuxer* demuxer) {
  WebPChunkIterator chunk{};
  int orientation = 1;
  if (WebPDemuxGetChunk(demuxer, "EXIF", 1, &chunk)) {
    orientation = exif_orientation(without_exif_prefix({chunk.chunk.bytes, chunk.chunk.size}));
  }
  WebPDemuxReleaseChunkIterator(&chunk);
  return orientation;
}

}  // namespace

Result<void> decode_webp(std::span<const uint8_t> bytes, Image& image, const DecodeRule& rule) {
  HeaderReader reader(bytes);
  Result<ImageHeader> header = read_webp_header(reader);
  if (!header) return tl::make_unexpected(header.error());
  WebPData data{bytes.data(), bytes.size()};
  Demuxer demuxer(WebPDemux(&data));
  if (!demuxer) return damaged("damaged or cut WebP: its chunks cannot be read");
  int64_t width = WebPDemuxGetI(demuxer.get(), WEBP_FF_CANVAS_WIDTH);
  int64_t height = WebPDemuxGetI(demuxer.get(), WEBP_FF_CANVAS_HEIGHT);
  if (auto refused = check_extents(width, height)) return tl::make_unexpected(*refused);
  Frame frame;
  if (!WebPDemuxGetFrame(demuxer.get(), 1, &frame)) return damaged("damaged WebP: no frame");
  image.width = int(width);
  image.height = int(height);
  // What the first frame leaves free is transparent black.
  image.rgb.assign(size_t(width) * size_t(height) * 3, 0);
  if (Result<void> done = decode_frame(frame, image); !done) return done;
  if (rule.exif) apply_orientation(image, orientation_of(demuxer.get()));
  return {};
}

}  // namespace pounce
