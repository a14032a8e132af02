#include "cli/terminal_view.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/file.h"
#include "base/text.h"
#include "pounce/options.h"

namespace pounce::cli {
namespace {

constexpr double kSecondsBetweenDraws = 1.0 / 6;
constexpr double kSecondsBeforeScan = 1;
constexpr size_t kClassesNamed = 10;

std::string percent(double fraction) {
  return fmt::format("{:.1f}%", 100 * fraction);
}

std::string measures(const char* name, double loss, double accuracy) {
  return fmt::format("  {} {:.3f} {}", name, loss, percent(accuracy));
}

std::string speed(double images_per_second) {
  return fmt::format("  {:.{}f} img/s", images_per_second, images_per_second < 10 ? 1 : 0);
}

std::string epoch_of(int epoch, int epochs) {
  std::string total = fmt::format("{}", epochs);
  return fmt::format("epoch {:>{}}/{}", epoch, total.size(), total);
}

// "1.2 of 1.3 GB"; both units are named where they differ.
std::string memory_of(int64_t used, int64_t planned) {
  std::string left = human_bytes(used), right = human_bytes(planned);
  size_t left_unit = left.rfind(' '), right_unit = right.rfind(' ');
  if (left.substr(left_unit) == right.substr(right_unit)) left.resize(left_unit);
  return fmt::format("{} of {}", left, right);
}

std::string class_list(const RunBegin& run) {
  std::vector<std::string> classes;
  for (size_t i = 0; i < run.classes.size(); ++i) {
    std::string count = i < run.class_images.size() ? " " + group_digits(run.class_images[i]) : "";
    classes.push_back(run.classes[i] + count);
  }
  return list_some(classes, kClassesNamed);
}

std::string data_line(const RunBegin& run) {
  int64_t images = std::accumulate(run.class_images.begin(), run.class_images.end(), int64_t(0));
  std::string text = fmt::format(
      "{}: {}, {} ({})", base_name(run.config.data), count_of(images, "image", "images"),
      count_of(int64_t(run.classes.size()), "class", "classes"), class_list(run));
  if (run.skipped > 0) {
    text += fmt::format("; {} skipped", count_of(run.skipped, "file", "files"));
    if (!run.run_folder.empty()) text += ": " + join_path(run.run_folder, "skipped.tsv");
  }
  return text;
}

std::string split_line(const RunBegin& run) {
  if (run.val_is_split_off) {
    return fmt::format("no val folder: {} held back for validation",
                       count_of(run.val_images, "image", "images"));
  }
  std::string text = fmt::format("{} for training", count_of(run.train_images, "image", "images"));
  text += run.val_images > 0 ? fmt::format(", {} for validation", group_digits(run.val_images))
                             : ", none for validation: the last model is the best";
  if (run.test_images > 0) text += fmt::format(", {} for the test", group_digits(run.test_images));
  return text;
}

std::string model_line(const RunBegin& run) {
  std::string weights = run.config.init.empty()
                            ? "random weights"
                            : fmt::format("weights from {}", base_name(run.config.init));
  bool is_half = run.precision == "bf16" || run.precision == "fp16";
  std::string precision = is_half ? ", " + run.precision : "";
  return fmt::format("{}, {} px{}, {}, {}, memory {} planned", run.model,
                     run.config.image_size.value_or(0), precision, weights,
                     count_of(run.config.epochs.value_or(0), "epoch", "epochs"),
                     human_bytes(run.memory_bytes));
}

std::string value_of(const TrainConfig& config, std::string_view name) {
  for (const TrainOption& option : train_options()) {
    if (option.name != name) continue;
    std::string value = option.get(config);
    value.erase(std::remove(value.begin(), value.end(), '"'), value.end());
    return value;
  }
  return "";
}

// ", crop scale 0.35-1, hflip 0.5"
std::string augmentation_text(const TrainConfig& config) {
  double hflip = config.hflip.value_or(0), vflip = config.vflip.value_or(0);
  bool varies_pixels = config.color_jitter > 0 || config.random_erasing > 0;
  if (!config.crop_scale_min && hflip == 0 && vflip == 0 && !varies_pixels) {
    return ", no augmentation";
  }
  std::string text = config.fit == Fit::Crop ? ", center crop" : ", no random crop";
  if (config.crop_scale_min) {
    text = fmt::format(", crop scale {}-{}", *config.crop_scale_min,
                       config.crop_scale_max.value_or(1));
  }
  text += fmt::format(", hflip {}", hflip);
  if (vflip > 0) text += fmt::format(", vflip {}", vflip);
  if (config.color_jitter > 0) text += fmt::format(", color jitter {}", config.color_jitter);
  if (config.random_erasing > 0) text += fmt::format(", random erasing {}", config.random_erasing);
  return text;
}

// The values that were chosen for this run, in one line.
std::string settings_line(const TrainConfig& config) {
  std::string text = fmt::format("batch {}, {}, lr {:.3g}, weight decay {:.3g}",
                                 config.batch_size.value_or(0), value_of(config, "optimizer"),
                                 config.learning_rate.value_or(0), config.weight_decay.value_or(0));
  if (config.optimizer == OptimizerKind::Sgd) {
    text += fmt::format(", momentum {}{}", config.momentum, config.nesterov ? " (Nesterov)" : "");
  }
  text += fmt::format(", warm-up {}{}", config.warmup_epochs, augmentation_text(config));
  if (config.sampler == SamplerKind::Balanced) text += ", balanced sampler";
  if (config.fit != Fit::Crop) text += fmt::format(", fit {}", value_of(config, "fit"));
  if (!config.exif) text += ", EXIF orientation not applied";
  if (config.label_smoothing > 0) {
    text += fmt::format(", label smoothing {}", config.label_smoothing);
  }
  return text + fmt::format(", seed {}", config.seed);
}

// What became of the start weights, in one line.
std::string weights_line(const WeightsLoaded& weights) {
  constexpr size_t kNamed = 3;
  std::string text = fmt::format("{}: {} loaded", base_name(weights.path),
                                 count_of(int64_t(weights.loaded.size()), "entry", "entries"));
  if (!weights.prefix.empty()) {
    text += fmt::format(", \"{}\" stripped from their names", weights.prefix);
  }
  text += "; " + weights.head;
  auto add = [&](const char* what, const std::vector<std::string>& names) {
    if (names.empty()) return;
    text += fmt::format("; {} {} ({})", group_digits(int64_t(names.size())), what,
                        list_some(names, kNamed));
  };
  add("missing, left random", weights.missing);
  add("of a wrong shape, left random", weights.wrong_shape);
  add("unknown, not used", weights.unknown);
  return text;
}

std::string bar(double fraction, int width) {
  int filled = std::clamp(int(fraction * width), 0, width);
  return fmt::format("  [{}{}]", std::string(size_t(filled), '='),
                     std::string(size_t(width - filled), ' '));
}

}  // namespace

std::string progress_line(const StepProgress& progress, int width) {
  std::string line = epoch_of(progress.epoch, progress.epochs);
  std::string counts =
      fmt::format("  {}{}/{}", progress.validating ? "validating " : "",
                  group_digits(progress.images), group_digits(progress.images_total));
  std::string left =
      progress.seconds_left > 0 ? "  " + human_duration(progress.seconds_left) + " left" : "";
  std::string rate = progress.images_per_second > 0 ? speed(progress.images_per_second) : "";
  std::string values = progress.images > 0 ? measures(progress.validating ? "val" : "train",
                                                      progress.loss, progress.accuracy)
                                           : "";
  // Chosen in order of importance, printed in order of reading.
  int room = width - display_width(line);
  for (std::string* part : {&counts, &left, &values, &rate}) {
    int needed = display_width(*part);
    if (needed > room) part->clear();
    room -= display_width(*part);
  }
  constexpr int kFrame = 4, kLeastBar = 8, kMostBar = 24;
  std::string picture;
  if (room >= kFrame + kLeastBar && progress.images_total > 0) {
    picture = bar(double(progress.images) / double(progress.images_total),
                  std::min(room - kFrame, kMostBar));
  }
  return truncate_to_width(line + picture + counts + values + rate + left, width);
}

std::string scan_line(int64_t files, int64_t total, int width) {
  constexpr int kBar = 24;
  if (total == 0) {
    return truncate_to_width(fmt::format("listing  {} files", group_digits(files)), width);
  }
  std::string counts = fmt::format("  {}/{} files", group_digits(files), group_digits(total));
  std::string line = "scanning" + bar(double(files) / double(total), kBar) + counts;
  if (display_width(line) > width) line = "scanning" + counts;
  return truncate_to_width(line, width);
}

std::string epoch_line(const EpochEnd& epoch, bool with_balanced) {
  std::string text = epoch_of(epoch.epoch, epoch.epochs);
  text += measures("train", epoch.train_loss, epoch.train_accuracy);
  if (epoch.val_accuracy) {
    text += measures("val", epoch.val_loss.value_or(0), *epoch.val_accuracy);
    if (with_balanced && epoch.val_balanced_accuracy) {
      text += fmt::format(" (balanced {})", percent(*epoch.val_balanced_accuracy));
    }
    text += epoch.is_best ? " best" : "     ";
  }
  text += speed(epoch.images_per_second);
  text += fmt::format("  data wait {:.0f}%", 100 * epoch.data_wait_fraction);
  if (!epoch.data_limit.empty()) text += fmt::format(" ({})", epoch.data_limit);
  text += "  memory " + memory_of(epoch.allocated_bytes, epoch.planned_bytes);
  if (epoch.seconds_left > 0) text += "  " + human_duration(epoch.seconds_left) + " left";
  return text;
}

TerminalView::TerminalView(ViewOptions options, Output& output)
    : options_(std::move(options)), output_(output) {}

void TerminalView::handle(const Event& event) {
  if (options_.quiet) return;
  std::visit([this](const auto& one) { show(one); }, event);
}

// A scan that is over at once shows nothing.
void TerminalView::show(const ScanProgress& event) {
  if (options_.progress != ProgressMode::Bar) return;
  double now = options_.clock();
  if (scan_began_ < 0) scan_began_ = now;
  if (now - scan_began_ < kSecondsBeforeScan || now - last_drawn_ < kSecondsBetweenDraws) return;
  last_drawn_ = now;
  output_.progress(scan_line(event.files, event.total, options_.width() - 1));
}

void TerminalView::show(const RunBegin& event) {
  is_imbalanced_ = event.is_imbalanced;
  output_.message(data_line(event));
  output_.message(split_line(event));
  output_.message("device: " + event.device);
  output_.message(model_line(event));
  output_.message(settings_line(event.config));
  if (!options_.verbose) return;
  std::string text = fmt::format("{} parameters, {} updates", group_digits(event.parameters),
                                 group_digits(event.updates));
  if (!event.run_folder.empty()) text += ", results in " + event.run_folder;
  output_.message(text);
}

void TerminalView::show(const WeightsLoaded& event) {
  bool is_partial = !event.missing.empty() || !event.wrong_shape.empty();
  output_.message(is_partial ? Style::Warning : Style::Note,
                  is_partial ? "warning:" : "note:", weights_line(event));
  if (!options_.verbose) return;
  const std::pair<const char*, const std::vector<std::string>&> lists[] = {
      {"loaded", event.loaded},
      {"replaced", event.replaced},
      {"missing", event.missing},
      {"wrong shape", event.wrong_shape},
      {"unknown", event.unknown}};
  for (const auto& [what, names] : lists) {
    for (const std::string& name : names) output_.message(fmt::format("  {}: {}", what, name));
  }
}

void TerminalView::show(const StepProgress& event) {
  if (options_.progress != ProgressMode::Bar) return;
  double now = options_.clock();
  if (last_drawn_ >= 0 && now - last_drawn_ < kSecondsBetweenDraws) return;
  last_drawn_ = now;
  // The last column stays free: some terminals wrap as soon as it is filled.
  output_.progress(progress_line(event, options_.width() - 1));
}

void TerminalView::show(const EpochEnd& event) {
  if (options_.progress == ProgressMode::None) return;
  output_.message(epoch_line(event, is_imbalanced_));
  if (!options_.verbose) return;
  output_.message(fmt::format(
      "  update {}, lr {:.3g}, {} in {}, {} skipped, process peak {}", group_digits(event.update),
      event.learning_rate, count_of(event.images, "image", "images"), human_duration(event.seconds),
      event.skipped, human_bytes(event.peak_bytes)));
}

void TerminalView::show(const CheckpointSaved& event) {
  if (options_.verbose) output_.message("  saved " + event.path);
}

void TerminalView::show(const WarningIssued& event) {
  output_.message(Style::Warning, "warning:", event.message);
}

void TerminalView::show(const NoteIssued& event) {
  output_.message(Style::Note, "note:", event.message);
}

void TerminalView::show(const ProgramBuilt& event) {
  if (!options_.verbose) return;
  output_.message(
      fmt::format("program {}, {} planned", event.name, human_bytes(event.planned_bytes)));
  std::string_view rest = event.report;
  while (!rest.empty()) {
    size_t end = std::min(rest.find('\n'), rest.size());
    output_.message(fmt::format("  {}", rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

void TerminalView::show(const RunEnd& event) {
  std::string text = fmt::format("{} after {}", event.interrupted ? "stopped" : "done",
                                 human_duration(event.seconds));
  if (event.best_val_accuracy) {
    text += fmt::format(": best epoch {}, validation accuracy {}", event.best_epoch,
                        percent(*event.best_val_accuracy));
  }
  if (event.test_accuracy) text += ", test accuracy " + percent(*event.test_accuracy);
  if (event.model.empty()) text += "; no epoch was completed, so there is no model";
  output_.message(Style::Strong, text);
}

}  // namespace pounce::cli
