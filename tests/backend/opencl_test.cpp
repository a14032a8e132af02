// The OpenCL device on PoCL, which computes on the processor: memory, order, errors and the cache
// of programs. What the shared kernels compute is tested elsewhere.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/kernels/texts.h"
#include "backend/opencl/opencl_backend.h"
#include "backend/opencl/opencl_device.h"
#include "base/cache_folder.h"
#include "base/file.h"
#include "base/temp_dir.h"
#include "expect_error.h"

namespace pounce {
namespace {

using testing::HasSubstr;

std::shared_ptr<const opencl::Api> api() {
  Result<std::shared_ptr<const opencl::Api>> opened = opencl::Api::open();
  if (!opened) throw opened.error();
  return *opened;
}

std::unique_ptr<GpuDevice> open_first(const std::string& cache_folder = "") {
  auto devices = opencl::list_devices(*api(), opencl::DeviceSearch::All);
  if (devices.empty()) throw std::runtime_error("these tests need a device: pocl-opencl-icd");
  return opencl::open_device(api(), devices.front(), cache_folder);
}

// y[i] = x[i] * factor + shift[0]
constexpr std::string_view kScale = R"(
KERNEL(scale, GLOBAL(const float) x, GLOBAL(const float) shift, GLOBAL(float) y, float factor,
       i64 count) {
  EACH_ITEM {
    const i64 i = GROUP_X * ITEMS + item;
    if (i < count) y[i] = x[i] * factor + (shift ? shift[0] : 0.0f);
  }
}
)";

GpuSource scale_source(int items = 64) {
  return {"scale", fmt::format("#define ITEMS {}\n{}{}", items, kernels::source("opencl"), kScale)};
}

constexpr int64_t kCount = 1000;
constexpr size_t kBytes = kCount * sizeof(float);

Placement at(Arena arena, size_t slot, size_t bytes = kBytes) {
  return {arena, slot * 4096, bytes};
}

GpuLaunch scale(const Placement& x, const Placement& shift, const Placement& y, float factor) {
  return {.label = "in layer7 (scale)",
          .source = 0,
          .entry = "scale",
          .arguments = {x, shift, y, factor, kCount},
          .groups = {(kCount + 63) / 64, 1, 1},
          .items = 64};
}

std::vector<float> numbers(float start) {
  std::vector<float> values(kCount);
  std::iota(values.begin(), values.end(), start);
  return values;
}

template <typename T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

class OpenClTest : public testing::Test {
 protected:
  std::vector<float> read(const Buffer& buffer, size_t slot) {
    std::vector<float> values(kCount);
    device_->read(buffer, slot * 4096, std::as_writable_bytes(std::span(values)));
    return values;
  }

  std::unique_ptr<GpuDevice> device_ = open_first();
};

TEST_F(OpenClTest, DescribesItsTarget) {
  const Target& target = device_->target();
  EXPECT_EQ(target.kind, DeviceKind::OpenCl);
  EXPECT_FALSE(target.device.empty());
  EXPECT_THAT(target.libraries, HasSubstr("driver "));
  EXPECT_GE(target.placement_alignment, kPlacementAlignment);
  EXPECT_EQ(target.placement_alignment & (target.placement_alignment - 1), 0u);
  EXPECT_GT(target.memory_bytes, 0u);
}

TEST_F(OpenClTest, RunsLaunchesInOrder) {
  auto planned = device_->allocate(3 * 4096);
  auto staging = device_->allocate(4096);
  GpuSequence sequence{.sources = {scale_source()}, .commands = {}};
  Placement none, first = at(Arena::Planned, 0), second = at(Arena::Planned, 1);
  sequence.commands.emplace_back(scale(at(Arena::Staging, 0), none, first, 2));
  sequence.commands.emplace_back(scale(first, none, first, 3));  // in place
  sequence.commands.emplace_back(scale(first, at(Arena::Staging, 0, 4), second, 1));
  sequence.commands.emplace_back(GpuPoison{first});
  auto program = device_->prepare(std::move(sequence));
  device_->write(*staging, 0, bytes_of(numbers(5)));
  device_->run(*program, {nullptr, planned.get(), staging.get(), nullptr});
  std::vector<float> y = read(*planned, 1), poisoned = read(*planned, 0);
  for (size_t i = 0; i < y.size(); ++i) {
    EXPECT_EQ(y[i], 6 * (5 + float(i)) + 5);
    EXPECT_TRUE(std::isnan(poisoned[i]));
  }
}

// Two arenas in turns, uploads that do not wait for the runs before them: each run sees its own
// batch, and no upload overtakes the run that still reads what it replaces.
TEST_F(OpenClTest, KeepsUploadsAndRunsInOrder) {
  auto persistent = device_->allocate(4096), planned = device_->allocate(4096);
  std::unique_ptr<Buffer> staging[] = {device_->allocate(4096), device_->allocate(4096)};
  // persistent = persistent * 1 + staging[0], for every element.
  GpuSequence sequence{.sources = {scale_source()}, .commands = {}};
  Placement sum = at(Arena::Persistent, 0), scratch = at(Arena::Planned, 0);
  sequence.commands.emplace_back(scale(sum, at(Arena::Staging, 0, 4), scratch, 1));
  for (int i = 0; i < 20; ++i) sequence.commands.emplace_back(scale(scratch, {}, scratch, 1));
  sequence.commands.emplace_back(scale(scratch, {}, sum, 1));
  auto program = device_->prepare(std::move(sequence));
  device_->write(*persistent, 0, bytes_of(std::vector<float>(kCount)));
  float expected = 0;
  for (int step = 0; step < 200; ++step) {
    Buffer& arena = *staging[step % 2];
    std::vector<float> batch(1, float(step));
    device_->write(arena, 0, bytes_of(batch));
    batch[0] = -1e6F;  // the caller's memory may change at once
    device_->run(*program, {persistent.get(), planned.get(), &arena, nullptr});
    expected += float(step);
  }
  EXPECT_EQ(read(*persistent, 0), std::vector<float>(kCount, expected));
}

// More than the ring of transfer memory holds, in pieces and round its end.
TEST_F(OpenClTest, UploadsMoreThanItsRingHolds) {
  constexpr size_t kElements = (size_t{150} << 20) / sizeof(uint32_t) + 3;
  std::vector<uint32_t> sent(kElements), received(kElements);
  std::iota(sent.begin(), sent.end(), 1u);
  auto buffer = device_->allocate(kElements * sizeof(uint32_t));
  device_->write(*buffer, 0, bytes_of(sent));
  device_->read(*buffer, 0, std::as_writable_bytes(std::span(received)));
  EXPECT_TRUE(sent == received);
}

TEST_F(OpenClTest, CopiesBetweenBuffers) {
  auto a = device_->allocate(2 * 4096), b = device_->allocate(2 * 4096);
  device_->write(*a, 4096, bytes_of(numbers(3)));
  device_->copy(*b, 0, *a, 4096, kBytes);
  device_->write(*a, 4096, bytes_of(numbers(9)));  // waits for the copy
  EXPECT_EQ(read(*b, 0), numbers(3));
  EXPECT_EQ(read(*a, 1), numbers(9));
}

TEST_F(OpenClTest, CountsMemoryAndGivesItBack) {
  EXPECT_EQ(device_->memory_info().allocated_bytes, 0u);
  auto first = device_->allocate(10'000);
  device_->allocate(20'000).reset();
  EXPECT_EQ(device_->memory_info().allocated_bytes, 10'000u);
  EXPECT_EQ(device_->memory_info().peak_bytes, 30'000u);
  size_t total = device_->memory_info().total_bytes;
  EXPECT_ERROR(device_->allocate(total), ErrorKind::OutOfMemory, std::to_string(total) + " bytes",
               "10000 of", "smaller batch");
  EXPECT_EQ(device_->memory_info().allocated_bytes, 10'000u);
  EXPECT_EQ(device_->allocate(0)->bytes(), 0u);
  EXPECT_EQ(device_->allocate(total / 4)->bytes(), total / 4);
}

// Buffers are gone when their owner lets go of them, whatever program they were bound to.
TEST_F(OpenClTest, RunsOnNewArenas) {
  GpuSequence sequence{.sources = {scale_source()}, .commands = {}};
  sequence.commands.emplace_back(scale(at(Arena::Staging, 0), {}, at(Arena::Planned, 0), 2));
  auto program = device_->prepare(std::move(sequence));
  for (float start : {1.0F, 2.0F, 3.0F}) {
    auto planned = device_->allocate(4096), staging = device_->allocate(4096);
    EXPECT_EQ(device_->memory_info().allocated_bytes, 2 * 4096u);
    device_->write(*staging, 0, bytes_of(numbers(start)));
    device_->run(*program, {nullptr, planned.get(), staging.get(), nullptr});
    EXPECT_EQ(read(*planned, 0)[10], 2 * (start + 10));
  }
  EXPECT_EQ(device_->memory_info().allocated_bytes, 0u);
}

TEST_F(OpenClTest, ShowsTheCompilersWords) {
  GpuSource broken{"broken", "__kernel void f(__global float* x) { x[0] = no_such_word; }"};
  GpuSequence sequence{.sources = {broken}, .commands = {}};
  EXPECT_ERROR(device_->prepare(sequence), ErrorKind::Device, "\"broken\"",
               "CL_BUILD_PROGRAM_FAILURE", "no_such_word", device_->target().device);
  EXPECT_ERROR(device_->prepare(sequence), ErrorKind::Device, "no_such_word");  // each time
}

TEST_F(OpenClTest, RefusesLaunchesThatDoNotFit) {
  GpuSequence sequence{.sources = {scale_source()}, .commands = {}};
  GpuLaunch launch = scale({}, {}, {}, 1);
  launch.arguments.pop_back();
  sequence.commands = {launch};
  EXPECT_ERROR(device_->prepare(sequence), ErrorKind::Internal, "scale", "5 parameters, 4");
  launch.entry = "scala";
  sequence.commands = {launch};
  EXPECT_ERROR(device_->prepare(sequence), ErrorKind::Device, "scala", "CL_INVALID_KERNEL_NAME");
}

// A failure in the middle of a run names the layer, and the device goes on.
TEST_F(OpenClTest, NamesTheLayerThatCannotStart) {
  GpuLaunch good = scale(at(Arena::Staging, 0), {}, at(Arena::Planned, 0), 2), bad = good;
  bad.label = "in layer8 (scale)";
  bad.items = 32;  // the kernel wants 64
  auto failing = device_->prepare({.sources = {scale_source()}, .commands = {good, bad}});
  auto working = device_->prepare({.sources = {scale_source()}, .commands = {good}});
  {
    auto planned = device_->allocate(4096), staging = device_->allocate(4096);
    device_->write(*staging, 0, bytes_of(numbers(1)));
    Bindings arenas{nullptr, planned.get(), staging.get(), nullptr};
    EXPECT_ERROR(device_->run(*failing, arenas), ErrorKind::Device, "CL_INVALID_WORK_GROUP_SIZE",
                 "in layer8 (scale)");
    device_->run(*working, arenas);
    EXPECT_EQ(read(*planned, 0)[0], 2);
  }
  EXPECT_EQ(device_->memory_info().allocated_bytes, 0u);
}

TEST(OpenClPrograms, AreCompiledOnceAMachine) {
  test::TempDir folder;
  // What the cache holds after a process has compiled: replacing a file gives it another number.
  auto prepare = [&] {
    open_first(folder.path())->prepare({.sources = {scale_source()}, .commands = {}});
    std::vector<CacheFile> files = list_cache_files(folder.path());
    EXPECT_EQ(files.size(), 1u);
    std::string name(base_name(files.at(0).path));
    return FolderHandle::open(folder.path())->own_status_of(name.c_str());
  };
  FileStatus first = prepare(), second = prepare();
  EXPECT_GT(first.size, 0u);
  EXPECT_EQ(second.id, first.id);
  // A damaged file is compiled anew and replaced.
  std::string path = list_cache_files(folder.path()).at(0).path;
  std::vector<uint8_t> damaged = read_file(path).value();
  damaged.back() ^= 1;
  write_file(path, damaged);
  FileId damaged_id = FolderHandle::open(folder.path())->own_status_of(base_name(path).data()).id;
  FileStatus third = prepare();
  EXPECT_NE(third.id, damaged_id);
  EXPECT_EQ(third.size, first.size);
}

TEST(OpenClDevices, LooksForSignsOfAGpuFirst) {
  test::TempDir system;
  opencl::SystemPaths paths{system / "dev", system / "vendors"};
  system.put("dev/null", std::string());
  system.put("vendors/pocl.icd", std::string("libpocl.so.2"));
  EXPECT_FALSE(opencl::may_have_gpu(paths));
  system.put("vendors/nvidia.icd", std::string("libnvidia-opencl.so.1"));
  EXPECT_FALSE(opencl::may_have_gpu(paths));  // a driver without a card
  system.put("dev/nvidia0", std::string());
  EXPECT_TRUE(opencl::may_have_gpu(paths));
  std::filesystem::remove(system / "vendors/nvidia.icd");
  EXPECT_FALSE(opencl::may_have_gpu(paths));  // a card without a driver
  std::filesystem::remove(system / "dev/nvidia0");
  system.put("dev/dri/renderD128", std::string());
  system.put("vendors/mesa.icd", std::string("libMesaOpenCL.so.1"));
  EXPECT_TRUE(opencl::may_have_gpu(paths));
  // Without the folder of drivers the library may be one itself.
  std::filesystem::remove_all(system / "vendors");
  EXPECT_TRUE(opencl::may_have_gpu(paths));
}

TEST(OpenClDevices, NamesThoseThereAre) {
  auto devices = opencl::list_devices(*api(), opencl::DeviceSearch::All);
  ASSERT_FALSE(devices.empty());
  EXPECT_TRUE(std::ranges::is_sorted(devices, std::greater<>(), &opencl::DeviceInfo::is_gpu));
  EXPECT_ERROR(make_opencl_backend({.device = 99}), ErrorKind::Device, "opencl:99",
               "opencl:0 " + devices[0].name);
  EXPECT_EQ(make_opencl_backend({})->target().device, devices[0].name);
}

}  // namespace
}  // namespace pounce
