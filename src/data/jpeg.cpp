// JPEG through libjpeg-turbo's classic interface. libjpeg reports errors by a callback that must
// not return, so it leaves by longjmp; every function that calls setjmp holds plain data only.
#include <csetjmp>
#include <cstdio>
#include <cstring>
// libjpeg's headers need size_t and FILE first.
#include <jerror.h>
#include <jpeglib.h>

#include "data/codecs.h"

namespace pounce {
namespace {

// A file may ask for thousands of passes over a huge picture; real ones have about ten.
constexpr int kMaxScans = 200;

struct ErrorState {
  jpeg_error_mgr manager;  // first: libjpeg hands its address back
  jmp_buf escape;
  char text[JMSG_LENGTH_MAX];
  int code;
  bool in_picture;  // past the header
};

[[noreturn]] void leave(j_common_ptr info) {
  auto* state = reinterpret_cast<ErrorState*>(info->err);
  state->code = info->err->msg_code;
  (*info->err->format_message)(info, state->text);
  longjmp(state->escape, 1);
}

// libjpeg goes on after a warning with grey or torn rows; such a picture is damaged. The exceptions
// leave every pixel as it was stored: junk between the segments of the header, an unknown version
// or transform number, passes in an odd order, a bad colour profile (which is not used).
bool is_harmless(const ErrorState& state) {
  switch (state.manager.msg_code) {
    case JWRN_EXTRANEOUS_DATA:
      return !state.in_picture;
    case JWRN_JFIF_MAJOR:
    case JWRN_ADOBE_XFORM:
    case JWRN_BOGUS_PROGRESSION:
    case JWRN_BOGUS_ICC:
      return true;
    default:
      return false;
  }
}

void on_message(j_common_ptr info, int level) {
  if (level < 0 && !is_harmless(*reinterpret_cast<ErrorState*>(info->err))) leave(info);
}

void on_output(j_common_ptr) {}

struct Decoder {
  jpeg_decompress_struct info;
  ErrorState error;
  jpeg_progress_mgr progress;
};

void on_progress(j_common_ptr info) {
  auto* decompress = reinterpret_cast<j_decompress_ptr>(info);
  if (decompress->input_scan_number <= kMaxScans) return;
  auto* state = reinterpret_cast<ErrorState*>(info->err);
  state->code = 0;
  std::snprintf(state->text, sizeof state->text, "more than %d progressive scans", kMaxScans);
  longjmp(state->escape, 1);
}

bool read_header(Decoder& decoder, const uint8_t* bytes, size_t size) {
  jpeg_decompress_struct& info = decoder.info;
  info.err = jpeg_std_error(&decoder.error.manager);
  info.err->error_exit = leave;
  info.err->emit_message = on_message;
  info.err->output_message = on_output;
  if (setjmp(decoder.error.escape)) return false;
  jpeg_create_decompress(&info);
  decoder.progress.progress_monitor = on_progress;
  info.progress = &decoder.progress;
  jpeg_mem_src(&info, bytes, static_cast<unsigned long>(size));
  jpeg_save_markers(&info, JPEG_APP0 + 1, 0xFFFF);
  jpeg_read_header(&info, TRUE);
  // libjpeg turns YCCK into CMYK but leaves the way from there to RGB to us.
  bool is_four_channels = info.num_components == 4;
  info.out_color_space = is_four_channels ? JCS_CMYK : JCS_RGB;
  jpeg_calc_output_dimensions(&info);
  return true;
}

// Four bytes c, m, y, k to three in place of a row; Adobe stores them inverted, and Pillow takes
// every such file for Adobe's. Source: Pillow's Convert.c, cmyk2rgb.
void convert_cmyk_row(const uint8_t* cmyk, int width, uint8_t* rgb) {
  for (int x = 0; x < width; ++x, cmyk += 4, rgb += 3) {
    int white = cmyk[3];
    for (int channel = 0; channel < 3; ++channel) {
      int product = (255 - cmyk[channel]) * white + 128;
      int ink = ((product >> 8) + product) >> 8;
      int value = white - ink;
      rgb[channel] = uint8_t(value < 0 ? 0 : value);
    }
  }
}

bool read_rows(Decoder& decoder, uint8_t* rgb, uint8_t* cmyk_row) {
  jpeg_decompress_struct& info = decoder.info;
  if (setjmp(decoder.error.escape)) return false;
  decoder.error.in_picture = true;
  jpeg_start_decompress(&info);
  size_t row_bytes = size_t(info.output_width) * 3;
  while (info.output_scanline < info.output_height) {
    uint8_t* out = rgb + info.output_scanline * row_bytes;
    JSAMPROW row = cmyk_row ? cmyk_row : out;
    jpeg_read_scanlines(&info, &row, 1);
    if (cmyk_row) convert_cmyk_row(cmyk_row, int(info.output_width), out);
  }
  // Reads on to the end marker, so a missing one is noticed.
  jpeg_finish_decompress(&info);
  return true;
}

int orientation_of(const jpeg_decompress_struct& info) {
  constexpr char kExif[6] = {'E', 'x', 'i', 'f', 0, 0};
  for (jpeg_saved_marker_ptr marker = info.marker_list; marker; marker = marker->next) {
    if (marker->data_length < sizeof kExif || std::memcmp(marker->data, kExif, sizeof kExif) != 0) {
      continue;
    }
    return exif_orientation({marker->data + sizeof kExif, marker->data_length - sizeof kExif});
  }
  return 1;
}

Error error_of(const ErrorState& state) {
  switch (state.code) {
    case JERR_BAD_PRECISION:
      return Error(ErrorKind::Unsupported, "JPEG with more than 8 bits a channel");
    case JERR_IMAGE_TOO_BIG:
      return Error(ErrorKind::Unsupported, "a side of more than 65,500 pixels");
    case JERR_SOF_UNSUPPORTED:
      return Error(ErrorKind::Unsupported, "lossless or hierarchical JPEG");
    case JERR_ARITH_NOTIMPL:
      return Error(ErrorKind::Unsupported, "arithmetic-coded JPEG");
    case JERR_CONVERSION_NOTIMPL:
      return Error(ErrorKind::Unsupported, "JPEG with unknown colour channels");
    case JERR_OUT_OF_MEMORY:
      return Error(ErrorKind::OutOfMemory, state.text);
    default:
      return Error(ErrorKind::BadData, fmt::format("damaged JPEG: {}", state.text));
  }
}

struct DestroyDecoder {
  Decoder& decoder;
  ~DestroyDecoder() { jpeg_destroy_decompress(&decoder.info); }
};

}  // namespace

Result<void> decode_jpeg(std::span<const uint8_t> bytes, Image& image, const DecodeRule& rule) {
  Decoder decoder{};
  DestroyDecoder destroy{decoder};
  if (!read_header(decoder, bytes.data(), bytes.size())) {
    return tl::make_unexpected(error_of(decoder.error));
  }
  const jpeg_decompress_struct& info = decoder.info;
  if (auto refused = check_extents(info.output_width, info.output_height)) {
    return tl::make_unexpected(*refused);
  }
  image.width = int(info.output_width);
  image.height = int(info.output_height);
  image.rgb.resize(size_t(image.width) * size_t(image.height) * 3);
  std::vector<uint8_t> cmyk_row;
  if (info.out_color_space == JCS_CMYK) cmyk_row.resize(size_t(image.width) * 4);
  int orientation = rule.exif ? orientation_of(info) : 1;
  if (!read_rows(decoder, image.rgb.data(), cmyk_row.empty() ? nullptr : cmyk_row.data())) {
    return tl::make_unexpected(error_of(decoder.error));
  }
  apply_orientation(image, orientation);
  return {};
}

}  // namespace pounce
