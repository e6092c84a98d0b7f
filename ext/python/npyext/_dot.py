"""The commands that begin with a dot, as the sqlite3 program has them.

Each is a function of the shell and the words after its name; its name here is the command's. A name may be cut short, as
there: `.head on`.
"""

import os
import re
import subprocess

import apsw

from . import _dump, _help, _import, _output
from ._load import method

_ESCAPES = {"a": "\a", "b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", '"': '"', "'": "'", "\\": "\\"}


def _refuse(text):
    from ._shell import Refused

    raise Refused(text)


def unescaped(text):
    """Without backslashes, as in C."""
    return re.sub(r"\\([0-7]{1,3}|.)", lambda found: chr(int(found[1], 8) & 255) if found[1][0] in "01234567" else _ESCAPES.get(found[1], found[1]), text, flags=re.S)


def words(line):
    found, place = [], 0
    while True:
        while place < len(line) and line[place].isspace():
            place += 1
        if place >= len(line):
            return found
        quote = line[place]
        begin = place
        if quote in "'\"":
            place += 1
            while place < len(line) and line[place] != quote:
                place += 2 if quote == '"' and line[place] == "\\" and place + 1 < len(line) else 1
            word = line[begin + 1 : place]
            place += 1
            found.append(unescaped(word) if quote == '"' else word)
        else:
            while place < len(line) and not line[place].isspace():
                place += 1
            found.append(unescaped(line[begin:place]))


def run(shell, line):
    if not words(line[1:]):
        return
    name, *arguments = words(line[1:])
    command = next((each for each in NAMES if name and each.startswith(name.lower()) and len(name) >= SHORTEST.get(each, 1)), None)
    if command is None:
        _refuse(f'Error: unknown command or invalid arguments:  "{name}". Enter ".help" for help\n')
    COMMANDS[command](shell, *arguments)


def boolean(shell, word):
    if word.lstrip("-").isdigit():
        return int(word) != 0
    if word.lower() in ("on", "yes"):
        return True
    if word.lower() not in ("off", "no"):
        shell.say(f'ERROR: Not a boolean value: "{word}". Assuming "no".\n')
    return False


def one(arguments, usage):
    if len(arguments) != 1:
        _refuse(f"Usage: {usage}\n")
    return arguments[0]


# --- what is printed, and how -----------------------------------------------------------------------------------------


def bail(shell, *arguments):
    shell.bails = boolean(shell, one(arguments, ".bail on|off"))


def changes(shell, *arguments):
    shell.shows_changes = boolean(shell, one(arguments, ".changes on|off"))


def echo(shell, *arguments):
    shell.echoes = boolean(shell, one(arguments, ".echo on|off"))


def eqp(shell, *arguments):
    shell.shows_plans = boolean(shell, one(arguments, ".eqp off|on|trace|trigger|full").replace("full", "on"))


def headers(shell, *arguments):
    shell.settings.has_headers = boolean(shell, one(arguments, ".headers on|off"))
    shell.settings.are_headers_set = True


def timer(shell, *arguments):
    shell.shows_times = boolean(shell, one(arguments, ".timer on|off"))


def stats(shell, *arguments):
    if arguments and boolean(shell, arguments[0]):
        _refuse("Error: npyext has no statistics of SQLite's memory\n")


def explain(shell, *arguments):
    """Plans are always shown as plans."""


def nullvalue(shell, *arguments):
    shell.settings.null = _output.encoded(one(arguments, ".nullvalue STRING"))


def separator(shell, *arguments):
    if not 1 <= len(arguments) <= 2:
        _refuse("Usage: .separator COL ?ROW?\n")
    shell.settings.column_separator = _output.encoded(arguments[0])
    if len(arguments) == 2:
        shell.settings.row_separator = _output.encoded(arguments[1])


def width(shell, *arguments):
    shell.settings.widths = [int(each) if re.fullmatch(r"[-+]?\d+", each) else 0 for each in arguments]


def prompt(shell, *arguments):
    for i, each in enumerate(arguments[:2]):
        shell.prompts[i] = each


def _mode_text(settings):
    if settings.mode not in _output.COLUMNAR:
        return settings.mode
    on = "on" if settings.wraps_words else "off"
    return f"{settings.mode} --wrap {settings.wrap} --wordwrap {on} --{'' if settings.quotes else 'no'}quote"


def mode(shell, *arguments):
    settings = shell.settings
    if not arguments:
        shell.write(f"current output mode: {_mode_text(settings)}\n".encode())
        return
    name = table = None
    wrap, wraps_words, quotes = _output.WRAP, False, False
    arguments = iter(arguments)
    for each in arguments:
        option = each.lstrip("-") if each.startswith("-") else None
        if option in ("wrap", "wordwrap"):
            value = next(arguments, "")
            if option == "wrap":
                wrap = int(value) if value.lstrip("-").isdigit() else 0
            else:
                wraps_words = boolean(shell, value)
        elif option == "ww":
            wraps_words = True
        elif option in ("quote", "noquote"):
            quotes = option == "quote"
        elif option is not None:
            _refuse(f"unknown option: {each}\noptions:\n  --noquote\n  --quote\n  --wordwrap on/off\n  --wrap N\n  --ww\n")
        elif name is None:
            name, quotes = ("box", True) if each == "qbox" else (each, quotes)
        elif table is None:
            table = each
        else:
            _refuse(f'extra argument: "{each}"\n')
    name = settings.mode if name is None else _full_mode(name)
    settings.set_mode(name)
    if name in _output.COLUMNAR:
        settings.wrap, settings.wraps_words, settings.quotes = wrap, wraps_words, quotes
    if name == "insert":
        _learn_keywords()
        settings.table = _output.encoded(_output.name_in_sql(table if table is not None else "table"))


def _full_mode(name):
    found = [each for each in _output.MODES if each.startswith(name)]
    if name == "columns" or name == "lines":
        return name[:-1]
    if not found:
        _refuse(f"Error: mode should be one of: {' '.join(each for each in _output.MODES)}\n")
    return next((each for each in ("line", "column", "list", "html", "tcl", "csv", "tabs", "insert", "quote", "ascii", "markdown", "table", "box", "json", *found) if each in found))


def _learn_keywords():
    _output.KEYWORDS.update(word.upper() for word in getattr(apsw, "keywords", ()))


def print_(shell, *arguments):
    shell.write(_output.encoded(" ".join(arguments)) + b"\n")


def output(shell, *arguments):
    if len(arguments) > 1:
        _refuse(f'ERROR: extra parameter: "{arguments[1]}".  Usage:\n.output ?FILE?           Send output to FILE or stdout if FILE is omitted\n')
    shell.print_into(arguments[0] if arguments else None)


def once(shell, *arguments):
    if len(arguments) > 1:
        _refuse(f'ERROR: extra parameter: "{arguments[1]}".  Usage:\n.once ?FILE?             Output for the next SQL command only to FILE\n')
    shell.print_into(arguments[0] if arguments else None, once=2)


def show(shell, *arguments):
    if arguments:
        _refuse("Usage: .show\n")
    settings = shell.settings
    is_on = lambda value: "on" if value else "off"
    c = lambda data: _output.c_string(data).decode()
    lines = [
        ("echo", is_on(shell.echoes)),
        ("eqp", is_on(shell.shows_plans)),
        ("explain", "auto"),
        ("headers", is_on(settings.has_headers)),
        ("mode", _mode_text(settings)),
        ("nullvalue", c(settings.null)),
        ("output", shell.output_name),
        ("colseparator", c(settings.column_separator)),
        ("rowseparator", c(settings.row_separator)),
        ("stats", "off"),
        ("width", "".join(f"{each} " for each in settings.widths)),
        ("filename", shell.path),
    ]
    shell.write("".join(f"{name:>12}: {value}\n" for name, value in lines).encode())


# --- input and files --------------------------------------------------------------------------------------------------


def quit_(shell, *arguments):
    from ._shell import Stop

    raise Stop(0)


def exit_(shell, *arguments):
    from ._shell import Stop

    raise Stop(int(arguments[0]) & 255 if arguments and arguments[0].lstrip("-").isdigit() else 0)


def help_(shell, *arguments):
    text = _help.commands(*arguments[:1])
    shell.write(text.encode() if text else f"Nothing matches '{arguments[0]}'\n".encode())


def read(shell, *arguments):
    path = one(arguments, ".read FILE")
    if shell.depth > 25:
        _refuse(f"Input nesting limit (25) reached at line 1. Check recursion.\n")
    shell.depth += 1
    try:
        if shell.read_file(path):
            _refuse("")
    finally:
        shell.depth -= 1


def cd(shell, *arguments):
    folder = one(arguments, ".cd DIRECTORY")
    try:
        os.chdir(folder)
    except OSError:
        _refuse(f'Cannot change to directory "{folder}"\n')


def system(shell, *arguments):
    if not arguments:
        _refuse("Usage: .system COMMAND\n")
    shell.flush()
    quoted = [arguments[0], *(f'"{each}"' if " " in each else each for each in arguments[1:])]
    code = subprocess.call(" ".join(quoted), shell=True)
    if code:
        shell.say(f"System command returns {code}\n")


def import_(shell, *arguments):
    try:
        _import.import_rows(shell.connection, arguments, shell.settings, shell.write, lambda line: shell.say(line + "\n"))
    except _import.Refused as error:
        _refuse(str(error))


# --- the database -----------------------------------------------------------------------------------------------------


def open_(shell, *arguments):
    is_new = is_readonly = False
    path = None
    for each in arguments:
        option = each.lstrip("-") if each.startswith("-") else None
        if option in ("new", "readonly"):
            is_new, is_readonly = is_new or option == "new", is_readonly or option == "readonly"
        elif option is not None:
            _refuse(f"unknown option: {each}\n")
        elif path is not None:
            _refuse(f'extra argument: "{each}"\n')
        else:
            path = each
    if is_new and path and os.path.isfile(path):
        os.remove(path)
    before = shell.path
    try:
        shell.open(path or ":memory:", is_readonly)
    except Exception:
        shell.path, shell.is_readonly = before if before == ":memory:" else ":memory:", False
        raise


def _copy(shell, arguments, is_restored):
    arguments = [each for each in arguments if not each.startswith("-")]
    if not arguments:
        _refuse("Usage: .restore ?DB? FILE\n" if is_restored else "missing FILENAME argument on .backup\n")
    if len(arguments) > 2:
        _refuse("Usage: .restore ?DB? FILE\n" if is_restored else "Usage: .backup ?DB? ?OPTIONS? FILENAME\n")
    schema, path = arguments if len(arguments) == 2 else ("main", *arguments)
    flags = apsw.SQLITE_OPEN_READONLY if is_restored else apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
    try:
        other = apsw.Connection(path, flags=flags)
    except apsw.Error:
        _refuse(f'Error: cannot open "{path}"\n')
    try:
        here = shell.connection
        with here.backup(schema, other, "main") if is_restored else other.backup("main", here, schema) as copy:
            while not copy.done:
                copy.step(100)
    finally:
        other.close()


def backup(shell, *arguments):
    _copy(shell, arguments, is_restored=False)


def restore(shell, *arguments):
    _copy(shell, arguments, is_restored=True)


def load(shell, *arguments):
    """npyext is loaded already; another entry point of it, as sqlite3_npyext_blob_init, is called."""
    if not 1 <= len(arguments) <= 2:
        _refuse("Usage: .load FILE ?ENTRYPOINT?\n")
    path, entry = arguments[0], arguments[1] if len(arguments) > 1 else None
    name = os.path.splitext(os.path.basename(path.replace("\\", "/")))[0]
    if name == "npyext":
        if entry is not None:
            shell.load_npyext(entry)
        return
    method(shell.connection, "load_extension")(path, *([entry] if entry else []))


DBCONFIG = """defensive dqs_ddl dqs_dml enable_fkey enable_qpsg enable_trigger enable_view fts3_tokenizer fp_digits
legacy_alter_table legacy_file_format load_extension no_ckpt_on_close reset_database reverse_scanorder stmt_scanstatus
trigger_eqp trusted_schema writable_schema""".split()
_LONGER = {"fts3_tokenizer": "enable_fts3_tokenizer", "load_extension": "enable_load_extension", "enable_fkey": "enable_fkey"}


def _dbconfig_number(name):
    return getattr(apsw, "SQLITE_DBCONFIG_" + _LONGER.get(name, name).upper(), None)


def dbconfig(shell, *arguments):
    names = [name for name in DBCONFIG if _dbconfig_number(name) is not None]
    if arguments and arguments[0] not in names:
        _refuse(f'Error: unknown dbconfig "{arguments[0]}"\nEnter ".dbconfig" with no arguments for a list\n')
    for name in [arguments[0]] if arguments else names:
        number = _dbconfig_number(name)
        if len(arguments) > 1:
            shell.connection.config(number, int(arguments[1]) if name == "fp_digits" else int(boolean(shell, arguments[1])))
        if name == "reset_database" and len(arguments) < 2:
            value = 0
        else:
            value = shell.connection.config(number, -1)
        shown = str(value) if name == "fp_digits" else "on" if value else "off"
        shell.write(f"{name:>19} {shown}\n".encode())


def timeout(shell, *arguments):
    method(shell.connection, "set_busy_timeout")(int(arguments[0]) if arguments and arguments[0].isdigit() else 0)


def databases(shell, *arguments):
    for _, name, file in list(shell.connection.cursor().execute("PRAGMA database_list")):
        is_readonly = shell.connection.readonly(name)
        shell.write(_output.encoded(f"{name}: {file or chr(34) * 2} {'r/o' if is_readonly else 'r/w'}\n"))


def tables(shell, *arguments):
    if len(arguments) > 1:
        _refuse("Usage: .tables ?PATTERN?\n")
    _dump.print_names(shell, _dump.table_names(shell.connection, *arguments))


def indexes(shell, *arguments):
    if len(arguments) > 1:
        _refuse("Usage: .indexes ?LIKE-PATTERN?\n")
    _dump.print_names(shell, _dump.index_names(shell.connection, *arguments))


def schema(shell, *arguments):
    options = [each.lstrip("-") for each in arguments if each.startswith("-")]
    patterns = [each for each in arguments if not each.startswith("-")]
    if len(patterns) > 1 or not set(options) <= {"indent", "nosys", "debug"}:
        _refuse("Usage: .schema ?--indent? ?--nosys? ?LIKE-PATTERN?\n")
    _dump.print_schema(shell, patterns[0] if patterns else None, "nosys" in options)


def dump(shell, *arguments):
    _learn_keywords()
    _dump.print_dump(shell, [each for each in arguments if not each.startswith("-")])


# --- parameters -------------------------------------------------------------------------------------------------------

PARAMETER_USAGE = """\
.parameter CMD ...       Manage SQL parameter bindings
   clear                   Erase all bindings
   init                    Initialize the TEMP table that holds bindings
   list                    List the current parameter bindings
   set PARAMETER VALUE     Given SQL parameter PARAMETER a value of VALUE
                           PARAMETER should start with one of: $ : @ ?
   unset PARAMETER         Remove PARAMETER from the binding table
"""


def parameter(shell, *arguments):
    what, *rest = arguments or [""]
    execute = lambda sql, *values: list(shell.connection.cursor().execute(sql, values or None))
    if what == "clear" and not rest:
        execute("DROP TABLE IF EXISTS temp.sqlite_parameters")
    elif what == "list" and not rest:
        stored = execute("SELECT key, quote(value) FROM temp.sqlite_parameters") if shell.has_parameters() else []
        longest = max((len(key) for key, _ in stored), default=0)
        for key, value in stored:
            shell.write(_output.encoded(f"{key:<{longest}} {value}\n"))
    elif what == "init" and not rest:
        _init_parameters(shell)
    elif what == "set" and len(rest) == 2:
        _init_parameters(shell)
        name, value = rest
        key = "'" + name.replace("'", "''") + "'"
        replace = "REPLACE INTO temp.sqlite_parameters(key, value) VALUES"
        try:  # the value is SQL, or else a text
            execute(f"{replace}({key}, {value});")
        except apsw.SQLError:
            execute(f"{replace}(?, ?)", name, value)
    elif what == "unset" and len(rest) == 1:
        if shell.has_parameters():
            execute("DELETE FROM temp.sqlite_parameters WHERE key = ?", rest[0])
    else:
        shell.write(PARAMETER_USAGE.encode())
        return


def _init_parameters(shell):
    """Its name is one that SQLite keeps for itself, but for connections that may write their schemas."""
    if shell.has_parameters():
        return
    connection = shell.connection
    options = {number: connection.config(number, -1) for number in (apsw.SQLITE_DBCONFIG_DEFENSIVE, apsw.SQLITE_DBCONFIG_WRITABLE_SCHEMA)}
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
    connection.config(apsw.SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1)
    try:
        connection.cursor().execute("CREATE TABLE IF NOT EXISTS temp.sqlite_parameters(key TEXT PRIMARY KEY, value) WITHOUT ROWID")
    finally:
        for number, value in options.items():
            connection.config(number, value)


COMMANDS = {
    "backup": backup, "bail": bail, "cd": cd, "changes": changes, "databases": databases, "dbconfig": dbconfig, "dump": dump, "echo": echo,
    "eqp": eqp, "exit": exit_, "explain": explain, "headers": headers, "help": help_, "import": import_, "indexes": indexes,
    "indices": indexes, "load": load, "mode": mode, "nullvalue": nullvalue, "once": once, "open": open_, "output": output,
    "parameter": parameter, "print": print_, "prompt": prompt, "quit": quit_, "read": read, "restore": restore, "save": backup,
    "schema": schema, "separator": separator, "shell": system, "show": show, "stats": stats, "system": system, "tables": tables,
    "timeout": timeout, "timer": timer, "width": width,
}  # fmt: skip
NAMES = list(COMMANDS)
# So much of a name is needed where others begin alike.
SHORTEST = {
    "backup": 3, "bail": 3, "cd": 2, "changes": 3, "databases": 2, "dbconfig": 3, "exit": 2, "explain": 3, "import": 2,
    "indexes": 3, "open": 2, "output": 2, "parameter": 2, "print": 1, "prompt": 4, "read": 3, "restore": 3, "save": 2,
    "schema": 3, "separator": 3, "shell": 3, "show": 2, "stats": 2, "system": 2, "timeout": 5, "timer": 4,
}  # fmt: skip
