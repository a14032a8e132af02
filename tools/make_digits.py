#!/usr/bin/env python3
"""Writes samples/digits: the 1,797 handwritten digits of scikit-learn as 8x8 grey PNGs.

usage: make_digits.py [OUT]   OUT/<class>/<index>.png; samples/digits.md says where they come from.
Needs: pip install scikit-learn==1.9.1
"""
import pathlib
import struct
import sys
import zlib

from sklearn.datasets import load_digits


def chunk(kind, data):
    body = kind + data
    return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))


def png(pixels):
    """8-bit grey PNG without ancillary chunks; rows unfiltered, which is smallest here."""
    height, width = pixels.shape
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) +
            chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b""))


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else root / "samples" / "digits"
    digits = load_digits()
    # 0..16 counts of set pixels in a 4x4 block; 16 becomes 255.
    pixels = (digits.images * 255 / 16).round().astype("uint8")
    for index, (image, label) in enumerate(zip(pixels, digits.target)):
        folder = out / str(label)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{index:04}.png").write_bytes(png(image))
    sizes = [path.stat().st_size for path in out.rglob("*.png")]
    print(f"{len(sizes)} images, {sum(sizes):,} bytes in {out}")


if __name__ == "__main__":
    main()
