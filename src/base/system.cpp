#include "base/system.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <malloc.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"

namespace pounce {
namespace {

std::optional<std::string> first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!file || !std::getline(file, line)) return std::nullopt;
  return line;
}

std::optional<int64_t> number_in(const std::string& path) {
  auto line = first_line(path);
  return line ? parse_int(*line) : std::nullopt;
}

// The folders of our cgroup from the leaf to the root; limits of any of them bind. Inside a
// container the namespace usually makes this the mount point itself.
std::vector<std::string> cgroup_folders(const std::string& mount, const std::string& controller) {
  std::string below;
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string controllers = fmt::format(",{},", line.substr(first + 1, second - first - 1));
    std::string wanted = controller.empty() ? ",," : fmt::format(",{},", controller);
    bool is_ours =
        controller.empty() ? controllers == wanted : controllers.find(wanted) != std::string::npos;
    if (is_ours) below = line.substr(second + 1);
  }
  std::vector<std::string> folders;
  while (!below.empty() && below != "/") {
    folders.push_back(mount + below);
    below.resize(below.rfind('/'));
  }
  folders.push_back(mount);
  return folders;
}

// Cores the cgroup quota allows; infinity without one.
double cgroup_cores() {
  double cores = HUGE_VAL;
  for (const std::string& folder : cgroup_folders("/sys/fs/cgroup", "")) {
    if (auto line = first_line(folder + "/cpu.max")) {
      std::istringstream words(*line);
      std::string quota;
      double period = 0;
      words >> quota >> period;
      auto value = parse_double(quota);
      if (value && period > 0) cores = std::min(cores, *value / period);
    }
  }
  for (const std::string& folder : cgroup_folders("/sys/fs/cgroup/cpu", "cpu")) {
    auto quota = number_in(folder + "/cpu.cfs_quota_us");
    auto period = number_in(folder + "/cpu.cfs_period_us");
    if (quota && period && *quota > 0 && *period > 0) {
      cores = std::min(cores, double(*quota) / double(*period));
    }
  }
  return cores;
}

int affinity_cores() {
  // The mask grows until the kernel accepts it: machines with more than 1024 cores exist.
  for (int cores = 1024; cores <= 1 << 20; cores *= 2) {
    cpu_set_t* set = CPU_ALLOC(size_t(cores));
    size_t bytes = CPU_ALLOC_SIZE(size_t(cores));
    if (!set) break;
    int status = sched_getaffinity(0, bytes, set);
    int error_number = errno;
    int count = status == 0 ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (status == 0) return std::max(1, count);
    if (error_number != EINVAL) break;
  }
  return int(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
}

// All 0 where it cannot be known.
struct statvfs file_system_of(std::string path) {
  while (!path_exists(path) && parent_path(path) != path) path = parent_path(path);
  struct statvfs status {};
  if (::statvfs(path.c_str(), &status) != 0) return {};
  return status;
}

double clock_seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return double(now.tv_sec) + double(now.tv_nsec) * 1e-9;
}

}  // namespace

int usable_cores() {
  double cores = std::min(double(affinity_cores()), std::ceil(cgroup_cores()));
  return std::max(1, int(cores));
}

double seconds_since_process_start() {
  auto line = first_line("/proc/self/stat");
  // The program's name stands in brackets and may hold anything, so count from the last one.
  size_t bracket = line ? line->rfind(')') : std::string::npos;
  if (bracket == std::string::npos) return 0;
  std::istringstream fields(line->substr(bracket + 1));
  std::string field;
  constexpr int kStartTimeField = 22, kFirstFieldAfterName = 3;
  for (int i = kFirstFieldAfterName; i <= kStartTimeField; ++i) fields >> field;
  auto ticks = parse_int(field);
  if (!ticks) return 0;
  double start = double(*ticks) / double(sysconf(_SC_CLK_TCK));
  return std::max(0.0, clock_seconds(CLOCK_BOOTTIME) - start);
}

double monotonic_seconds() {
  return clock_seconds(CLOCK_MONOTONIC);
}

double process_cpu_seconds() {
  return clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
}

int64_t resident_bytes() {
  auto line = first_line("/proc/self/statm");
  if (!line) return 0;
  std::istringstream fields(*line);
  int64_t total = 0, resident = 0;
  fields >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

int64_t peak_resident_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t(usage.ru_maxrss) * 1024;
}

int64_t total_memory_bytes() {
  struct sysinfo info {};
  if (sysinfo(&info) != 0) return 0;
  int64_t bytes = int64_t(info.totalram) * int64_t(info.mem_unit);
  auto limit = [&](std::optional<int64_t> value) {
    if (value && *value > 0) bytes = std::min(bytes, *value);
  };
  for (const std::string& folder : cgroup_folders("/sys/fs/cgroup", "")) {
    limit(number_in(folder + "/memory.max"));
  }
  for (const std::string& folder : cgroup_folders("/sys/fs/cgroup/memory", "memory")) {
    limit(number_in(folder + "/memory.limit_in_bytes"));
  }
  return bytes;
}

int64_t available_memory_bytes() {
  int64_t bytes = total_memory_bytes();
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::string name;
    int64_t kilobytes = 0;
    if (fields >> name >> kilobytes && name == "MemAvailable:") {
      bytes = std::min(bytes, kilobytes * 1024);
    }
  }
  // `reclaimable`: the line of memory.stat with the file pages that the kernel would drop first.
  auto limit = [&](const std::string& folder, const char* most, const char* used,
                   const std::string& reclaimable) {
    auto limit_bytes = number_in(folder + most), used_bytes = number_in(folder + used);
    if (!limit_bytes || !used_bytes || *limit_bytes <= 0) return;
    std::ifstream stat(folder + "/memory.stat");
    int64_t cached = 0, value = 0;
    for (std::string name; stat >> name >> value;) {
      if (name == reclaimable) cached = value;
    }
    bytes = std::min(bytes, std::max<int64_t>(0, *limit_bytes - *used_bytes + cached));
  };
  for (const std::string& folder : cgroup_folders("/sys/fs/cgroup", "")) {
    limit(folder, "/memory.max", "/memory.current", "inactive_file");
  }
  for (const std::string& folder : cgroup_folders("/sys/fs/cgroup/memory", "memory")) {
    limit(folder, "/memory.limit_in_bytes", "/memory.usage_in_bytes", "total_inactive_file");
  }
  return bytes;
}

int64_t free_disk_bytes(const std::string& path) {
  struct statvfs status = file_system_of(path);
  return int64_t(status.f_bavail) * int64_t(status.f_frsize);
}

int64_t total_disk_bytes(const std::string& path) {
  struct statvfs status = file_system_of(path);
  return int64_t(status.f_blocks) * int64_t(status.f_frsize);
}

void release_free_memory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

void release_thread_memory() {
#ifdef __GLIBC__
  // An arena is cut off at its end only where a large block is freed and more than this is free.
  constexpr int kKeptBytes = 1 << 17;
  mallopt(M_TRIM_THRESHOLD, kKeptBytes);
  void* volatile block = std::malloc(kKeptBytes);
  std::free(block);
#endif
}

void keep_free_memory() {
#ifdef __GLIBC__
  constexpr int kLargest = 1 << 25;  // and twice that: the most that glibc's own rule comes to
  mallopt(M_MMAP_THRESHOLD, kLargest);
  mallopt(M_TRIM_THRESHOLD, 2 * kLargest);
#endif
}

bool is_terminal(int descriptor) {
  return isatty(descriptor) == 1;
}

int terminal_width(int descriptor) {
  winsize size{};
  bool known = ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    ssize_t n = ::write(descriptor, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    text.remove_prefix(size_t(n));
  }
  return true;
}

void open_closed_standard_streams() {
  for (int descriptor = 0; descriptor <= STDERR_FILENO; ++descriptor) {
    if (fcntl(descriptor, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest free number is this one. Without /dev/null there is nothing better to do.
    if (::open("/dev/null", O_RDWR) < 0) return;
  }
}

void make_openmp_wait_passively(char** argv) {
  if (std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr) return;
  if (setenv("OMP_WAIT_POLICY", "passive", 1) != 0) return;
  // By its own path, so that process lists keep the program's name.
  execv(executable_path().c_str(), argv);
  // Still here: without /proc the threads spin, which is slower but correct.
}

std::string cpu_model_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "";
}

}  // namespace pounce
