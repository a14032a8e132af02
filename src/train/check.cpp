#include "pounce/check.h"

#include <algorithm>

#include "base/error.h"
#include "train/check_pictures.h"
#include "train/check_scan.h"

namespace pounce {
namespace {

ValueRange range_of(std::vector<double> values) {
  auto middle = values.begin() + int64_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  auto [least, most] = std::minmax_element(values.begin(), values.end());
  return {*least, *middle, *most};
}

std::optional<SizeSummary> summarize_sizes(const CheckScan& scan) {
  std::vector<double> widths, heights, aspects;
  SizeSummary sizes;
  for (int size : {32, 64, 96, 128, 160, 224}) sizes.short_side_under[size] = 0;
  for (const SampleList& list : scan.images) {
    for (size_t i = 0; i < list.size(); ++i) {
      auto [shorter, longer] = std::minmax({list.width(i), list.height(i)});
      widths.push_back(list.width(i));
      heights.push_back(list.height(i));
      aspects.push_back(double(longer) / std::max(1, shorter));
      for (auto& [size, count] : sizes.short_side_under) count += shorter < size;
    }
  }
  if (widths.empty()) return std::nullopt;
  sizes.width = range_of(std::move(widths));
  sizes.height = range_of(std::move(heights));
  sizes.aspect = range_of(std::move(aspects));
  return sizes;
}

std::vector<CheckClass> count_classes(const CheckScan& scan) {
  std::vector<CheckClass> classes;
  for (size_t i = 0; i < scan.classes.size(); ++i) {
    classes.push_back({.name = scan.classes[i], .unusable = scan.skipped_by_class[i]});
  }
  int64_t CheckClass::*const members[] = {&CheckClass::train, &CheckClass::val, &CheckClass::test};
  for (size_t split = 0; split < scan.images.size(); ++split) {
    const SampleList& list = scan.images[split];
    for (size_t i = 0; i < list.size(); ++i) {
      if (list.label(i) >= 0) ++(classes[size_t(list.label(i))].*members[split]);
    }
  }
  return classes;
}

// Files whose body proved damaged no longer count.
void take_away(const PictureFindings& findings, std::vector<CheckClass>& classes) {
  int64_t CheckClass::*const members[] = {&CheckClass::train, &CheckClass::val, &CheckClass::test};
  for (const auto& [split, label] : findings.skipped_labels) {
    if (label < 0) continue;
    --(classes[size_t(label)].*members[split]);
    ++classes[size_t(label)].unusable;
  }
}

std::vector<ClassDifference> find_differences(const std::vector<CheckClass>& classes) {
  CheckClass all;
  for (const CheckClass& one : classes) {
    all.train += one.train;
    all.val += one.val;
    all.test += one.test;
  }
  std::vector<ClassDifference> differences;
  for (const CheckClass& one : classes) {
    auto compare = [&](const char* split, int64_t images, int64_t in_split) {
      if (in_split == 0 || all.train == 0) return;
      if (one.train > 0 && images == 0) {
        differences.push_back({one.name, "train", split, one.train});
      }
      if (one.train == 0 && images > 0) differences.push_back({one.name, split, "train", images});
    };
    compare("val", one.val, all.val);
    compare("test", one.test, all.test);
  }
  return differences;
}

double imbalance_of(const std::vector<CheckClass>& classes) {
  int64_t least = INT64_MAX, most = 0;
  for (const CheckClass& one : classes) {
    if (one.train == 0) continue;
    least = std::min(least, one.train);
    most = std::max(most, one.train);
  }
  return most == 0 ? 1 : double(most) / double(least);
}

void sort_skipped(const std::vector<SkippedFile>& skipped, CheckReport& report) {
  for (const SkippedFile& file : skipped) {
    std::vector<SkippedFileInfo>& list = file.kind == SkipKind::Damaged      ? report.damaged
                                         : file.kind == SkipKind::Unreadable ? report.unreadable
                                                                             : report.unsupported;
    list.push_back({file.path, skip_kind_name(file.kind), file.reason});
  }
  for (auto* list : {&report.damaged, &report.unreadable, &report.unsupported}) {
    std::sort(list->begin(), list->end(),
              [](const SkippedFileInfo& a, const SkippedFileInfo& b) { return a.path < b.path; });
  }
}

}  // namespace

int CheckReport::findings() const {
  return int(refusal.has_value()) + int(!damaged.empty()) + int(!unreadable.empty()) +
         int(!unsupported.empty()) + int(!empty_classes.empty()) + int(!differences.empty()) +
         int(!duplicates.empty()) + int(!near_duplicates.empty()) + int(imbalance > kMostImbalance);
}

CheckReport check_folder(const CheckConfig& config, const CheckObserver& observer,
                         std::stop_token stop) {
  if (config.workers < 0) {
    fail(ErrorKind::InvalidArgument, "workers is {}, expected 0 or more", config.workers);
  }
  CheckScan scan = scan_for_check(config, observer, stop);
  CheckReport report;
  report.root = scan.root;
  report.is_quick = config.quick;
  report.ignored = scan.ignored;
  report.unsupported_formats = scan.unsupported_formats;
  report.empty_classes = scan.empty_classes;
  report.notes = scan.notes;
  report.refusal = scan.refusal;
  report.classes = count_classes(scan);
  report.sizes = summarize_sizes(scan);
  for (const SampleList& list : scan.images) report.usable += int64_t(list.size());
  std::vector<SkippedFile> skipped = std::move(scan.skipped);
  if (!config.quick) {
    PictureFindings found = read_pictures(scan, config.workers, observer, stop);
    report.usable -= int64_t(found.skipped.size());
    skipped.insert(skipped.end(), found.skipped.begin(), found.skipped.end());
    take_away(found, report.classes);
    report.duplicates = find_duplicates(scan, found.pictures);
    report.near_duplicates = find_near_duplicates(scan, found.pictures);
  }
  sort_skipped(skipped, report);
  report.differences = find_differences(report.classes);
  report.imbalance = imbalance_of(report.classes);
  return report;
}

}  // namespace pounce
