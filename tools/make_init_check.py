#!/usr/bin/env python3
"""Writes torchvision's ResNet-18 in the forms `pounce train --init` meets, and 30 steps of PyTorch.

usage: make_init_check.py OUT
       POUNCE_INIT_CHECK=OUT build/release/tests/test_train --gtest_filter='InitCheck.*'

OUT/resnet18.safetensors     1,000 classes, random weights: what a downloaded file looks like
OUT/module.safetensors       the same under the names of DataParallel, "module."
OUT/renamed.safetensors      the same under names that Pounce does not know
OUT/half.safetensors         the same in float16
OUT/resnet50.safetensors     another network
OUT/start.safetensors        ResNet-18 for CLASSES classes: where the 30 steps begin
OUT/steps.safetensors        images U8 30,16,64,64,3; labels I32 30,16; the losses of PyTorch in float32
                             and in float64, F64 30 each

The steps: SGD 0.003, momentum 0.9, no weight decay, a constant rate, images normalised as ImageNet's,
and zero_init_residual=True. SGD 0.01 from torchvision's other start would judge nobody: rounding
decides on which side of 0 a few of three million activations fall, gradients differ by about the
square root of the share that changes sides, and PyTorch's own float32 was up to 47 % from its
float64 on such images with weaker tints (1.2 % with zero_init_residual). Where residual branches start at 0 they open slowly,
and all their weights train all the same.
Printed: how far float32 is from float64, which must be under half of TOLERANCE, and how far a rate
that is 1 % larger would move the losses. Nothing of it is committed.
Needs: pip install torch==2.15.0 torchvision==0.29.2 numpy safetensors
"""
import pathlib
import sys

import numpy
import torch
import torchvision
from safetensors.torch import save_file
from torch.nn import functional

CLASSES, STEPS, BATCH, SIZE = 4, 30, 16, 64
LEARNING_RATE, MOMENTUM = 0.003, 0.9
TOLERANCE = 1e-3
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def make_batches():
    """Smooth pictures with some noise; each class has a tint of its own, which can be learnt."""
    random = numpy.random.default_rng(5)
    labels = random.integers(0, CLASSES, (STEPS, BATCH))
    tints = random.uniform(-40, 40, (CLASSES, 3))
    coarse = torch.from_numpy(random.uniform(108, 148, (STEPS * BATCH, 3, 8, 8)))
    smooth = functional.interpolate(coarse, size=(SIZE, SIZE), mode="bilinear", align_corners=False)
    images = smooth.permute(0, 2, 3, 1).numpy().reshape(STEPS, BATCH, SIZE, SIZE, 3)
    images = images + tints[labels][:, :, None, None, :] + random.normal(0, 20, images.shape)
    return (torch.from_numpy(images.clip(0, 255).astype(numpy.uint8)).contiguous(),
            torch.from_numpy(labels.astype(numpy.int32)))


def train(state, images, labels, dtype, learning_rate=LEARNING_RATE):
    """The mean loss of every step."""
    model = torchvision.models.resnet18(num_classes=CLASSES).to(dtype)
    model.load_state_dict(state)
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate, momentum=MOMENTUM)
    mean, std = torch.tensor(MEAN, dtype=dtype), torch.tensor(STD, dtype=dtype)
    losses = []
    for batch, target in zip(images, labels):
        pixels = ((batch.to(dtype) / 255 - mean) / std).permute(0, 3, 1, 2)
        loss = functional.cross_entropy(model(pixels), target.long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return torch.tensor(losses, dtype=torch.float64)


def largest_difference(losses, expected):
    return ((losses - expected).abs() / expected).max().item()


def write_forms(out):
    torch.manual_seed(1)
    state = torchvision.models.resnet18(weights=None).state_dict()
    save_file(state, out / "resnet18.safetensors")
    save_file({"module." + name: tensor for name, tensor in state.items()},
              out / "module.safetensors")
    save_file({"block_" + name.replace("layer", "stage"): tensor for name, tensor in state.items()},
              out / "renamed.safetensors")
    save_file({name: tensor.half() if tensor.is_floating_point() else tensor
               for name, tensor in state.items()}, out / "half.safetensors")
    save_file(torchvision.models.resnet50(weights=None).state_dict(), out / "resnet50.safetensors")


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    write_forms(out)
    torch.manual_seed(2)
    state = torchvision.models.resnet18(num_classes=CLASSES, zero_init_residual=True).state_dict()
    save_file(state, out / "start.safetensors")
    images, labels = make_batches()
    single = train(state, images, labels, torch.float32)
    double = train(state, images, labels, torch.float64)
    difference = largest_difference(single, double)
    faster = train(state, images, labels, torch.float32, 1.01 * LEARNING_RATE)
    print(f"losses from {double[0]:.4f} to {double[-1]:.4f}; largest relative difference of float32 "
          f"from float64: {difference:.1e}; of a rate 1 % larger: "
          f"{largest_difference(faster, double):.1e}")
    if not difference < TOLERANCE / 2:
        sys.exit("float32 is too far from float64 here to judge another program by")
    save_file({"images": images, "labels": labels, "losses": single, "losses_float64": double},
              out / "steps.safetensors")


if __name__ == "__main__":
    main()
