#include "cli/check_report.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/table.h"

namespace pounce::cli {
namespace {

constexpr size_t kFilesShown = 5, kClassesShown = 40, kNamesShown = 12;

class ReportWriter {
 public:
  ReportWriter(const CheckReport& report, bool is_full) : report_(report), is_full_(is_full) {}

  std::string write() {
    add_head();
    add_classes();
    add_sizes();
    for (const std::string& note : report_.notes) line("note: " + note);
    add_refusal();
    add_skipped("damaged", report_.damaged);
    add_skipped("unreadable", report_.unreadable);
    add_skipped(unsupported_title(), report_.unsupported);
    add_counts("ignored", report_.ignored);
    if (!report_.empty_classes.empty()) {
      line("classes without a usable image: " + names(report_.empty_classes));
    }
    add_differences();
    add_imbalance();
    add_duplicates();
    add_near_duplicates();
    int findings = report_.findings();
    line(findings == 0 ? "nothing found that needs a look"
                       : count_of(findings, "kind of finding", "kinds of findings"));
    text_.pop_back();
    return std::move(text_);
  }

 private:
  void line(std::string_view words) { text_ += printable(words) + "\n"; }

  std::string names(const std::vector<std::string>& list) const {
    return list_some(list, is_full_ ? list.size() : kNamesShown);
  }

  void add_head() {
    int64_t unusable =
        int64_t(report_.damaged.size() + report_.unreadable.size() + report_.unsupported.size());
    line(fmt::format(
        "{}: {} of {} usable, {}{}", report_.root, group_digits(report_.usable),
        count_of(report_.usable + unusable, "image", "images"),
        count_of(int64_t(report_.classes.size()), "class", "classes"),
        report_.is_quick ? "; headers only (--quick): bodies and duplicates unknown" : ""));
  }

  void add_classes() {
    if (report_.classes.empty()) return;
    std::vector<Row> rows = {{"class", "train", "val", "test", "unusable"}};
    size_t shown = is_full_ ? report_.classes.size() : kClassesShown;
    for (const CheckClass& one : report_.classes) {
      if (rows.size() > shown) break;
      rows.push_back({one.name, group_digits(one.train), group_digits(one.val),
                      group_digits(one.test), group_digits(one.unusable)});
    }
    text_ += table(std::move(rows), 1).substr(1) + "\n";
    add_more(report_.classes.size(), shown, "more classes: -v");
  }

  void add_more(size_t all, size_t shown, std::string_view words) {
    if (all > shown) line(fmt::format("  {} {}", group_digits(int64_t(all - shown)), words));
  }

  void add_sizes() {
    if (!report_.sizes) return;
    const SizeSummary& sizes = *report_.sizes;
    line(fmt::format(
        "width {:.0f} to {:.0f}, median {:.0f}; height {:.0f} to {:.0f}, median "
        "{:.0f}; long side / short side {:.2f} to {:.2f}, median {:.2f}",
        sizes.width.min, sizes.width.max, sizes.width.median, sizes.height.min, sizes.height.max,
        sizes.height.median, sizes.aspect.min, sizes.aspect.max, sizes.aspect.median));
    std::string words;
    for (const auto& [size, count] : sizes.short_side_under) {
      if (count == 0) continue;
      words += fmt::format("{}{} px: {}", words.empty() ? "" : ", ", size, group_digits(count));
    }
    if (!words.empty()) line("short side under " + words);
  }

  void add_refusal() {
    if (!report_.refusal) return;
    line("pounce train refuses this folder: " + report_.refusal->message);
    if (!report_.refusal->hint.empty()) line("  " + report_.refusal->hint);
  }

  std::string unsupported_title() const {
    std::vector<std::string> words;
    for (const auto& [name, count] : report_.unsupported_formats) {
      words.push_back(fmt::format("{} {}", name, group_digits(count)));
    }
    return words.empty() ? "unsupported" : fmt::format("unsupported ({})", list_some(words, 12));
  }

  void add_skipped(const std::string& title, const std::vector<SkippedFileInfo>& files) {
    if (files.empty()) return;
    line(fmt::format("{}: {}", title, group_digits(int64_t(files.size()))));
    size_t shown = is_full_ ? files.size() : std::min(files.size(), kFilesShown);
    for (size_t i = 0; i < shown; ++i) {
      line(fmt::format("  {}: {}", files[i].path, files[i].reason));
    }
    add_more(files.size(), shown, "more: -v");
  }

  void add_counts(const std::string& title, const std::map<std::string, int64_t>& counts) {
    if (counts.empty()) return;
    std::vector<std::string> words;
    for (const auto& [reason, count] : counts) {
      words.push_back(fmt::format("{} ({})", reason, group_digits(count)));
    }
    line(title + ": " + list_some(words, 12));
  }

  void add_differences() {
    if (report_.differences.empty()) return;
    line("classes that differ between splits:");
    size_t shown =
        is_full_ ? report_.differences.size() : std::min(report_.differences.size(), kNamesShown);
    for (size_t i = 0; i < shown; ++i) {
      const ClassDifference& one = report_.differences[i];
      line(fmt::format("  {}: {} in {}, none in {}", one.class_name,
                       count_of(one.images, "image", "images"), one.present, one.absent));
    }
    add_more(report_.differences.size(), shown, "more: -v");
  }

  void add_imbalance() {
    if (report_.imbalance <= kMostImbalance) return;
    line(
        fmt::format("imbalance: the largest class has {:.1f} times the training images of the "
                    "smallest; --class-weights balanced or --sampler balanced help",
                    report_.imbalance));
  }

  static std::string describe(const CheckFile& file) {
    return file.class_name.empty()
               ? fmt::format("{} ({})", file.path, file.split)
               : fmt::format("{} ({}, {})", file.path, file.split, file.class_name);
  }

  void add_duplicates() {
    if (report_.duplicates.empty()) return;
    int64_t splits = 0, classes = 0;
    for (const DuplicateGroup& group : report_.duplicates) {
      splits += group.is_across_splits;
      classes += group.is_across_classes;
    }
    line(fmt::format("equal files: {}, {} across splits, {} under several classes",
                     count_of(int64_t(report_.duplicates.size()), "group", "groups"),
                     group_digits(splits), group_digits(classes)));
    // What spoils a measurement comes first.
    std::vector<const DuplicateGroup*> order;
    for (const DuplicateGroup& group : report_.duplicates) order.push_back(&group);
    std::stable_sort(order.begin(), order.end(),
                     [](const DuplicateGroup* a, const DuplicateGroup* b) {
                       return a->is_across_classes + a->is_across_splits >
                              b->is_across_classes + b->is_across_splits;
                     });
    size_t shown = is_full_ ? order.size() : std::min(order.size(), kFilesShown);
    for (size_t i = 0; i < shown; ++i) {
      std::vector<std::string> files;
      for (const CheckFile& file : order[i]->files) files.push_back(describe(file));
      line("  " + list_some(files, is_full_ ? files.size() : 3));
    }
    add_more(order.size(), shown, "more groups: -v");
  }

  void add_near_duplicates() {
    if (report_.near_duplicates.empty()) return;
    line(fmt::format("nearly equal pictures in different splits: {}",
                     count_of(int64_t(report_.near_duplicates.size()), "pair", "pairs")));
    size_t shown = is_full_ ? report_.near_duplicates.size()
                            : std::min(report_.near_duplicates.size(), kFilesShown);
    for (size_t i = 0; i < shown; ++i) {
      const NearDuplicate& pair = report_.near_duplicates[i];
      line(fmt::format("  {} and {}{}", describe(pair.first), describe(pair.second),
                       pair.is_mirrored ? ", mirrored" : ""));
    }
    add_more(report_.near_duplicates.size(), shown, "more pairs: -v");
  }

  const CheckReport& report_;
  bool is_full_;
  std::string text_;
};

}  // namespace

std::string check_report(const CheckReport& report, bool is_full) {
  return ReportWriter(report, is_full).write();
}

}  // namespace pounce::cli
