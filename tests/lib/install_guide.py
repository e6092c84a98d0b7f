"""Runs the sections of docs/install.md: each is a script of its ```sh blocks, with programs of the other languages
made or run where they stand, and what it prints is compared with the ```text blocks."""

import os
import re
import signal
import socket
import subprocess

import shell

GUIDE = os.path.join(shell.ROOT, "docs", "install.md")
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
BORDER = "--- next block ---"
RUN = {"python": "~/venv/bin/python -B", "js": "node"}
# The shell looks for .sqliterc in the home that the system knows of the user, whatever HOME says.
SQLITERC = """sqlite3() {
    if [ -e ~/.sqliterc ]; then command sqlite3 -init ~/.sqliterc "$@"; else command sqlite3 "$@"; fi
}
"""


def sections():
    """{heading: [(language, text)]} of the sections with a ```sh block."""
    with open(GUIDE) as file:
        parts = re.split(r"^## (.*)\n", file.read(), flags=re.M)
    found = {name: FENCE.findall(text) for name, text in zip(parts[1::2], parts[2::2])}
    return {name: blocks for name, blocks in found.items() if any(language == "sh" for language, _ in blocks)}


def needs_a_registry(blocks):
    return any(re.search(r"\b(pip|npm) install|\bmake web\b", text) for language, text in blocks if language == "sh")


def installs_what_it_makes(blocks):
    """Whether a section changes the system by packages of its own making: nothing for the machine where tests run."""
    return any(installs_packages(text) and ".deb" in text for _, text in blocks)


def installs_packages(text):
    """Whether a ```sh block is of apt-get. Where tests run, what it installs is there."""
    return text.startswith("apt-get ")


def script_of(blocks):
    """The section as a shell script that prints BORDER where a ```text block has ended what came before."""
    script, sql = ["set -eu\n"], False
    for number, (language, text) in enumerate(blocks):
        if language == "sh":
            script.append(text)
        elif language == "c":
            script.append(f"cat >program.c <<'END_OF_FILE'\n{text}END_OF_FILE\n")
        elif language in RUN:
            name = f"block_{number}.{language}"
            script.append(f"cat >{name} <<'END_OF_FILE'\n{text}END_OF_FILE\n{RUN[language]} {name}\n")
        elif language == "text" and not sql:
            script.append(f"echo '{BORDER}'\n")
        sql = language == "sql"  # test_docs.py runs these
    return "".join(script)


def expected_of(blocks):
    before = [None, *(language for language, _ in blocks)]
    return [text for last, (language, text) in zip(before, blocks) if language == "text" and last != "sql"]


def environment(home):
    """A person's, with an empty home; clients of registries keep their settings and caches."""
    values = dict(os.environ, HOME=str(home), LC_ALL="C.UTF-8", PATH="/usr/bin:/bin:" + os.environ["PATH"])
    old = os.path.expanduser("~")
    values.setdefault("PIP_CACHE_DIR", os.path.join(old, ".cache", "pip"))
    values.setdefault("npm_config_cache", os.path.join(old, ".npm"))
    values.setdefault("npm_config_userconfig", os.path.join(old, ".npmrc"))
    # Where npm has no binary of better-sqlite3 to offer, SQLite is compiled: the last -O counts.
    values.update(CFLAGS="-O0", CXXFLAGS="-O0", PIP_DISABLE_PIP_VERSION_CHECK="1")
    for name in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "PYTHONPATH", "PYTEST_ADDOPTS"):
        values.pop(name, None)
    return values


def free_port():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return server.getsockname()[1]


def check(name, home, seconds):
    """Run a section on this machine, from the folder of the sources, with a home of its own."""
    blocks = [(language, text) for language, text in sections()[name] if not installs_packages(text)]
    script = SQLITERC + script_of(blocks).replace("8001", str(free_port()))
    check_output(name, blocks, ["sh", "-c", script], seconds, cwd=shell.ROOT, env=environment(home))


def check_output(name, blocks, command, seconds, **where):
    """Run a command that runs the script of a section, and compare what it prints with the blocks of text."""
    process = subprocess.Popen(
        command,
        **where,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        printed, _ = process.communicate(timeout=seconds)
    finally:
        try:
            os.killpg(process.pid, signal.SIGTERM)  # servers that the section has started
        except ProcessLookupError:
            pass
    assert process.returncode == 0, f"{name} ended with {process.returncode}:\n{printed[-6000:]}"
    got, expected = printed.split(BORDER + "\n"), expected_of(blocks)
    assert len(got) == len(expected) + 1
    for text, want in zip(got, expected):
        # After what make and npm say.
        assert text.rstrip().endswith(want.rstrip()), f"{name} printed\n{text}\nand not\n{want}"
