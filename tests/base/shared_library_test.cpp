#include "base/shared_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pounce {
namespace {

TEST(SharedLibrary, FindsFunctionsByName) {
  Result<SharedLibrary> library = SharedLibrary::open("libm.so.6");
  ASSERT_TRUE(library) << library.error().message();
  double (*root)(double) = nullptr;
  ASSERT_TRUE(library->find("sqrt", root));
  EXPECT_EQ(root(9.0), 3.0);
  EXPECT_FALSE(library->find("no_such_function", root));
  EXPECT_EQ(root, nullptr);
}

TEST(SharedLibrary, MovesItsHandle) {
  SharedLibrary first = SharedLibrary::open("libm.so.6").value();
  SharedLibrary second = std::move(first);
  double (*root)(double) = nullptr;
  ASSERT_TRUE(second.find("sqrt", root));
  first = std::move(second);
  EXPECT_TRUE(first.find("sqrt", root));
}

TEST(SharedLibrary, SaysWhatIsMissing) {
  Result<SharedLibrary> library = SharedLibrary::open("libpounce-absent.so.7");
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().kind(), ErrorKind::Unsupported);
  EXPECT_THAT(library.error().message(), testing::HasSubstr("libpounce-absent.so.7"));
}

}  // namespace
}  // namespace pounce
