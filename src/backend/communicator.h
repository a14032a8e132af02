// Sums across the ranks of a training. One rank is the ordinary case and runs the same path.
#pragma once

#include <cstdint>

#include "base/dtype.h"

namespace pounce {

class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int world() const = 0;
  // In place over `elements` values of `dtype` (F32 or F64) in the backend's memory. Every rank
  // calls it in the same order; every rank receives the same bits.
  virtual void all_reduce_sum(void* data, int64_t elements, DType dtype) = 0;
};

class SingleProcess final : public Communicator {
 public:
  int rank() const override { return 0; }
  int world() const override { return 1; }
  void all_reduce_sum(void*, int64_t, DType) override {}
};

}  // namespace pounce
