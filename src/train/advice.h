// What a user should know about a training before it starts: small or uneven sets, names that speak
// against mirroring, what pretrained weights would bring. A pure function of data and settings.
#pragma once

#include <string>
#include <vector>

#include "backend/backend.h"
#include "data/dataset.h"
#include "pounce/train.h"
#include "train/run_clock.h"

namespace pounce {

struct Advice {
  std::vector<std::string> warnings;  // the result is likely to suffer
  std::vector<std::string> notes;     // good to know
};

// `config` is complete. Every sentence says what was found and which flag to type. Without a
// backend, nothing is said of the device.
Advice advise(const TrainConfig& config, const ImageFolder& data, const Backend* backend = nullptr);

// Training images of the largest class over those of the smallest exceed 10:1.
bool is_imbalanced(const ImageFolder& data);

// "about 24 min left at 45 img/s; --image-size 160 would need about 12 min". Empty for runs
// of less than a minute.
std::string time_estimate(const MeasuredSpeed& speed);

}  // namespace pounce
