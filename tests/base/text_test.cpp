#include "base/text.h"

#include <vector>

#include <gtest/gtest.h>

#include "base/checksum.h"

namespace pounce {
namespace {

TEST(DisplayWidth, CountsColumns) {
  EXPECT_EQ(display_width("cat"), 3);
  EXPECT_EQ(display_width("图片"), 4);
  EXPECT_EQ(display_width("e\u0301"), 1);
  EXPECT_EQ(display_width("ü"), 1);
  EXPECT_EQ(display_width("🐈"), 2);
  EXPECT_EQ(display_width("한글"), 4);
  EXPECT_EQ(display_width("\xFF\xC3"), 2);
  EXPECT_EQ(display_width(""), 0);
}

TEST(NextCodePoint, RefusesOverlongAndSurrogates) {
  size_t at = 0;
  EXPECT_EQ(next_code_point("\xC0\x80", at), char32_t(0xFFFD));
  EXPECT_EQ(at, 1U);
  at = 0;
  EXPECT_EQ(next_code_point("\xED\xA0\x80", at), char32_t(0xFFFD));
  at = 0;
  EXPECT_EQ(next_code_point("\xF0\x9F\x90\x88", at), char32_t(0x1F408));
  EXPECT_EQ(at, 4U);
}

TEST(Printable, NothingSteersATerminal) {
  EXPECT_EQ(printable("a\x1b[31mb\x07"), "a\\x1b[31mb\\x07");
  EXPECT_EQ(printable("a\nb\rc\td"), "a\\nb\\rc\\td");
  EXPECT_EQ(printable(std::string("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable("\x7F"), "\\x7f");
  EXPECT_EQ(printable("\u009b31m"), "\\u009b31m");  // C1: CSI in one character
  EXPECT_EQ(printable("\x9B\xFF"), "\\x9b\\xff");   // and as a byte of Latin-1
  EXPECT_EQ(printable("a\u202Egpj.exe\u2069\u2028"), "a\\u202egpj.exe\\u2069\\u2028");
}

TEST(Printable, WritingOfEveryKindStays) {
  for (const char* text :
       {"", "cat", "狗 e\u0301", "👨\u200D👩\u200D👧", "עברית \u200Fא", "\\n", "\uFFFD"}) {
    EXPECT_EQ(printable(text), text);
  }
}

TEST(Pad, GoesByColumns) {
  EXPECT_EQ(pad_right("猫", 4), "猫  ");
  EXPECT_EQ(pad_left("猫", 4), "  猫");
  EXPECT_EQ(pad_left("12345", 3), "12345");
  EXPECT_EQ(truncate_to_width("猫猫猫", 5), "猫猫…");
  EXPECT_EQ(truncate_to_width("猫猫猫", 4), "猫…");
  EXPECT_EQ(truncate_to_width("猫猫", 4), "猫猫");
  EXPECT_EQ(truncate_to_width("cat", 0), "");
}

TEST(Figures, ReadWell) {
  EXPECT_EQ(group_digits(1997), "1,997");
  EXPECT_EQ(group_digits(-1234567), "-1,234,567");
  EXPECT_EQ(group_digits(999), "999");
  EXPECT_EQ(human_bytes(812), "812 B");
  EXPECT_EQ(human_bytes(1395864371), "1.3 GB");
  EXPECT_EQ(human_bytes(1023 * 1024), "1.0 MB");
  EXPECT_EQ(human_bytes(831488), "812 KB");
  EXPECT_EQ(human_duration(0.44), "0.4 s");
  EXPECT_EQ(human_duration(8.2), "8 s");
  EXPECT_EQ(human_duration(59.7), "1 min");
  EXPECT_EQ(human_duration(23 * 60 + 10), "23 min");
  EXPECT_EQ(human_duration(3900), "1 h 05 min");
  EXPECT_EQ(human_duration(3 * 86400 + 7200), "3 d 2 h");
  EXPECT_EQ(count_of(1, "image", "images"), "1 image");
  EXPECT_EQ(count_of(0, "image", "images"), "0 images");
}

TEST(ListSome, NamesTheFirst) {
  std::vector<std::string> items = {"a", "b", "c", "d"};
  EXPECT_EQ(list_some(items, 2), "a, b and 2 more");
  EXPECT_EQ(list_some(items, 4), "a, b, c, d");
}

TEST(EditDistance, CountsSteps) {
  EXPECT_EQ(edit_distance("epochs", "epochs"), 0);
  EXPECT_EQ(edit_distance("epcohs", "epochs"), 1);
  EXPECT_EQ(edit_distance("epoch", "epochs"), 1);
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
}

TEST(Nearest, PrefersTheClosestAndKnowsWhenThereIsNone) {
  std::vector<std::string> words = {"epochs", "batch-size", "seed"};
  EXPECT_EQ(nearest("epoch", words), "epochs");
  EXPECT_EQ(nearest("sed", words), "seed");
  EXPECT_EQ(nearest("workers", words), std::nullopt);
}

TEST(Unicode, OneSpellingForNamesThatLookAlike) {
  EXPECT_EQ(to_nfc("cat"), "cat");
  EXPECT_EQ(to_nfc("cafe\xCC\x81"), "caf\xC3\xA9");
  EXPECT_EQ(to_nfc("caf\xC3\xA9"), "caf\xC3\xA9");
  // Hangul from its parts, as macOS stores it; order of two marks; what has no composed form.
  EXPECT_EQ(to_nfc("\xE1\x84\x80\xE1\x85\xA1\xE1\x86\xA8"), "\xEA\xB0\x81");
  EXPECT_EQ(to_nfc("q\xCC\x87\xCC\xA3"), "q\xCC\xA3\xCC\x87");
  EXPECT_EQ(to_nfc("\xE7\x8C\xAB"), "\xE7\x8C\xAB");
  EXPECT_EQ(to_nfc("not utf-8: \xFF e\xCC\x81"), "not utf-8: \xFF e\xCC\x81");
  EXPECT_EQ(spell_out("cafe\xCC\x81"), "cafe\\u0301");
  EXPECT_EQ(spell_out("\xF0\x9F\x90\xB6!"), "\\U0001F436!");
}

TEST(ShellWord, IsQuotedWhereNeeded) {
  EXPECT_EQ(shell_word("my/photos-1_a.b"), "my/photos-1_a.b");
  EXPECT_EQ(shell_word("my photos"), "'my photos'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("a;b"), "'a;b'");
  EXPECT_EQ(shell_word("~x"), "'~x'");
  EXPECT_EQ(shell_word("\xE7\x8C\xAB/"), "\xE7\x8C\xAB/");
}

TEST(ParseNumbers, TakeTheWholeText) {
  EXPECT_EQ(parse_int("-12"), -12);
  EXPECT_EQ(parse_int("12 "), std::nullopt);
  EXPECT_EQ(parse_int(""), std::nullopt);
  EXPECT_EQ(parse_int("99999999999999999999"), std::nullopt);
  EXPECT_EQ(parse_uint("-1"), std::nullopt);
  EXPECT_EQ(parse_uint("18446744073709551615"), 18446744073709551615U);
  EXPECT_EQ(parse_double("1e-3"), 1e-3);
  EXPECT_EQ(parse_double("1e-3x"), std::nullopt);
  EXPECT_EQ(parse_double("nan"), std::nullopt);
  EXPECT_EQ(parse_double("1e999"), std::nullopt);
}

TEST(Checksum, IsXxh3) {
  // Published value of XXH3_64bits for the empty input.
  EXPECT_EQ(xxh3_64(std::string_view()), 0x2D06800538D394C2U);
  EXPECT_EQ(xxh3_64(std::string_view("cat")), xxh3_64(std::vector<uint8_t>{'c', 'a', 't'}));
}

}  // namespace
}  // namespace pounce
