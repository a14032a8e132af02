#include "cli/eval_report.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/table.h"

namespace pounce::cli {
namespace {

constexpr size_t kConfusionsShown = 10;

std::string percent(int64_t part, int64_t whole) {
  return whole ? fmt::format("{:.2f}%", 100.0 * double(part) / double(whole)) : "-";
}

std::string class_table(const EvalResult& result) {
  std::vector<Row> rows = {{"class", "images", "correct", "accuracy"}};
  for (const ClassResult& row : result.per_class) {
    rows.push_back({row.name, group_digits(row.images), group_digits(row.correct),
                    percent(row.correct, row.images)});
  }
  return table(rows, 1);
}

std::string confusion_table(const EvalResult& result) {
  std::vector<std::tuple<int64_t, size_t, size_t>> mistakes;  // count, true, predicted
  for (size_t t = 0; t < result.confusion.size(); ++t) {
    for (size_t p = 0; p < result.confusion[t].size(); ++p) {
      if (t != p && result.confusion[t][p] > 0) mistakes.push_back({result.confusion[t][p], t, p});
    }
  }
  if (mistakes.empty()) return "";
  std::stable_sort(mistakes.begin(), mistakes.end(),
                   [](const auto& a, const auto& b) { return std::get<0>(a) > std::get<0>(b); });
  std::vector<Row> rows = {{"true", "predicted", "images"}};
  for (const auto& [count, t, p] : mistakes) {
    if (rows.size() > kConfusionsShown) break;
    rows.push_back({result.per_class[t].name, result.per_class[p].name, group_digits(count)});
  }
  return "\n\nmost frequent confusions" + table(rows, 2);
}

}  // namespace

std::string eval_report(const EvalResult& result) {
  int64_t correct = 0;
  for (const ClassResult& row : result.per_class) correct += row.correct;
  std::string text = fmt::format("accuracy  {:.2f}%  ({} of {})", 100 * result.accuracy,
                                 group_digits(correct), count_of(result.images, "image", "images"));
  if (result.is_imbalanced) {  // accuracy alone misleads then
    text +=
        fmt::format("\nbalanced  {:.2f}%  (mean over the classes)", 100 * result.balanced_accuracy);
  }
  // With five classes or fewer every image is among the best five.
  if (result.per_class.size() > 5) {
    text += fmt::format("\ntop-5     {:.2f}%", 100 * result.top5_accuracy);
  }
  text += fmt::format("\nloss      {:.4f}\n", result.loss);
  return text + class_table(result) + confusion_table(result);
}

}  // namespace pounce::cli
