#include "train/validation.h"

#include <algorithm>

#include <fmt/format.h>

namespace pounce {
namespace {

// A field of a comma-separated file (RFC 4180).
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace

void Validation::add(uint32_t index, int label, std::span<const float> logits) {
  tally_.add(cross_entropy(logits, label), target_rank(logits, label));
  int predicted = argmax(logits);
  confusion_.add(label, predicted);
  if (predicted == label) return;
  mistakes_.push_back({index, predicted, softmax(logits)[size_t(predicted)]});
}

std::string confusion_csv(const Validation& validation, const std::vector<std::string>& classes) {
  std::string text = "true,predicted,images\n";
  for (const auto& [pair, images] : validation.confusion().pairs()) {
    text += fmt::format("{},{},{}\n", csv_field(classes[size_t(pair.first)]),
                        csv_field(classes[size_t(pair.second)]), images);
  }
  return text;
}

std::string worst_csv(const Validation& validation, const SampleList& samples,
                      const std::vector<std::string>& classes) {
  std::vector<Mistake> mistakes = validation.mistakes();
  std::stable_sort(mistakes.begin(), mistakes.end(), [](const Mistake& a, const Mistake& b) {
    return a.probability > b.probability;
  });
  std::string text = "path,true,predicted,probability\n";
  for (const Mistake& mistake : mistakes) {
    const Sample sample = samples[mistake.index];
    text += fmt::format("{},{},{},{:.4f}\n", csv_field(sample.path),
                        csv_field(classes[size_t(sample.label)]),
                        csv_field(classes[size_t(mistake.predicted)]), mistake.probability);
  }
  return text;
}

}  // namespace pounce
