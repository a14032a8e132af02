// The whole library: #include <pounce/pounce.h>, link pounce::pounce (docs/library.md).
// Everything reports by throwing pounce::Error; nothing prints, exits or keeps global state.
#pragma once

#include "pounce/bench.h"
#include "pounce/check.h"
#include "pounce/dataset.h"
#include "pounce/device.h"
#include "pounce/dtype.h"
#include "pounce/error.h"
#include "pounce/evaluate.h"
#include "pounce/event_json.h"
#include "pounce/export.h"
#include "pounce/expr.h"
#include "pounce/inspect.h"
#include "pounce/loader.h"
#include "pounce/model.h"
#include "pounce/network.h"
#include "pounce/optimizer.h"
#include "pounce/options.h"
#include "pounce/predict.h"
#include "pounce/tensor.h"
#include "pounce/train.h"
#include "pounce/trainer.h"
