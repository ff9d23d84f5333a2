"""Reading the size of an image from the header of its file.

So images that would take too much memory when decoded are refused, and no library is needed.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping

from excerpt.base.errors import ReadError

SMALLEST_SIDE = 32
MAX_PIXELS = 50_000_000

Size = tuple[int, int]


def image_size(data: bytes) -> Size:
    """Return the width and height, in pixels, of the image (or first image) in a file.

    Raises ReadError for an unknown format, and for an image that is too small or too large for OCR.
    """
    size = next((measure for magic, measure in _FORMATS.items() if data.startswith(magic)), None)
    try:
        width, height = size(data) if size else (0, 0)
    except (struct.error, ValueError, IndexError):
        width = height = 0
    if width <= 0 or height <= 0:
        raise ReadError(
            "The file is damaged, or not an image that can be read.",
            "Use one of these formats: PNG, JPEG, GIF, BMP, TIFF and WebP.",
        )
    if min(width, height) < SMALLEST_SIDE:
        raise ReadError(f"The image is {width} by {height} pixels, too small to hold text.")
    if width * height > MAX_PIXELS:
        raise ReadError(
            f"The image is {width:,} by {height:,} pixels, more than the {MAX_PIXELS // 1_000_000} million allowed.",
            "Save a smaller version to have its text read.",
        )
    return width, height


def count_tiff_pages(data: bytes) -> int:
    """Return the number of images in a TIFF, which scanners and fax machines use as pages; 1 for other formats."""
    if not data.startswith((b"II*\0", b"MM\0*")):
        return 1
    order = "<" if data.startswith(b"II") else ">"
    directories: set[int] = set()
    (at,) = struct.unpack_from(f"{order}I", data, 4)
    # A damaged chain leads out of the file, or in a circle.
    while at and at not in directories and at + 2 <= len(data):
        directories.add(at)
        (entries,) = struct.unpack_from(f"{order}H", data, at)
        end = at + 2 + 12 * entries
        at = struct.unpack_from(f"{order}I", data, end)[0] if end + 4 <= len(data) else 0
    return len(directories)


def _png_size(data: bytes) -> Size:
    width, height = struct.unpack_from(">II", data, 16)
    return width, height


def _gif_size(data: bytes) -> Size:
    width, height = struct.unpack_from("<HH", data, 6)
    return width, height


def _bmp_size(data: bytes) -> Size:
    (header,) = struct.unpack_from("<I", data, 14)
    width, height = struct.unpack_from("<HH" if header == 12 else "<ii", data, 18)
    return width, abs(height)  # negative if the rows are stored from the top


def _webp_size(data: bytes) -> Size:
    if data[8:16] == b"WEBPVP8X":
        return 1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little")
    if data[8:16] == b"WEBPVP8L":
        (bits,) = struct.unpack_from("<I", data, 21)
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if data[8:16] == b"WEBPVP8 ":
        width, height = struct.unpack_from("<HH", data, 26)
        return width & 0x3FFF, height & 0x3FFF
    return 0, 0


def _jpeg_size(data: bytes) -> Size:
    """Return the size in the JPEG's frame header, which follows any number of other segments."""
    at = 2
    while data[at] == 0xFF:
        marker = data[at + 1]
        if marker == 0xFF:  # a padding byte
            at += 1
        elif 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack_from(">HH", data, at + 5)
            return width, height
        else:
            (length,) = struct.unpack_from(">H", data, at + 2)
            at += 2 + length
    return 0, 0


def _tiff_size(data: bytes) -> Size:
    """Return the size of a TIFF's first image, from two entries of its directory (16 or 32 bits each)."""
    order = "<" if data.startswith(b"II") else ">"
    (directory,) = struct.unpack_from(f"{order}I", data, 4)
    (entries,) = struct.unpack_from(f"{order}H", data, directory)
    sizes = {256: 0, 257: 0}
    for number in range(entries):
        at = directory + 2 + 12 * number
        tag, kind = struct.unpack_from(f"{order}HH", data, at)
        if tag in sizes:
            (sizes[tag],) = struct.unpack_from(f"{order}{'H' if kind == 3 else 'I'}", data, at + 8)
    return sizes[256], sizes[257]


def _pnm_size(data: bytes) -> Size:
    """Return the size in a PNM file without comments: two numbers after the format's name."""
    width, height = data[:40].split(None, 3)[1:3]
    return (int(width), int(height)) if width.isdigit() and height.isdigit() else (0, 0)


_FORMATS: Mapping[bytes, Callable[[bytes], Size]] = {
    b"\x89PNG\r\n\x1a\n": _png_size,
    b"\xff\xd8\xff": _jpeg_size,
    b"GIF87a": _gif_size,
    b"GIF89a": _gif_size,
    b"BM": _bmp_size,
    b"RIFF": _webp_size,
    b"II*\0": _tiff_size,
    b"MM\0*": _tiff_size,
    b"P5\n": _pnm_size,
    b"P6\n": _pnm_size,
}
