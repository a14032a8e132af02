#!/usr/bin/env python3
"""Writes tests/goldens/*.safetensors: what PyTorch computes for three small networks.

usage: make_goldens.py [--out DIR]       writes the files (tests/goldens/README.md lists the keys)
       make_goldens.py --attainable      how near PyTorch itself comes in float32, per tensor

Everything is computed in float64 and stored as float32, so the oracle has no rounding error of
its own; initial weights are exact float32 values. Running it twice gives the same bytes.
Needs: pip install torch==2.15.0 torchvision==0.29.2 numpy safetensors
"""
import argparse
import json
import pathlib
import struct
import sys

import numpy
import torch
import torchvision
from safetensors.numpy import load_file
from torch import nn
from torchvision.models.resnet import BasicBlock, Bottleneck, ResNet

VERSIONS = {torch: "2.15.0", torchvision: "0.29.2"}
MAX_FILE_BYTES = 1_000_000
BATCHES, BATCH_SIZE, STEPS = 4, 8, 20
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
LABEL_SMOOTHING = 0.1

# Weight decay acts on tensors of rank 2 and above: never on norms and biases.
OPTIMIZERS = {
    "sgd": dict(kind="sgd", lr=0.005, momentum=0.9, nesterov=False, weight_decay=5e-4),
    "sgd_nesterov": dict(kind="sgd", lr=0.005, momentum=0.9, nesterov=True, weight_decay=5e-4),
    "adam": dict(kind="adam", lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.0),
    "adamw": dict(kind="adamw", lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.05),
}
NETWORKS = {
    "narrow_cnn": dict(kind="cnn", width=12, classes=5, image_size=32, seed=12),
    "narrow_basic": dict(kind="resnet", block="basic", width=8, layers=(2, 2, 1, 1), classes=7,
                         image_size=40, seed=22),
    # Width 6: its channel counts are no multiples of 8, and two copies of it fit a file.
    "narrow_bottleneck": dict(kind="resnet", block="bottleneck", width=6, layers=(2, 1, 1, 1),
                              classes=7, image_size=40, seed=17),
}
# In a bottleneck the bias of a channel that ReLU never cuts has gradient 0: the 1x1 convolution's
# BatchNorm removes the shift. Adam with the usual 1e-8 would amplify the rounding noise there.
BOTTLENECK_ADAM_EPS = 1e-5


class Cnn(nn.Module):
    """Pounce's `cnn`: four 3x3 convolutions, each with BatchNorm and ReLU; pool; linear.

    Its width, the channels of the first convolution, is 32.
    """

    def __init__(self, classes, width):
        super().__init__()
        layers = []
        src = 3
        for dst, stride in ((width, 1), (2 * width, 2), (4 * width, 2), (8 * width, 2)):
            layers += [nn.Conv2d(src, dst, 3, stride, padding=1, bias=False), nn.BatchNorm2d(dst),
                       nn.ReLU()]
            src = dst
        self.features = nn.Sequential(*layers)
        self.fc = nn.Linear(src, classes)

    def forward(self, x):
        return self.fc(self.features(x).mean(dim=(2, 3)))


class NarrowResNet(ResNet):
    """torchvision's ResNet with `width` channels after the stem instead of 64."""

    def __init__(self, block, layers, classes, width):
        self._width = width
        super().__init__(block, list(layers), num_classes=classes)
        self.conv1 = nn.Conv2d(3, width, 7, stride=2, padding=3, bias=False)
        nn.init.kaiming_normal_(self.conv1.weight, mode="fan_out", nonlinearity="relu")
        self.bn1 = nn.BatchNorm2d(width)
        self.fc = nn.Linear(8 * width * block.expansion, classes)

    def _make_layer(self, block, planes, blocks, stride=1, dilate=False):
        if planes == 64:
            self.inplanes = self._width
        return super()._make_layer(block, planes * self._width // 64, blocks, stride, dilate)


def build_network(spec):
    """The network with float32 weights, none of them at a symmetric value.

    Shifts of 1 to 2 keep most values away from the kink of ReLU, on either side of it. With values
    at the kink a rounding error flips a mask, and 20 steps later float32 is 1e-1 from float64.
    """
    torch.manual_seed(spec["seed"])
    if spec["kind"] == "cnn":
        model = Cnn(spec["classes"], spec["width"])
    else:
        block = {"basic": BasicBlock, "bottleneck": Bottleneck}[spec["block"]]
        model = NarrowResNet(block, spec["layers"], spec["classes"], spec["width"])
    random = torch.Generator().manual_seed(7 + spec["seed"])

    def uniform(count):
        return torch.rand(count, generator=random)

    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, nn.BatchNorm2d):
                count = module.num_features
                module.weight.copy_(0.4 + 0.4 * uniform(count))
                sign = torch.where(uniform(count) < 0.75, 1.0, -1.0)
                module.bias.copy_(sign * (1 + uniform(count)))
                module.running_mean.normal_(0, 0.2)
                module.running_var.uniform_(0.5, 1.5)
    return model


def make_data(spec):
    """uint8 images [4,8,H,W,3] (coloured blocks tinted by class, with noise), labels [4,8]."""
    random = torch.Generator().manual_seed(100 + spec["seed"])
    size, count = spec["image_size"], BATCHES * BATCH_SIZE

    def integers(low, high, *shape):
        return torch.randint(low, high, shape, generator=random)

    labels = integers(0, spec["classes"], count)
    tint = integers(-40, 41, spec["classes"], 1, 1, 3)[labels]
    blocks = integers(50, 206, count, size // 4, size // 4, 3)
    blocks = blocks.repeat_interleave(4, dim=1).repeat_interleave(4, dim=2)
    images = (blocks + tint + integers(-30, 31, count, size, size, 3)).clamp(0, 255)
    images = images.to(torch.uint8).reshape(BATCHES, BATCH_SIZE, size, size, 3)
    return images, labels.reshape(BATCHES, BATCH_SIZE)


def normalise(images, dtype):
    """[8,H,W,3] uint8 -> [8,3,H,W], (x/255 - mean)/std."""
    mean, std = torch.tensor(MEAN, dtype=dtype), torch.tensor(STD, dtype=dtype)
    return ((images.to(dtype) / 255 - mean) / std).permute(0, 3, 1, 2).contiguous()


def sample_losses(logits, labels):
    return nn.functional.cross_entropy(logits, labels, label_smoothing=LABEL_SMOOTHING,
                                       reduction="none")


def state_of(model):
    """Parameters and running statistics; num_batches_tracked is left out."""
    return {name: value.detach().clone() for name, value in model.state_dict().items()
            if not name.endswith("num_batches_tracked")}


def first_step(spec, dtype):
    """What one forward and backward pass over batch 0 gives."""
    model = build_network(spec).to(dtype)
    images, labels = make_data(spec)
    result = {"images": images, "labels": labels.to(torch.int32)}
    result |= {f"param.{name}": value for name, value in state_of(model).items()}
    x = normalise(images[0], dtype)
    result["eval_logits"] = model.eval()(x).detach()
    logits = model.train()(x)
    losses = sample_losses(logits, labels[0])
    losses.mean().backward()
    result |= {"logits": logits.detach(), "sample_losses": losses.detach(),
               "loss": losses.mean().detach().reshape(1)}
    result |= {f"grad.{name}": p.grad for name, p in model.named_parameters()}
    result |= {f"after.{name}": value for name, value in state_of(model).items()
               if name.endswith(("running_mean", "running_var"))}
    return result


def make_optimizer(model, options):
    decayed = [p for p in model.parameters() if p.dim() >= 2]
    plain = [p for p in model.parameters() if p.dim() < 2]
    groups = [dict(params=decayed, weight_decay=options["weight_decay"]),
              dict(params=plain, weight_decay=0.0)]
    if options["kind"] == "sgd":
        return torch.optim.SGD(groups, lr=options["lr"], momentum=options["momentum"],
                               nesterov=options["nesterov"])
    kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[options["kind"]]
    return kind(groups, lr=options["lr"], betas=(options["beta1"], options["beta2"]),
                eps=options["eps"])


def train(spec, options, dtype):
    """Losses of 20 steps over the four batches in turn, and the state after them."""
    model = build_network(spec).to(dtype).train()
    optimizer = make_optimizer(model, options)
    images, labels = make_data(spec)
    losses = []
    for step in range(STEPS):
        batch = step % BATCHES
        optimizer.zero_grad()
        loss = sample_losses(model(normalise(images[batch], dtype)), labels[batch]).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return {"losses": torch.stack(losses)} | {f"final.{name}": value
                                              for name, value in state_of(model).items()}


def cases():
    """(file stem, metadata, function of the dtype) of every golden file."""
    for name, spec in NETWORKS.items():
        about = {"network": name, "label_smoothing": LABEL_SMOOTHING, "mean": MEAN, "std": STD,
                 "torch": VERSIONS[torch], "torchvision": VERSIONS[torchvision]} | spec
        yield name, about, lambda dtype, spec=spec: first_step(spec, dtype)
        for optimizer, options in OPTIMIZERS.items():
            if optimizer == "sgd_nesterov" and name != "narrow_cnn":
                continue
            if "eps" in options and spec.get("block") == "bottleneck":
                options = options | {"eps": BOTTLENECK_ADAM_EPS}
            about_run = about | {"optimizer": optimizer, "steps": STEPS}
            about_run |= {f"optimizer.{key}": value for key, value in options.items()}
            yield (f"{name}.{optimizer}", about_run,
                   lambda dtype, spec=spec, options=options: train(spec, options, dtype))


def write_safetensors(path, tensors, about):
    """Keys sorted: the safetensors package itself does not keep the order of metadata."""
    names = {"float32": "F32", "uint8": "U8", "int32": "I32"}
    header = {"__metadata__": {key: text(about[key]) for key in sorted(about)}}
    body = b""
    for name in sorted(tensors):
        array = tensors[name]
        data = array.tobytes()
        header[name] = {"dtype": names[str(array.dtype)], "shape": list(array.shape),
                        "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    head = json.dumps(header, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)
    path.write_bytes(struct.pack("<Q", len(head)) + head + body)


def text(value):
    """Metadata are strings: 0.05, false, 2,2,1,1."""
    if isinstance(value, tuple):
        return ",".join(text(item) for item in value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def to_stored(tensors):
    def stored(value):
        return value.to(torch.float32) if value.is_floating_point() else value
    return {name: numpy.ascontiguousarray(stored(value).numpy())
            for name, value in tensors.items()}


def write_goldens(out):
    out.mkdir(parents=True, exist_ok=True)
    total = 0
    for stem, about, compute in cases():
        path = out / f"{stem}.safetensors"
        tensors = to_stored(compute(torch.float64))
        write_safetensors(path, tensors, about)
        read = load_file(path)
        assert all(numpy.array_equal(read[name], tensors[name]) for name in tensors), path
        size = path.stat().st_size
        total += size
        if size > MAX_FILE_BYTES:
            sys.exit(f"{path}: {size:,} bytes, at most {MAX_FILE_BYTES:,}; make the network smaller")
        print(f"{path.name:34} {size:9,} bytes, {len(tensors):3} tensors")
    print(f"{'total':34} {total:9,} bytes")


def relative_errors(found, wanted):
    """||a-b|| / max(||b||, 1e-6 ||all||) a tensor; `all` are the tensors of the same kind."""
    wanted = {name: value.double() for name, value in wanted.items() if value.is_floating_point()}
    whole = {}
    for name, value in wanted.items():
        kind = name.split(".")[0]
        whole[kind] = whole.get(kind, 0.0) + float(value.square().sum())
    return {name: float((found[name].double() - value).norm()) /
            max(float(value.norm()), 1e-6 * whole[name.split(".")[0]] ** 0.5)
            for name, value in wanted.items()}


def print_attainable():
    for stem, _, compute in cases():
        errors = relative_errors(compute(torch.float32), compute(torch.float64))
        worst = sorted(errors.items(), key=lambda item: -item[1])[:4]
        print(f"{stem:28}", "  ".join(f"{name} {error:.1e}" for name, error in worst))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    root = pathlib.Path(__file__).resolve().parent.parent
    parser.add_argument("--out", type=pathlib.Path, default=root / "tests" / "goldens")
    parser.add_argument("--attainable", action="store_true")
    arguments = parser.parse_args()
    for module, version in VERSIONS.items():
        found = module.__version__.split("+")[0]
        if found != version:
            sys.exit(f"{module.__name__} {found} found, {version} expected: "
                     f"pip install {module.__name__}=={version}")
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    if arguments.attainable:
        print_attainable()
    else:
        write_goldens(arguments.out)


if __name__ == "__main__":
    main()
