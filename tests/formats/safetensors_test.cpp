// Round trips, and every kind of damage with the reason that is given for it.
#include "formats/safetensors.h"

#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/system.h"
#include "expect_error.h"

namespace pounce {
namespace {

TensorFile small_file() {
  TensorFile file;
  file.metadata = {{"format", "pt"}, {"note", "\"quoted\" \xE5\x90\x8D"}};
  file.tensors.push_back({"b.weight", {DType::F32, {2, 3}}, std::vector<uint8_t>(24, 7)});
  file.tensors.push_back({"a", {DType::I64, {}}, {1, 2, 3, 4, 5, 6, 7, 8}});
  file.tensors.push_back({"empty", {DType::F16, {0, 5}}, {}});
  file.tensors.push_back({"bytes", {DType::U8, {3}}, {9, 8, 7}});
  return file;
}

// A file of this header text and as many zero bytes.
std::vector<uint8_t> file_of(const std::string& header, size_t data_bytes) {
  std::vector<uint8_t> bytes(8 + header.size() + data_bytes);
  uint64_t length = header.size();
  std::memcpy(bytes.data(), &length, 8);
  std::memcpy(bytes.data() + 8, header.data(), header.size());
  return bytes;
}

std::string entry(const char* name, const char* dtype, const char* shape, const char* offsets) {
  return std::string("\"") + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape +
         ",\"data_offsets\":" + offsets + "}";
}

TEST(Safetensors, ReadsWhatItWrote) {
  TensorFile file = small_file();
  std::vector<uint8_t> bytes = write_safetensors(file);
  TensorFile read = read_safetensors(bytes);
  EXPECT_EQ(read.metadata, file.metadata);
  ASSERT_EQ(read.tensors.size(), file.tensors.size());
  for (size_t i = 0; i < read.tensors.size(); ++i) {
    EXPECT_EQ(read.tensors[i].name, file.tensors[i].name);
    EXPECT_EQ(read.tensors[i].type, file.tensors[i].type);
    EXPECT_EQ(read.tensors[i].bytes, file.tensors[i].bytes);
  }
  EXPECT_EQ(read.find("a"), &read.tensors[1]);
  EXPECT_EQ(read.find("z"), nullptr);
}

TEST(Safetensors, EqualContentGivesEqualBytes) {
  std::vector<uint8_t> bytes = write_safetensors(small_file());
  EXPECT_EQ(write_safetensors(small_file()), bytes);
  EXPECT_EQ(write_safetensors(read_safetensors(bytes)), bytes);
  uint64_t header = 0;
  std::memcpy(&header, bytes.data(), 8);
  EXPECT_EQ(header % 8, 0u);
}

TEST(Safetensors, HoldsEveryDType) {
  for (DType dtype :
       {DType::F64, DType::F32, DType::F16, DType::BF16, DType::I64, DType::I32, DType::U8}) {
    TensorFile file;
    file.tensors.push_back({"x", {dtype, {1, 2, 1, 1, 1, 1}}, {}});
    file.tensors[0].bytes.assign(size_t(file.tensors[0].type.bytes()), 0xAB);
    EXPECT_EQ(read_safetensors(write_safetensors(file)).tensors[0].type, file.tensors[0].type);
  }
  EXPECT_TRUE(read_safetensors(write_safetensors({})).tensors.empty());
}

TEST(Safetensors, RefusesAFileCutShortAnywhere) {
  std::vector<uint8_t> bytes = write_safetensors(small_file());
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_ERROR(read_safetensors({bytes.data(), length}), ErrorKind::BadData, "safetensors");
  }
}

TEST(Safetensors, SurvivesEveryByteChanged) {
  const std::vector<uint8_t> bytes = write_safetensors(small_file());
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (uint8_t change : {0x01, 0x20, 0x80, 0xFF}) {
      std::vector<uint8_t> damaged = bytes;
      damaged[i] ^= change;
      try {
        read_safetensors(damaged);
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::BadData) << error.what();
      }
    }
  }
}

struct Damage {
  std::string header;
  size_t data_bytes;
  const char* reason;
};

std::vector<Damage> damages() {
  const std::string a = entry("a", "F32", "[2]", "[0,8]");
  auto object = [](const std::string& entries) { return "{" + entries + "}"; };
  return {
      {"", 0, "JSON"},
      {"[]", 0, "JSON"},
      {"{", 0, "JSON"},
      {"{}x", 0, "JSON"},
      {object("\"a\":1"), 0, "\"a\" has no dtype or shape"},
      {object("\"a\":{\"dtype\":\"F32\"}"), 0, "\"a\" has no dtype or shape"},
      {object("\"a\":{\"dtype\":\"F32\",\"shape\":[2]}"), 8, "\"a\" has no data_offsets"},
      {object(entry("a", "F99", "[2]", "[0,8]")), 8, "F99"},
      {object(entry("a", "F32", "2", "[0,8]")), 8, "no dtype or shape"},
      {object(entry("a", "F32", "[-2]", "[0,8]")), 8, "a shape Pounce cannot hold"},
      {object(entry("a", "F32", "[2.0]", "[0,8]")), 8, "a shape Pounce cannot hold"},
      {object(entry("a", "F32", "[1,1,1,1,1,1,2]", "[0,8]")), 8, "a shape Pounce cannot hold"},
      {object(entry("a", "F32", "[18446744073709551615]", "[0,8]")), 8, "impossible size"},
      {object(entry("a", "F32", "[4294967296,4294967296]", "[0,8]")), 8, "impossible size"},
      {object(entry("a", "F32", "[0,4294967296,4294967296,4294967296]", "[0,8]")), 8, "\"a\""},
      {object(entry("a", "F32", "[2]", "[0]")), 8, "no data_offsets"},
      {object(entry("a", "F32", "[2]", "[-8,0]")), 8, "no data_offsets"},
      {object(entry("a", "F32", "[2]", "[8,0]")), 8, "cut short or damaged"},
      {object(entry("a", "F32", "[2]", "[8,16]")), 8, "cut short or damaged"},
      {object(entry("a", "F32", "[3]", "[0,8]")), 8, "8 bytes, its type f32[3] needs 12"},
      {object(entry("a", "F32", "[2]", "[4,12]")), 12, "gap at 0"},
      {object(a + "," + entry("b", "F32", "[2]", "[4,12]")), 12, "overlap or leave a gap at 8"},
      {object(a + "," + entry("b", "F32", "[2]", "[0,8]")), 8, "overlap"},
      {object(a + "," + entry("b", "F32", "[2]", "[12,20]")), 20, "gap at 8"},
      {object(a), 9, "1 bytes follow"},
      {"{}", 1, "1 bytes follow"},
      {object(a + "," + a), 8, "\"a\" twice"},
      {object(a + "," + entry("a", "F32", "[2]", "[8,16]")), 16, "\"a\" twice"},
      {object("\"__metadata__\":[]," + a), 8, "metadata is no JSON object"},
      {object("\"__metadata__\":{\"k\":1}," + a), 8, "metadata \"k\" is no text"},
  };
}

TEST(Safetensors, SaysWhatIsDamaged) {
  for (const Damage& damage : damages()) {
    SCOPED_TRACE(damage.header);
    EXPECT_ERROR(read_safetensors(file_of(damage.header, damage.data_bytes)), ErrorKind::BadData,
                 damage.reason);
  }
}

TEST(Safetensors, RefusesAHeaderThatClaimsTooMuch) {
  for (uint64_t length : {uint64_t{3}, uint64_t{100'000'001}, uint64_t{1} << 63,
                          std::numeric_limits<uint64_t>::max()}) {
    std::vector<uint8_t> bytes = file_of("{}", 0);
    std::memcpy(bytes.data(), &length, 8);
    EXPECT_ERROR(read_safetensors(bytes), ErrorKind::BadData, std::to_string(length));
  }
  std::string deep(200'000, '[');
  EXPECT_ERROR(read_safetensors(file_of(deep, 0)), ErrorKind::BadData, "JSON");
}

TEST(Safetensors, ReadsAFileOfThePythonPackagesForm) {
  Result<std::vector<uint8_t>> bytes =
      read_file(std::string(POUNCE_SOURCE_DIR) + "/tests/goldens/narrow_cnn.safetensors");
  ASSERT_TRUE(bytes.has_value());
  TensorFile file = read_safetensors(*bytes);
  const NamedTensor* weight = file.find("param.fc.weight");
  ASSERT_NE(weight, nullptr);
  EXPECT_EQ(weight->type, (TensorType{DType::F32, {5, 96}}));
  EXPECT_EQ(file.metadata.at("network"), "narrow_cnn");
}

}  // namespace
}  // namespace pounce
