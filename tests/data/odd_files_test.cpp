// The awkward files of the test data: docs/data.md says what becomes of each, and it is so.
#include <fstream>
#include <map>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/text.h"
#include "cases.h"
#include "data/header.h"

namespace pounce {
namespace {

using namespace test;

struct Row {
  std::string file, pounce, pillow;
};

std::vector<std::string> fields(const std::string& line, char separator) {
  std::vector<std::string> parts;
  std::stringstream stream(line);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

std::string stripped(const std::string& cell) {
  size_t first = cell.find_first_not_of(" `"), last = cell.find_last_not_of(" `");
  return first == cell.npos ? "" : cell.substr(first, last - first + 1);
}

// The rows of the table below the one that begins with "| file |".
std::vector<Row> documented() {
  std::ifstream page(std::string(POUNCE_SOURCE_DIR) + "/docs/data.md");
  std::vector<Row> rows;
  bool is_in_table = false;
  for (std::string line; std::getline(page, line);) {
    std::vector<std::string> cells = fields(line, '|');
    if (line.starts_with("| file |")) {
      is_in_table = true;
    } else if (is_in_table && cells.size() == 5 && !line.starts_with("|---")) {
      rows.push_back({stripped(cells[1]), stripped(cells[3]), stripped(cells[4])});
    } else if (!line.starts_with("|")) {
      is_in_table = false;
    }
  }
  return rows;
}

struct Known {
  std::string mode, result;
};

std::map<std::string, Known> manifest(const std::string& folder) {
  std::ifstream list(folder + "/MANIFEST.tsv");
  std::map<std::string, Known> files;
  std::string line;
  std::getline(list, line);
  while (std::getline(list, line)) {
    std::vector<std::string> cells = fields(line, '\t');
    // Pillow has no mode for what it does not read.
    files[cells.at(0)] = {cells.at(7) == "-" ? "RGB" : cells.at(7), cells.at(11)};
  }
  return files;
}

// As the page words it: what the scan says, and what the decoder says of files the scan accepts.
std::string verdict(const std::string& path, const std::string& mode) {
  Result<ImageHeader> header = read_image_header(path);
  if (!header) return "refused: " + header.error().message();
  Result<Image> image = decode_image(read_file(path).value());
  if (!image) return "refused: " + image.error().message();
  return fmt::format("used: {}x{}, {}", image->width, image->height, mode);
}

class OddFiles : public testing::Test {
 protected:
  void SetUp() override {
    if (environment("POUNCE_TEST_DATA", "").empty()) GTEST_SKIP() << "POUNCE_TEST_DATA is not set";
    folder_ = environment("POUNCE_TEST_DATA", "") + "/data/odd";
    files_ = manifest(folder_);
    ASSERT_FALSE(files_.empty());
  }

  std::string folder_;
  std::map<std::string, Known> files_;
};

TEST_F(OddFiles, TheTableHasThemAllAndIsRight) {
  std::vector<Row> rows = documented();
  EXPECT_EQ(rows.size(), files_.size());
  for (const Row& row : rows) {
    ASSERT_TRUE(files_.contains(row.file)) << row.file;
    std::string path = join_path(folder_, row.file);
    ImageFormat format = sniff_format(read_file(path).value());
    if (format != ImageFormat::Unknown && !can_decode(format)) continue;
    EXPECT_EQ(row.pounce, verdict(path, files_[row.file].mode)) << row.file;
  }
}

TEST_F(OddFiles, VerdictsArePillowsOrExplained) {
  for (const Row& row : documented()) {
    bool does_pillow = files_[row.file].result == "ok", do_we = row.pounce.starts_with("used");
    EXPECT_EQ(row.pillow.starts_with("used"), does_pillow) << row.file;
    bool is_explained = row.pillow.size() > std::string("refused: ").size();
    EXPECT_TRUE(do_we == does_pillow || is_explained) << row.file;
  }
}

// A decoder is as strict as the scan: what the scan refuses, it does not give either.
TEST_F(OddFiles, DecodersRefuseWhatTheScanRefuses) {
  for (const auto& [file, known] : files_) {
    std::string path = join_path(folder_, file);
    bool is_refused = !read_image_header(path);
    EXPECT_TRUE(!is_refused || !decode_image(read_file(path).value())) << file;
  }
}

}  // namespace
}  // namespace pounce
