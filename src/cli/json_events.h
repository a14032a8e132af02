// What --json prints: one object a line, each with `type`. Also the lines of eval --dump.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "pounce/bench.h"
#include "pounce/cache.h"
#include "pounce/error.h"
#include "pounce/evaluate.h"
#include "pounce/inspect.h"
#include "pounce/predict.h"
#include "pounce/train.h"

namespace pounce::cli {

// Without a line feed. Empty for StepProgress and ScanProgress, which are for displays only.
std::string event_json(const Event& event);
std::string eval_json(const EvalResult& result);
std::string prediction_json(const Prediction& prediction);
std::string inspect_json(const Inspection& inspection);
std::string bench_step_json(const BenchStepConfig& config, const BenchStepResult& result);
std::string bench_loader_json(const BenchLoaderConfig& config, const BenchLoaderResult& result);
// `removed`: whether the files were removed or only listed.
std::string cache_json(const CacheReport& report, bool removed);
// {path, label, logits}: every logit in digits that read back to the same float.
std::string dump_json(const EvalRecord& record);

// The documented keys of each type, `type` itself left out; a test compares them with the objects.
struct JsonEventKeys {
  std::string type;
  std::vector<std::string> keys;
};
std::span<const JsonEventKeys> json_event_keys();

}  // namespace pounce::cli
