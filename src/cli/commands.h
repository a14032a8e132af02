// The commands, one file each. They return the exit code; what fails is thrown.
#pragma once

#include "cli/flag_table.h"
#include "cli/output.h"
#include "cli/signals.h"

namespace pounce::cli {

struct Session {
  const Settings& settings;
  Output& output;
  SignalStop& stop;
};

int run_train(Session& session);
int run_eval(Session& session);
int run_predict(Session& session);
int run_inspect(Session& session);
int run_check(Session& session);
int run_bench_step(Session& session);
int run_bench_loader(Session& session);
int run_cache(Session& session);

}  // namespace pounce::cli
