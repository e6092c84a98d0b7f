"""The command `npyext` and `python -m npyext`: a shell with the extension loaded, or the extension's path."""

import signal
import sys

from . import _help
from ._load import loadable_path
from ._version import __version__

NO_SHELL = """\
npyext: the shell is that of the package apsw, which this Python ({python}) does not have: {error}.
`pip install apsw` brings it. `npyext --path` gives the path of the extension for other shells: .load PATH
"""


NO_PREFIX = "npyext: --remote is followed by what may be read, as in --remote s3://bucket/ or --remote https://host/folder/\n"


def _take_remotes(arguments):
    """The URLs after --remote, and the other arguments."""
    remotes, others = [], list(arguments)
    while {"--remote", "-remote"} & set(others):
        i = next(i for i, each in enumerate(others) if each in ("--remote", "-remote"))
        if "://" not in "".join(others[i + 1 : i + 2]):
            return None, others
        remotes.append(others[i + 1])
        del others[i : i + 2]
    return remotes, others


def _run_shell(arguments):
    remotes, arguments = _take_remotes(arguments)
    if remotes is None:
        sys.stderr.write(NO_PREFIX)
        return 1
    try:
        from ._shell import run
    except ImportError as error:
        sys.stderr.write(NO_SHELL.format(python=sys.executable, error=error))
        return 1
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `npyext ... | head` ends without a word, as sqlite3 does
    return run(arguments, remotes)


def main(arguments=None):
    """`npyext [OPTIONS] [DATABASE] [SQL ...]`; returns the exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments in (["--path"], ["-path"]):
        print(loadable_path())
        return 0
    if arguments in (["--version"], ["-version"]):
        print(__version__)
        return 0
    if {"--help", "-help", "-h"} & set(arguments):
        print(_help.usage(), end="")
        return 0
    return _run_shell(arguments)


def main_of_module():
    """`python -m npyext`, which tells a program that reads it the path, as in `$(python -m npyext)`."""
    if len(sys.argv) == 1 and not sys.stdout.isatty():
        return main(["--path"])
    return main()
