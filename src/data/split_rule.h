// The rule that holds validation images back when there is no validation folder: an image belongs
// to validation if the hash of its path is below the fraction. It depends on no seed and on no
// other image, so adding files moves none, but for the one exception below. Internal to src/data.
#pragma once

#include <string>
#include <vector>

#include "data/sample_list.h"

namespace pounce {

// One flag a sample: true for validation. `prefix`: the split folder ("train", or ""), which is not
// part of the hashed path. A class of two or more with no image on one side gets the image with the
// most extreme hash moved there; a class of one stays in training. 0 <= fraction < 1; 0: no flags.
std::vector<bool> held_back(const SampleList& samples, const std::string& prefix, double fraction);

}  // namespace pounce
