// Runs the built program as users do, with both streams and the exit code kept.
#pragma once

#include <chrono>
#include <csignal>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/temporary_folder.h"

namespace pounce::cli {

struct Outcome {
  int exit_code = -1;  // -signal when a signal ended the process
  std::string out, err;
  double seconds = 0;
  double cpu_seconds = 0;  // of the process, user and system

  std::string last_line() const {
    std::string text = out;
    while (text.ends_with('\n')) text.pop_back();
    return text.substr(text.rfind('\n') + 1);
  }
};

class Process {
 public:
  // Runs in `folder`, with nothing on standard input.
  Process(const std::vector<std::string>& words, std::string folder)
      : folder_(std::move(folder)), start_(std::chrono::steady_clock::now()) {
    std::vector<char*> arguments = {const_cast<char*>(POUNCE_BINARY)};
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    std::string out = stream("out"), err = stream("err");
    child_ = fork();
    if (child_ != 0) return;
    bool is_ready = chdir(folder_.c_str()) == 0 && redirect("/dev/null", O_RDONLY, 0) &&
                    redirect(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 1) &&
                    redirect(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 2);
    if (is_ready) execv(POUNCE_BINARY, arguments.data());
    _exit(126);
  }

  std::string err_so_far() const { return read(stream("err")); }
  void send(int signal) const { kill(child_, signal); }

  // Whether `text` came to standard error before the process ended and within a minute.
  bool wait_for(const std::string& text) const {
    for (int i = 0; i < 6000; ++i) {
      if (err_so_far().find(text) != std::string::npos) return true;
      siginfo_t info{};
      waitid(P_PID, id_t(child_), &info, WEXITED | WNOHANG | WNOWAIT);
      if (info.si_pid != 0) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }

  Outcome finish() {
    int status = 0;
    rusage used{};
    wait4(child_, &status, 0, &used);
    std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start_;
    Outcome outcome;
    outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    outcome.out = read(stream("out"));
    outcome.err = read(stream("err"));
    outcome.seconds = passed.count();
    outcome.cpu_seconds = seconds_of(used.ru_utime) + seconds_of(used.ru_stime);
    return outcome;
  }

 private:
  static double seconds_of(const timeval& time) {
    return double(time.tv_sec) + 1e-6 * double(time.tv_usec);
  }

  std::string stream(const char* name) const { return streams_.path(name); }

  static bool redirect(const char* path, int flags, int descriptor) {
    int opened = open(path, flags, 0600);
    return opened >= 0 && dup2(opened, descriptor) == descriptor;
  }

  static std::string read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  TemporaryFolder streams_;
  std::string folder_;
  pid_t child_ = -1;
  std::chrono::steady_clock::time_point start_;
};

inline Outcome run_pounce(const std::vector<std::string>& words, const std::string& folder = "/") {
  return Process(words, folder).finish();
}

// Through a shell, where $POUNCE is the program: for pipes. Only the exit code of the last command
// and its standard output are known.
inline Outcome run_shell(const std::string& script) {
  Outcome outcome;
  std::string command = "POUNCE='" POUNCE_BINARY "'; { " + script + "; } 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) return outcome;
  char buffer[4096];
  while (size_t n = fread(buffer, 1, sizeof buffer, pipe)) outcome.out.append(buffer, n);
  int status = pclose(pipe);
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  return outcome;
}

}  // namespace pounce::cli
