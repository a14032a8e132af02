#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/json_events.h"
#include "cli/table.h"

namespace pounce::cli {
namespace {

constexpr size_t kClassesNamed = 20;
constexpr int kMostColumns = 80;  // of an entry of the metadata

std::string number(const std::optional<double>& value) {
  return value ? fmt::format("{:.4g}", *value) : "-";
}

// A fact a line; what a file says stands in it, so that each is made printable.
std::string fact(std::string_view name, std::string_view value) {
  return fmt::format("{:<8} {}\n", name, printable(value));
}

std::string split_words(const ModelDescription& model) {
  if (model.split_rule.empty()) return "no images were held back by rule";
  return fmt::format("{} of the images held back by {}", model.val_fraction, model.split_rule);
}

std::string image_words(const ModelDescription& model) {
  std::string text = fmt::format("{} px; fit {}", model.image_size, model.fit);
  if (model.shrink > 0) text += fmt::format(", short side first reduced to {}", model.shrink);
  if (model.fit == "crop") text += fmt::format(", resize {}, crop {}", model.resize, model.crop);
  return text + ", " + model.interpolation;
}

std::string description_lines(const ModelDescription& model) {
  return fact("model",
              fmt::format("{}, {} parameters, trained in {}, written by Pounce {}", model.model,
                          group_digits(model.parameters), model.precision, model.version)) +
         fact("classes", fmt::format("{}: {}", model.classes.size(),
                                     list_some(model.classes, kClassesNamed))) +
         fact("images", image_words(model)) +
         fact("values", fmt::format("mean {}, std {}", fmt::join(model.mean, " "),
                                    fmt::join(model.std, " "))) +
         fact("rules", fmt::format("EXIF orientation {}, alpha {}",
                                   model.exif ? "applied" : "ignored", model.alpha)) +
         fact("split", split_words(model));
}

std::string tensor_table(const Inspection& inspection) {
  std::vector<Row> rows = {{"tensor", "type", "shape", "min", "max", "mean", "std"}};
  int64_t elements = 0;
  for (const TensorSummary& tensor : inspection.tensors) {
    elements += tensor.elements;
    std::string shape = fmt::format("{}", fmt::join(tensor.shape, ","));
    rows.push_back({tensor.name, tensor.dtype, shape.empty() ? "scalar" : shape, number(tensor.min),
                    number(tensor.max), number(tensor.mean), number(tensor.std)});
  }
  return table(rows, 3) +
         fmt::format("\n{}, {}", count_of(int64_t(inspection.tensors.size()), "tensor", "tensors"),
                     count_of(elements, "value", "values"));
}

std::string report(const Inspection& inspection) {
  std::string text =
      fact("file", fmt::format("{}, {}", inspection.path, human_bytes(inspection.bytes)));
  text += inspection.description
              ? description_lines(*inspection.description)
              : fact("model", "not written by Pounce: no classes, no preprocessing");
  for (const auto& [key, value] : inspection.metadata) {
    text += fact("metadata", truncate_to_width(printable(key + " = " + value), kMostColumns));
  }
  return text + tensor_table(inspection);
}

void warn_of_bad_values(Session& session, const Inspection& inspection) {
  for (const TensorSummary& tensor : inspection.tensors) {
    if (tensor.nan == 0 && tensor.infinite == 0) continue;
    session.output.message(Style::Warning, "warning:",
                           fmt::format("{}: {} of {} are not finite: {} NaN, {} infinite",
                                       tensor.name, group_digits(tensor.nan + tensor.infinite),
                                       count_of(tensor.elements, "value", "values"),
                                       group_digits(tensor.nan), group_digits(tensor.infinite)));
  }
}

}  // namespace

int run_inspect(Session& session) {
  const Settings& settings = session.settings;
  Inspection inspection = inspect_model(settings.inspect_model);
  session.output.result(settings.output.json ? inspect_json(inspection) : report(inspection));
  if (!settings.output.json && !settings.output.quiet) warn_of_bad_values(session, inspection);
  return 0;
}

}  // namespace pounce::cli
