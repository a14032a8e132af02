#!/usr/bin/env python3
"""Writes tests/nn/<model>.txt: name and shape of every entry of a torchvision ResNet's state_dict.

usage: make_state_lists.py
Needs: pip install torch==2.15.0 torchvision==0.29.2
"""
import pathlib

import torchvision

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests" / "nn"


def main():
    for model in ("resnet18", "resnet34", "resnet50", "resnet101"):
        state = getattr(torchvision.models, model)(num_classes=1000).state_dict()
        lines = [f"{name} [{','.join(map(str, value.shape))}]\n" for name, value in state.items()]
        (FOLDER / f"{model}.txt").write_text("".join(lines))


if __name__ == "__main__":
    main()
