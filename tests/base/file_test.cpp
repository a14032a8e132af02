#include "base/file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/temp_dir.h"

namespace pounce {
namespace {

using test::TempDir;
using testing::ElementsAre;
using testing::HasSubstr;

std::string text_of(const std::string& path) {
  Result<std::vector<uint8_t>> bytes = read_file(path);
  return bytes ? std::string(bytes->begin(), bytes->end()) : "<" + bytes.error().message() + ">";
}

std::vector<std::string> names_in(const std::string& path) {
  std::vector<std::string> names;
  std::vector<DirectoryEntry> entries = list_directory(path).value();
  for (const DirectoryEntry& entry : entries) names.push_back(entry.name);
  return names;
}

TEST(ReadFile, ReturnsTheContentAndReusesTheBuffer) {
  TempDir dir;
  std::string path = dir.put("图片 ü.bin", std::string_view("a\0b", 3));
  std::vector<uint8_t> buffer(100, 7);
  ASSERT_TRUE(read_file(path, buffer));
  EXPECT_THAT(buffer, ElementsAre('a', 0, 'b'));
  EXPECT_EQ(text_of(dir.put("empty", std::string())), "");
}

TEST(ReadFile, SaysWhyItFailed) {
  TempDir dir;
  EXPECT_THAT(text_of(dir / "none"), HasSubstr("none: no such file or folder"));
  EXPECT_THAT(text_of(dir.path()), HasSubstr("it is a folder"));
  EXPECT_EQ(read_file(dir / "none").error().kind(), ErrorKind::Io);
  ASSERT_EQ(mkfifo((dir / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(text_of(dir / "pipe"), HasSubstr("not a regular file"));
}

TEST(InputFile, ReadsAtOffsetsAndStopsAtTheEnd) {
  TempDir dir;
  InputFile file = InputFile::open(dir.put("x", std::string("0123456789"))).value();
  std::vector<uint8_t> into(4);
  EXPECT_EQ(file.size(), 10U);
  EXPECT_EQ(file.read_at(3, into).value(), 4U);
  EXPECT_THAT(into, ElementsAre('3', '4', '5', '6'));
  EXPECT_EQ(file.read_at(8, into).value(), 2U);
  EXPECT_EQ(file.read_at(20, into).value(), 0U);
}

TEST(FileStamp, TellsContentsApart) {
  TempDir dir;
  std::string path = dir.put("a", std::string("abc"));
  FileStamp stamp = stat_file(path).value();
  EXPECT_EQ(stamp.size, 3U);
  EXPECT_EQ(InputFile::open(path)->stamp(), stamp);
  timespec times[2] = {{1000, 0}, {1000, 7}};
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  EXPECT_EQ(stat_file(path)->mtime_ns, 1'000'000'000'007);
  EXPECT_NE(stat_file(path).value(), stamp);
  EXPECT_THAT(stat_file(dir / "none").error().message(), HasSubstr("no such file"));
  EXPECT_THAT(stat_file(dir.path()).error().message(), HasSubstr("it is a folder"));
}

TEST(AtomicFile, AppearsOnlyWhenCommitted) {
  TempDir dir;
  std::string path = dir.put("model", std::string("old"));
  {
    AtomicFile file(path);
    file.write("new");
    EXPECT_EQ(text_of(path), "old");
    EXPECT_EQ(names_in(dir.path()).size(), 2U);
  }
  EXPECT_EQ(text_of(path), "old");
  EXPECT_THAT(names_in(dir.path()), ElementsAre("model"));
  write_file(path, "new");
  EXPECT_EQ(text_of(path), "new");
  EXPECT_THAT(names_in(dir.path()), ElementsAre("model"));
}

TEST(AtomicFile, FailsWithAHint) {
  TempDir dir;
  try {
    write_file(dir / "none/x", "text");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Io);
    EXPECT_THAT(error.message(), HasSubstr("none/x: no such file or folder"));
    EXPECT_FALSE(error.hint().empty());
  }
  dir.make_folder("taken/inside");
  EXPECT_THROW(write_file(dir / "taken", "text"), Error);
  EXPECT_THAT(names_in(dir.path()), ElementsAre("taken"));
}

TEST(AtomicFile, WritesBehindLinks) {
  TempDir dir;
  dir.put("old", std::string("old"));
  ASSERT_EQ(symlink("old", (dir / "link").c_str()), 0);
  ASSERT_EQ(symlink("link", (dir / "link_to_link").c_str()), 0);
  ASSERT_EQ(symlink("new", (dir / "dangling").c_str()), 0);
  ASSERT_EQ(symlink("circle", (dir / "circle").c_str()), 0);
  write_file(dir / "link_to_link", "one");
  write_file(dir / "dangling", "two");
  EXPECT_THROW(write_file(dir / "circle", "three"), Error);
  EXPECT_EQ(text_of(dir / "old"), "one");
  EXPECT_EQ(text_of(dir / "new"), "two");
  EXPECT_THAT(names_in(dir.path()),
              ElementsAre("circle", "dangling", "link", "link_to_link", "new", "old"));
}

TEST(AtomicFile, DoesNotReplacePipesAndFolders) {
  TempDir dir;
  std::string pipe = dir / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  write_file(pipe, "text");
  char buffer[8];
  EXPECT_EQ(read(reader, buffer, sizeof buffer), 4);
  close(reader);
  EXPECT_FALSE(is_regular_file(pipe));
  dir.make_folder("folder");
  // At once, not when a long evaluation ends.
  EXPECT_THROW(AtomicFile(dir / "folder"), Error);
  EXPECT_THAT(names_in(dir.path()), ElementsAre("folder", "pipe"));
}

TEST(AtomicFile, NamesAFullDisk) {
  if (!path_exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  AppendFile file("/dev/full");
  try {
    file.write_line("x");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("no space left on device"));
    EXPECT_THAT(error.hint(), HasSubstr("free some space"));
  }
}

TEST(AppendFile, ContinuesLineByLine) {
  TempDir dir;
  std::string path = dir / "log.jsonl";
  AppendFile(path).write_line("one");
  AppendFile file(path);
  file.write_line("two");
  EXPECT_EQ(text_of(path), "one\ntwo\n");
  AppendFile moved = std::move(file);
  moved.write_line("three");
  EXPECT_EQ(text_of(path), "one\ntwo\nthree\n");
}

TEST(ListDirectory, SortsByCodePointAndSeesThroughLinks) {
  TempDir dir;
  dir.put("b", std::string("12"));
  dir.put("B", std::string());
  dir.make_folder("ä");
  ASSERT_EQ(symlink("nowhere", (dir / "dangling").c_str()), 0);
  ASSERT_EQ(symlink("ä", (dir / "link").c_str()), 0);
  std::vector<DirectoryEntry> entries = list_directory(dir.path()).value();
  EXPECT_THAT(names_in(dir.path()), ElementsAre("B", "b", "dangling", "link", "ä"));
  EXPECT_EQ(entries[2].kind, EntryKind::DanglingLink);
  EXPECT_EQ(entries[3].kind, EntryKind::Directory);
  EXPECT_EQ(entries[3].id, entries[4].id);
  auto skipped = list_directory(dir.path(), [](std::string_view name) { return name == "link"; });
  EXPECT_EQ((*skipped)[3].kind, EntryKind::Link);
  EXPECT_EQ((*skipped)[2].kind, EntryKind::DanglingLink);
}

TEST(FolderHandle, SaysWhatANameIs) {
  TempDir dir;
  dir.put("b", std::string("12"));
  dir.make_folder("folder");
  ASSERT_EQ(symlink("b", (dir / "link").c_str()), 0);
  ASSERT_EQ(symlink("nowhere", (dir / "dangling").c_str()), 0);
  FolderHandle folder = FolderHandle::open(dir.path()).value();
  FileStatus file = folder.status_of("b"), link = folder.status_of("link");
  EXPECT_EQ(file.kind, EntryKind::File);
  EXPECT_EQ(file.size, 2U);
  EXPECT_EQ(link.id, file.id);
  EXPECT_EQ(link.mtime_ns, stat_file(dir / "b").value().mtime_ns);
  EXPECT_LT(file_clock_ns() - file.ctime_ns, int64_t(600) * 1'000'000'000);
  EXPECT_EQ(folder.status_of("folder").kind, EntryKind::Directory);
  EXPECT_EQ(folder.status_of("dangling").kind, EntryKind::DanglingLink);
  EXPECT_EQ(folder.status_of("none").kind, EntryKind::Other);
  EXPECT_FALSE(FolderHandle::open(dir / "none"));
}

TEST(WalkDirectory, FollowsLinksButNotInCircles) {
  TempDir dir;
  dir.put("a/deep/1", std::string());
  dir.put("other/2", std::string());
  ASSERT_EQ(symlink("..", (dir / "a/up").c_str()), 0);
  ASSERT_EQ(symlink("../other", (dir / "a/side").c_str()), 0);
  std::vector<std::string> files;
  walk_directory(dir.path(),
                 {{}, [&](const auto& path, const auto&) { files.push_back(path); }, {}});
  EXPECT_THAT(files, ElementsAre("a/deep/1", "a/side/2", "other/2"));
  files.clear();
  walk_directory(dir.path(), {[](const auto& path, const auto&) { return path != "a/deep"; },
                              [&](const auto& path, const auto&) { files.push_back(path); },
                              {}});
  EXPECT_THAT(files, ElementsAre("a/side/2", "other/2"));
}

TEST(WalkDirectory, ReportsAnUnreadableRoot) {
  TempDir dir;
  std::string seen = "nothing";
  walk_directory(dir / "none",
                 {{}, {}, [&](const auto& path, const Error& e) { seen = path + e.message(); }});
  EXPECT_THAT(seen, HasSubstr("cannot list"));
}

TEST(Directories, AreMadeWithTheirParents) {
  TempDir dir;
  make_directories(dir / "x/y/z");
  make_directories(dir / "x/y/z");
  EXPECT_TRUE(is_directory(dir / "x/y/z"));
  EXPECT_FALSE(make_new_directory(dir / "x/y"));
  EXPECT_TRUE(make_new_directory(dir / "x/new"));
  dir.put("file", std::string());
  EXPECT_THROW(make_directories(dir / "file/below"), Error);
  EXPECT_THROW(make_directories(dir / "file"), Error);
}

TEST(Missing, IsKnownOnlyForAbsentNames) {
  TempDir dir;
  EXPECT_TRUE(is_missing(dir / "none"));
  EXPECT_TRUE(is_missing(dir.put("file", std::string()) + "/below"));
  EXPECT_FALSE(is_missing(dir.path()));
}

TEST(Paths, SplitAndJoin) {
  EXPECT_EQ(join_path("a", "b"), "a/b");
  EXPECT_EQ(join_path("a/", "b"), "a/b");
  EXPECT_EQ(join_path("", "b"), "b");
  EXPECT_EQ(join_path("a", "/b"), "/b");
  EXPECT_EQ(base_name("a/c.jpg"), "c.jpg");
  EXPECT_EQ(base_name("a/b///"), "b");
  EXPECT_EQ(base_name("/"), "/");
  EXPECT_EQ(parent_path("a/c.jpg"), "a");
  EXPECT_EQ(parent_path("a//c.jpg"), "a");
  EXPECT_EQ(parent_path("c"), ".");
  EXPECT_EQ(parent_path("/c"), "/");
  EXPECT_EQ(file_extension("a/UPPER.JPG"), "jpg");
  EXPECT_EQ(file_extension("a.b/.hidden"), "");
  EXPECT_EQ(file_extension("a.b/c"), "");
}

TEST(IsInside, ResolvesLinksAndMissingEnds) {
  TempDir dir;
  dir.make_folder("data/cat");
  dir.make_folder("database");
  ASSERT_EQ(symlink("data", (dir / "alias").c_str()), 0);
  EXPECT_TRUE(is_inside(dir / "data/cat", dir / "data"));
  EXPECT_TRUE(is_inside(dir / "data", dir / "data/"));
  EXPECT_TRUE(is_inside(dir / "alias/runs/new", dir / "data"));
  EXPECT_FALSE(is_inside(dir / "database", dir / "data"));
  EXPECT_FALSE(is_inside(dir / "data/../runs", dir / "data"));
}

TEST(ExecutablePath, IsThisProgram) {
  EXPECT_TRUE(is_regular_file(executable_path()));
}

}  // namespace
}  // namespace pounce
