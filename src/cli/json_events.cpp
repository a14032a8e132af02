#include "cli/json_events.h"

#include <nlohmann/json.hpp>

#include "pounce/event_json.h"

namespace pounce::cli {
namespace {

// Keeps the keys in the order in which they are written here.
using Json = nlohmann::ordered_json;

// Names of files need not be UTF-8, JSON must be.
std::string line(const Json& object) {
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Without `type`, which stands for the whole line.
Json error_object(const Error& error) {
  Json object = Json::parse(error_to_json(error));
  object.erase("type");
  return object;
}

Json class_object(const ClassResult& row) {
  Json accuracy = row.images ? Json(double(row.correct) / double(row.images)) : Json(nullptr);
  return {{"class", row.name},
          {"images", row.images},
          {"correct", row.correct},
          {"accuracy", std::move(accuracy)}};
}

Json number_or_null(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json tensor_object(const TensorSummary& tensor) {
  return {{"name", tensor.name},
          {"dtype", tensor.dtype},
          {"shape", tensor.shape},
          {"elements", tensor.elements},
          {"bytes", tensor.bytes},
          {"min", number_or_null(tensor.min)},
          {"max", number_or_null(tensor.max)},
          {"mean", number_or_null(tensor.mean)},
          {"std", number_or_null(tensor.std)},
          {"nan", tensor.nan},
          {"infinite", tensor.infinite}};
}

Json description_object(const ModelDescription& model) {
  Json split = nullptr;
  if (!model.split_rule.empty()) {
    split = {{"rule", model.split_rule}, {"val_fraction", model.val_fraction}};
  }
  return {{"model", model.model},
          {"version", model.version},
          {"parameters", model.parameters},
          {"classes", model.classes},
          {"precision", model.precision},
          {"image_size", model.image_size},
          {"fit", model.fit},
          {"shrink", model.shrink},
          {"resize", model.resize},
          {"crop", model.crop},
          {"interpolation", model.interpolation},
          {"mean", model.mean},
          {"std", model.std},
          {"exif", model.exif},
          {"alpha", model.alpha},
          {"split", std::move(split)}};
}

Json rate_object(const LoaderRate& rate) {
  return {{"images_per_second", rate.images_per_second},
          {"p10", rate.p10},
          {"p90", rate.p90},
          {"images_per_cpu_second", rate.images_per_cpu_second},
          {"read_ms", rate.read_ms},
          {"decode_ms", rate.decode_ms},
          {"transform_ms", rate.transform_ms},
          {"wait_ms", rate.wait_ms},
          {"timed", rate.images},
          {"seconds", rate.seconds}};
}

}  // namespace

std::string event_json(const Event& event) {
  bool is_progress =
      std::holds_alternative<StepProgress>(event) || std::holds_alternative<ScanProgress>(event);
  return is_progress ? "" : event_to_json(event);
}

std::string eval_json(const EvalResult& result) {
  Json classes = Json::array(), skipped = Json::array();
  for (const ClassResult& row : result.per_class) classes.push_back(class_object(row));
  for (const SkippedFileInfo& file : result.skipped) {
    skipped.push_back({{"path", file.path}, {"kind", file.kind}, {"reason", file.reason}});
  }
  return line({{"type", "eval"},
               {"accuracy", result.accuracy},
               {"top5_accuracy", result.top5_accuracy},
               {"balanced_accuracy", result.balanced_accuracy},
               {"loss", result.loss},
               {"images", result.images},
               {"confusion", result.confusion},
               {"per_class", std::move(classes)},
               {"skipped", std::move(skipped)}});
}

std::string prediction_json(const Prediction& prediction) {
  Json object = {{"type", "prediction"}, {"path", prediction.path}};
  if (prediction.error) {
    object["error"] = error_object(*prediction.error);
    return line(object);
  }
  Json top = Json::array();
  for (const ScoredClass& one : prediction.top) {
    top.push_back({{"class", one.name}, {"probability", one.probability}});
  }
  object["class"] = prediction.class_name;
  object["label"] = prediction.label;
  object["probability"] = prediction.probability;
  object["logits"] = prediction.logits;
  object["top"] = std::move(top);
  return line(object);
}

std::string inspect_json(const Inspection& inspection) {
  Json tensors = Json::array(), description = nullptr;
  for (const TensorSummary& tensor : inspection.tensors) tensors.push_back(tensor_object(tensor));
  if (inspection.description) description = description_object(*inspection.description);
  return line({{"type", "inspect"},
               {"path", inspection.path},
               {"bytes", inspection.bytes},
               {"description", std::move(description)},
               {"metadata", inspection.metadata},
               {"tensors", std::move(tensors)}});
}

std::string cache_json(const CacheReport& report, bool removed) {
  Json files = Json::array();
  for (const CacheFileInfo& file : report.files) {
    files.push_back({{"kind", file.kind},
                     {"data", file.data},
                     {"path", file.path},
                     {"bytes", file.bytes},
                     {"idle_seconds", file.idle_seconds}});
  }
  return line({{"type", "cache"},
               {"folder", report.folder},
               {"bytes", report.bytes},
               {"images_limit", report.images_limit},
               {"removed", removed},
               {"files", std::move(files)}});
}

std::string bench_step_json(const BenchStepConfig& config, const BenchStepResult& result) {
  const StepVerification& check = result.verification;
  Json verification = {{"image_size", check.image_size},
                       {"batch_size", check.batch_size},
                       {"loss_error", check.loss_error},
                       {"weight_error", check.weight_error},
                       {"worst_tensor", check.worst_tensor},
                       {"tolerance", check.tolerance},
                       {"seconds", check.seconds}};
  return line({{"type", "bench_step"},
               {"model", config.model},
               {"image_size", config.image_size},
               {"batch_size", config.batch_size},
               {"precision", result.precision},
               {"optimizer", result.optimizer},
               {"device", result.device},
               {"parameters", result.parameters},
               {"planned_bytes", result.planned_bytes},
               {"images_per_second", result.images_per_second},
               {"p10", result.p10},
               {"p90", result.p90},
               {"step_ms", result.step_ms},
               {"steps", result.steps},
               {"seconds", result.seconds},
               {"verification", std::move(verification)}});
}

std::string bench_loader_json(const BenchLoaderConfig& config, const BenchLoaderResult& result) {
  const LoaderVerification& check = result.verification;
  Json object = {{"type", "bench_loader"},
                 {"data", config.data},
                 {"images", result.images},
                 {"skipped", result.skipped},
                 {"image_size", config.image_size},
                 {"batch_size", config.batch_size},
                 {"crop_scale", {config.crop_scale_min, config.crop_scale_max}},
                 {"threads", result.threads}};
  object.update(rate_object(result.files));
  object["cache"] = result.cache_note.empty() ? Json(nullptr) : Json(result.cache_note);
  object["cached"] = result.cached ? rate_object(*result.cached) : Json(nullptr);
  object["verification"] = {
      {"images", check.images}, {"decoded", check.decoded}, {"seconds", check.seconds}};
  return line(object);
}

std::string dump_json(const EvalRecord& record) {
  return line({{"path", record.path}, {"label", record.label}, {"logits", record.logits}});
}

std::span<const JsonEventKeys> json_event_keys() {
  static const std::vector<JsonEventKeys> table = {
      {"run_begin",
       {"device", "precision", "model", "parameters", "classes", "class_images", "train_images",
        "val_images", "test_images", "val_is_split_off", "skipped", "is_imbalanced", "updates",
        "memory", "run_folder", "config"}},
      {"init",
       {"path", "prefix", "head", "loaded", "replaced", "missing", "wrong_shape", "unknown"}},
      {"epoch",
       {"epoch",
        "epochs",
        "update",
        "train_loss",
        "train_accuracy",
        "val_loss",
        "val_accuracy",
        "val_balanced_accuracy",
        "is_best",
        "learning_rate",
        "seconds",
        "seconds_left",
        "images",
        "images_per_second",
        "data_wait_fraction",
        "data_limit",
        "skipped",
        "skipped_updates",
        "loss_scale",
        "planned_bytes",
        "allocated_bytes",
        "peak_bytes",
        "h2d_bytes",
        "d2h_bytes"}},
      {"checkpoint", {"path"}},
      {"warning", {"message"}},
      {"note", {"message"}},
      {"program", {"name", "planned_bytes", "report"}},
      {"run_end",
       {"interrupted", "best_epoch", "best_val_accuracy", "test_accuracy", "train_images",
        "skipped", "model", "run_folder", "seconds", "start_seconds"}},
      {"error", {"kind", "message", "context", "hint"}},
      {"eval",
       {"accuracy", "top5_accuracy", "balanced_accuracy", "loss", "images", "confusion",
        "per_class", "skipped"}},
      {"prediction", {"path", "class", "label", "probability", "logits", "top", "error"}},
      {"inspect", {"path", "bytes", "description", "metadata", "tensors"}},
      {"check",
       {"root", "quick", "classes", "usable", "damaged", "unreadable", "ignored", "unsupported",
        "unsupported_formats", "empty_classes", "class_differences", "duplicates",
        "near_duplicates", "sizes", "imbalance", "refusal", "notes", "findings"}},
      {"bench_step",
       {"model", "image_size", "batch_size", "precision", "optimizer", "device", "parameters",
        "planned_bytes", "images_per_second", "p10", "p90", "step_ms", "steps", "seconds",
        "verification"}},
      {"bench_loader",
       {"data",
        "images",
        "skipped",
        "image_size",
        "batch_size",
        "crop_scale",
        "threads",
        "images_per_second",
        "p10",
        "p90",
        "images_per_cpu_second",
        "read_ms",
        "decode_ms",
        "transform_ms",
        "wait_ms",
        "timed",
        "seconds",
        "cache",
        "cached",
        "verification"}},
      {"cache", {"folder", "bytes", "images_limit", "removed", "files"}},
  };
  return table;
}

}  // namespace pounce::cli
