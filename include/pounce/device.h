// Where tensors lie and models compute.
//
//   pounce::Device device("cpu", 4);
//   pounce::Model model("resnet18", {.classes = {"cat", "dog"}}, device);
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "pounce/export.h"

namespace pounce {

struct DeviceState;

// A handle: copies mean the same device, which is closed when the last of them and the last tensor
// or model on it are gone. Two devices opened by the same name are two devices. A device, and what
// lies on it, serves one thread at a time. A moved-from Device can only be assigned or destroyed;
// anything else throws InvalidArgument.
class POUNCE_API Device {
 public:
  // "auto": the best GPU there is, else the processor; "cpu"; "gpu" or a GPU's number; "opencl" or
  // "opencl:1": an OpenCL device, GPUs first; "reference": plain loops in double precision, slow,
  // the yardstick of every other device. threads: of the computation; 0: as many as this process
  // may use. Throws Device for a name this build cannot serve, saying what it can, and
  // InvalidArgument for a number of threads that is not 0 to 1024.
  explicit Device(const std::string& name = "auto", int threads = 0);

  // "cpu", "opencl", "reference".
  std::string name() const;
  // For people: "cpu, 8 threads".
  std::string description() const;
  int threads() const;
  // Held on this device at the moment by tensors, models and trainers.
  int64_t allocated_bytes() const;

  bool operator==(const Device& other) const;

 private:
  friend struct Access;
  explicit Device(std::shared_ptr<DeviceState> state);
  std::shared_ptr<DeviceState> state_;
};

}  // namespace pounce
