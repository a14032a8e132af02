// Convolutions of 3 x 3, stride 1, by Winograd's minimal filtering: tiles of 4 x 4 outputs (2 x 2
// where those would be wasted) are products over the channels for each of 36 (16) frequencies, 4
// (2.25) times fewer multiplications than the definition.
// Source: Lavin and Gray 2016, "Fast Algorithms for Convolutional Neural Networks"; the gradients
// are the adjoints of its transforms.
//
// Sums run over channels, or for weights over tiles, in an order that the shape decides, so bits
// depend neither on threads nor, for activations, on the batch. In f32 the error against the
// definition in double is 1e-7 to 4e-6 of the output's norm, about 4 times that of direct sums
// (tests/backend/winograd_test.cpp prints it by shape).
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "ir/conv_params.h"

namespace pounce::cpu {

enum class ConvPass { Forward, Data, Weights };

// Why it cannot serve any pass, or would be slower than direct sums; nothing when it can.
std::optional<std::string> refuse_winograd(const ConvParams& conv);

// Of any of the functions below.
size_t winograd_workspace_bytes(const ConvParams& conv, ConvPass pass, int threads);

struct WinogradRun {
  ConvParams conv;
  void* workspace;
  int threads;
};

// y of NPQK from x of NHWC and weights of K33C.
void winograd_forward(const WinogradRun& run, const float* x, const float* weights, float* y);
// The gradient of x from that of y.
void winograd_data(const WinogradRun& run, const float* grad_y, const float* weights,
                   float* grad_x);
// The gradient of the weights.
void winograd_weights(const WinogradRun& run, const float* x, const float* grad_y,
                      float* grad_weights);

}  // namespace pounce::cpu
