// Helps fit, say everything, and docs/cli.md is what the table makes.
#include "cli/help.h"

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/text.h"

namespace pounce::cli {
namespace {

using testing::HasSubstr;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

void expect_fits(const std::string& text) {
  EXPECT_TRUE(text.ends_with('\n'));
  for (const std::string& line : lines_of(text)) {
    EXPECT_LE(display_width(line), kHelpWidth) << line;
    EXPECT_FALSE(line.ends_with(' ')) << line;
  }
}

TEST(Help, FitsTheWidth) {
  expect_fits(program_help());
  for (const Command& command : commands()) {
    expect_fits(short_help(command));
    expect_fits(full_help(command));
  }
}

void expect_a_screen(const std::string& text) {
  EXPECT_LE(lines_of(text).size(), 24U) << text;
  for (const std::string& line : lines_of(text)) EXPECT_LE(display_width(line), 80) << line;
}

TEST(Help, ShortOnesFitAScreen) {
  expect_a_screen(program_help());
  expect_a_screen(group_help("bench"));
  for (const Command& command : commands()) expect_a_screen(short_help(command));
}

TEST(Help, EveryFlagIsNamedInBoth) {
  for (const Command& command : commands()) {
    for (const Flag& flag : command.flags) {
      if (flag.action != FlagAction::Set) continue;
      EXPECT_THAT(short_help(command), HasSubstr("--" + flag.name));
      EXPECT_THAT(full_help(command), HasSubstr(flag.usage()));
      EXPECT_THAT(full_help(command), HasSubstr("default: "));
      EXPECT_FALSE(flag.default_text.empty()) << flag.name;
    }
  }
}

TEST(Help, NamesAreUnique) {
  for (const Command& command : commands()) {
    std::vector<std::string> names;
    std::vector<char> shorts;
    for (const Flag& flag : command.flags) {
      if (!flag.name.empty()) names.push_back(flag.name);
      if (flag.short_name) shorts.push_back(flag.short_name);
    }
    std::sort(names.begin(), names.end());
    std::sort(shorts.begin(), shorts.end());
    EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
    EXPECT_EQ(std::adjacent_find(shorts.begin(), shorts.end()), shorts.end());
  }
}

TEST(Help, DocumentationIsUpToDate) {
  auto content = read_file(POUNCE_SOURCE_DIR "/docs/cli.md");
  ASSERT_TRUE(content);
  std::string text(content->begin(), content->end());
  EXPECT_EQ(text, markdown_help()) << "run: pounce --help-markdown > docs/cli.md";
}

}  // namespace
}  // namespace pounce::cli
