#include "data/split_rule.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "base/checksum.h"

namespace pounce {

std::vector<bool> held_back(const SampleList& samples, const std::string& prefix, double fraction) {
  std::vector<bool> is_val(samples.size(), false);
  if (fraction <= 0) return is_val;
  struct Class {
    size_t count = 0, val_count = 0;
    size_t lowest = 0, highest = 0;  // by hash
  };
  std::map<int32_t, Class> classes;
  std::vector<uint64_t> hashes(samples.size());
  for (size_t i = 0; i < samples.size(); ++i) {
    std::string path = samples.path(i);
    std::string_view key = path;
    if (!prefix.empty()) key.remove_prefix(prefix.size() + 1);
    hashes[i] = xxh3_64(key);
    is_val[i] = double(hashes[i]) * 0x1p-64 < fraction;
    Class& found = classes[samples.label(i)];
    if (found.count == 0) found.lowest = found.highest = i;
    if (hashes[i] < hashes[found.lowest]) found.lowest = i;
    if (hashes[i] > hashes[found.highest]) found.highest = i;
    ++found.count;
    found.val_count += is_val[i] ? 1 : 0;
  }
  for (const auto& [label, found] : classes) {
    if (found.val_count == found.count) is_val[found.highest] = false;
    if (found.val_count == 0 && found.count >= 2) is_val[found.lowest] = true;
  }
  return is_val;
}

}  // namespace pounce
