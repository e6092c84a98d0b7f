"""The build backend of the Python package (PEP 517), and `python3 backend.py FOLDER [all]`, which `make wheel` and
`make wheels` call: for this machine, and for each platform that ext/tools/cross.py builds for.

A wheel is a zip with a few files of known form (PEP 427), written here by hand: the same sources and compiler give the
same bytes, and nothing has to be installed. It holds the self-contained extension, so its platform tag is the oldest
glibc that the extension's symbols ask for.
"""

import base64
import hashlib
import os
import platform
import re
import subprocess
import sys
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
EXTENSION = os.path.join(ROOT, ".build", "standalone", "npyext.so")
sys.path.insert(0, os.path.join(ROOT, "ext", "tools"))

import bundled  # noqa: E402

# The earliest that a zip can say; SOURCE_DATE_EPOCH would make wheels of the same contents differ.
DATE = (1980, 1, 1, 0, 0, 0)

METADATA = """\
Metadata-Version: 2.1
Name: npyext
Version: {version}
Summary: SQL over NumPy's .npy and .npz, WebDataset shards and checkpoints (.safetensors, .pt, .gguf), in SQLite
License: MIT
License-File: LICENSE
License-File: LICENSE.zlib
Keywords: sqlite,numpy,npy,npz,webdataset,safetensors,gguf,checkpoint
Classifier: Development Status :: 4 - Beta
Classifier: Environment :: Console
Classifier: Intended Audience :: Developers
Classifier: Intended Audience :: Science/Research
Classifier: License :: OSI Approved :: MIT License
Classifier: Operating System :: MacOS
Classifier: Operating System :: Microsoft :: Windows
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: C
Classifier: Programming Language :: Python :: 3
Classifier: Topic :: Database
Classifier: Topic :: Scientific/Engineering
Requires-Python: >=3.7
Provides-Extra: apsw
Requires-Dist: apsw; extra == 'apsw'
Provides-Extra: numpy
Requires-Dist: numpy; extra == 'numpy'
Description-Content-Type: text/markdown

{description}"""


def read(*parts):
    with open(os.path.join(*parts), "rb") as file:
        return file.read()


def version():
    return re.search(rb'NPYEXT_VERSION "([^"]+)"', read(ROOT, "ext", "core", "version.h"))[1].decode()


def platform_tag(extension):
    """`manylinux_2_17_x86_64` for symbols of glibc up to 2.17, which older pips call manylinux2014."""
    machine = platform.machine()
    symbols = subprocess.run(["objdump", "-T", extension], stdout=subprocess.PIPE, check=True).stdout.decode()
    versions = [tuple(map(int, found.split("."))) for found in re.findall(r"GLIBC_(\d+\.\d+)", symbols)]
    if not versions:
        return f"linux_{machine}"
    major, minor = max(versions)
    minor = max(minor, 17)  # the oldest that pips still know by number
    older_name = f".manylinux2014_{machine}" if (major, minor) == (2, 17) else ""
    return f"manylinux_{major}_{minor}_{machine}{older_name}"


def metadata():
    return METADATA.format(version=version(), description=read(HERE, "README.md").decode()).encode()


def wheel_text(platforms):
    tags = "".join(f"Tag: py3-none-{each}\n" for each in platforms.split("."))
    return f"Wheel-Version: 1.0\nGenerator: npyext backend.py\nRoot-Is-Purelib: false\n{tags}".encode()


# What other programs look for in the packages of their environment.
ENTRY_POINTS = b"""\
[console_scripts]
npyext = npyext._command:main

[datasette]
npyext = npyext.datasette

[sqlite_utils]
npyext = npyext.sqlite_utils_plugin
"""


def package_files():
    """The paths of modules and templates, from here."""
    found = []
    for folder, _, names in os.walk(os.path.join(HERE, "npyext")):
        found += [os.path.relpath(os.path.join(folder, name), HERE) for name in names if name.endswith((".py", ".html"))]
    return sorted(found)


def contents(extension, platforms):
    """[(path in the wheel, bytes)], RECORD left out."""
    info = f"npyext-{version()}.dist-info"
    files = [(path.replace(os.sep, "/"), read(HERE, path)) for path in package_files()]
    files.append(("npyext/_version.py", f'__version__ = "{version()}"\n'.encode()))
    files.append((f"npyext/{os.path.basename(extension)}", read(extension)))
    files.append((f"npyext-{version()}.data/data/share/man/man1/npyext.1", man_page()))
    files += [(f"{info}/{name}", text) for name, text in bundled.licences()]
    files.append((f"{info}/sboms/npyext.cdx.json", bundled.sbom(read(extension), version())))  # PEP 770
    files.append((f"{info}/METADATA", metadata()))
    files.append((f"{info}/WHEEL", wheel_text(platforms)))
    files.append((f"{info}/entry_points.txt", ENTRY_POINTS))
    return files


def man_page():
    """Made of what `npyext --help` says, which needs nothing of the package."""
    names = {}
    exec(compile(read(HERE, "npyext", "_help.py"), "_help.py", "exec"), names)
    return names["man_page"](version()).encode()


def record(files, path):
    lines = []
    for name, data in files:
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(data)}\n")
    return "".join([*lines, f"{path},,\n"]).encode()


def write_wheel(folder, extension=EXTENSION, platforms=None):
    """Writes the wheel of an extension for the platforms that it is for, tags with dots between, and gives its name."""
    platforms = platforms or platform_tag(extension)
    files = contents(extension, platforms)
    path = f"npyext-{version()}.dist-info/RECORD"
    files.append((path, record(files, path)))
    name = f"npyext-{version()}-py3-none-{platforms}.whl"
    os.makedirs(folder, exist_ok=True)
    with zipfile.ZipFile(os.path.join(folder, name), "w", zipfile.ZIP_DEFLATED) as wheel:
        for file, data in files:
            entry = zipfile.ZipInfo(file, DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o755 if file.endswith((".so", ".dylib", ".dll")) else 0o644) << 16
            entry.create_system = 3
            wheel.writestr(entry, data)
    return name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    subprocess.run(["make", "-C", ROOT, "npyext-standalone"], stdout=sys.stderr, check=True)
    return write_wheel(wheel_directory)


def build_sdist(sdist_directory, config_settings=None):
    raise RuntimeError("npyext's sources are built in their repository: make wheel, or pip wheel ext/python")


def write_wheels(folder):
    """[name], a wheel for each platform."""
    import cross

    return [write_wheel(folder, each.object, each.wheel) for each in cross.build_all()]


if __name__ == "__main__":
    to = sys.argv[1]
    for made in write_wheels(to) if sys.argv[2:] == ["all"] else [write_wheel(to)]:
        print(os.path.relpath(os.path.join(to, made), ROOT))
