"""What `npyext --help` and `.help` say, and the man page made of it: one table of options and one of commands."""

NAME = "a SQL shell with npyext: arrays in NumPy's files, WebDataset shards and checkpoints as tables"

USAGE = """\
Usage: npyext [OPTIONS] [DATABASE] [SQL ...]

DATABASE is a file, made when something is written, or :memory:, the default. SQL are statements or
commands such as .tables; without one they are read from the terminal or standard input. A statement
in the place of DATABASE runs in memory.
"""

OPTIONS = [
    ("-ascii", "set output mode to 'ascii'"),
    ("-bail", "stop after an error"),
    ("-batch", "ask nothing, as if the input was no terminal"),
    ("-box", "set output mode to 'box'"),
    ("-cmd COMMAND", "run COMMAND before anything else"),
    ("-column", "set output mode to 'column'"),
    ("-csv", "set output mode to 'csv'"),
    ("-echo", "print what is run before it is run"),
    ("-[no]header", "turn headers on or off"),
    ("-help", "show this"),
    ("-html", "set output mode to 'html'"),
    ("-init FILE", "read FILE first, in place of ~/.npyextrc"),
    ("-interactive", "ask, as if the input was a terminal"),
    ("-json", "set output mode to 'json'"),
    ("-line", "set output mode to 'line'"),
    ("-list", "set output mode to 'list'"),
    ("-markdown", "set output mode to 'markdown'"),
    ("-newline TEXT", "what separates rows; '\\n' by default"),
    ("-nullvalue TEXT", "what stands for NULL; '' by default"),
    ("-path", "show the path of the extension, for .load in other shells"),
    ("-quote", "set output mode to 'quote'"),
    ("-readonly", "open the database for reading only"),
    ("-remote URL", "read what is below this URL, as in s3://bucket/ (by fsspec; may be repeated)"),
    ("-separator TEXT", "what separates columns; '|' by default"),
    ("-table", "set output mode to 'table'"),
    ("-tabs", "set output mode to 'tabs'"),
    ("-version", "show the versions of npyext and SQLite"),
]

COMMANDS = [
    (".backup ?DB? FILE", "Copy a database into FILE; .save, too"),
    (".bail on|off", "Stop after an error. Off at first"),
    (".cd DIRECTORY", "Change the working directory"),
    (".changes on|off", "Show the number of rows that a statement changed"),
    (".databases", "List the attached databases and their files"),
    (".dbconfig ?op? ?val?", "List or change options of the connection"),
    (".dump ?OBJECTS?", "Print the database as SQL"),
    (".echo on|off", "Print what is run before it is run"),
    (".eqp on|off", "Show the plan of each statement before its answer"),
    (".exit ?CODE?", "End with this exit code"),
    (".headers on|off", "Print the names of columns, or not"),
    (".help ?PATTERN?", "Show this"),
    (".import FILE TABLE", "Read rows from FILE into TABLE; --csv, --ascii, --skip N, --schema S, -v"),
    (".indexes ?TABLE?", "Show names of indexes"),
    (".load FILE ?ENTRY?", "Load an extension; npyext is loaded already"),
    (".mode MODE ?OPTIONS?", "Set the output mode"),
    (".nullvalue TEXT", "Print TEXT in place of NULL"),
    (".once ?FILE?", "Print the next answer into FILE"),
    (".open ?OPTIONS? ?FILE?", "Close the database, and open FILE; --new, --readonly"),
    (".output ?FILE?", "Print into FILE, or on standard output again"),
    (".parameter CMD ...", "Parameters of statements: clear, init, list, set NAME VALUE, unset NAME"),
    (".print TEXT ...", "Print the texts"),
    (".prompt MAIN CONTINUE", "Change the prompts"),
    (".quit", "End; quit and exit do, too"),
    (".read FILE", "Run the statements and commands of FILE"),
    (".restore ?DB? FILE", "Copy FILE into a database"),
    (".schema ?PATTERN?", "Show the CREATE statements of what is like PATTERN; --nosys"),
    (".separator COL ?ROW?", "Change what separates columns and rows"),
    (".shell CMD ARGS ...", "Run a command of the system; .system, too"),
    (".show", "Show what is set"),
    (".stats off", "Accepted; there are no statistics here"),
    (".tables ?PATTERN?", "List tables and views like PATTERN"),
    (".timeout MS", "Wait so long for a locked table"),
    (".timer on|off", "Show the time that each statement took"),
    (".width NUM ...", "Set the least widths of columns; negative ones are right-aligned"),
]

MODES_TEXT = """\
Output modes: ascii, auto, box, column, csv, html, insert TABLE, json, line, list, markdown, qbox,
quote, table, tabs, tcl. They print what those of the sqlite3 program print, but for `auto`: a box
where the rows fit the terminal, and one value on each line where they do not. `auto` is the mode of
a terminal at first, and `list` elsewhere, as in sqlite3.
"""

FUNCTIONS_TEXT = """\
Tables of npyext: npy_meta('runs/**') lists arrays; npy_rows and npy_elements read them; npy_stats,
npy_quantile, npy_histogram, npy_unique, npy_compare and npy_nearest measure them; npz_members,
ten_arrays, tar_members and npy_globals look into files. All are in pragma_module_list, other
functions in pragma_function_list; docs/reference.md describes them.
"""

ENVIRONMENT = [
    ("NPYEXT_HISTORY", "the file that keeps what was typed; ~/.npyext_history by default, and empty for none"),
]


def _table(rows, indent, width):
    return "".join(f"{' ' * indent}{left:<{width}} {right}\n" for left, right in rows)


def usage():
    return f"{USAGE}\nOptions, with one dash or two:\n{_table(OPTIONS, 3, 18)}\n{MODES_TEXT}\nEnvironment:\n{_table(ENVIRONMENT, 3, 18)}\nIn the shell .help lists its commands.\n"


def commands(pattern=None):
    """The lines of `.help`; of `.help PATTERN` those of the commands that begin with it, or else hold it."""
    if pattern is None:
        return _table(COMMANDS, 0, 24) + "\n" + MODES_TEXT + "\n" + FUNCTIONS_TEXT
    word = pattern.lstrip(".")
    if word.startswith(("np", "ten_", "tar_")):
        return FUNCTIONS_TEXT
    found = [row for row in COMMANDS if row[0][1:].startswith(word)] or [row for row in COMMANDS if word in " ".join(row)]
    modes = "\n" + MODES_TEXT if any(row[0].startswith(".mode") for row in found) and len(found) == 1 else ""
    return _table(found, 0, 24) + modes


def _roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "".join("\\&" + line if line.startswith((".", "'")) else line for line in text.splitlines(keepends=True))


def _listed(rows):
    return "".join(f".TP\n.B {_roff(left)}\n{_roff(right)}\n" for left, right in rows)


def man_page(version):
    """The same as a page of section 1."""
    synopsis, text = USAGE.split("\n\n", 1)
    words = synopsis.replace("Usage: npyext", "").strip()
    return (
        f'.TH NPYEXT 1 "" "npyext {version}" "User Commands"\n'
        f".SH NAME\nnpyext \\- {_roff(NAME)}\n.SH SYNOPSIS\n.B npyext\n{_roff(words)}\n.SH DESCRIPTION\n{_roff(text)}"
        f".SH OPTIONS\n{_listed(OPTIONS)}.SH COMMANDS\n{_listed(COMMANDS)}.SH OUTPUT MODES\n{_roff(MODES_TEXT)}"
        f".SH ENVIRONMENT\n{_listed(ENVIRONMENT)}.SH SEE ALSO\n.BR sqlite3 (1)\n"
    )
