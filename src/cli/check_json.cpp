#include "cli/check_json.h"

#include <nlohmann/json.hpp>

namespace pounce::cli {
namespace {

// Keeps the keys in the order in which they are written here.
using Json = nlohmann::ordered_json;

Json range_object(const ValueRange& range) {
  return {{"min", range.min}, {"median", range.median}, {"max", range.max}};
}

Json file_object(const CheckFile& file) {
  return {{"path", file.path},
          {"split", file.split},
          {"class", file.class_name.empty() ? Json(nullptr) : Json(file.class_name)}};
}

Json skipped_list(const std::vector<SkippedFileInfo>& files) {
  Json list = Json::array();
  for (const SkippedFileInfo& file : files) {
    list.push_back({{"path", file.path}, {"reason", file.reason}});
  }
  return list;
}

Json class_list(const CheckReport& report) {
  Json list = Json::array();
  for (const CheckClass& one : report.classes) {
    list.push_back({{"class", one.name},
                    {"train", one.train},
                    {"val", one.val},
                    {"test", one.test},
                    {"unusable", one.unusable}});
  }
  return list;
}

Json difference_list(const CheckReport& report) {
  Json list = Json::array();
  for (const ClassDifference& one : report.differences) {
    list.push_back({{"class", one.class_name},
                    {"present", one.present},
                    {"absent", one.absent},
                    {"images", one.images}});
  }
  return list;
}

// Null where nobody looked.
Json duplicate_list(const CheckReport& report) {
  if (report.is_quick) return nullptr;
  Json list = Json::array();
  for (const DuplicateGroup& group : report.duplicates) {
    Json files = Json::array();
    for (const CheckFile& file : group.files) files.push_back(file_object(file));
    list.push_back({{"files", std::move(files)},
                    {"across_splits", group.is_across_splits},
                    {"across_classes", group.is_across_classes}});
  }
  return list;
}

Json near_duplicate_list(const CheckReport& report) {
  if (report.is_quick) return nullptr;
  Json list = Json::array();
  for (const NearDuplicate& pair : report.near_duplicates) {
    list.push_back({{"files", Json::array({file_object(pair.first), file_object(pair.second)})},
                    {"mirrored", pair.is_mirrored}});
  }
  return list;
}

Json sizes_object(const CheckReport& report) {
  if (!report.sizes) return nullptr;
  Json under = Json::object();
  for (const auto& [size, count] : report.sizes->short_side_under) {
    under[std::to_string(size)] = count;
  }
  return {{"width", range_object(report.sizes->width)},
          {"height", range_object(report.sizes->height)},
          {"aspect", range_object(report.sizes->aspect)},
          {"short_side_under", std::move(under)}};
}

Json refusal_object(const CheckReport& report) {
  if (!report.refusal) return nullptr;
  return {{"message", report.refusal->message}, {"hint", report.refusal->hint}};
}

}  // namespace

std::string check_json(const CheckReport& report) {
  Json object = {{"type", "check"},
                 {"root", report.root},
                 {"quick", report.is_quick},
                 {"classes", class_list(report)},
                 {"usable", report.usable},
                 {"damaged", skipped_list(report.damaged)},
                 {"unreadable", skipped_list(report.unreadable)},
                 {"ignored", report.ignored},
                 {"unsupported", skipped_list(report.unsupported)},
                 {"unsupported_formats", report.unsupported_formats},
                 {"empty_classes", report.empty_classes},
                 {"class_differences", difference_list(report)},
                 {"duplicates", duplicate_list(report)},
                 {"near_duplicates", near_duplicate_list(report)},
                 {"sizes", sizes_object(report)},
                 {"imbalance", report.imbalance},
                 {"refusal", refusal_object(report)},
                 {"notes", report.notes},
                 {"findings", report.findings()}};
  // Names of files need not be UTF-8, JSON must be.
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace pounce::cli
