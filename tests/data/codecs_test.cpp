// Formats by bytes written here or kept in fuzz/corpus: what must hold wherever the tests run.
#include "data/codecs.h"

#include <atomic>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/system.h"
#include "data/fixtures.h"
#include "data/header.h"

namespace pounce {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<int> pixel(const Image& image, int x, int y) {
  const uint8_t* at = image.rgb.data() + 3 * (int64_t(y) * image.width + x);
  return {at[0], at[1], at[2]};
}

std::string outcome(const Bytes& bytes, const DecodeRule& rule = {}) {
  Result<Image> image = decode_image(bytes, rule);
  if (image) return fmt::format("ok {}x{}", image->width, image->height);
  return std::string(error_kind_name(image.error().kind())) + ": " + image.error().message();
}

std::string header_outcome(const Bytes& bytes) {
  Result<ImageHeader> header = read_image_header(std::span<const uint8_t>(bytes));
  if (header) return fmt::format("ok {}x{}", header->width, header->height);
  return std::string(error_kind_name(header.error().kind())) + ": " + header.error().message();
}

Bytes seed(const std::string& name) {
  return read_file(std::string(POUNCE_SOURCE_DIR) + "/fuzz/corpus/" + name).value();
}

// Fields of a file, one after the other.
struct Writer {
  Bytes bytes;

  Writer& text(std::string_view value) {
    bytes.insert(bytes.end(), value.begin(), value.end());
    return *this;
  }
  Writer& u8(std::initializer_list<int> values) {
    for (int value : values) bytes.push_back(uint8_t(value));
    return *this;
  }
  Writer& little(uint64_t value, int n) {
    for (int i = 0; i < n; ++i) bytes.push_back(i < 8 ? uint8_t(value >> (8 * i)) : uint8_t{0});
    return *this;
  }
  Writer& big(uint64_t value, int n) {
    for (int i = n; i-- > 0;) bytes.push_back(uint8_t(value >> (8 * i)));
    return *this;
  }
};

// A 2x2 picture with the colours of its palette 0, 1 / 1, 0. The codes: clear, 0, 1, 1, 0, end.
Bytes tiny_gif() {
  Writer gif;
  gif.text("GIF89a").little(2, 2).little(2, 2).u8({0x80, 0, 0}).u8({10, 20, 30, 200, 100, 50});
  gif.u8({0x2C}).little(0, 4).little(2, 2).little(2, 2).u8({0});
  gif.u8({2, 3, 0x44, 0x02, 0x05, 0}).u8({0x3B});
  return gif.bytes;
}

Bytes bmp(int bits, int width, int height, int compression, const Bytes& palette,
          const Bytes& pixels) {
  Writer file;
  size_t start = 54 + palette.size();
  file.text("BM").little(start + pixels.size(), 4).little(0, 4).little(start, 4);
  file.little(40, 4).little(uint32_t(width), 4).little(uint32_t(height), 4).little(1, 2);
  file.little(uint64_t(bits), 2).little(uint64_t(compression), 4).little(0, 12);
  file.little(palette.size() / 4, 4).little(0, 4);
  file.bytes.insert(file.bytes.end(), palette.begin(), palette.end());
  file.bytes.insert(file.bytes.end(), pixels.begin(), pixels.end());
  return file.bytes;
}

// Index i is the colour (10 i, i, 0).
Bytes palette_of(int colours) {
  Bytes palette;
  for (int i = 0; i < colours; ++i) {
    for (int value : {0, i, 10 * i, 0}) palette.push_back(uint8_t(value));
  }
  return palette;
}

// The red channel's tenths: the indices of a picture with palette_of.
std::vector<int> indices(const Bytes& bytes) {
  Result<Image> image = decode_image(bytes);
  std::vector<int> found;
  if (!image) return {-1};
  for (size_t i = 0; i < image->rgb.size(); i += 3) found.push_back(image->rgb[i] / 10);
  return found;
}

struct TiffEntry {
  int tag = 0, type = 4;
  uint64_t count = 1, value = 0;
};

Bytes tiff(const std::vector<TiffEntry>& entries, const Bytes& pixels) {
  Writer file;
  file.text("II").little(42, 2).little(8 + pixels.size(), 4);
  file.bytes.insert(file.bytes.end(), pixels.begin(), pixels.end());
  file.little(entries.size(), 2);
  for (const TiffEntry& entry : entries) {
    file.little(uint64_t(entry.tag), 2).little(uint64_t(entry.type), 2);
    file.little(entry.count, 4).little(entry.value, 4);
  }
  file.little(0, 4);
  return file.bytes;
}

// 8-bit grey, uncompressed.
Bytes grey_tiff(uint64_t width, uint64_t height, const Bytes& pixels) {
  return tiff({{256, 4, 1, width},
               {257, 4, 1, height},
               {258, 3, 1, 8},
               {259, 3, 1, 1},
               {262, 3, 1, 1},
               {273, 4, 1, 8},
               {277, 3, 1, 1},
               {278, 4, 1, height},
               {279, 4, 1, pixels.size()}},
              pixels);
}

Bytes webp_canvas(uint64_t width, uint64_t height) {
  Writer file;
  file.text("RIFF").little(22, 4).text("WEBPVP8X").little(10, 4).little(2, 4);
  file.little(width - 1, 3).little(height - 1, 3);
  return file.bytes;
}

Bytes box(std::string_view type, const Bytes& content) {
  Writer file;
  file.big(8 + content.size(), 4).text(type);
  file.bytes.insert(file.bytes.end(), content.begin(), content.end());
  return file.bytes;
}

// The boxes of a picture without pixels; `parts`: items and what they are made of.
Bytes heif_extents(std::string_view brand, uint64_t width, uint64_t height,
                   const std::vector<std::pair<int, int>>& parts = {}) {
  Bytes ispe = box("ispe", Writer().big(0, 4).big(width, 4).big(height, 4).bytes);
  Bytes meta = Writer().big(0, 4).bytes, properties = box("iprp", box("ipco", ispe));
  meta.insert(meta.end(), properties.begin(), properties.end());
  Bytes references = Writer().big(0, 4).bytes;
  for (auto [item, part] : parts) {
    Bytes dimg =
        box("dimg", Writer().big(uint64_t(item), 2).big(1, 2).big(uint64_t(part), 2).bytes);
    references.insert(references.end(), dimg.begin(), dimg.end());
  }
  references = box("iref", references);
  meta.insert(meta.end(), references.begin(), references.end());
  Bytes file = box("ftyp", Writer().text(brand).big(0, 4).text("mif1").text(brand).bytes);
  Bytes rest = box("meta", meta);
  file.insert(file.end(), rest.begin(), rest.end());
  return file;
}

// libheif would follow them until the stack ends.
TEST(DecodeHeif, PartsOfPartsWithoutEndAreRefused) {
  using Parts = std::vector<std::pair<int, int>>;
  EXPECT_EQ(header_outcome(heif_extents("heic", 64, 48, {{3, 2}, {2, 1}})), "ok 64x48");
  for (const Parts& parts : {Parts{{1, 1}}, Parts{{1, 2}, {2, 1}}, Parts{{5, 1}, {1, 2}, {2, 1}},
                             Parts{{1, 2}, {2, 3}, {3, 4}, {4, 5}}}) {
    for (const char* brand : {"heic", "avif"}) {
      EXPECT_THAT(header_outcome(heif_extents(brand, 64, 48, parts)), HasSubstr("without end"));
      EXPECT_THAT(outcome(heif_extents(brand, 64, 48, parts)), HasSubstr("bad_data"));
    }
  }
}

TEST(DecodeGif, FirstFrameInItsColours) {
  Image image = decode_image(tiny_gif()).value();
  EXPECT_THAT(image.rgb, ElementsAre(10, 20, 30, 200, 100, 50, 200, 100, 50, 10, 20, 30));
  EXPECT_EQ(header_outcome(tiny_gif()), "ok 2x2");
}

TEST(DecodeGif, AMissingTrailerIsFineAndMissingPixelsAreNot) {
  Bytes bytes = tiny_gif();
  bytes.pop_back();
  EXPECT_EQ(outcome(bytes), "ok 2x2");
  EXPECT_EQ(header_outcome(bytes), "ok 2x2");
  for (size_t n = 0; n < bytes.size(); ++n) {
    Bytes part(bytes.begin(), bytes.begin() + int64_t(n));
    EXPECT_THAT(outcome(part), HasSubstr("bad_data")) << n;
    EXPECT_THAT(header_outcome(part), HasSubstr("bad_data")) << n;
  }
}

TEST(DecodeBmp, RowsAreStoredFromBelow) {
  Bytes pixels = {0x12, 0, 0, 0, 0x34, 0, 0, 0};
  EXPECT_THAT(indices(bmp(4, 2, 2, 0, palette_of(16), pixels)), ElementsAre(3, 4, 1, 2));
  EXPECT_THAT(indices(bmp(4, 2, -2, 0, palette_of(16), pixels)), ElementsAre(1, 2, 3, 4));
}

TEST(DecodeBmp, RunLengthsWithSkippedPixels) {
  // Two of 5; a step of one column and one row; a literal 7 8 9; the end.
  Bytes runs = {2, 5, 0, 2, 1, 1, 0, 3, 7, 8, 9, 0, 0, 1};
  EXPECT_THAT(indices(bmp(8, 6, 2, 1, palette_of(16), runs)),
              ElementsAre(0, 0, 0, 7, 8, 9, 5, 5, 0, 0, 0, 0));
  // A run beyond the row's end is cut there; the row ends twice, so one stays empty.
  Bytes long_runs = {9, 3, 0, 0, 0, 0, 4, 2, 0, 1};
  EXPECT_THAT(indices(bmp(8, 4, 3, 1, palette_of(16), long_runs)),
              ElementsAre(2, 2, 2, 2, 0, 0, 0, 0, 3, 3, 3, 3));
  Bytes nibbles = {3, 0x12, 0, 3, 0x45, 0x60, 0, 1};
  EXPECT_THAT(indices(bmp(4, 6, 1, 2, palette_of(16), nibbles)), ElementsAre(1, 2, 1, 4, 5, 6));
  Bytes cut = {2, 5, 0, 3, 7};
  EXPECT_THAT(outcome(bmp(8, 6, 2, 1, palette_of(16), cut)), HasSubstr("bad_data: cut BMP"));
}

TEST(DecodeBmp, NamesWhatItCannotRead) {
  Bytes pixels(64, 0);
  EXPECT_THAT(outcome(bmp(8, 2, 2, 4, palette_of(2), pixels)), HasSubstr("unsupported: BMP with"));
  EXPECT_THAT(outcome(bmp(2, 2, 2, 0, palette_of(4), pixels)), HasSubstr("2 bits a pixel"));
  EXPECT_THAT(header_outcome(bmp(24, 9, 9, 0, {}, pixels)), HasSubstr("bad_data: cut BMP"));
  EXPECT_THAT(outcome(bmp(24, 9, 9, 0, {}, pixels)), HasSubstr("bad_data: cut BMP"));
}

TEST(DecodeTiff, GreyAndCutFiles) {
  if (!can_decode(ImageFormat::Tiff)) GTEST_SKIP() << format_problem(ImageFormat::Tiff)->message();
  Bytes bytes = grey_tiff(3, 2, {1, 2, 3, 250, 251, 252});
  Image image = decode_image(bytes).value();
  EXPECT_THAT(image.rgb,
              ElementsAre(1, 1, 1, 2, 2, 2, 3, 3, 3, 250, 250, 250, 251, 251, 251, 252, 252, 252));
  for (size_t n = 0; n < bytes.size() - 4; ++n) {
    Bytes part(bytes.begin(), bytes.begin() + int64_t(n));
    EXPECT_THAT(outcome(part), HasSubstr("bad_data")) << n;
    EXPECT_THAT(header_outcome(part), HasSubstr("bad_data")) << n;
  }
}

TEST(DecodeTiff, HugeTilesOfASmallPictureAreRefused) {
  if (!can_decode(ImageFormat::Tiff)) GTEST_SKIP() << format_problem(ImageFormat::Tiff)->message();
  Bytes bytes = tiff({{256, 4, 1, 100},
                      {257, 4, 1, 100},
                      {258, 3, 1, 8},
                      {259, 3, 1, 8},
                      {262, 3, 1, 1},
                      {277, 3, 1, 1},
                      {322, 4, 1, 1 << 20},
                      {323, 4, 1, 1 << 20},
                      {324, 4, 1, 8},
                      {325, 4, 1, 64}},
                     Bytes(64, 0));
  EXPECT_THAT(outcome(bytes), HasSubstr("unsupported: TIFF with tiles of more than 512 MiB"));
}

TEST(DecodeHeic, ThePropertiesTurnThePictureAndExifDoesNot) {
  if (!can_decode(ImageFormat::Heic)) GTEST_SKIP() << format_problem(ImageFormat::Heic)->message();
  auto near = [](int r, int g, int b) {
    return ElementsAre(testing::Le(r + 6), testing::Ge(g - 6), testing::Le(b + 6));
  };
  for (const char* name : {"heic/plain.heic", "heic/exif6.heic"}) {
    Image image = decode_image(seed(name)).value();
    ASSERT_EQ(image.width, 64);
    EXPECT_THAT(pixel(image, 48, 8), near(0, 255, 0)) << name;
  }
  Image turned = decode_image(seed("heic/turned.heic")).value();
  ASSERT_EQ(turned.width, 32);
  EXPECT_THAT(pixel(turned, 8, 16), near(0, 255, 0));
  Image stored = decode_image(seed("heic/turned.heic"), {.exif = false}).value();
  ASSERT_EQ(stored.width, 64);
  EXPECT_THAT(pixel(stored, 48, 8), near(0, 255, 0));
  EXPECT_EQ(header_outcome(seed("heic/turned.heic")), "ok 64x32");
}

TEST(DecodeHeic, TenBitsScaleToTheFullRange) {
  if (!can_decode(ImageFormat::Heic)) GTEST_SKIP() << format_problem(ImageFormat::Heic)->message();
  Image image = decode_image(seed("heic/grey10.heic")).value();
  for (int step = 0; step < 8; ++step) {
    EXPECT_NEAR(pixel(image, 8 * step + 4, 8)[1], 255 * step / 7, 3) << step;
  }
}

TEST(DecodeAll, CutSeedsAreDamagedOrWhole) {
  for (const char* name : {"heic/plain.heic", "heic/grey10.heic", "avif/plain.avif"}) {
    Bytes bytes = seed(name);
    if (!can_decode(sniff_format(bytes))) continue;
    Image whole = decode_image(bytes).value();
    for (size_t n = 0; n < bytes.size(); n += 7) {
      Result<Image> image = decode_image(std::span(bytes).first(n));
      if (image) {
        EXPECT_EQ(image->rgb, whole.rgb) << name << " " << n;
      } else {
        EXPECT_EQ(image.error().kind(), ErrorKind::BadData) << name << " " << n;
      }
    }
  }
}

TEST(DecodeAll, BombsAreRefusedByNameAtOnce) {
  const std::vector<std::pair<std::string, Bytes>> bombs = {
      {"65536x65536", encode_png({1, 1, 0, 8, false, {0}})},
      {"16777216x16777216", webp_canvas(1 << 24, 1 << 24)},
      {"60000x60000", bmp(8, 60000, 60000, 1, palette_of(2), {0, 1})},
      {"4294967295x4294967295", grey_tiff(0xFFFFFFFF, 0xFFFFFFFF, {0})},
      {"1000000x1000000", heif_extents("avif", 1000000, 1000000)},
      {"1000000x1000000", heif_extents("heic", 1000000, 1000000)},
  };
  double started = monotonic_seconds();
  int64_t before = peak_resident_bytes();
  for (auto [extents, bytes] : bombs) {
    // The size of a PNG stands behind its signature and the head of its first chunk.
    bool is_png = sniff_format(bytes) == ImageFormat::Png;
    for (size_t at = 16; is_png && at < 24; ++at) bytes[at] = at == 17 || at == 21;
    if (!can_decode(sniff_format(bytes))) continue;
    std::string reason = "unsupported: " + extents + " pixels, more than the 178,956,970";
    EXPECT_THAT(header_outcome(bytes), HasSubstr(reason));
    if (is_png) continue;  // its checksum no longer fits
    EXPECT_THAT(outcome(bytes), HasSubstr(reason));
  }
  EXPECT_LT(monotonic_seconds() - started, 1.0);
  EXPECT_LT(peak_resident_bytes() - before, int64_t{64} << 20);
}

TEST(DecodeAll, ThreadsDecodeTheSamePixels) {
  const std::vector<std::string> names = {"heic/plain.heic", "avif/alpha.avif",    "tiff/lzw.tif",
                                          "tiff/jpeg.tif",   "webp/lossless.webp", "gif/global.gif",
                                          "bmp/rle8.bmp",    "png/rgba.png"};
  std::vector<Image> expected(names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    Bytes bytes = seed(names[i]);
    if (can_decode(sniff_format(bytes))) expected[i] = decode_image(bytes).value();
  }
  std::vector<std::jthread> threads;
  std::atomic<int> wrong = 0;
  for (size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (size_t n = 0; n < 5 * names.size(); ++n) {
        size_t i = (n + t) % names.size();
        Bytes bytes = seed(names[i]);
        if (!can_decode(sniff_format(bytes))) continue;
        if (decode_image(bytes).value().rgb != expected[i].rgb) ++wrong;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(wrong, 0);
}

TEST(OptionalLibraries, SayWhatToInstall) {
  EXPECT_EQ(missing_library("HEIC", "libheif.so.1").message(),
            "HEIC images need libheif, which is not installed (apt install libheif1)");
  EXPECT_EQ(missing_library("AVIF", "libavif.so.15").kind(), ErrorKind::Unsupported);
  EXPECT_EQ(built_without("TIFF", "libtiff 4.5").message(),
            "TIFF images are not supported here: Pounce was built without libtiff 4.5");
}

}  // namespace
}  // namespace pounce
