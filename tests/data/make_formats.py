#!/usr/bin/env python3
"""Writes small files of many formats and variants, and what Pillow reads from each.

usage: make_formats.py OUT. Needs Pillow. OUT/expected.tsv has one row a file: name, width, height,
largest allowed difference; OUT/<name>.rgb holds the pixels, upright and 8 bits a channel.
"""
import io
import pathlib
import struct
import sys
import zlib

from PIL import Image, ImageOps, features

OUT = pathlib.Path(sys.argv[1])
ROWS = []


def picture(mode="RGB", size=(37, 23)):
    image = Image.new("RGB", size)
    image.putdata([(x * 7 + y & 255, y * 11 & 255, x * y * 3 & 255)
                   for y in range(size[1]) for x in range(size[0])])
    return image.convert(mode)


def see_through(size=(37, 23)):
    image = picture("RGBA", size)
    image.putalpha(Image.linear_gradient("L").resize(size))
    return image


def add(name, content, pixels=None, tolerance=0):
    (OUT / name).write_bytes(content)
    if pixels is None:
        with Image.open(io.BytesIO(content)) as image:
            pixels = ImageOps.exif_transpose(image).convert("RGB")
    (OUT / (name + ".rgb")).write_bytes(pixels.tobytes())
    ROWS.append(f"{name}\t{pixels.width}\t{pixels.height}\t{tolerance}")


def encoded(image, kind, **options):
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def exif(orientation):
    return b"Exif\0\0" + b"II" + struct.pack("<HIHHHIHHI", 42, 8, 1, 0x0112, 3, 1, orientation, 0, 0)


def grey_of_16(values, size):
    """Levels that 16-bit values must become, by rounding v/257."""
    image = Image.new("L", size)
    image.putdata([(v + 128) // 257 for v in values])
    return image.convert("RGB")


VALUES = [(i * 911 + 40000) % 65536 for i in range(37 * 23)]


def sixteen():
    return Image.frombytes("I;16", (37, 23), struct.pack("<851H", *VALUES))


def webps():
    add("lossy.webp", encoded(picture(), "WEBP", quality=70))
    add("lossless.webp", encoded(picture(), "WEBP", lossless=True))
    add("alpha.webp", encoded(see_through(), "WEBP", lossless=True, exact=True))
    add("alpha_lossy.webp", encoded(see_through(), "WEBP", quality=60, exact=True))
    add("exif6.webp", encoded(picture(), "WEBP", lossless=True, exif=exif(6)))
    add("animated.webp", encoded(picture(), "WEBP", lossless=True, save_all=True,
                                 append_images=[picture().rotate(180)]))


def gifs():
    add("plain.gif", encoded(picture().quantize(200), "GIF"))
    add("grey.gif", encoded(picture("L"), "GIF"))
    add("interlaced.gif", encoded(picture().quantize(60), "GIF", interlace=1))
    add("transparent.gif", encoded(picture().quantize(16), "GIF", transparency=5))
    add("animated.gif", encoded(picture().quantize(16), "GIF", save_all=True,
                                append_images=[picture().rotate(180).quantize(16)]))
    plain = bytearray(encoded(picture().quantize(8), "GIF", interlace=0, transparency=3))
    frame = plain.index(b"," + bytes(4) + struct.pack("<HH", 37, 23))
    for name, canvas, corner in (("offset.gif", (50, 40), (9, 12)), ("outside.gif", (20, 10), (3, 4))):
        moved = bytearray(plain)
        moved[6:10] = struct.pack("<HH", *canvas)
        moved[frame + 1:frame + 5] = struct.pack("<HH", *corner)
        add(name, bytes(moved))


def bmp(bits, rows, compression=0, size=(37, 23), palette=b"", masks=b"", height=None, data_size=0):
    info = struct.pack("<IiiHHIIiiII", 40, size[0], size[1] if height is None else height, 1, bits,
                       compression, data_size, 0, 0, len(palette) // 4, 0) + masks
    start = 14 + len(info) + len(palette)
    return b"BM" + struct.pack("<IHHI", start + len(rows), 0, 0, start) + info + palette + rows


def bmps():
    add("rgb24.bmp", encoded(picture(), "BMP"))
    add("palette8.bmp", encoded(picture().quantize(100), "BMP"))
    add("grey8.bmp", encoded(picture("L"), "BMP"))
    add("bilevel.bmp", encoded(picture("1"), "BMP"))
    add("rgba32.bmp", encoded(see_through(), "BMP"))
    noise = bytes((i * 97 + i // 7) & 255 for i in range(37 * 4 * 23))
    palette = b"".join(bytes((i * 16, 255 - i * 9, i * 5, 0)) for i in range(16))
    add("palette4.bmp", bmp(4, noise[:20 * 23], palette=palette))
    add("rgb555.bmp", bmp(16, noise[:76 * 23]))
    add("rgb565.bmp", bmp(16, noise[:76 * 23], 3, masks=struct.pack("<III", 0xF800, 0x7E0, 0x1F)))
    add("bgrx32.bmp", bmp(32, noise))
    add("xbgr32.bmp", bmp(32, noise, 3, masks=struct.pack("<III", 0xFF000000, 0xFF0000, 0xFF00)))
    add("topdown.bmp", bmp(24, noise[:112 * 23], height=-23))
    os2 = struct.pack("<IHHHH", 12, 37, 23, 1, 4)
    os2 += b"".join(bytes((i * 16, 255 - i * 9, i * 5)) for i in range(16))
    add("os2.bmp", b"BM" + struct.pack("<IHHI", 0, 0, 0, 14 + len(os2)) + os2 + noise[:20 * 23])
    # Runs, literals of odd and even length, row ends.
    row8 = bytes((12, 3, 0, 5, 1, 2, 3, 4, 5, 0, 0, 4, 9, 8, 7, 6, 16, 11, 0, 0))
    add("rle8.bmp", bmp(8, row8 * 22 + row8[:-2] + b"\0\1", 1, palette=palette))
    row4 = bytes((12, 0x35, 0, 5, 0x12, 0x34, 0x50, 0, 0, 4, 0x98, 0x76, 15, 0xAB, 1, 0xC0, 0, 0))
    add("rle4.bmp", bmp(4, row4 * 22 + row4[:-2] + b"\0\1", 2, palette=palette))


def tiff(chunks, bits, photometric, size=(37, 23), order="<", planes=1, tile=None, rows=None,
         compression=1, samples=None, more=()):
    """A TIFF of strips, or of tiles, that hold the chunks."""
    samples = samples or len(bits)
    chunks = [zlib.compress(c) if compression == 8 else c for c in chunks]
    first = 8
    offsets = [first + sum(map(len, chunks[:i])) for i in range(len(chunks))]
    entries = {256: [size[0]], 257: [size[1]], 258: bits, 259: [compression], 262: [photometric],
               277: [samples], 284: [planes], **dict(more)}
    lengths = [len(c) for c in chunks]
    if tile:
        entries.update({322: [tile[0]], 323: [tile[1]], 324: offsets, 325: lengths})
    else:
        entries.update({273: offsets, 278: [rows or size[1]], 279: lengths})
    body = b"".join(chunks)
    extra_at = first + len(body) + 2 + 12 * len(entries) + 4
    table, extra = struct.pack(order + "H", len(entries)), b""
    for tag in sorted(entries):
        values = entries[tag]
        kind, letter = (3, "H") if tag in (258, 320, 338) else (4, "I")
        data = struct.pack(order + letter * len(values), *values)
        table += struct.pack(order + "HHI", tag, kind, len(values))
        if len(data) <= 4:
            table += data.ljust(4, b"\0")
        else:
            table += struct.pack(order + "I", extra_at + len(extra))
            extra += data
    mark = b"II*\0" if order == "<" else b"MM\0*"
    return mark + struct.pack(order + "I", first + len(body)) + body + table + bytes(4) + extra


def tiles_of(image, tile):
    """Rows of tiles, padded with zeros."""
    return [image.crop((x, y, x + tile[0], y + tile[1])).tobytes()
            for y in range(0, image.height, tile[1]) for x in range(0, image.width, tile[0])]


def own_tiffs():
    big = picture(size=(70, 50))
    add("tiles.tif", tiff(tiles_of(big, (32, 16)), [8, 8, 8], 2, (70, 50), tile=(32, 16)), big)
    add("tiles_deflate.tif", tiff(tiles_of(big, (16, 32)), [8, 8, 8], 2, (70, 50), tile=(16, 32),
                                  order=">", compression=8), big)
    planes = [plane.tobytes() for plane in big.split()]
    add("planes.tif", tiff(planes, [8, 8, 8], 2, (70, 50), planes=2), big)
    parts = [chunk for plane in big.split() for chunk in tiles_of(plane, (32, 32))]
    add("planes_tiles.tif", tiff(parts, [8, 8, 8], 2, (70, 50), planes=2, tile=(32, 32)), big)
    cmyk = picture("CMYK")
    add("planes_cmyk.tif", tiff([p.tobytes() for p in cmyk.split()], [8] * 4, 5, planes=2),
        cmyk.convert("RGB"))
    grey = picture("L")
    add("inverted.tif", tiff([grey.tobytes()], [8], 0), grey.point(lambda v: 255 - v).convert("RGB"))
    noise = bytes((i * 97 + i // 7) & 255 for i in range(37 * 4 * 23))
    for bits in (1, 2, 4):
        row = (37 * bits + 7) // 8
        add(f"grey{bits}.tif", tiff([noise[:row * 23]], [bits], 1))
        add(f"inverted{bits}.tif", tiff([noise[:row * 23]], [bits], 0))
    add("grey8_strips.tif", tiff([noise[i * 37 * 5:][:37 * min(5, 23 - 5 * i)] for i in range(5)],
                                 [8], 1, rows=5))
    colours = [(i * 4099) % 65536 for i in range(48)]
    levels = [[colours[c * 16 + i] for c in range(3)] for i in range(16)]
    nibbles = [n for y in range(23) for b in noise[y * 19:][:19] for n in (b >> 4, b & 15)]
    wide = Image.new("RGB", (38, 23))
    wide.putdata([tuple(v >> 8 for v in levels[n]) for n in nibbles])
    add("palette4.tif", tiff([noise[:19 * 23]], [4], 3, more={320: colours}.items()),
        wide.crop((0, 0, 37, 23)))
    for order in "<>":
        name = "little" if order == "<" else "big"
        data = struct.pack(order + "2553H", *(v for v in VALUES for _ in range(3)))
        add(f"rgb16_{name}.tif", tiff([data], [16] * 3, 2, order=order), grey_of_16(VALUES, (37, 23)))
    twelve = [(i * 911) % 4096 for i in range(38 * 23)]
    data = b"".join(struct.pack(">I", a << 12 | b)[1:] for a, b in zip(twelve[::2], twelve[1::2]))
    wide = Image.new("L", (38, 23))
    wide.putdata([(v * 255 + 2047) // 4095 for v in twelve])
    add("grey12.tif", tiff([data], [12], 1, size=(38, 23)), wide.convert("RGB"))
    premultiplied = see_through().convert("RGBa")
    add("premultiplied.tif", tiff([premultiplied.tobytes()], [8] * 4, 2, more={338: [1]}.items()))


def tiffs():
    for compression in ("raw", "tiff_lzw", "tiff_adobe_deflate", "packbits"):
        add(f"rgb_{compression}.tif", encoded(picture(), "TIFF", compression=compression))
    add("jpeg.tif", encoded(picture(), "TIFF", compression="jpeg", quality=90), tolerance=2)
    add("grey.tif", encoded(picture("L"), "TIFF"))
    add("bilevel.tif", encoded(picture("1"), "TIFF"))
    add("group4.tif", encoded(picture("1"), "TIFF", compression="group4"))
    add("palette.tif", encoded(picture().quantize(50), "TIFF", compression="tiff_lzw"))
    add("cmyk.tif", encoded(picture("CMYK"), "TIFF", compression="tiff_lzw"))
    add("rgba.tif", encoded(see_through(), "TIFF"))
    add("grey_alpha.tif", encoded(see_through().convert("LA"), "TIFF"))
    add("ycbcr.tif", encoded(picture("YCbCr"), "TIFF"), tolerance=2)
    add("grey16.tif", encoded(sixteen(), "TIFF"), grey_of_16(VALUES, (37, 23)))
    add("strips.tif", encoded(picture(), "TIFF", strip_size=37 * 3 * 4, compression="tiff_lzw"))
    for orientation in range(1, 9):
        add(f"orientation{orientation}.tif", encoded(picture(), "TIFF", tiffinfo={274: orientation}))
    pages = encoded(picture(), "TIFF", save_all=True, append_images=[picture("L")])
    add("pages.tif", pages)


def avifs():
    if not features.check("avif"):
        return
    # Another version of the library may round the colours otherwise.
    add("plain.avif", encoded(picture(), "AVIF", quality=90), tolerance=3)
    add("full.avif", encoded(picture(), "AVIF", quality=100, subsampling="4:4:4"), tolerance=3)
    add("alpha.avif", encoded(see_through(), "AVIF", quality=90), tolerance=3)
    for orientation in range(2, 9):
        add(f"exif{orientation}.avif", encoded(picture(), "AVIF", quality=90, exif=exif(orientation)),
            tolerance=3)
    add("animated.avif", encoded(picture(), "AVIF", quality=90, save_all=True,
                                 append_images=[picture().rotate(180)]), tolerance=3)


def pngs():
    for orientation in (3, 6):
        add(f"exif{orientation}.png", encoded(picture(), "PNG", exif=exif(orientation)))
    from PIL.PngImagePlugin import PngInfo
    for name, compressed in (("rawexif.png", False), ("rawexif_packed.png", True)):
        info = PngInfo()
        block = exif(8)
        lines = "\n".join(block.hex()[i:i + 72] for i in range(0, len(block) * 2, 72))
        info.add_text("Raw profile type exif", f"\nexif\n{len(block):8}\n{lines}\n", zip=compressed)
        add(name, encoded(picture(), "PNG", pnginfo=info))
    add("interlaced.png", encoded(picture(), "PNG", interlace=1))
    add("grey16.png", encoded(sixteen(), "PNG"), grey_of_16(VALUES, (37, 23)))
    add("palette.png", encoded(picture().quantize(7), "PNG", transparency=2))
    add("grey_trns.png", encoded(picture("L"), "PNG", transparency=9))
    add("rgb_trns.png", encoded(picture(), "PNG", transparency=(7, 0, 0)))


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    for write in (webps, gifs, bmps, tiffs, own_tiffs, avifs, pngs):
        write()
    (OUT / "expected.tsv").write_text("\n".join(ROWS) + "\n")


if __name__ == "__main__":
    main()
