// Tensors and devices: values, moves, printing, and what empty handles do.
#include "pounce/tensor.h"

#include <cmath>
#include <limits>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "expect_error.h"

namespace pounce {
namespace {

using testing::ElementsAre;

std::string printed(const Tensor& tensor) {
  std::ostringstream out;
  out << tensor;
  return out.str();
}

TEST(Device, OpensByNameAndSaysWhatItIs) {
  Device cpu("cpu", 3);
  EXPECT_EQ(cpu.name(), "cpu");
  EXPECT_EQ(cpu.threads(), 3);
  EXPECT_EQ(cpu.description(), "cpu, 3 threads");
  EXPECT_EQ(Device("auto", 1).description(), "cpu, 1 thread");
  EXPECT_EQ(Device("reference").name(), "reference");
}

TEST(Device, RefusesWhatItCannotOpen) {
  EXPECT_ERROR(Device("mps"), ErrorKind::Device, "\"mps\"", "cpu");
  EXPECT_ERROR(Device("cpu", -1), ErrorKind::InvalidArgument, "-1", "0 to 1024");
  EXPECT_ERROR(Device("cpu", 100000), ErrorKind::InvalidArgument, "100000");
}

TEST(Device, CopiesAreOneDevice) {
  Device a("cpu", 1), b("cpu", 1), copy = a;
  EXPECT_TRUE(a == copy);
  EXPECT_FALSE(a == b);
}

TEST(Device, CountsWhatLiesOnIt) {
  Device device("cpu", 1);
  Tensor host({1000}, std::vector<float>(1000));
  {
    Tensor here = host.to(device), copy = here;
    EXPECT_GE(device.allocated_bytes(), 4000);
  }
  EXPECT_EQ(device.allocated_bytes(), 0);
}

TEST(Device, MovedFromThrows) {
  Device device("cpu", 1);
  Device taken = std::move(device);
  EXPECT_ERROR(device.name(), ErrorKind::InvalidArgument, "Device is empty");
  EXPECT_ERROR(Tensor({1}, std::vector<float>(1)).to(device), ErrorKind::InvalidArgument,
               "Device is empty");
  device = taken;
  EXPECT_EQ(device.name(), "cpu");
}

TEST(Tensor, KeepsItsValuesAcrossDevices) {
  std::vector<int64_t> values = {1, -2, int64_t{1} << 60, 4, 5, 6};
  Tensor host({2, 3}, values);
  Device cpu("cpu", 1), reference("reference");
  Tensor on_cpu = host.to(cpu), on_reference = on_cpu.to(reference);
  EXPECT_FALSE(host.device());
  EXPECT_TRUE(on_cpu.device() == cpu);
  EXPECT_TRUE(on_reference.device() == reference);
  for (const Tensor& tensor : {host, on_cpu, on_reference, on_reference.to_host()}) {
    EXPECT_EQ(tensor.dtype(), DType::I64);
    EXPECT_THAT(tensor.shape(), ElementsAre(2, 3));
    EXPECT_EQ(tensor.elements(), 6);
    EXPECT_EQ(tensor.bytes(), 48);
    EXPECT_EQ(tensor.values<int64_t>(), values);
  }
}

TEST(Tensor, OutlivesTheDeviceHandle) {
  Tensor tensor;
  {
    Device device("cpu", 1);
    tensor = Tensor({2}, std::vector<double>{1, 2}).to(device);
  }
  EXPECT_THAT(tensor.values<double>(), ElementsAre(1, 2));
}

TEST(Tensor, HoldsScalarsAndNothing) {
  Device device("cpu", 1);
  EXPECT_THAT(Tensor({}, std::vector<float>{3}).to(device).values<float>(), ElementsAre(3));
  Tensor nothing = Tensor({0, 4}, std::vector<float>{}).to(device);
  EXPECT_EQ(nothing.elements(), 0);
  EXPECT_THAT(nothing.to_host().values<float>(), ElementsAre());
  EXPECT_EQ(printed(nothing), "f32[0,4] on cpu, 1 thread, NaN 0, Inf 0");
}

TEST(Tensor, RefusesWrongShapesAndTypes) {
  std::vector<float> three(3);
  EXPECT_ERROR(Tensor({2}, three), ErrorKind::InvalidArgument, "f32[2]", "3 were given");
  EXPECT_ERROR(Tensor({-3}, three), ErrorKind::InvalidArgument, "-3");
  EXPECT_ERROR(Tensor({3, 1, 1, 1, 1, 1, 1}, three), ErrorKind::InvalidArgument, "7 axes");
  EXPECT_ERROR(Tensor({int64_t{1} << 40, int64_t{1} << 40}, three), ErrorKind::InvalidArgument,
               "too many elements");
  EXPECT_ERROR(Tensor({3}, three).values<double>(), ErrorKind::InvalidArgument, "f64", "f32[3]");
}

TEST(Tensor, EmptyHandlesThrow) {
  Tensor moved({1}, std::vector<float>{1});
  Tensor taken = std::move(moved);
  for (const Tensor& empty : {Tensor(), moved}) {
    EXPECT_TRUE(empty.is_empty());
    EXPECT_EQ(printed(empty), "empty tensor");
    EXPECT_ERROR(empty.dtype(), ErrorKind::InvalidArgument, "Tensor is empty");
    EXPECT_ERROR(empty.shape(), ErrorKind::InvalidArgument, "Tensor is empty");
    EXPECT_ERROR(empty.to_host(), ErrorKind::InvalidArgument, "Tensor is empty");
    EXPECT_ERROR(empty.values<float>(), ErrorKind::InvalidArgument, "Tensor is empty");
  }
}

TEST(Print, ShowsSmallTensorsWhole) {
  EXPECT_EQ(printed(Tensor({2, 3}, std::vector<float>{1, -2.5F, 3, 4, 5, 6})),
            "f32[2,3] on the host, min -2.5, max 6, mean 2.75, NaN 0, Inf 0\n"
            "[[   1 -2.5    3]\n"
            " [   4    5    6]]");
  EXPECT_EQ(printed(Tensor({}, std::vector<int32_t>{7})),
            "i32[] on the host, min 7, max 7, mean 7, NaN 0, Inf 0\n7");
  EXPECT_EQ(printed(Tensor({1, 2, 1}, std::vector<uint8_t>{0, 255})),
            "u8[1,2,1] on the host, min 0, max 255, mean 127.5, NaN 0, Inf 0\n"
            "[[[  0]\n"
            "  [255]]]");
}

TEST(Print, CountsWhatIsNotFinite) {
  float infinity = std::numeric_limits<float>::infinity();
  Tensor tensor({5}, std::vector<float>{1, NAN, infinity, -infinity, 3});
  EXPECT_EQ(printed(tensor.to(Device("cpu", 2))),
            "f32[5] on cpu, 2 threads, min 1, max 3, mean 2, NaN 1, Inf 2\n"
            "[   1  nan  inf -inf    3]");
  EXPECT_EQ(tensor.summary(), "f32[5] on the host, min 1, max 3, mean 2, NaN 1, Inf 2");
  EXPECT_EQ(printed(Tensor({1}, std::vector<double>{NAN})),
            "f64[1] on the host, NaN 1, Inf 0\n[nan]");
}

TEST(Print, ShortensLargeTensorsAsNumPy) {
  std::vector<int32_t> values(40 * 30);
  for (size_t i = 0; i < values.size(); ++i) values[i] = int32_t(i);
  EXPECT_EQ(printed(Tensor({40, 30}, values)),
            "i32[40,30] on the host, min 0, max 1199, mean 599.5, NaN 0, Inf 0\n"
            "[[   0    1    2 ...   27   28   29]\n"
            " [  30   31   32 ...   57   58   59]\n"
            " [  60   61   62 ...   87   88   89]\n"
            " ...\n"
            " [1110 1111 1112 ... 1137 1138 1139]\n"
            " [1140 1141 1142 ... 1167 1168 1169]\n"
            " [1170 1171 1172 ... 1197 1198 1199]]");
}

TEST(Print, OfADeviceSaysTheSameNumbers) {
  std::vector<float> values(2000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(float(i));
  Tensor host({20, 100}, values);
  std::string there = printed(host.to(Device("reference")));
  EXPECT_EQ(there.substr(there.find(", min")), printed(host).substr(printed(host).find(", min")));
}

}  // namespace
}  // namespace pounce
