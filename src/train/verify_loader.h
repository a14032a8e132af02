// Whether a loader delivers what it should: before its speed is worth a word.
#pragma once

#include <stop_token>

#include "data/loader.h"
#include "pounce/bench.h"

namespace pounce {

// Compares the first batches of epoch 0, from one thread and from several, with the images prepared
// one after the other, with what a cache gives if there is one, and with crops of the whole
// pictures where no scaled decoding is in play. Throws Internal naming the first image that
// differs.
LoaderVerification verify_loader(const BatchLoaderOptions& options, const SampleList& samples);

}  // namespace pounce
