#!/usr/bin/env python3
"""Writes the seeds of the fuzzers: small files of each format, made here, a few hundred bytes each.

usage: make_corpus.py [OUT]     default: the corpus folder beside this script. Needs Pillow with AVIF,
and heif-enc (package libheif-examples).
"""
import io
import pathlib
import struct
import subprocess
import sys
import tempfile

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


def webps():
    yield "lossy.webp", encoded(picture(), "WEBP", quality=40)
    yield "lossless.webp", encoded(picture(), "WEBP", lossless=True)
    yield "alpha.webp", encoded(picture("RGBA"), "WEBP", quality=40, exif=exif(6))
    yield "animated.webp", encoded(picture(), "WEBP", quality=20, save_all=True,
                                   append_images=[picture().rotate(180)])


def gifs():
    yield "global.gif", encoded(picture().quantize(8), "GIF")
    yield "interlaced.gif", encoded(picture().quantize(16), "GIF", interlace=1, transparency=3)
    yield "animated.gif", encoded(picture().quantize(4), "GIF", save_all=True,
                                  append_images=[picture().rotate(180).quantize(4)])


def bmp(bits, rows, compression=0, colours=0, masks=b"", height=13):
    """As make_formats.py of the tests, with a grey palette."""
    palette = b"".join(bytes((i, i, i, 0)) for i in range(colours))
    info = struct.pack("<IiiHHIIiiII", 40, 19, height, 1, bits, compression, 0, 0, 0, colours, 0)
    start = 54 + len(masks) + len(palette)
    return b"BM" + struct.pack("<IHHI", start + len(rows), 0, 0, start) + info + masks + palette + rows


def bmps():
    noise = bytes(i * 97 & 255 for i in range(80 * 13))
    yield "rgb24.bmp", encoded(picture(), "BMP")
    yield "palette8.bmp", encoded(picture().quantize(8), "BMP")
    yield "bilevel.bmp", encoded(picture("1"), "BMP")
    yield "fields16.bmp", bmp(16, noise[:40 * 13], 3, masks=struct.pack("<III", 0xF800, 0x7E0, 31))
    yield "topdown4.bmp", bmp(4, noise[:12 * 13], colours=16, height=-13)
    runs = bytes((12, 3, 0, 5, 1, 2, 3, 4, 5, 0, 0, 2, 2, 1, 5, 9, 0, 0))
    yield "rle8.bmp", bmp(8, runs * 9 + b"\0\1", 1, 16)
    yield "rle4.bmp", bmp(4, runs * 9 + b"\0\1", 2, 16)


def tiffs():
    yield "lzw.tif", encoded(picture(), "TIFF", compression="tiff_lzw")
    yield "packbits.tif", encoded(picture("L"), "TIFF", compression="packbits")
    yield "deflate.tif", encoded(picture("CMYK"), "TIFF", compression="tiff_adobe_deflate")
    yield "group4.tif", encoded(picture("1"), "TIFF", compression="group4")
    yield "palette.tif", encoded(picture().quantize(4), "TIFF")
    yield "jpeg.tif", encoded(picture(), "TIFF", compression="jpeg", quality=30)
    yield "grey16.tif", encoded(picture("L").convert("I;16"), "TIFF", tiffinfo={274: 6})
    yield "ycbcr.tif", encoded(picture("YCbCr"), "TIFF")
    entries = [(256, 4, 1, 19), (257, 4, 1, 13), (258, 3, 1, 8), (259, 3, 1, 1), (262, 3, 1, 0),
               (277, 3, 1, 1), (322, 4, 1, 32), (323, 4, 1, 16), (324, 4, 1, 8), (325, 4, 1, 512)]
    directory = b"".join(struct.pack("<HHII", *entry) for entry in entries)
    tile = bytes(i * 31 & 255 for i in range(512))
    yield "tiles.tif", (b"II*\0" + struct.pack("<I", 520) + tile +
                        struct.pack("<H", len(entries)) + directory + bytes(4))


def avifs():
    yield "plain.avif", encoded(picture(), "AVIF", quality=30)
    yield "alpha.avif", encoded(picture("RGBA"), "AVIF", quality=30)
    yield "turned.avif", encoded(picture(), "AVIF", quality=20, exif=exif(6))
    yield "animated.avif", encoded(picture(), "AVIF", quality=20, save_all=True,
                                   append_images=[picture().rotate(180)])


def quadrants():
    image = Image.new("RGB", (64, 32), "red")
    image.paste("lime", (32, 0, 64, 16))
    image.paste("blue", (0, 16, 32, 32))
    image.paste("yellow", (32, 16, 64, 32))
    return image


def heif_enc(image, *options, **saving):
    with tempfile.TemporaryDirectory() as folder:
        source, made = f"{folder}/source.{saving.pop('kind', 'png')}", f"{folder}/made.heic"
        image.save(source, **saving)
        subprocess.run(["heif-enc", "-q", "60", *options, source, "-o", made], check=True,
                       stdout=subprocess.DEVNULL)
        return pathlib.Path(made).read_bytes()


def heics():
    """Red, green / blue, yellow. `turned` is a quarter to the left, `exif6` says so in EXIF alone."""
    plain = heif_enc(quadrants())
    yield "plain.heic", plain
    # The bit depths, which are not needed, make place for the rotation.
    at = plain.index(b"pixi")
    yield "turned.heic", plain[:at] + b"irot\1" + plain[at + 5:]
    yield "exif6.heic", heif_enc(quadrants(), kind="jpg", quality=95, exif=exif(6))
    steps = Image.new("I;16", (64, 16))
    steps.putdata([65535 * (x // 8) // 7 for _ in range(16) for x in range(64)])
    yield "grey10.heic", heif_enc(steps, "-b", "10")


def exifs():
    yield "little.exif", tiff_directory("II", 6)
    yield "big.exif", tiff_directory("MM", 3)


def main():
    default = pathlib.Path(__file__).resolve().parent / "corpus"
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default
    formats = {"jpeg": list(jpegs()), "png": list(pngs()), "webp": list(webps()),
               "gif": list(gifs()), "bmp": list(bmps()), "tiff": list(tiffs()),
               "avif": list(avifs()), "heic": list(heics())}
    # By content: these targets take every format.
    every = [seeds[i] for seeds in formats.values() for i in (0, len(seeds) - 1)]
    folders = {**formats, "exif": list(exifs()), "header": every, "image": every,
               "prepare": formats["jpeg"] + formats["png"][:1]}
    for folder, seeds in folders.items():
        (out / folder).mkdir(parents=True, exist_ok=True)
        for name, content in seeds:
            (out / folder / name).write_bytes(content)
    total = sum(len(content) for seeds in folders.values() for _, content in seeds)
    print(f"{sum(map(len, folders.values()))} seeds, {total} bytes in {out}")


if __name__ == "__main__":
    main()
