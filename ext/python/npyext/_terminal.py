"""The shell at a terminal: a prompt, a history that is kept, and completion."""

import os
import sys

import apsw

from ._complete import Completer
from ._load import method
from ._version import __version__

try:
    import readline
except ImportError:  # Windows has none
    readline = None

NLINES = 2000  # of the history


def history_path():
    return os.environ.get("NPYEXT_HISTORY", os.path.join(os.path.expanduser("~"), ".npyext_history"))


def load_history(path):
    try:
        readline.read_history_file(path)
    except OSError:
        pass  # there is none yet
    readline.set_history_length(NLINES)


def save_history(path):
    """For nobody else to read: what is typed names files, and may hold secrets."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
        os.chmod(path, 0o600)
        readline.write_history_file(path)
        os.chmod(path, 0o600)
    except OSError:
        pass  # a home that cannot be written to keeps no history


def _use_readline(shell):
    readline.set_completer(Completer(shell, readline).complete)
    readline.set_completer_delims(" \t\n,()=<>+-*/;")  # no quotes: readline would close them after a folder
    is_libedit = "libedit" in (readline.__doc__ or "")
    readline.parse_and_bind("bind ^I rl_complete" if is_libedit else "tab: complete")
    if hasattr(readline, "set_auto_history"):
        readline.set_auto_history(True)


def _ask(shell):
    def next_line(is_continued):
        try:
            return input(shell.prompts[is_continued]) + "\n"
        except EOFError:
            if sys.stdin.isatty():
                print()
            return ""

    return next_line


def converse(shell):
    """Reads from the terminal until the shell ends."""
    version = method(apsw, "sqlite_lib_version")()
    where = "" if shell.path != ":memory:" else 'Connected to a transient in-memory database; ".open FILE" reopens on a file.\n'
    print(f'npyext {__version__}, SQLite {version}\nEnter ".help" for usage hints.\n{where}', end="", flush=True)
    path = history_path() if readline is not None else ""
    if readline is not None:
        _use_readline(shell)
    if path:
        load_history(path)
    try:
        shell.read(_ask(shell), is_terminal=True)
    finally:
        if path:
            save_history(path)
