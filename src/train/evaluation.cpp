#include "train/evaluation.h"

#include <fmt/format.h>

#include "base/error.h"

namespace pounce {

std::string evaluation_program(int batch) {
  return fmt::format("evaluate/{}", batch);
}

std::vector<float> run_evaluation(Session& session, const StepSpec& spec,
                                  std::span<const uint8_t> images, int batch) {
  std::string program = evaluation_program(batch);
  if (!session.has_program(program)) {
    session.add_program({program, build_evaluation(spec, batch)});
  }
  InputData input{names::kImages, std::as_bytes(images)};
  session.run(program, std::span(&input, 1));
  return session.output<float>(program, names::kLogits);
}

void evaluate_loader(
    Session& session, const StepSpec& spec, BatchLoader& loader, std::stop_token stop,
    const std::function<void(const ImageBatch&, std::span<const float> logits)>& on_batch) {
  loader.start_epoch(0);
  try {
    while (!stop.stop_requested()) {
      std::optional<ImageBatch> batch = loader.next();
      if (!batch) return;
      std::vector<float> logits;
      if (batch->size() > 0) logits = run_evaluation(session, spec, batch->images, batch->size());
      on_batch(*batch, logits);
      loader.recycle(std::move(*batch));
    }
  } catch (const Error& error) {
    // The loader's answer to a stop while it is waited for.
    if (error.kind() != ErrorKind::Interrupted || !stop.stop_requested()) throw;
  }
}

}  // namespace pounce
