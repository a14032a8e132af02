#!/usr/bin/env python3
"""Checks that a trained ResNet gives the same logits in torchvision as in Pounce.

usage: check_torchvision.py RUN_OR_MODEL IMAGE_DIR [--pounce build/release/pounce]

Loads the model file with strict=True, prepares the images with Pillow and torchvision by the rule in
its metadata, and compares with `pounce eval MODEL IMAGE_DIR --split all --dump`. Exit 1 when a logit
of a losslessly stored image differs by more than 1e-4. JPEG decoders may differ by a grey level, so
JPEG images are reported apart and not judged.
Needs: pip install torch==2.15.0 torchvision==0.29.2 pillow==13.0.0 safetensors
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import torch
import torchvision
from PIL import Image, ImageOps
from safetensors import safe_open
from torchvision import transforms

TOLERANCE = 1e-4


def load_model(path):
    with safe_open(path, framework="pt") as file:
        rule = json.loads(file.metadata()["pounce"])
        state = {name: file.get_tensor(name) for name in file.keys()
                 if not name.startswith("optimizer.")}
    model = getattr(torchvision.models, rule["model"])(num_classes=len(rule["classes"]))
    model.load_state_dict(state, strict=True)
    return model.eval(), rule


def make_transform(rule):
    size = rule["image_size"]
    if rule["fit"] != "crop":
        sys.exit(f"fit is {rule['fit']}; this script knows crop")
    return transforms.Compose([
        transforms.Resize(int(size / rule["resize"]),
                          transforms.InterpolationMode.BILINEAR, antialias=True),
        transforms.CenterCrop(size),
        transforms.ToTensor(),
        transforms.Normalize(rule["mean"], rule["std"]),
    ])


def load_image(path, rule):
    image = Image.open(path)
    if rule.get("exif", True):
        image = ImageOps.exif_transpose(image)
    return image.convert("RGB")


def pounce_logits(pounce, model, images):
    """(path below `images`, logits) of every image."""
    with tempfile.TemporaryDirectory() as folder:
        dump = pathlib.Path(folder) / "dump.jsonl"
        subprocess.run([pounce, "eval", str(model), str(images), "--split", "all",
                        "--dump", str(dump)], check=True, stdout=subprocess.DEVNULL)
        for line in dump.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            yield record["path"], torch.tensor(record["logits"])


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("images", type=pathlib.Path)
    parser.add_argument("--pounce", default=str(root / "build" / "release" / "pounce"))
    arguments = parser.parse_args()

    path = arguments.model
    model, rule = load_model(path / "best.safetensors" if path.is_dir() else path)
    transform = make_transform(rule)
    worst = {"lossless": 0.0, "JPEG": 0.0}
    count = dict.fromkeys(worst, 0)
    with torch.inference_mode():
        for name, logits in pounce_logits(arguments.pounce, path, arguments.images):
            file = arguments.images / name
            with Image.open(file) as image:
                kind = "JPEG" if image.format in ("JPEG", "MPO") else "lossless"
            expected = model(transform(load_image(file, rule))[None])[0]
            worst[kind] = max(worst[kind], float((logits - expected).abs().max()))
            count[kind] += 1
    for kind, difference in worst.items():
        if count[kind]:
            print(f"{count[kind]} {kind} images: largest difference of a logit {difference:.2e}")
    if not count["lossless"]:
        sys.exit("no losslessly stored image (PNG) to judge by")
    sys.exit(worst["lossless"] > TOLERANCE)


if __name__ == "__main__":
    main()
