"""What a self-contained library is made of: its SBOM (CycloneDX 1.5), and the licences that go with it.

Versions are read from the library itself, which contains what zlib and minizip say of themselves: no list can differ
from what was linked. A linker may drop these words, which nothing refers to; then a part has no version here.
The same library gives the same bytes, so there is no date.
"""

import hashlib
import json
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PARTS = {"zlib": rb" deflate ([\d.]+) Copyright", "minizip": rb" (?:un)?zip ([\d.]+) Copyright"}


def component(name, version, licence, **more):
    about = {"type": "library", "bom-ref": name, "name": name, **({"version": version} if version else {})}
    return {**about, "licenses": [{"license": {"id": licence}}], **more}


def sbom(library, version):
    """The bytes of the SBOM of a library, given as bytes."""
    parts = []
    for name, says in PARTS.items():
        found = re.search(says, library)
        parts.append(component(name, found and found[1].decode(), "Zlib"))
    hashes = [{"alg": "SHA-256", "content": hashlib.sha256(library).hexdigest()}]
    about = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": component("npyext", version, "MIT", hashes=hashes)},
        "components": parts,
        "dependencies": [{"ref": "npyext", "dependsOn": list(PARTS)}, *({"ref": name} for name in PARTS)],
    }
    return json.dumps(about, indent=2).encode() + b"\n"


def licences():
    """[(name, bytes)]"""
    texts = []
    for name, path in (("LICENSE", os.path.join(ROOT, "LICENSE")), ("LICENSE.zlib", os.path.join(HERE, "zlib-licence.txt"))):
        with open(path, "rb") as file:
            texts.append((name, file.read()))
    return texts
