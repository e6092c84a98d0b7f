"""The shell of the command npyext: the sqlite3 program's input, statements and messages, on apsw's connections.

Input comes in lines: a line that begins with a dot is a command (_dot.py), all else is collected until it is complete
SQL, and run. What is printed is bytes (_output.py). With sqlite3 the same text prints the same; what is added is for
people at a terminal: npyext's functions, a mode `auto`, a line about statements that last, completion and history.
"""

import io
import os
import re
import subprocess
import sys
import time

import apsw

from . import _dot, _functions, _output, _statements
from ._database import refuse_array
from ._load import load, loadable_path, method
from ._progress import Progress
from ._version import __version__

# As often is Python asked while a statement runs: for Ctrl-C and for the progress. npyext's own look for interrupts runs
# a statement of about 2,000 steps, in which it must be asked, too.
NSTEPS = 1000
# Digits of a REAL that becomes a text: those that SQLite had until 3.52, and the documents show.
NDIGITS = 15
# After these words a first argument is a statement and no database.
STATEMENT = re.compile(r"\s*(?:SELECT|WITH|VALUES|EXPLAIN|PRAGMA|CREATE|INSERT|ATTACH|DELETE|UPDATE|DROP)\b\s*[\s('*]", re.I)
TABLES_OF_TEXT = {".csv": "--csv ", ".tsv": ""}


class Refused(Exception):
    """A command or an option that cannot be carried out; its text is the whole message."""


class Stop(Exception):
    """The shell ends, with this exit code."""


def message_of(error):
    """SQLite's words; old releases of apsw put the class before them."""
    text = str(error)
    prefix = type(error).__name__ + ": "
    return text[len(prefix) :] if text.startswith(prefix) else text


def code_of(error):
    return getattr(error, "result", 1) & 0xFF


def context(sql, offset):
    """The part of a statement that is at fault, with an arrow to it, as the sqlite3 program shows it."""
    data = sql.encode("utf-8", "replace")
    if not 0 <= offset <= len(data):
        return ""
    begin = 0
    while offset - begin > 50:
        begin += 1
        while begin < len(data) and data[begin] & 0xC0 == 0x80:
            begin += 1
    shown = data[begin:]
    if len(shown) > 78:
        end = 78
        while end > 0 and shown[end] & 0xC0 == 0x80:
            end -= 1
        shown = shown[:end]
    offset -= begin
    text = re.sub(r"[\t\n\v\f\r]", " ", shown.decode("utf-8", "replace"))
    arrow = " " * offset + "^--- error here" if offset < 25 else " " * (offset - 14) + "error here ---^"
    return f"\n  {text}\n  {arrow}"


class Rows:
    """The rows of a cursor; an error after some of them is kept until these are printed."""

    def __init__(self, cursor):
        self.cursor, self.error = cursor, None

    def __iter__(self):
        try:
            yield from self.cursor
        except (apsw.Error, KeyboardInterrupt, ValueError) as error:
            self.error = error


class Shell:
    def __init__(self, progress=None, remotes=(), is_terminal=False):
        self.progress, self.remotes = progress, list(remotes)
        self.is_interactive = is_terminal
        self.settings = _output.Settings()
        if is_terminal and sys.stdout.isatty():
            self.settings.mode = "auto"
        self.path, self.is_readonly = ":memory:", False
        self._connection, self._made, self._has_npyext = None, None, False
        self.out, self.output_name, self.process, self.once = sys.stdout.buffer, "stdout", None, 0
        self.bails = self.echoes = self.shows_plans = self.shows_changes = self.shows_times = False
        self.prompts = ["npyext> ", "   ...> "]
        self.depth = 0

    # --- the connection ---

    @property
    def connection(self):
        connection = self.bare_connection
        if not self._has_npyext:
            self._has_npyext = True
            load(connection, *((True, self.remotes) if self.remotes else ()))
        return connection

    @property
    def bare_connection(self):
        """Without npyext, as long as nothing has been asked: `.load ./npyext ENTRY` still has the choice."""
        if self._connection is None:
            self._connection = self._open()
        return self._connection

    def load_npyext(self, entry):
        connection = self.bare_connection
        self._has_npyext = True
        method(connection, "load_extension")(loadable_path(), entry)

    def _open(self):
        path = self.path
        refuse_array(path, _connection_in_memory)
        _refuse_text(path)
        flags = apsw.SQLITE_OPEN_URI | (apsw.SQLITE_OPEN_READONLY if self.is_readonly else apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
        is_new = path not in ("", ":memory:") and not path.startswith("file:") and not os.path.exists(path)
        try:
            connection = apsw.Connection(path, flags=flags)
        except apsw.Error as error:
            raise Refused(f'Error: unable to open database "{path}": {message_of(error)}\n') from None
        self._made = os.path.abspath(path) if is_new and os.path.exists(path) else None
        method(connection, "enable_load_extension")(True)
        _functions.add(connection)
        if hasattr(apsw, "SQLITE_DBCONFIG_FP_DIGITS"):
            connection.config(apsw.SQLITE_DBCONFIG_FP_DIGITS, NDIGITS)
        method(connection, "set_progress_handler")(self._look, NSTEPS)
        return connection

    def close(self):
        """A file that was made by opening it, and is still empty, is removed."""
        if self._connection is not None:
            self._connection.close(True)
            if self._made and os.path.exists(self._made) and os.path.getsize(self._made) == 0:
                os.remove(self._made)
        self._connection, self._made, self._has_npyext = None, None, False

    def open(self, path, is_readonly=False):
        self.close()
        self.path, self.is_readonly = path, is_readonly
        self.bare_connection

    def _look(self):
        """Python notices Ctrl-C when it runs anything at all; what that raises ends the statement."""
        if self.progress is not None:
            self.progress.step(NSTEPS)
        return False

    # --- what is printed ---

    def write(self, data):
        if self.progress is not None:
            self.progress.wipe()
        self.out.write(data)

    def say(self, text):
        """On standard error, after what was printed before."""
        if self.progress is not None:
            self.progress.wipe()
        self.flush()
        sys.stderr.write(text)
        sys.stderr.flush()

    def flush(self):
        try:
            self.out.flush()
        except ValueError:
            pass

    def print_into(self, name, once=0):
        """name: a file, a command after `|`, or None for standard output."""
        self.flush()
        if self.out is not sys.stdout.buffer:
            self.out.close()
        if self.process is not None:
            self.process.wait()
        self.out, self.output_name, self.process, self.once = sys.stdout.buffer, "stdout", None, once
        if name in (None, "stdout"):
            return
        if name == "off":
            name = os.devnull
        try:
            if name.startswith("|"):
                self.process = subprocess.Popen(name[1:], shell=True, stdin=subprocess.PIPE)
                self.out = self.process.stdin
            else:
                self.out = open(name, "wb")
        except OSError:
            if name.startswith("|"):
                raise Refused(f'Error: cannot open pipe "{name[1:]}"\n') from None
            raise Refused(f'Error: cannot open "{name}"\nError: cannot write to "{name}"\n') from None
        self.output_name = name

    # --- statements ---

    def run(self, sql, where=None):
        """Runs the statements of a text; returns whether they succeeded. where: `near line 3`, or None on a terminal."""
        for begin, statement in _statements.split(sql):
            begun = self._begin_timer()
            is_prepared = []
            try:
                self._run_one(statement, is_prepared)
            except (apsw.Error, UnicodeError, ValueError) as error:
                self._say_error(error, sql[begin:], bool(is_prepared), where)
                return False
            except OverflowError as error:
                self.say(f"Error: {error}\n")
                return False
            finally:
                if self.progress is not None:
                    self.progress.end()
            self._end_timer(begun)
            if self.shows_changes:
                changes, total = (method(self.connection, name)() for name in ("changes", "total_changes"))
                self.write(f"changes: {changes}   total_changes: {total}\n".encode())
        return True

    def _say_error(self, error, sql, is_prepared, where):
        text = message_of(error)
        code = code_of(error)
        text += f" ({code})" if code > 1 and isinstance(error, apsw.Error) else ""
        text += context(sql, getattr(error, "error_offset", -1))
        if where is None and not self.is_interactive:  # an argument of the command line
            self.say(f"Error: {'stepping' if is_prepared else 'in prepare'}, {text}\n")
            return
        kind = "Runtime error" if is_prepared else "Parse error"
        self.say(f"{kind}{' ' + where if where else ''}: {text}\n")

    def _run_one(self, statement, is_prepared):
        kind = _statements.kind(statement)
        if self.shows_plans and kind is None:
            self._show_plan(statement)
        if self.progress is not None:
            self.progress.begin()
        cursor, names = self.execute(statement, is_prepared)
        rows = Rows(cursor)
        if names and kind == "plan":
            _output.print_plan(list(rows), self.write)
        elif names and kind == "explain":
            _output.print_program(self.settings, names, list(rows), self.write)
        elif names:
            self.settings.escapes = self.out is sys.stdout.buffer and sys.stdout.isatty()
            _output.print_rows(self.settings, names, rows, self.write)
        else:
            for _ in rows:
                pass
        if rows.error is not None:
            raise rows.error

    def _show_plan(self, statement):
        try:
            _output.print_plan(list(self.execute("EXPLAIN QUERY PLAN " + statement)[0]), self.write)
        except apsw.Error:
            pass  # the statement itself says what is wrong

    def execute(self, statement, is_prepared=None):
        """(cursor, names of the columns). is_prepared: a list that is longer once SQLite has understood the statement."""
        cursor = self.connection.cursor()
        names = []

        def look(cursor, sql, bindings):
            names.extend(column[0] for column in method(cursor, "get_description")() or ())
            if is_prepared is not None:
                is_prepared.append(True)
            return True

        method(cursor, "set_exec_trace")(look)
        bindings = self._bindings(_statements.parameters(statement))
        cursor.execute(statement, bindings or None, can_cache=False)
        return cursor, names

    def _bindings(self, names):
        """What .parameter has set; all else is NULL."""
        if not names:
            return None
        stored = {}
        if self.has_parameters():
            stored = dict(self.connection.cursor().execute("SELECT key, value FROM temp.sqlite_parameters"))
        return [stored.get(name) for name in names]

    def has_parameters(self):
        return bool(list(self.connection.cursor().execute("SELECT 1 FROM temp.sqlite_schema WHERE name = 'sqlite_parameters'")))

    def _begin_timer(self):
        return (time.perf_counter(), *os.times()[:2]) if self.shows_times else None

    def _end_timer(self, begun):
        if begun is not None and self.shows_times:
            real, user, system = (now - then for now, then in zip((time.perf_counter(), *os.times()[:2]), begun))
            self.write(f"Run Time: real {real:.3f} user {user:.6f} sys {system:.6f}\n".encode())

    # --- input ---

    def command(self, line):
        """Runs a command that begins with a dot; returns whether it succeeded."""
        try:
            _dot.run(self, line)
            return True
        except Refused as error:
            self.say(str(error))
        except (apsw.Error, ValueError) as error:
            self.say(f"Error: {message_of(error)}\n")
        except OSError as error:
            self.say(f"Error: {error.filename or ''}{': ' if error.filename else ''}{error.strerror}\n")
        finally:
            if self.progress is not None:
                self.progress.end()
            if self.once:
                self.once -= 1
                if not self.once:
                    self.print_into(None)
        return False

    def argument(self, text):
        """A statement or command of the command line; returns whether it succeeded."""
        succeeded = self.command(text) if text.startswith(".") else self.run(text)
        self.flush()
        return succeeded

    def read(self, next_line, is_terminal=False):
        """Runs what next_line(is_continued) gives until it is empty; returns the number of errors. is_terminal: Ctrl-C and
        errors leave the shell there."""
        pending, first, nfailures, number = "", 0, 0, 0
        while not (self.bails and nfailures and not is_terminal):
            try:
                self.flush()
                line = next_line(bool(pending))
            except KeyboardInterrupt:
                if not is_terminal:
                    raise
                pending = ""
                sys.stderr.write("\n")
                continue
            if not line:
                break
            number += 1
            line = line[:-1] if line.endswith("\n") else line
            line = line[:-1] if line.endswith("\r") else line
            try:
                if not pending and is_terminal and line.strip().rstrip(";") in ("quit", "exit", "help"):
                    line = "." + line.strip().rstrip(";")
                if not pending and line[:1] in (".", "#"):
                    self._echo(line)
                    nfailures += line[0] == "." and not self.command(line)
                    continue
                if line.strip().lower() in ("/", "go") and pending and not _inside(pending):
                    line = ";"
                if not pending and _statements.is_blank(line):
                    self._echo(line)
                    continue
                pending, first = (pending + "\n" + line, first) if pending else (line.lstrip(), number)
                if ";" in line and apsw.complete(pending):
                    sql, pending = pending, ""
                    nfailures += not self._run_lines(sql, first, is_terminal)
            except KeyboardInterrupt:
                if not is_terminal:
                    raise
                pending = ""
                self.say("interrupted\n")
        if pending and not _statements.is_blank(pending) and not (self.bails and nfailures):
            nfailures += not self._run_lines(pending, first, is_terminal)
        return nfailures

    def _echo(self, text):
        if self.echoes:
            self.write(text.encode("utf-8", "replace") + b"\n")

    def _run_lines(self, sql, line, is_terminal):
        self._echo(sql)
        try:
            return self.run(sql, None if is_terminal else f"near line {line}")
        finally:
            if self.once:
                self.print_into(None)

    def read_file(self, path):
        """Runs a file; a number of errors."""
        try:
            with open(path, encoding="utf-8", errors="surrogateescape", newline="\n") as file:
                return self.read(lambda is_continued: file.readline())
        except OSError:
            raise Refused(f'Error: cannot open "{path}"\n') from None


def _inside(sql):
    """Whether a text ends inside of quotes or a comment: `/` and `go` end a statement, and no literal."""
    return not apsw.complete(sql + "\n;")


def _connection_in_memory():
    connection = apsw.Connection(":memory:")
    load(connection)
    return connection


def _refuse_text(path):
    """A CSV file as the database, which people try: says what reads it."""
    ending = os.path.splitext(path)[1].lower()
    if ending not in TABLES_OF_TEXT or not os.path.isfile(path):
        return
    with open(path, "rb") as file:
        if file.read(16) in (b"", b"SQLite format 3\0"):
            return
    table = re.sub(r"\W", "_", os.path.splitext(os.path.basename(path))[0])
    quoted = f"'{path}'" if re.search(r"\s", path) else path
    before = "" if ending == ".csv" else ".mode tabs, and then "
    raise ValueError(f"{path} is a table of text, not a database. In any database, or in :memory:, this reads it: {before}.import {TABLES_OF_TEXT[ending]}{quoted} {table}")


# --- the command line -------------------------------------------------------------------------------------------------

MODE_OPTIONS = {"html", "list", "quote", "line", "column", "json", "markdown", "table", "box", "csv", "ascii", "tabs"}
FLAGS = {"header", "noheader", "echo", "bail", "batch", "interactive", "readonly", "help", "version", "stats"}
WITH_VALUE = {"separator", "newline", "nullvalue", "cmd", "init"}


class CommandLine:
    """Options in their order, the database, and what is to be run."""

    def __init__(self, arguments):
        self.options, self.database, self.statements = [], None, []
        arguments = iter(arguments)
        for each in arguments:
            name = each[2:] if each.startswith("--") else each[1:]
            if not each.startswith("-") or each == "-":
                self._take(each)
            elif name in MODE_OPTIONS or name in FLAGS:
                self.options.append((name, None))
            elif name in WITH_VALUE:
                value = next(arguments, None)
                if value is None:
                    raise Refused(f"npyext: Error: missing argument to {each}\n")
                self.options.append((name, value))
            else:
                raise Refused(f"npyext: Error: unknown option: {each}\nUse -help for a list of options.\n")

    def _take(self, word):
        if self.database is None and not (STATEMENT.match(word + " ") and not os.path.exists(word)):
            self.database = word
        else:
            self.database = self.database or ":memory:"
            self.statements.append(word)

    def has(self, name):
        return any(option == name for option, _ in self.options)

    def all(self, name):
        return [value for option, value in self.options if option == name]


def _apply(shell, line):
    settings = shell.settings
    for name, value in line.options:
        if name in MODE_OPTIONS:
            before = settings.row_separator, settings.has_headers
            settings.set_mode(name)
            # As the program has it: an option turns no headers on, and -csv leaves the ends of lines.
            settings.row_separator, settings.has_headers = {"ascii": b"\x1e"}.get(name, before[0]), before[1]
        elif name == "separator":
            settings.column_separator = _dot.unescaped(value).encode()
        elif name == "newline":
            settings.row_separator = _dot.unescaped(value).encode()
        elif name == "nullvalue":
            settings.null = value.encode("utf-8", "surrogateescape")
        elif name in ("header", "noheader"):
            settings.has_headers, settings.are_headers_set = name == "header", True
        elif name == "echo":
            shell.echoes = True
        elif name == "bail":
            shell.bails = True
    shell.is_readonly = line.has("readonly")


def _first_file(line):
    named = line.all("init")
    if named:
        return named[-1]
    path = os.path.expanduser("~/.npyextrc")
    return path if os.path.exists(path) else None


def _work(shell, line):
    """The exit code. As in sqlite3's shell a command line ends at the first error, and a script continues after one."""
    if line.has("version"):
        print(f"npyext {__version__}, SQLite " + method(apsw, "sqlite_lib_version")())
        return 0
    _apply(shell, line)
    shell.path = line.database or ":memory:"
    if line.database is None or os.path.exists(shell.path) or shell.is_readonly or not shell.is_interactive:
        shell.bare_connection  # is opened here, so that a file that is no database is refused before the prompt
    first = _first_file(line)
    if first:
        shell.read_file(first)
    for command in line.all("cmd"):
        if not shell.argument(command) and shell.bails:
            return 1
    _apply(shell, line)  # what the first file set does not outlast the options
    if line.statements:
        return 0 if all(shell.argument(each) for each in line.statements) else 1
    if shell.is_interactive:
        from ._terminal import converse

        converse(shell)
        return 0
    script = io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8", errors="surrogateescape", newline="\n")
    return 1 if shell.read(lambda is_continued: script.readline()) else 0


def _make_progress():
    if not sys.stderr.isatty():
        return None
    return Progress(sys.stderr, _connection_in_memory())


def run(arguments, remotes=()):
    """The shell with the arguments of a command line; returns the exit code. remotes: the URLs that may be read."""
    shell = None
    try:
        line = CommandLine(arguments)
        is_terminal = (sys.stdin.isatty() or line.has("interactive")) and not line.has("batch") and not line.statements
        shell = Shell(_make_progress(), remotes, is_terminal)
        return _work(shell, line)
    except Stop as stop:
        return stop.args[0]
    except (Refused, ValueError, apsw.Error) as error:
        text = str(error) if isinstance(error, Refused) else message_of(error) + "\n"
        (shell.say if shell else sys.stderr.write)(text)
        return 1
    except KeyboardInterrupt:
        return 130
    finally:
        if shell is not None:
            if shell.progress is not None:
                shell.progress.end()
            shell.print_into(None)
            shell.flush()
            shell.close()
