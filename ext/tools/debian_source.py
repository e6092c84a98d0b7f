#!/usr/bin/env python3
"""debian_source.py FOLDER: make npyext's Debian source package in FOLDER, which must not exist yet.

    npyext_VERSION.orig.tar.xz                    the sources
    npyext_VERSION-1.dsc, .debian.tar.xz          and ext/tools/debian, with its @WORDS@ filled in
    npyext-VERSION/                               both, unpacked: dpkg-buildpackage builds there

The same sources give the same bytes: files are sorted by name, belong to root, and all have the same time. That is
SOURCE_DATE_EPOCH, or the time of the last commit, or, without Git, that of the newest file. DEBFULLNAME and DEBEMAIL, as
for dch, name another maintainer.
"""

import datetime
import email.utils
import os
import re
import subprocess
import sys
import tarfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TEMPLATES = os.path.join(ROOT, "ext", "tools", "debian")
# What the package is made of. Everything else in the top folder is for Git, CI and editors.
SOURCES = "CHANGELOG.md LICENSE Makefile README.md docs ext sql src tests".split()
MAINTAINER = "npyext developers", "maintainers@users.noreply.a-seed-3431aa34.example"


def fail(message):
    sys.exit(f"debian_source.py: {message}")


def read(*parts):
    with open(os.path.join(ROOT, *parts), encoding="utf-8") as file:
        return file.read()


def git(*arguments):
    """What Git answers, or nothing without Git. A repository in a folder above the sources is not theirs."""
    if not os.path.exists(os.path.join(ROOT, ".git")):
        return ""
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    except FileNotFoundError:
        return ""
    return done.stdout if done.returncode == 0 else ""


def below(path):
    """The files below a folder, or path itself if it is a file."""
    if os.path.isfile(os.path.join(ROOT, path)):
        yield path
    for at, _, names in os.walk(os.path.join(ROOT, path)):
        yield from (os.path.relpath(os.path.join(at, name), ROOT) for name in names)


def files():
    """The paths of the sources: those that Git knows, or else all. Hidden files are for editors, or left by Python."""
    listed = git("ls-files", "-z", "--", *SOURCES).split("\0")[:-1] or [path for top in SOURCES for path in below(top)]
    ours = (path for path in listed if not re.search(r"(^|/)(\.|__pycache__/)", path))
    return sorted(path for path in ours if os.path.isfile(os.path.join(ROOT, path)))


def version():
    found = re.search(r'NPYEXT_VERSION "([^"]+)"', read("ext", "core", "version.h"))[1]
    # A pre-release comes before its release: 0.3.0-rc1 is Debian's 0.3.0~rc1.
    return found.replace("-", "~")


def released():
    """Whether CHANGELOG.md, which must begin with this version, says so."""
    heading = re.search(r"^## (\S+)(.*)", read("CHANGELOG.md"), re.M)
    if heading[1].replace("-", "~") != version():
        fail(f"CHANGELOG.md begins with {heading[1]}, ext/core/version.h has {version()}")
    return "unreleased" not in heading[2]


def time_of(paths):
    given = os.environ.get("SOURCE_DATE_EPOCH") or git("log", "-1", "--format=%ct")
    return int(given or max(os.stat(os.path.join(ROOT, path)).st_mtime for path in paths))


def changelog(maintainer, time):
    distribution = "unstable" if released() else "UNRELEASED"
    text = "For the changes see CHANGELOG.md, installed as changelog.gz."
    date = email.utils.format_datetime(datetime.datetime.fromtimestamp(time, datetime.timezone.utc))
    return f"npyext ({version()}-1) {distribution}; urgency=medium\n\n  * {text}\n\n -- {maintainer}  {date}\n"


def licence():
    """(the holder of the copyright, the text after that line, formatted for DEP-5)."""
    found = re.search(r"^Copyright \(c\) ([^\n]*)\n\n(.*)", read("LICENSE"), re.M | re.S)
    lines = found[2].rstrip("\n").split("\n")
    return found[1], "\n".join(f" {line}" if line else " ." for line in lines)


def write_orig(path, paths, time):
    def entry(info):
        info.uid = info.gid = 0
        info.uname = info.gname = "root"
        info.mode = 0o755 if info.mode & 0o100 else 0o644
        info.mtime = time
        return info

    with tarfile.open(path, "w:xz", format=tarfile.GNU_FORMAT) as tar:
        for name in paths:
            tar.add(os.path.join(ROOT, name), f"npyext-{version()}/{name}", filter=entry)


def write_templates(folder, words, time):
    """Writes ext/tools/debian, with its words filled in, as a package's debian/, and its changelog."""
    texts = {"changelog": words.pop("CHANGELOG")}
    for at, _, names in os.walk(TEMPLATES):
        for name in names:
            path = os.path.relpath(os.path.join(at, name), TEMPLATES)
            texts[path] = re.sub(r"@([A-Z]+)@", lambda word: words[word[1]], read(TEMPLATES, path))
    for path, text in texts.items():
        to = os.path.join(folder, path)
        os.makedirs(os.path.dirname(to), exist_ok=True)
        with open(to, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(to, 0o755 if path == "rules" else 0o644)
        os.utime(to, (time, time))


def main(folder):
    os.umask(0o022)
    os.makedirs(folder)
    paths = files()
    time = time_of(paths)
    name, address = os.environ.get("DEBFULLNAME"), os.environ.get("DEBEMAIL")
    maintainer = "{} <{}>".format(*((name, address) if name and address else MAINTAINER))
    orig, tree = f"npyext_{version()}.orig.tar.xz", f"npyext-{version()}"
    write_orig(os.path.join(folder, orig), paths, time)
    subprocess.run(["tar", "-xf", orig], cwd=folder, check=True)
    holder, text = licence()
    words = {"MAINTAINER": maintainer, "COPYRIGHT": holder, "LICENSE": text, "CHANGELOG": changelog(maintainer, time)}
    write_templates(os.path.join(folder, tree, "debian"), words, time)
    env = dict(os.environ, LC_ALL="C.UTF-8", SOURCE_DATE_EPOCH=str(time))
    subprocess.run(["dpkg-source", "--build", tree], cwd=folder, env=env, stdout=subprocess.DEVNULL, check=True)
    print(os.path.join(folder, f"npyext_{version()}-1.dsc"))


if __name__ == "__main__":
    main(sys.argv[1])
