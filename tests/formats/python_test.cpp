// Files exchanged with the safetensors package of Python, where there is one.
#include "python.h"

#include "base/file.h"
#include "formats/safetensors.h"

namespace pounce {
namespace {

using test::PythonSafetensors;

TEST_F(PythonSafetensors, ReadsOurFile) {
  TensorFile file;
  file.metadata = {{"format", "pt"}, {"note", "\"quoted\" \xE5\x90\x8D"}};
  std::vector<float> values = {0.5f, -1, 3e-38f, 1e38f, 0, 7};
  auto* bytes = reinterpret_cast<const uint8_t*>(values.data());
  file.tensors.push_back({"w", {DType::F32, {2, 3}}, {bytes, bytes + 24}});
  file.tensors.push_back({"n", {DType::I64, {}}, {5, 0, 0, 0, 0, 0, 0, 0}});
  write_file(folder_ / "ours.safetensors", write_safetensors(file));
  EXPECT_TRUE(run(
      "import numpy\n"
      "from safetensors import safe_open\n"
      "with safe_open(folder + '/ours.safetensors', 'np') as f:\n"
      "    assert f.metadata() == {'format': 'pt', 'note': '\"quoted\" \\u540d'}, f.metadata()\n"
      "    w = numpy.array([[.5, -1, 3e-38], [1e38, 0, 7]], numpy.float32)\n"
      "    assert (f.get_tensor('w') == w).all()\n"
      "    assert f.get_tensor('n').shape == () and f.get_tensor('n') == 5\n"));
}

TEST_F(PythonSafetensors, WritesAFileWeRead) {
  ASSERT_TRUE(
      run("import numpy\n"
          "from safetensors.numpy import save_file\n"
          "save_file({'b': numpy.arange(6, dtype=numpy.int32).reshape(2, 3),\n"
          "           'a': numpy.array([1.5], numpy.float64)},\n"
          "          folder + '/theirs.safetensors', {'key': 'value'})\n"));
  Result<std::vector<uint8_t>> bytes = read_file(folder_ / "theirs.safetensors");
  ASSERT_TRUE(bytes.has_value());
  TensorFile file = read_safetensors(*bytes);
  EXPECT_EQ(file.metadata.at("key"), "value");
  EXPECT_EQ(file.find("b")->type, (TensorType{DType::I32, {2, 3}}));
  EXPECT_EQ(file.find("b")->bytes.at(20), 5);
  EXPECT_EQ(file.find("a")->type, (TensorType{DType::F64, {1}}));
}

}  // namespace
}  // namespace pounce
