#include "pounce/event_json.h"

#include <optional>
#include <type_traits>

#include <nlohmann/json.hpp>

#include "pounce/options.h"

namespace pounce {
namespace {

// Keeps the keys in the order in which they are written here.
using Json = nlohmann::ordered_json;

// Names of files need not be UTF-8, JSON must be.
std::string line(const Json& object) {
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json config_object(const TrainConfig& config) {
  Json object = {{"data", config.data}};
  for (const TrainOption& option : train_options()) {
    std::string value = option.get(config);
    // Values of options are valid TOML and JSON alike.
    object[std::string(option.name)] = value.empty() ? Json(nullptr) : Json::parse(value);
  }
  return object;
}

Json to_json(const RunBegin& event) {
  return {{"type", "run_begin"},
          {"device", event.device},
          {"precision", event.precision},
          {"model", event.model},
          {"parameters", event.parameters},
          {"classes", event.classes},
          {"class_images", event.class_images},
          {"train_images", event.train_images},
          {"val_images", event.val_images},
          {"test_images", event.test_images},
          {"val_is_split_off", event.val_is_split_off},
          {"skipped", event.skipped},
          {"is_imbalanced", event.is_imbalanced},
          {"updates", event.updates},
          {"memory", event.memory_bytes},
          {"run_folder", event.run_folder},
          {"config", config_object(event.config)}};
}

Json to_json(const WeightsLoaded& event) {
  return {{"type", "init"},           {"path", event.path},
          {"prefix", event.prefix},   {"head", event.head},
          {"loaded", event.loaded},   {"replaced", event.replaced},
          {"missing", event.missing}, {"wrong_shape", event.wrong_shape},
          {"unknown", event.unknown}};
}

Json to_json(const EpochEnd& event) {
  return {{"type", "epoch"},
          {"epoch", event.epoch},
          {"epochs", event.epochs},
          {"update", event.update},
          {"train_loss", event.train_loss},
          {"train_accuracy", event.train_accuracy},
          {"val_loss", or_null(event.val_loss)},
          {"val_accuracy", or_null(event.val_accuracy)},
          {"val_balanced_accuracy", or_null(event.val_balanced_accuracy)},
          {"is_best", event.is_best},
          {"learning_rate", event.learning_rate},
          {"seconds", event.seconds},
          {"seconds_left", event.seconds_left},
          {"images", event.images},
          {"images_per_second", event.images_per_second},
          {"data_wait_fraction", event.data_wait_fraction},
          {"data_limit", event.data_limit},
          {"skipped", event.skipped},
          {"skipped_updates", event.skipped_updates},
          {"loss_scale", event.loss_scale},
          {"planned_bytes", event.planned_bytes},
          {"allocated_bytes", event.allocated_bytes},
          {"peak_bytes", event.peak_bytes},
          {"h2d_bytes", event.h2d_bytes},
          {"d2h_bytes", event.d2h_bytes}};
}

Json to_json(const CheckpointSaved& event) {
  return {{"type", "checkpoint"}, {"path", event.path}};
}

Json to_json(const WarningIssued& event) {
  return {{"type", "warning"}, {"message", event.message}};
}

Json to_json(const NoteIssued& event) {
  return {{"type", "note"}, {"message", event.message}};
}

Json to_json(const ProgramBuilt& event) {
  return {{"type", "program"},
          {"name", event.name},
          {"planned_bytes", event.planned_bytes},
          {"report", event.report}};
}

Json to_json(const RunEnd& event) {
  return {{"type", "run_end"},
          {"interrupted", event.interrupted},
          {"best_epoch", event.best_epoch},
          {"best_val_accuracy", or_null(event.best_val_accuracy)},
          {"test_accuracy", or_null(event.test_accuracy)},
          {"train_images", event.train_images},
          {"skipped", event.skipped},
          {"model", event.model.empty() ? Json(nullptr) : Json(event.model)},
          {"run_folder", event.run_folder},
          {"seconds", event.seconds},
          {"start_seconds", event.start_seconds}};
}

Json to_json(const ScanProgress& event) {
  return {{"type", "scan_progress"}, {"files", event.files}, {"total", event.total}};
}

Json to_json(const StepProgress& event) {
  return {{"type", "progress"},
          {"epoch", event.epoch},
          {"epochs", event.epochs},
          {"validating", event.validating},
          {"images", event.images},
          {"images_total", event.images_total},
          {"loss", event.loss},
          {"accuracy", event.accuracy},
          {"images_per_second", event.images_per_second},
          {"seconds_left", event.seconds_left}};
}

}  // namespace

std::string event_to_json(const Event& event) {
  return std::visit([](const auto& one) { return line(to_json(one)); }, event);
}

std::string error_to_json(const Error& error) {
  return line({{"type", "error"},
               {"kind", error_kind_name(error.kind())},
               {"message", error.message()},
               {"context", error.context()},
               {"hint", error.hint()}});
}

}  // namespace pounce
