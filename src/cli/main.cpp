#include <string>
#include <vector>

#include "base/system.h"
#include "cli/command_line.h"

int main(int argc, char** argv) {
  pounce::open_closed_standard_streams();
  std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  return pounce::cli::run_command_line(words, [argv] { pounce::make_openmp_wait_passively(argv); });
}
