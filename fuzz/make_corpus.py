#!/usr/bin/env python3
"""Writes the seeds of the fuzzers: small files of each format, made here, a few hundred bytes each.

usage: make_corpus.py [OUT]     default: the corpus folder beside this script. Needs Pillow.
"""
import io
import pathlib
import struct
import sys

from PIL import Image


def picture(mode="RGB", size=(19, 13)):
    image = Image.new("RGB", size)
    image.putdata([(x * 13 & 255, y * 19 & 255, x * y * 3 & 255)
                   for y in range(size[1]) for x in range(size[0])])
    return image.convert(mode)


def encoded(image, kind, **options):
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def tiff_directory(order, orientation):
    """The EXIF block with one entry, tag 0x0112."""
    e = "<" if order == "II" else ">"
    return (order.encode() + struct.pack(e + "HI", 42, 8) +
            struct.pack(e + "HHHIHHI", 1, 0x0112, 3, 1, orientation, 0, 0))


def exif(orientation):
    return b"Exif\0\0" + tiff_directory("II", orientation)


def jpegs():
    yield "baseline.jpg", encoded(picture(), "JPEG", quality=40)
    yield "progressive.jpg", encoded(picture(), "JPEG", quality=40, progressive=True)
    yield "exif6.jpg", encoded(picture(), "JPEG", quality=20, exif=exif(6))
    yield "grey.jpg", encoded(picture("L"), "JPEG", quality=40)
    yield "cmyk.jpg", encoded(picture("CMYK"), "JPEG", quality=20)
    yield "restart.jpg", encoded(picture(size=(40, 24)), "JPEG", quality=10, restart_marker_blocks=2)


def pngs():
    yield "rgb.png", encoded(picture(), "PNG")
    yield "rgba.png", encoded(picture("RGBA"), "PNG")
    yield "grey.png", encoded(picture("L"), "PNG")
    yield "bilevel.png", encoded(picture("1"), "PNG")
    yield "palette.png", encoded(picture().quantize(16), "PNG", transparency=3)
    yield "grey16.png", encoded(picture("L").convert("I;16"), "PNG")
    yield "exif6.png", encoded(picture(), "PNG", exif=exif(6))


def exifs():
    yield "little.exif", tiff_directory("II", 6)
    yield "big.exif", tiff_directory("MM", 3)


def main():
    default = pathlib.Path(__file__).resolve().parent / "corpus"
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default
    formats = {"jpeg": list(jpegs()), "png": list(pngs())}
    # By content: these targets take every format.
    every = [seeds[i] for seeds in formats.values() for i in (0, len(seeds) - 1)]
    folders = {**formats, "exif": list(exifs()), "header": every, "image": every}
    for folder, seeds in folders.items():
        (out / folder).mkdir(parents=True, exist_ok=True)
        for name, content in seeds:
            (out / folder / name).write_bytes(content)
    total = sum(len(content) for seeds in folders.values() for _, content in seeds)
    print(f"{sum(map(len, folders.values()))} seeds, {total} bytes in {out}")


if __name__ == "__main__":
    main()
