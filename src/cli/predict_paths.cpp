#include "cli/predict_paths.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace pounce::cli {
namespace {

// Formats that cannot be decoded are among them: such files are reported, not passed over.
bool is_image_name(const std::string& path) {
  constexpr std::array kExtensions = {"jpg", "jpeg", "jpe",  "jfif", "png",  "webp", "gif",
                                      "bmp", "tif",  "tiff", "avif", "heic", "heif"};
  std::string extension = file_extension(path);
  return std::find(kExtensions.begin(), kExtensions.end(), extension) != kExtensions.end();
}

}  // namespace

FoundPaths expand_path(const std::string& path) {
  FoundPaths found;
  if (!is_directory(path)) {
    found.images.push_back(path);
    return found;
  }
  DirectoryVisitor visitor;
  visitor.enter = [](const std::string&, const DirectoryEntry& entry) {
    return !entry.name.starts_with('.');
  };
  visitor.visit = [&](const std::string& relative, const DirectoryEntry& entry) {
    if (!entry.name.starts_with('.') && is_image_name(entry.name)) {
      found.images.push_back(join_path(path, relative));
    }
  };
  visitor.failed = [&](const std::string&, const Error& error) { found.failures.push_back(error); };
  walk_directory(path, visitor);
  if (found.images.empty() && found.failures.empty()) {
    found.failures.push_back(
        Error(ErrorKind::BadData, fmt::format("{}: the folder holds no image", path)));
  }
  return found;
}

void read_paths(std::istream& stream, bool nul_separated,
                const std::function<void(const std::string&)>& take) {
  char separator = nul_separated ? '\0' : '\n';
  for (std::string path; std::getline(stream, path, separator);) {
    if (path.find('\0') != std::string::npos) {
      fail_with_hint(ErrorKind::Config, "add -0 where the paths come from find -print0",
                     "standard input: expected a path a line, found NUL after {}",
                     printable(path.substr(0, path.find('\0'))));
    }
    if (!path.empty()) take(path);
  }
}

}  // namespace pounce::cli
