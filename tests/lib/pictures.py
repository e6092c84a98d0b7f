"""What is in a PNG and in an SVG, read without a library for either: the chunks and filters of ISO/IEC 15948, and XML."""

import re
import struct
import xml.etree.ElementTree
import zlib

import numpy as np

SVG = "{http://www.w3.org/2000/svg}"
NSAMPLES = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}


def png_chunks(data):
    """[(type, contents)], each with its CRC held against it."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, at = [], 8
    while at < len(data):
        (nbytes,) = struct.unpack_from(">I", data, at)
        kind, contents = data[at + 4 : at + 8], data[at + 8 : at + 8 + nbytes]
        assert struct.unpack_from(">I", data, at + 8 + nbytes) == (zlib.crc32(kind + contents),)
        chunks.append((kind.decode(), contents))
        at += 12 + nbytes
    assert chunks[0][0] == "IHDR" and chunks[-1] == ("IEND", b"")
    return chunks


def _paeth(a, b, c):
    p = a + b - c
    pa, pb, pc = abs(p - a), abs(p - b), abs(p - c)
    return a if pa <= pb and pa <= pc else b if pb <= pc else c


def _unfilter(kind, row, above, n):
    out = bytearray(len(row))
    for i, byte in enumerate(row):
        left, corner = (out[i - n], above[i - n]) if i >= n else (0, 0)
        guess = {0: 0, 1: left, 2: above[i], 3: (left + above[i]) // 2, 4: _paeth(left, above[i], corner)}[kind]
        out[i] = (byte + guess) % 256
    return out


def png_pixels(data):
    """(colour type, array (h, w, 4) of red, green, blue and alpha)."""
    chunks = png_chunks(data)
    width, height, bits, kind, deflate, filters, interlace = struct.unpack(">IIBBBBB", chunks[0][1])
    assert (bits, deflate, filters, interlace) == (8, 0, 0, 0)
    n = NSAMPLES[kind]
    raw = zlib.decompress(b"".join(contents for name, contents in chunks if name == "IDAT"))
    assert len(raw) == height * (1 + width * n)
    rows, above = [], bytes(width * n)
    for at in range(0, len(raw), 1 + width * n):
        above = _unfilter(raw[at], raw[at + 1 : at + 1 + width * n], above, n)
        rows.append(bytes(above))
    samples = np.frombuffer(b"".join(rows), "u1").reshape(height, width, n)
    alpha = np.full((height, width, 1), 255, "u1")
    if kind == 3:
        palette = np.frombuffer(dict(chunks)["PLTE"], "u1").reshape(-1, 3)
        return kind, np.concatenate([palette[samples[..., 0]], alpha], 2)
    if kind in (0, 4):
        return kind, np.concatenate([np.repeat(samples[..., :1], 3, 2), samples[..., 1:] if kind == 4 else alpha], 2)
    return kind, np.concatenate([samples, alpha], 2) if kind == 2 else samples


class Plot:
    """An SVG of npy_plot: its texts, and its lines in the numbers of its axes, as the ticks' texts have them."""

    def __init__(self, text):
        root = xml.etree.ElementTree.fromstring(text)
        assert root.tag == SVG + "svg"
        self.texts = [e.text for e in root.iter(SVG + "text")]
        self.title = next((e.text for e in root.iter(SVG + "title")), None)
        labels = [e for e in root.iter(SVG + "text") if e.get("font-weight") is None and e.get("fill") is None]
        self.x_ticks = [(float(e.get("x")), float(e.text)) for e in labels if e.get("text-anchor") == "middle"]
        self.y_ticks = [(float(e.get("y")) - 4, float(e.text)) for e in labels if e.get("text-anchor") == "end"]
        self.notes = [e.text for e in root.iter(SVG + "text") if e.get("fill") in ("#c00", "#666")]
        paths = list(root.iter(SVG + "path"))
        self.marks = [float(x) for e in paths if e.get("stroke") == "#c00" for x in re.findall(r"M([\d.]+)", e.get("d"))]
        drawn = [e for e in paths if e.get("stroke-linejoin")]
        self.lines = [self._pieces(e.get("d")) for e in drawn if float(e.get("stroke-width")) < 4]
        self.dots = [piece[0] for e in drawn if float(e.get("stroke-width")) == 4 for piece in self._pieces(e.get("d"))]
        self.ends = [float(v) for e in paths if e.get("stroke") == "#888" for v in re.findall(r"M([\d.]+) [\d.]+H([\d.]+)", e.get("d"))[-1]]

    @staticmethod
    def _pieces(d):
        """The lines between gaps, each as its places."""
        pieces = []
        for piece in d.split("M")[1:]:
            places = [tuple(float(v) for v in place.split()) for place in piece.replace("h0", "").split("L")]
            assert all(len(place) == 2 for place in places)
            pieces.append(places)
        return pieces

    @staticmethod
    def scale(ticks):
        """(value of a place, pixels of 1) by the outermost ticks."""
        (a, low), (b, high) = min(ticks, key=lambda t: t[1]), max(ticks, key=lambda t: t[1])
        return (lambda place: low + (place - a) * (high - low) / (b - a)), (b - a) / (high - low)

    @staticmethod
    def rounding(ticks, places):
        """How far `scale` can put these places from their values: a tick and an item are each rounded to a tenth of
        a pixel, and beyond the outermost ticks the error of those two grows with the distance."""
        (a, low), (b, high) = min(ticks, key=lambda t: t[1]), max(ticks, key=lambda t: t[1])
        between = (np.asarray(places) - a) / (b - a)
        npixels = 0.051 * (1 + np.abs(between) + np.abs(1 - between))
        return npixels * abs(high - low) / (abs(b - a) - 0.1)
