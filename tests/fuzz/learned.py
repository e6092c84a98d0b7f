"""What fuzzing has learned: inputs that together reach all that any did, in tests/fuzz/learned/TARGET.tar.xz.

The tests replay them, and the next fuzzing begins with them; learn.py adds more.
"""

import itertools
import os
import tarfile

LEARNED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "learned")


def inputs(target, first=0, step=1):
    """The bytes of each, or of each step-th from a first one on."""
    path = os.path.join(LEARNED, f"{target}.tar.xz")
    if not os.path.exists(path):
        return
    with tarfile.open(path) as archive:
        for member in itertools.islice(archive, first, None, step):
            yield archive.extractfile(member).read()


def write(folder, target, first=0, step=1):
    """Puts them into FOLDER/TARGET; their number."""
    os.makedirs(os.path.join(folder, target), exist_ok=True)
    number = 0
    for number, contents in enumerate(inputs(target, first, step), 1):
        with open(os.path.join(folder, target, f"learned-{number:05}"), "wb") as file:
            file.write(contents)
    return number
