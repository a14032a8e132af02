#include "train/run_folder.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "pounce/event_json.h"
#include "pounce/options.h"

namespace pounce {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kMaxRuns = 1'000'000;

// `pounce train .` puts its runs beside the photos, not among them.
std::string folder_of_runs(const std::string& data) {
  return is_inside(".", data) ? join_path(parent_path(canonical_path(data)), "runs") : "runs";
}

std::string make_numbered_folder(const std::string& data) {
  std::string parent = folder_of_runs(data);
  make_directories(parent);
  std::string name(base_name(canonical_path(data)));
  if (name.empty() || name == "/") name = "run";
  for (int number = 1; number < kMaxRuns; ++number) {
    std::string path = join_path(parent, fmt::format("{}-{}", name, number));
    if (make_new_directory(path)) return path;
  }
  fail(ErrorKind::Config, "{} holds over {} runs of {}", parent, kMaxRuns, name);
}

// `out` is free: absent, or an empty folder.
void check_given_folder(const std::string& out, const std::string& data) {
  if (is_inside(out, data)) {
    fail_with_hint(ErrorKind::Config, "give --out a folder outside the images",
                   "the run folder {} lies inside the data folder {}", out, data);
  }
  if (!path_exists(out)) {
    check_directories(out);
    return;
  }
  Result<std::vector<DirectoryEntry>> entries = list_directory(out);
  if (!entries || !entries->empty()) {
    fail_with_hint(ErrorKind::Config, "give --out a name that is free; runs are never overwritten",
                   "the run folder {} exists already", out);
  }
}

std::string make_given_folder(const std::string& out, const std::string& data) {
  check_given_folder(out, data);
  make_directories(parent_path(out));
  // Another process may have taken the name in between.
  if (!make_new_directory(out)) check_given_folder(out, data);
  return out;
}

// A tab or line feed in a name would break the row it stands in.
std::string tsv_field(const std::string& text) {
  std::string field;
  for (char c : text) {
    switch (c) {
      case '\t':
        field += "\\t";
        break;
      case '\n':
        field += "\\n";
        break;
      case '\r':
        field += "\\r";
        break;
      case '\\':
        field += "\\\\";
        break;
      default:
        field += c;
    }
  }
  return field;
}

Json program_record(const Session& session, const std::string& name) {
  const Graph& graph = session.graph(name);
  const LoweredGraph& lowered = session.lowered(name);
  Json nodes = Json::array();
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    if (lowered.nodes[i].implementation.empty()) continue;
    nodes.push_back({{"op", op_info(node.op).name},
                     {"name", node.name},
                     {"implementation", lowered.nodes[i].implementation}});
  }
  const Plan& plan = session.plan(name);
  return {{"planned_bytes", plan.planned_bytes},
          {"lower_bound_bytes", plan.lower_bound_bytes},
          {"staging_bytes", plan.staging_bytes},
          {"nodes", nodes}};
}

}  // namespace

RunFolder::RunFolder(const TrainConfig& config)
    : was_there_(!config.out.empty() && is_directory(config.out)),
      path_(config.out.empty() ? make_numbered_folder(config.data)
                               : make_given_folder(config.out, config.data)) {
  try {
    open_logs();
  } catch (...) {
    discard();
    throw;
  }
}

void RunFolder::open_logs() {
  metrics_ = std::make_unique<AppendFile>(join_path(path_, "metrics.csv"));
  metrics_->write_line(
      "epoch,update,train_loss,train_accuracy,val_loss,val_accuracy,learning_rate,seconds,images,"
      "images_per_second,data_wait_fraction,skipped,val_balanced_accuracy");
  log_ = std::make_unique<AppendFile>(join_path(path_, "log.jsonl"));
}

void RunFolder::check(const TrainConfig& config) {
  if (config.out.empty()) {
    check_directories(join_path(folder_of_runs(config.data), "run"));
  } else {
    check_given_folder(config.out, config.data);
  }
}

void RunFolder::discard() noexcept {
  metrics_.reset();
  log_.reset();
  for (const char* name :
       {"config.toml", "plan.json", "log.jsonl", "metrics.csv", "split.tsv", "skipped.tsv"}) {
    try {
      remove_file(join_path(path_, name));
    } catch (...) {
      return;  // what failed the start fails this, too
    }
  }
  if (!was_there_) remove_empty_directory(path_);
}

void RunFolder::write_config(const TrainConfig& config) {
  write_file(join_path(path_, "config.toml"), to_toml(config));
}

void RunFolder::write_split(const ImageFolder& dataset) {
  std::string text = "path\tsplit\tclass\n";
  auto add = [&](const SampleList& samples, const char* split) {
    for (const Sample& sample : samples) {
      text += fmt::format("{}\t{}\t{}\n", tsv_field(sample.path), split,
                          tsv_field(dataset.classes[size_t(sample.label)]));
    }
  };
  add(dataset.train, "train");
  add(dataset.val, "val");
  add(dataset.test, "test");
  write_file(join_path(path_, "split.tsv"), text);
}

void RunFolder::write_plan_record(const Session& session, const std::string& libraries,
                                  std::string_view precision) {
  Json programs = Json::object();
  for (const std::string& name : session.program_names()) {
    programs[name] = program_record(session, name);
  }
  Json record = {{"version", POUNCE_VERSION}, {"libraries", libraries}, {"precision", precision},
                 {"micro_batches", 1},        {"recompute", false},     {"programs", programs}};
  write_file(join_path(path_, "plan.json"), record.dump(1) + "\n");
}

void RunFolder::write_skipped(const std::vector<SkippedFile>& skipped) {
  std::string text = "path\tkind\treason\n";
  for (const SkippedFile& file : skipped) {
    text += fmt::format("{}\t{}\t{}\n", tsv_field(file.path), skip_kind_name(file.kind),
                        tsv_field(file.reason));
  }
  write_file(join_path(path_, "skipped.tsv"), text);
}

void RunFolder::write_validation(const Validation& validation, const ImageFolder& data) {
  write_file(join_path(path_, "confusion.csv"), confusion_csv(validation, data.classes));
  write_file(join_path(path_, "worst.csv"), worst_csv(validation, data.val, data.classes));
}

void RunFolder::append_epoch(const EpochEnd& epoch) {
  auto optional = [](const std::optional<double>& value) {
    return value ? fmt::format("{}", *value) : std::string();
  };
  metrics_->write_line(fmt::format("{},{},{},{},{},{},{},{:.3f},{},{:.2f},{:.4f},{},{}",
                                   epoch.epoch, epoch.update, epoch.train_loss,
                                   epoch.train_accuracy, optional(epoch.val_loss),
                                   optional(epoch.val_accuracy), epoch.learning_rate, epoch.seconds,
                                   epoch.images, epoch.images_per_second, epoch.data_wait_fraction,
                                   epoch.skipped, optional(epoch.val_balanced_accuracy)));
}

void RunFolder::append_event(const Event& event) {
  bool is_progress =
      std::holds_alternative<StepProgress>(event) || std::holds_alternative<ScanProgress>(event);
  if (is_progress) return;
  log_->write_line(event_to_json(event));
}

void RunFolder::append_error(const Error& error) {
  log_->write_line(error_to_json(error));
}

}  // namespace pounce
