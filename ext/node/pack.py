#!/usr/bin/env python3
"""pack.py FOLDER: write the npm packages, npyext and one with the library of each platform, which `make npm` calls.

npyext names the others as optional dependencies, each of which says where it may be installed (os, cpu and libc of
package.json): npm takes the one that fits. A package is a gzipped tar of a folder called `package`, written here, so
that the same sources and libraries give the same bytes.
"""

import gzip
import io
import json
import os
import sys
import tarfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(ROOT, "ext", "tools"), os.path.join(ROOT, "ext", "python")]

import backend
import bundled
import cross

FILES = ("index.js", "index.mjs", "index.d.ts", "README.md")


def described(name, **more):
    about = {
        "name": name,
        "version": backend.version(),
        "description": "SQL over NumPy's .npy and .npz, WebDataset shards and checkpoints (.safetensors, .pt, .gguf), in SQLite",
        "license": "MIT",
        "keywords": ["sqlite", "sqlite-extension", "numpy", "npy", "npz", "webdataset", "safetensors", "gguf"],
    }
    return json.dumps({**about, **more}, indent=2).encode() + b"\n"


def package_name(platform):
    return f"npyext-{platform.name}"


def platform_files(platform):
    """[(name, bytes)]"""
    os_name, cpu, libc = platform.npm
    library = os.path.basename(platform.object)
    where = {"os": [os_name], "cpu": [cpu], **({"libc": [libc]} if libc else {})}
    about = described(package_name(platform), **where, files=[library, "npyext.cdx.json", "LICENSE.zlib"])
    text = f"The library of npyext for {platform.name}; install the package npyext.\n"
    sbom = bundled.sbom(backend.read(platform.object), backend.version())
    return [("package.json", about), (library, backend.read(platform.object)), ("README.md", text.encode()), ("npyext.cdx.json", sbom)]


def main_files(platforms):
    others = {package_name(platform): backend.version() for platform in platforms}
    exports = {".": {"types": "./index.d.ts", "import": "./index.mjs", "require": "./index.js"}}
    about = described(
        "npyext", main="index.js", types="index.d.ts", exports=exports, files=list(FILES), optionalDependencies=others,
        engines={"node": ">=16"},
    )
    return [("package.json", about), *((name, backend.read(HERE, "npyext", name)) for name in FILES)]


def write_package(folder, name, files):
    """The path of the package."""
    path = os.path.join(folder, f"{name}-{backend.version()}.tgz")
    with open(path, "wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=0) as zipped:
        with tarfile.open(fileobj=zipped, mode="w", format=tarfile.USTAR_FORMAT) as tar:
            for member, data in [*files, *bundled.licences()]:
                entry = tarfile.TarInfo(f"package/{member}")
                entry.size, entry.mode, entry.mtime = len(data), 0o644, 499162500  # npm's own: 1985-10-26
                tar.addfile(entry, io.BytesIO(data))
    return path


def main(folder):
    platforms = cross.build_all()
    os.makedirs(folder, exist_ok=True)
    paths = [write_package(folder, package_name(platform), platform_files(platform)) for platform in platforms]
    for path in [write_package(folder, "npyext", main_files(platforms)), *paths]:
        print(os.path.relpath(path, ROOT))


if __name__ == "__main__":
    main(sys.argv[1])
