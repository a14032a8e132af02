// The result of an evaluation as text for people.
#pragma once

#include <string>

#include "pounce/evaluate.h"

namespace pounce::cli {

// Accuracy, loss, a row per class and the most frequent confusions; columns keep their place
// whatever script the names of classes are in. Without a line feed at the end.
std::string eval_report(const EvalResult& result);

}  // namespace pounce::cli
