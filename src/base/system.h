// What the machine and the process say about themselves: cores, memory, clocks, terminal.
// Nothing here throws; what cannot be known is 0 or a documented fallback.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pounce {

// Cores this process may use: affinity mask and cgroup (v2, v1) quota, rounded up; at least 1.
int usable_cores();

// Since the kernel started the process, so exec and dynamic loading count. Resolution 10 ms.
double seconds_since_process_start();
// A clock that never jumps; only differences mean something.
double monotonic_seconds();
// Of all threads of the process, in user and kernel mode.
double process_cpu_seconds();

int64_t resident_bytes();
int64_t peak_resident_bytes();
// Of the machine, or of the cgroup when that is less.
int64_t total_memory_bytes();
// Gives free memory that the allocator keeps in reserve back to the system. Takes milliseconds.
void release_free_memory();
// For a thread that will not allocate again: the same for the memory it allocated from, which
// release_free_memory() leaves where glibc gives a thread its own.
void release_thread_memory();
// From now on freed blocks stay with the process for further ones of up to 32 MB, as glibc decides
// by itself after the first such block, until one of the above gives them back.
void keep_free_memory();
// What programs can still take without others being pushed out; caches of files count as free.
// The cgroup's room when that is less.
int64_t available_memory_bytes();
// Of the file system where `path` lies or would lie: what this user may still write, and its size.
int64_t free_disk_bytes(const std::string& path);
int64_t total_disk_bytes(const std::string& path);

constexpr int kStdout = 1;
constexpr int kStderr = 2;

bool is_terminal(int descriptor);
// Columns; 80 when `descriptor` is no terminal.
int terminal_width(int descriptor);

// Writes everything. False when the reader is gone (broken pipe) or the write failed; SIGPIPE must
// be ignored by the program for the former.
bool write_all(int descriptor, std::string_view text);

// Opens /dev/null in the place of standard streams that are closed: else the files opened first
// take their numbers, and messages end up in a log or a model. Call it before anything opens a
// file.
void open_closed_standard_streams();

// Makes idle OpenMP threads sleep instead of spin, so that they leave the cores to decode threads
// and to other programs. The runtime reads its policy while it is loaded: where the user has set
// none, the program is started once more in its own process, with the policy in its environment.
// Call it before any thread and any file is opened; `argv` is main's, null-terminated.
void make_openmp_wait_passively(char** argv);

// As the kernel names it, e.g. "AMD EPYC 7763 64-Core Processor"; empty when unknown.
std::string cpu_model_name();

}  // namespace pounce
