// The boxes of an AVIF or HEIC that say how large its primary picture is, and whether the file
// reaches to the end of its pixels. Source: ISO/IEC 14496-12 and 23008-12.
#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

#include "data/codecs.h"
#include "data/header_reader.h"

namespace pounce {
namespace {

using Bytes = std::span<const uint8_t>;

struct Extents {
  int64_t width = 0, height = 0;
};

struct Box {
  char type[4] = {};
  uint64_t content = 0, end = 0;  // offsets in what holds it

  bool is(const char* name) const { return std::memcmp(type, name, 4) == 0; }
};

// The box at `at` of something that ends at `limit`; `head`: what stands there, 16 bytes at most.
// nullopt where there is none.
std::optional<Box> parse_box(Bytes head, uint64_t at, uint64_t limit) {
  if (head.size() < 8) return std::nullopt;
  Box box;
  std::memcpy(box.type, &head[4], 4);
  uint64_t size = big_endian(head.first(4)), head_bytes = 8;
  if (size == 1) {
    if (head.size() < 16) return std::nullopt;
    size = uint64_t(big_endian(head.subspan(8, 4))) << 32 | big_endian(head.subspan(12, 4));
    head_bytes = 16;
  }
  if (size == 0) size = limit - at;  // to the end
  if (size < head_bytes || size > UINT64_MAX - at) return std::nullopt;
  box.content = at + head_bytes;
  box.end = at + size;
  return box;
}

// The boxes of a box that lies wholly in memory, one after the other.
template <typename Visit>
void for_each_box(Bytes content, Visit visit) {
  uint64_t at = 0;
  while (at < content.size()) {
    Bytes head = content.subspan(size_t(at));
    std::optional<Box> box =
        parse_box(head.first(std::min<size_t>(head.size(), 16)), at, content.size());
    if (!box || box->end > content.size()) return;
    visit(*box, content.subspan(size_t(box->content), size_t(box->end - box->content)));
    at = box->end;
  }
}

Bytes find_box(Bytes content, const char* name) {
  Bytes found;
  for_each_box(content, [&](const Box& box, Bytes inner) {
    if (found.empty() && box.is(name)) found = inner;
  });
  return found;
}

// Behind the version and flags of a full box; empty where it is shorter.
Bytes skip(Bytes content, size_t n) {
  return content.size() < n ? Bytes() : content.subspan(n);
}

// The item that is the picture; 0 where it is not said.
uint32_t primary_item(Bytes meta) {
  Bytes pitm = find_box(meta, "pitm");
  size_t size = !pitm.empty() && pitm[0] == 0 ? 2 : 4;
  return pitm.size() < 4 + size ? 0 : big_endian(pitm.subspan(4, size));
}

// The places of an item's properties in their list, from 1 on. Source: 23008-12, 9.3.1.
std::vector<uint32_t> properties_of(Bytes ipma, uint32_t item) {
  std::vector<uint32_t> places;
  if (ipma.size() < 8) return places;
  size_t id_size = ipma[0] < 1 ? 2 : 4, place_size = ipma[3] & 1 ? 2 : 1;
  uint32_t count = big_endian(ipma.subspan(4, 4));
  Bytes rest = ipma.subspan(8);
  for (uint32_t i = 0; i < count && rest.size() > id_size; ++i) {
    bool is_wanted = big_endian(rest.first(id_size)) == item;
    size_t associations = rest[id_size];
    rest = rest.subspan(id_size + 1);
    if (rest.size() < associations * place_size) return places;
    for (size_t j = 0; is_wanted && j < associations; ++j) {
      uint32_t mask = place_size == 2 ? 0x7FFF : 0x7F;
      places.push_back(big_endian(rest.subspan(j * place_size, place_size)) & mask);
    }
    rest = rest.subspan(associations * place_size);
  }
  return places;
}

// Of the primary item; of the largest where it is not known. Zeros where there is none.
Extents extents_of(Bytes meta) {
  Bytes properties = find_box(meta, "iprp");
  std::vector<uint32_t> wanted = properties_of(find_box(properties, "ipma"), primary_item(meta));
  Extents largest, primary;
  uint32_t place = 0;
  for_each_box(find_box(properties, "ipco"), [&](const Box& box, Bytes inner) {
    ++place;
    if (!box.is("ispe") || inner.size() < 12) return;
    Extents found{big_endian(inner.subspan(4, 4)), big_endian(inner.subspan(8, 4))};
    if (std::find(wanted.begin(), wanted.end(), place) != wanted.end()) primary = found;
    if (found.width > largest.width) largest = found;
  });
  return primary.width > 0 ? primary : largest;
}

// Which items an item is made of: grids, overlays and copies name others. Source: 23008-12, 6.6.
using Parts = std::map<uint32_t, std::vector<uint32_t>>;

Parts parts_of(Bytes iref) {
  Parts parts;
  if (iref.size() < 4) return parts;
  const size_t id_size = iref[0] == 0 ? 2 : 4;
  for_each_box(iref.subspan(4), [&](const Box& box, Bytes inner) {
    if (!box.is("dimg") || inner.size() < id_size + 2) return;
    std::vector<uint32_t>& own = parts[big_endian(inner.first(id_size))];
    uint32_t count = big_endian(inner.subspan(id_size, 2));
    Bytes rest = inner.subspan(id_size + 2);
    for (; count > 0 && rest.size() >= id_size; --count, rest = rest.subspan(id_size)) {
      own.push_back(big_endian(rest.first(id_size)));
    }
  });
  return parts;
}

// Whether items are parts of parts more often than honest files have it, or of themselves: libheif
// follows that as deep as it goes. Items without parts are taken away, layer by layer.
bool is_nested_too_deep(Parts parts) {
  constexpr int kMostLayers = 3;  // a copy of a grid, or an overlay of one, and one more
  for (int layer = 0; layer < kMostLayers; ++layer) {
    std::vector<uint32_t> lowest;
    for (const auto& [item, own] : parts) {
      bool is_lowest =
          std::none_of(own.begin(), own.end(), [&](uint32_t part) { return parts.contains(part); });
      if (is_lowest) lowest.push_back(item);
    }
    for (uint32_t item : lowest) parts.erase(item);
  }
  return !parts.empty();
}

// Of a sequence without a still picture: the track's, in 16.16 bits.
Extents track_extents(Bytes moov) {
  Bytes header = find_box(find_box(moov, "trak"), "tkhd");
  if (header.size() < 8) return {};
  Bytes size = header.last(8);
  return {big_endian(size.first(4)) >> 16, big_endian(size.last(4)) >> 16};
}

Result<ImageHeader> cut_file(ImageFormat format) {
  return damaged(
      fmt::format("cut {}: the file is shorter than its boxes say", format_name(format)));
}

// The content of a box, copied.
Result<std::vector<uint8_t>> content_of(HeaderReader& reader, const Box& box) {
  constexpr uint64_t kMostBytes = 16 << 20;
  if (box.end - box.content > kMostBytes) return unsupported("a header of more than 16 MiB");
  std::vector<uint8_t> content(size_t(box.end - box.content));
  Result<size_t> got = reader.read_at(box.content, content);
  if (!got) return tl::make_unexpected(got.error());
  content.resize(*got);
  return content;
}

}  // namespace

Result<ImageHeader> read_heif_header(HeaderReader& reader, ImageFormat format) {
  Extents extents;
  uint64_t at = 0;
  while (at < reader.size()) {
    Result<Bytes> head = reader.bytes(at, 16);
    if (!head) return tl::make_unexpected(head.error());
    std::optional<Box> box = parse_box(*head, at, reader.size());
    bool is_meta = box && box->is("meta"), is_moov = box && box->is("moov");
    bool is_needed = is_meta || is_moov || (box && box->is("mdat"));
    // What stands behind the picture's boxes does not matter.
    if (!box && extents.width == 0) return cut_file(format);
    if (!box) break;
    if (is_needed && box->end > reader.size()) return cut_file(format);
    if ((is_meta || is_moov) && extents.width == 0) {
      Result<std::vector<uint8_t>> content = content_of(reader, *box);
      if (!content) return tl::make_unexpected(content.error());
      Bytes inner = is_meta ? skip(*content, 4) : Bytes(*content);
      extents = is_meta ? extents_of(inner) : track_extents(inner);
      if (is_meta && is_nested_too_deep(parts_of(find_box(inner, "iref")))) {
        return damaged(fmt::format("damaged {}: pictures are parts of parts without end",
                                   format_name(format)));
      }
    }
    at = box->end;
  }
  if (extents.width == 0) {
    return damaged(fmt::format("damaged {}: it does not say how large it is", format_name(format)));
  }
  if (auto refused = check_extents(extents.width, extents.height)) {
    return tl::make_unexpected(*refused);
  }
  return ImageHeader{format, int32_t(extents.width), int32_t(extents.height)};
}

}  // namespace pounce
