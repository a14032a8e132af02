#include "train/weights_file.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "data/decode.h"

namespace pounce {
namespace {

struct OtherForm {
  std::string name;
  std::string hint;
};

std::string conversion_hint(const std::string& path) {
  size_t extension = file_extension(path).empty() ? 0 : file_extension(path).size() + 1;
  return fmt::format(
      "convert it with two lines of Python:\n"
      "  import torch, safetensors.torch\n"
      "  safetensors.torch.save_file(torch.load(\"{}\", map_location=\"cpu\", "
      "weights_only=True), \"{}.safetensors\")",
      path, path.substr(0, path.size() - extension));
}

// PyTorch's own forms: a ZIP archive since version 1.6, a bare pickle before.
bool is_pytorch_file(std::string_view bytes) {
  return bytes.starts_with("PK\x03\x04") || bytes.starts_with("\x80\x02");
}

bool is_web_page(std::string_view bytes) {
  constexpr size_t kLookedAt = 256;
  std::string start = to_lower_ascii(bytes.substr(0, kLookedAt));
  start.erase(0, start.find_first_not_of(" \t\r\n"));
  return start.starts_with("<!doctype html") || start.starts_with("<html");
}

// Asked only once the bytes have proved to be no safetensors file, whose length comes first and may
// look like the beginning of anything.
std::optional<OtherForm> other_form(const std::string& path, std::span<const uint8_t> bytes) {
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (is_pytorch_file(text)) {
    return OtherForm{"a PyTorch file (a ZIP archive or pickle)", conversion_hint(path)};
  }
  if (is_web_page(text)) {
    return OtherForm{"a web page", "download the file itself, not the page about it"};
  }
  ImageFormat format = sniff_format(bytes);
  if (format == ImageFormat::Unknown) return std::nullopt;
  return OtherForm{fmt::format("a picture ({})", format_name(format)),
                   "a model stands before the pictures: pounce predict MODEL PICTURE"};
}

}  // namespace

void read_weights_file(const WeightsSource& source,
                       const std::function<void(std::span<const uint8_t> bytes)>& use) {
  Result<std::vector<uint8_t>> bytes = read_file(source.path);
  if (!bytes) throw bytes.error();
  try {
    use(*bytes);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::BadData) throw;
    std::string name = source.label + source.path;
    if (std::optional<OtherForm> other = other_form(source.path, *bytes)) {
      fail_with_hint(ErrorKind::Config, other->hint, "{}: {}, expected a safetensors file", name,
                     other->name);
    }
    throw Error(ErrorKind::BadData, fmt::format("{}: {}", name, error.message()),
                error.hint().empty() ? source.hint : error.hint());
  }
}

}  // namespace pounce
