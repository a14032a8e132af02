// libjpeg-turbo's classic interface. libjpeg reports errors by a callback that must not return, so
// it leaves by longjmp; every function that calls setjmp holds plain data only.
#include "data/jpeg_decoder.h"

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstring>
// libjpeg's headers need size_t and FILE first.
#include <jerror.h>
#include <jpeglib.h>

#include "data/codecs.h"
#include "data/jpeg_limits.h"
#include "data/resize_kernels.h"

namespace pounce {
namespace {

// A file may ask for thousands of passes over a huge picture; real ones have about ten.
constexpr int kMaxScans = 200;
// Rows handed over together.
constexpr int kRowsAtOnce = 16;

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

void on_progress(j_common_ptr info) {
  auto* decompress = reinterpret_cast<j_decompress_ptr>(info);
  if (decompress->input_scan_number <= kMaxScans) return;
  auto* state = reinterpret_cast<ErrorState*>(info->err);
  state->code = 0;
  std::snprintf(state->text, sizeof state->text, "more than %d progressive scans", kMaxScans);
  longjmp(state->escape, 1);
}

// What libjpeg works on.
struct Engine {
  jpeg_decompress_struct info;
  ErrorState error;
  jpeg_progress_mgr progress;
};

bool read_header(Engine& engine, const uint8_t* bytes, size_t size) {
  jpeg_decompress_struct& info = engine.info;
  info.err = jpeg_std_error(&engine.error.manager);
  info.err->error_exit = leave;
  info.err->emit_message = on_message;
  info.err->output_message = on_output;
  if (setjmp(engine.error.escape)) return false;
  jpeg_create_decompress(&info);
  engine.progress.progress_monitor = on_progress;
  info.progress = &engine.progress;
  jpeg_mem_src(&info, bytes, static_cast<unsigned long>(size));
  jpeg_save_markers(&info, JPEG_APP0 + 1, 0xFFFF);
  jpeg_read_header(&info, TRUE);
  // libjpeg turns YCCK into CMYK but leaves the way from there to RGB to us.
  bool is_four_channels = info.num_components == 4;
  info.out_color_space = is_four_channels ? JCS_CMYK : JCS_RGB;
  return true;
}

// Pixels of a block at the scale that is decoded: of luma, and of a component, which may be decoded
// larger in the place of interpolating. The fields have other names in the ABI of libjpeg 7 and 8.
#if JPEG_LIB_VERSION >= 70
int block_pixels(const jpeg_decompress_struct& info) {
  return info.min_DCT_v_scaled_size;
}
int block_pixels(const jpeg_component_info& component) {
  return component.DCT_h_scaled_size;
}
#else
int block_pixels(const jpeg_decompress_struct& info) {
  return info.min_DCT_scaled_size;
}
int block_pixels(const jpeg_component_info& component) {
  return component.DCT_scaled_size;
}
#endif

struct Columns {
  JDIMENSION left, width;  // libjpeg moves `left` further to the left
};

// The columns to decode so that those of the window come out as in the whole picture: when libjpeg
// interpolates chroma it takes the edge of what it decodes for the edge of the picture, and looks
// one chroma sample to either side. Rows need no such margin: libjpeg keeps the one above.
Columns columns_for(const jpeg_decompress_struct& info, const CropBox& window) {
  int left = std::max(window.left - info.max_h_samp_factor, 0);
  int right = window.left + window.width + info.max_h_samp_factor;
  return {JDIMENSION(left), JDIMENSION(std::min(right, int(info.output_width)) - left)};
}

// jpeg_crop_scanline forgets that a component may be decoded larger and yet be interpolated.
bool can_crop_columns(const jpeg_decompress_struct& info) {
  for (int i = 0; i < info.num_components; ++i) {
    const jpeg_component_info& component = info.comp_info[i];
    bool is_larger = block_pixels(component) != block_pixels(info);
    bool is_interpolated = component.h_samp_factor * block_pixels(component) !=
                           info.max_h_samp_factor * block_pixels(info);
    if (is_larger && is_interpolated) return false;
  }
  return true;
}

// Whether libjpeg smooths what passes that never came would have refined; it then looks further
// around than the margin goes.
bool is_smoothed(const jpeg_decompress_struct& info) {
  if (!info.progressive_mode || !info.coef_bits) return false;
  for (int component = 0; component < info.num_components; ++component) {
    for (int i = 0; i < 10; ++i) {
      if (info.coef_bits[component][i] != 0) return true;
    }
  }
  return false;
}

// `skipped`: columns before the window in what is decoded.
bool start_window(Engine& engine, unsigned denominator, const CropBox& window, int* skipped) {
  jpeg_decompress_struct& info = engine.info;
  if (setjmp(engine.error.escape)) return false;
  engine.error.in_picture = true;
  info.scale_num = 1;
  info.scale_denom = denominator;
  jpeg_start_decompress(&info);
  *skipped = window.left;
  if (is_smoothed(info)) return true;
  Columns columns = columns_for(info, window);
  if (columns.width < info.output_width && can_crop_columns(info)) {
    JDIMENSION left = columns.left, width = columns.width;
    jpeg_crop_scanline(&info, &left, &width);
    *skipped = window.left - int(left);
  }
  if (window.top > 0) jpeg_skip_scanlines(&info, JDIMENSION(window.top));
  return true;
}

// Rows up to `end` to the places in `rows`.
bool read_rows(Engine& engine, JDIMENSION end, JSAMPROW* rows) {
  jpeg_decompress_struct& info = engine.info;
  if (setjmp(engine.error.escape)) return false;
  JDIMENSION begin = info.output_scanline;
  while (info.output_scanline < end) {
    jpeg_read_scanlines(&info, rows + (info.output_scanline - begin), end - info.output_scanline);
  }
  return true;
}

// Passes over the rows that are left and reads on to the end marker, so a missing one is noticed.
// `row` has room for one.
bool read_to_end(Engine& engine, JSAMPROW* row) {
  jpeg_decompress_struct& info = engine.info;
  if (setjmp(engine.error.escape)) return false;
  // Skipping the very last row would skip the rest of the file, too.
  JDIMENSION left = info.output_height - info.output_scanline;
  if (left > 1) jpeg_skip_scanlines(&info, left - 1);
  if (left > 0) jpeg_read_scanlines(&info, row, 1);
  jpeg_finish_decompress(&info);
  return true;
}

// Four bytes c, m, y, k to three in place of a row; Adobe stores them inverted, and Pillow takes
// every such file for Adobe's. Source: Pillow's Convert.c, cmyk2rgb.
void convert_cmyk(const uint8_t* cmyk, int width, uint8_t* rgb) {
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

JpegShape shape_of(jpeg_decompress_struct& info) {
  JpegShape shape;
  shape.width = info.image_width;
  shape.height = info.image_height;
  shape.is_arithmetic = info.arith_code;
  shape.has_passes = jpeg_has_multiple_scans(&info);
  shape.components = info.num_components;
  for (int i = 0; i < std::min(info.num_components, int(shape.sampling.size())); ++i) {
    shape.sampling[size_t(i)] = {info.comp_info[i].h_samp_factor, info.comp_info[i].v_samp_factor};
  }
  return shape;
}

// libjpeg forgets the markers at the end of the picture.
int orientation_of(const jpeg_decompress_struct& info) {
  constexpr char kExif[6] = {'E', 'x', 'i', 'f', 0, 0};
  jpeg_saved_marker_ptr marker = info.marker_list;
  for (; marker; marker = marker->next) {
    if (marker->data_length < sizeof kExif || std::memcmp(marker->data, kExif, sizeof kExif) != 0) {
      continue;
    }
    return exif_orientation({marker->data + sizeof kExif, marker->data_length - sizeof kExif});
  }
  return 1;
}

}  // namespace

struct JpegDecoder::State {
  Engine engine{};
  int orientation = 1;
  CropBox window;
  JpegReach reach = JpegReach::Window;
  int skipped = 0;   // columns before the window in a decoded row
  int next_row = 0;  // of the window
  bool is_finished = false;
  std::vector<uint8_t> decoded;  // rows as libjpeg gives them
  std::vector<uint8_t> rgb;      // the same of a CMYK picture
  std::vector<JSAMPROW> places;

  ~State() { jpeg_destroy_decompress(&engine.info); }
  tl::unexpected<Error> error() const { return tl::unexpected<Error>(error_of(engine.error)); }
  bool is_cmyk() const { return engine.info.out_color_space == JCS_CMYK; }
};

JpegDecoder::JpegDecoder() : state_(std::make_unique<State>()) {}

JpegDecoder::~JpegDecoder() = default;

Result<void> JpegDecoder::open(std::span<const uint8_t> bytes) {
  Engine& engine = state_->engine;
  if (!read_header(engine, bytes.data(), bytes.size())) return state_->error();
  if (auto refused = check_jpeg_shape(shape_of(engine.info), bytes.size())) {
    return tl::make_unexpected(*refused);
  }
  state_->orientation = orientation_of(engine.info);
  return {};
}

int JpegDecoder::width() const {
  return int(state_->engine.info.image_width);
}

int JpegDecoder::height() const {
  return int(state_->engine.info.image_height);
}

int JpegDecoder::orientation() const {
  return state_->orientation;
}

Result<void> JpegDecoder::start(int denominator, const CropBox& window, JpegReach reach) {
  Engine& engine = state_->engine;
  if (!start_window(engine, unsigned(denominator), window, &state_->skipped)) {
    return state_->error();
  }
  state_->window = window;
  state_->reach = reach;
  size_t channels = state_->is_cmyk() ? 4 : 3;
  size_t stride = size_t(engine.info.output_width) * channels + kRowPadding;
  state_->decoded.resize(kRowsAtOnce * stride);
  if (state_->is_cmyk()) {
    state_->rgb.resize(kRowsAtOnce * (size_t(window.width) * 3 + kRowPadding));
  }
  state_->places.clear();
  for (int i = 0; i < kRowsAtOnce; ++i) {
    state_->places.push_back(&state_->decoded[size_t(i) * stride]);
  }
  return {};
}

Result<JpegDecoder::Rows> JpegDecoder::next_rows() {
  State& state = *state_;
  Rows rows;
  // Rows above the window are decoded where libjpeg cannot skip them.
  while (state.next_row < state.window.height) {
    int at = int(state.engine.info.output_scanline);
    int end = std::min(at + kRowsAtOnce, state.window.top + state.window.height);
    if (!read_rows(state.engine, JDIMENSION(end), state.places.data())) return state.error();
    int above = std::max(state.window.top + state.next_row - at, 0);
    if (above >= end - at) continue;
    rows.count = end - at - above;
    rows.stride = state.places.size() > 1 ? size_t(state.places[1] - state.places[0]) : 0;
    rows.first = state.places[size_t(above)] + size_t(state.skipped) * (state.is_cmyk() ? 4 : 3);
    break;
  }
  state.next_row += rows.count;
  if (rows.count == 0 && !state.is_finished) {
    state.is_finished = true;
    const jpeg_decompress_struct& info = state.engine.info;
    bool reads_on =
        state.reach == JpegReach::WholeFile || info.output_scanline == info.output_height;
    if (reads_on && !read_to_end(state.engine, state.places.data())) return state.error();
  }
  if (!state.is_cmyk() || rows.count == 0) return rows;
  size_t stride = size_t(state.window.width) * 3 + kRowPadding;
  for (int i = 0; i < rows.count; ++i) {
    convert_cmyk(rows.first + size_t(i) * rows.stride, state.window.width,
                 &state.rgb[size_t(i) * stride]);
  }
  return Rows{state.rgb.data(), stride, rows.count};
}

}  // namespace pounce
