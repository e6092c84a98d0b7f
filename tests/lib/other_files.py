"""Files that are taken for arrays and are others, by what an error calls them."""

import bz2
import gzip
import io
import lzma
import sqlite3
import tarfile
import zlib

import numpy as np

from arrays import npy_bytes


def sqlite_bytes():
    db = sqlite3.connect(":memory:")
    db.execute("CREATE TABLE t(a)")
    return db.serialize()


def tar_bytes():
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        info = tarfile.TarInfo("a.npy")
        info.size = 3
        tar.addfile(info, io.BytesIO(b"abc"))
    return out.getvalue()


# Made by the libraries that make such files, where Python has them; else as their formats say.
OTHERS = {
    "an SQLite database": [sqlite_bytes()],
    "gzip-compressed data": [gzip.compress(npy_bytes(np.arange(3))), gzip.compress(bytes(10240))],  # of tars it is read
    "bzip2-compressed data": [bz2.compress(b"abc"), bz2.compress(b"")],
    "xz-compressed data": [lzma.compress(b"abc")],
    "zstd-compressed data": [b"\x28\xb5\x2f\xfd" + bytes(40)],
    "zlib-compressed data": [zlib.compress(b"abc")],
    "lzma-compressed data": [lzma.compress(b"abc", format=lzma.FORMAT_ALONE)],
    "LZ4-compressed data": [b"\x04\"M\x18" + bytes(40)],
    "an HDF5 file": [b"\x89HDF\r\n\x1a\n" + bytes(40)],
    "a Parquet file": [b"PAR1" + bytes(40) + b"PAR1"],
    "an Arrow file": [b"ARROW1\0\0" + bytes(40)],
    "a MATLAB file": [b"MATLAB 5.0 MAT-file, Platform: GLNXA64".ljust(124) + b"\0\1IM" + bytes(8)],
    "a PNG picture": [b"\x89PNG\r\n\x1a\n" + bytes(40)],
    "a JPEG picture": [b"\xff\xd8\xff\xe0\0\x10JFIF\0" + bytes(40)],
    "a TIFF picture": [b"II*\0\x08\0\0\0" + bytes(40), b"MM\0*\0\0\0\x08" + bytes(40)],
    "an HTML page": [b"<!DOCTYPE html><html></html>", b"\n\n  <html lang='en'>", b"<!doctype HTML>\n"],
    "an XML document": [b'<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>'],
    "a Git LFS pointer, not the file itself": [b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"],
    "JSON": [b'{"a": [1, 2]}', b"[[1, 2], [3, 4]]"],
    "plain text": [b"run,lr,loss\na,0.1,0.5\n", "caf\u00e9 ".encode() * 200],
    "a script": [b"#!/bin/sh\necho\n"],
}
