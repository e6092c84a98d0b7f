"""apsw's shell with the extension in every connection, an end for statements that last, and a line about them."""

import os
import sys

import apsw
import apsw.shell

from ._database import refuse_array
from ._load import load
from ._progress import Progress
from ._version import __version__

# As often is Python asked while a statement runs: for Ctrl-C and for the progress. npyext's own look for interrupts runs
# a statement of about 2,000 steps, in which it must be asked, too.
NSTEPS = 1000


class Script:
    """A file with a `;` after its end: sqlite3's shell needs none there, but apsw's does."""

    def __init__(self, file):
        self._file, self._has_ended = file, False

    def __getattr__(self, name):
        return getattr(self._file, name)

    def readline(self):
        line = self._file.readline()
        if line or self._has_ended:
            return line
        self._has_ended = True
        return ";\n"


class Shell(apsw.shell.Shell):
    """progress is None where it would not be seen."""

    def __init__(self, progress, **options):
        self.progress = progress
        self.nfailures = 0
        super().__init__(**options)
        self.prompt = "npyext> "
        self.moreprompt = "   ...> "

    def process_args(self, args):
        """Where NO_COLOR is set, apsw takes every option that it meets for -nocolour: -csv, too."""
        no_color = os.environ.pop("NO_COLOR", None)
        try:
            return super().process_args([*([] if no_color is None else ["-nocolour"]), *args])
        finally:
            if no_color is not None:
                os.environ["NO_COLOR"] = no_color

    def usage(self):
        usage = super().usage().replace("python3 -m apsw", "npyext").replace("show SQLite version", "show the versions")
        return (
            usage
            + "   --remote URL         read what is below this URL, as in s3://bucket/ (by fsspec; may be repeated)\n"
            + "   -path                show the path of the extension\n"
        )

    def cmdloop(self, intro=None, transient=None):
        sqlite, package = apsw.sqlitelibversion(), apsw.apswversion()
        greeting = f'npyext {__version__}, SQLite {sqlite} (apsw {package})\nEnter ".help" for instructions\n'
        super().cmdloop(greeting if intro is None else intro, transient)

    def process_sql(self, *arguments, **options):
        try:
            super().process_sql(*arguments, **options)
        finally:
            if self.progress is not None:
                self.progress.end()

    def write(self, dest, text):
        if self.progress is not None:
            self.progress.wipe()
        super().write(dest, text)

    def handle_exception(self):
        self.nfailures += 1
        super().handle_exception()


def _prepare(connection, progress, remotes):
    """A connection that the shell opens."""

    class Cursor(apsw.Cursor):
        """The shell executes each statement by a cursor of its own."""

        def execute(self, *arguments, **options):
            if progress is not None:
                progress.begin()
            return super().execute(*arguments, **options)

    def look():
        """Python notices Ctrl-C when it runs anything at all; what that raises ends the statement."""
        if progress is not None:
            progress.step()
        return False

    refuse_array(connection.filename, lambda: apsw.Connection(":memory:"))
    load(connection, *((True, remotes) if remotes else ()))
    connection.cursor_factory = Cursor
    connection.setprogresshandler(look, NSTEPS)


def _make_progress():
    if not sys.stderr.isatty():
        return None
    asked = apsw.Connection(":memory:")
    load(asked)
    return Progress(sys.stderr, asked)


def _work(shell, arguments):
    """The exit code. As in sqlite3's shell a command line ends at the first error, and a script continues after one."""
    try:
        _, _, commands = shell.process_args(arguments)
        if not commands:
            shell.db  # is opened here, so that a file that is no database is refused before the prompt
            shell.cmdloop()
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        shell.bail = False  # the shell would raise it again
        if not getattr(error, "_handle_exception_saw_this", False):
            shell.handle_exception()
        return 1
    return 1 if shell.nfailures > 0 and not shell.interactive else 0


def run(arguments, remotes=()):
    """The shell with the arguments of a command line; returns the exit code. remotes: the URLs that may be read."""
    progress = _make_progress()
    hook = lambda connection: _prepare(connection, progress, list(remotes))
    apsw.connection_hooks.append(hook)
    try:
        stdin = sys.stdin if sys.stdin.isatty() else Script(sys.stdin)
        return _work(Shell(progress, stdin=stdin), arguments)
    finally:
        apsw.connection_hooks.remove(hook)
