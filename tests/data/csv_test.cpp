#include "data/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "expect_error.h"

namespace pounce {
namespace {

using testing::ElementsAre;

std::vector<std::vector<std::string>> rows_of(std::string_view text) {
  std::vector<std::vector<std::string>> rows;
  for (CsvRow& row : parse_csv(text, "t.csv")) rows.push_back(std::move(row.fields));
  return rows;
}

TEST(Csv, SeparatorsAndLineEnds) {
  auto expected = ElementsAre(ElementsAre("file", "label"), ElementsAre("a.jpg", "cat"));
  EXPECT_THAT(rows_of("file,label\na.jpg,cat\n"), expected);
  EXPECT_THAT(rows_of("file,label\r\na.jpg,cat\r\n"), expected);
  EXPECT_THAT(rows_of("file,label\ra.jpg,cat"), expected);
  EXPECT_THAT(rows_of("file;label\na.jpg;cat"), expected);
  EXPECT_THAT(rows_of("file\tlabel\na.jpg\tcat"), expected);
  EXPECT_THAT(rows_of("\xEF\xBB\xBF"
                      "file,label\n\n a.jpg , cat \n\n"),
              expected);
}

TEST(Csv, TheSeparatorIsTheMostFrequentOfTheFirstLine) {
  EXPECT_THAT(rows_of("file;a,b;c\n1;2,5;3"),
              ElementsAre(ElementsAre("file", "a,b", "c"), ElementsAre("1", "2,5", "3")));
  EXPECT_THAT(rows_of("\"a;b;c\",d\n1,2"),
              ElementsAre(ElementsAre("a;b;c", "d"), ElementsAre("1", "2")));
}

TEST(Csv, QuotedFields) {
  EXPECT_THAT(
      rows_of("\"a,b\",\"say \"\"x\"\"\",\" c \"\n\"two\nlines\",,\"\"\n"),
      ElementsAre(ElementsAre("a,b", "say \"x\"", " c "), ElementsAre("two\nlines", "", "")));
  std::vector<CsvRow> rows = parse_csv("a,b\n\"x\ny\",1\n\nz,2\n", "t.csv");
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[1].line, 2);
  EXPECT_EQ(rows[2].line, 5);
}

TEST(Csv, WhatCannotBeRead) {
  EXPECT_TRUE(rows_of("").empty());
  EXPECT_TRUE(rows_of("\n\r\n").empty());
  EXPECT_ERROR(rows_of("a,b\n\"x,1\nz,2\n"), ErrorKind::Config, "t.csv:2: a quote is never closed");
  EXPECT_ERROR(rows_of(std::string("\xFF\xFE"
                                   "a\0,\0",
                                   6)),
               ErrorKind::Config, "UTF-8");
}

}  // namespace
}  // namespace pounce
