// Start weights from a file (--init): safetensors in torchvision's names, or a Pounce model. The
// file is read, matched with the network and refused, where it does not fit, before the run folder
// is made. Tensors may be of F16, BF16, F32 or F64; a prefix that all names share is stripped. The
// head (fc.) is kept where the classes agree, else it starts fresh. Counters (num_batches_tracked)
// start at zero.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "formats/safetensors.h"
#include "pounce/train.h"
#include "train/model_file.h"

namespace pounce {

struct InitFile {
  std::string path;
  std::string checksum;  // "xxh3:" and 16 hexadecimal digits, of all bytes
  TensorFile tensors;
  std::vector<std::string> classes;  // of a Pounce model; empty in other files
};

// `path`: a file, or a run folder, whose best model is taken. `checksum`: what the file must have;
// empty: any. Throws Config for a missing file, one of another form (with the way to convert it)
// and one of another checksum; BadData for damage; Io.
InitFile read_init_file(const std::string& path, const std::string& checksum);

class StartWeights {
 public:
  // `network`: the model and the classes of the run. Throws Config where under 90 % of its entries
  // without the head are in the file, and where the file fits another network better.
  StartWeights(InitFile file, const ModelInfo& network);
  StartWeights(const StartWeights&) = delete;
  StartWeights& operator=(const StartWeights&) = delete;

  // What an F32 entry of the network starts with, in memory order: the file's values, or fresh
  // ones where it has none. Throws BadData for values that no network can start from. May be
  // called from several threads.
  std::vector<float> values(const StateEntry& entry, uint64_t seed) const;
  // What became of every entry.
  const WeightsLoaded& report() const { return report_; }

 private:
  InitFile file_;
  std::map<std::string, const NamedTensor*> loaded_;  // by the network's names
  WeightsLoaded report_;
};

}  // namespace pounce
