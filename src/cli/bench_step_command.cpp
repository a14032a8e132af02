#include <fmt/format.h>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/json_events.h"

namespace pounce::cli {
namespace {

std::string rate(double images_per_second) {
  return fmt::format("{:.{}f}", images_per_second, images_per_second < 100 ? 2 : 0);
}

std::string verified_line(const StepVerification& check) {
  return fmt::format(
      "verified against the reference ({} images of {} px, {:.1f} s): relative error of "
      "losses {:.1e}, of the worst tensor {:.1e} ({}), limit {:g}",
      check.batch_size, check.image_size, check.seconds, check.loss_error, check.weight_error,
      check.worst_tensor, check.tolerance);
}

std::string report(const BenchStepConfig& config, const BenchStepResult& result) {
  std::string text =
      fmt::format("{}, {} px, batch {}, {}, {}, on {}\n", config.model, config.image_size,
                  config.batch_size, result.precision, result.optimizer, result.device);
  text += fmt::format("median    {} img/s  ({:.1f} ms a step)\n", rate(result.images_per_second),
                      result.step_ms);
  text += fmt::format("p10, p90  {}, {} img/s  ({} steps in {:.1f} s)\n", rate(result.p10),
                      rate(result.p90), result.steps, result.seconds);
  return text + fmt::format("memory    {} planned", human_bytes(result.planned_bytes));
}

}  // namespace

int run_bench_step(Session& session) {
  const Settings& settings = session.settings;
  BenchStepObserver observer;
  if (!settings.output.quiet && !settings.output.json) {
    observer.on_verifying = [&] {
      session.output.message("comparing two updates with the plain loops of the reference ...");
    };
    observer.on_verified = [&](const StepVerification& check) {
      session.output.message(verified_line(check));
    };
  }
  BenchStepResult result = bench_step(settings.bench_step, observer, session.stop.token());
  session.output.result(settings.output.json ? bench_step_json(settings.bench_step, result)
                                             : report(settings.bench_step, result));
  return 0;
}

}  // namespace pounce::cli
