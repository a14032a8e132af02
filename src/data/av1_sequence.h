// How large the pictures of an AV1 stream are, as the stream itself says: what its file declares
// may be another size, to which libavif would stretch the picture. Internal to src/data.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace pounce {

struct Av1Extents {
  int64_t width = 0, height = 0;  // pixels, the most of all frames
};

// From the sequence header near the start of `stream`; nullopt where there is none, and where it is
// of a form (with timing information) that still pictures do not have. Source: AV1 specification,
// 5.3 and 5.5.
std::optional<Av1Extents> av1_extents(std::span<const uint8_t> stream);

}  // namespace pounce
