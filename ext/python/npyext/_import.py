"""`.import FILE TABLE`: the rows of a CSV file, or of one with other separators, into a table, as the sqlite3 program does it.

The file is read as a whole and taken apart by looking for the next separator. A table that is not there is made, with the
names of the first line and columns of TEXT.
"""

import subprocess

import apsw

from ._load import method

USAGE = """\
.import FILE TABLE       Import data from FILE into TABLE
   Options:
     --ascii               Use \\037 and \\036 as column and row separators
     --csv                 Use , and \\n as column and row separators
     --skip N              Skip the first N rows of input
     --schema S            Target table to be S.TABLE
     -v                    "Verbose" - increase auxiliary output
   Notes:
     *  If TABLE does not exist, it is created.  The first row of input
        determines the column names.
     *  If neither --csv or --ascii are used, the input mode is derived
        from the ".mode" output mode
     *  If FILE begins with "|" then it is a command that generates the
        input text.
"""

COLUMN, ROW, FILE = "column", "row", "file"  # what ends a field


class Refused(Exception):
    """What is said about a command that cannot be carried out."""


class Fields:
    """The fields of a file one by one; `ended` says by what the last one ended."""

    def __init__(self, data, name, column, row, complain):
        self.data, self.name, self.complain = data, name, complain
        self.column, self.row = column, row
        self.place, self.line, self.ended = 0, 1, None

    def read(self):
        """The next field, or None at the end of the file."""
        raise NotImplementedError

    def end_at(self, place):
        """The field ends with the byte at the place."""
        self.place = place + 1
        at = self.data[place : place + 1]
        self.ended = FILE if not at else COLUMN if at == self.column else ROW
        self.line += self.ended is ROW

    def next_end(self, begin):
        ends = [place for place in (self.data.find(self.column, begin), self.data.find(self.row, begin)) if place >= 0]
        return min(ends) if ends else len(self.data)


class Ascii(Fields):
    def read(self):
        if self.place >= len(self.data):
            self.ended = FILE
            return None
        begin, end = self.place, self.next_end(self.place)
        self.end_at(end)
        return self.data[begin:end]


class Csv(Fields):
    def read(self):
        begin = self.place
        if begin >= len(self.data):
            self.ended = FILE
            return None
        if begin == 0 and self.data.startswith(b"\xef\xbb\xbf"):
            begin = self.place = 3
        if self.data[begin : begin + 1] == b'"':
            return self.read_quoted(begin + 1)
        end = self.next_end(begin)
        self.end_at(end)
        field = self.data[begin:end]
        return field[:-1] if self.ended is ROW and field.endswith(b"\r") else field

    def read_quoted(self, place):
        data, begun_in_line, pieces = self.data, self.line, []
        while True:
            quote = data.find(b'"', place)
            if quote < 0:
                break
            pieces.append(data[place:quote])
            self.line += data.count(self.row, place, quote)
            place = quote + 1
            following = data[place : place + 1]
            if following == b'"':
                pieces.append(b'"')
                place += 1
            elif following in (self.column, self.row, b""):
                self.end_at(place)
                return b"".join(pieces)
            elif following == b"\r" and data[place + 1 : place + 2] == self.row:
                self.end_at(place + 1)
                return b"".join(pieces)
            else:
                pieces.append(b'"')
                if following != b"\r":
                    self.complain(f'{self.name}:{self.line}: unescaped " character')
        self.complain(f'{self.name}:{begun_in_line}: unterminated "-quoted field')
        pieces.append(data[place:])
        self.line += data.count(self.row, place)
        self.place, self.ended = len(data), FILE
        return b"".join(pieces)


def text_of(field):
    return field.partition(b"\0")[0].decode("utf-8", "replace")


# --- the table --------------------------------------------------------------------------------------------------------


def quoted_name(name):
    return '"' + name.replace('"', '""') + '"'


def unlike_names(names):
    """The names with numbers after those that occur twice, and [(name, new name)] of these."""
    names = [name or "?" for name in names]
    lower = [name.lower() for name in names]
    twice = [lower.count(name) > 1 for name in lower]
    if not any(twice):
        return names, []
    for ndigits in range(1, 9):
        unlike = [f"{name}_{i + 1:0{ndigits}}" if is_twice else name for i, (name, is_twice) in enumerate(zip(names, twice))]
        if len({name.lower() for name in unlike}) == len(names):
            break
    return unlike, [(name, new) for name, new, is_twice in zip(names, unlike, twice) if is_twice]


def declaration(names):
    text = "".join((",\n " if i % 4 == 0 else ", ") * (i > 0) + f"{quoted_name(name)} TEXT" for i, name in enumerate(names))
    return f"(\n{text})"


def column_count(connection, table):
    """None where there is no such table."""
    cursor = connection.cursor()
    found = []

    def look(cursor, sql, bindings):
        found.append(len(method(cursor, "get_description")()))
        return False

    method(cursor, "set_exec_trace")(look)
    try:
        cursor.execute(f"SELECT * FROM {table}")
    except apsw.ExecTraceAbort:
        return found[0]
    except apsw.SQLError as error:
        if "no such table" in str(error):
            return None
        raise
    return 0


# --- the command ------------------------------------------------------------------------------------------------------


class Options:
    def __init__(self, arguments, settings):
        self.path = self.table = self.schema = None
        self.is_verbose, self.nskipped, self.form = False, 0, None
        arguments = iter(arguments)
        for each in arguments:
            option = each[1:] if each.startswith("--") else each
            if not each.startswith("-"):
                self.take(each)
            elif option == "-v":
                self.is_verbose = True
            elif option in ("-csv", "-ascii"):
                self.form = option[1:]
            elif option in ("-schema", "-skip"):
                value = next(arguments, None)
                if value is None:
                    raise Refused(f'ERROR: missing argument to "{option}".  Usage:\n{USAGE}')
                if option == "-schema":
                    self.schema = value
                else:
                    self.nskipped = int(value) if value.isdigit() else 0
            else:
                raise Refused(f'ERROR: unknown option: "{option}".  Usage:\n{USAGE}')
        if self.table is None:
            raise Refused(f"ERROR: missing {'FILE' if self.path is None else 'TABLE'} argument. Usage:\n{USAGE}")
        self.column, self.row = self.separators(settings)

    def take(self, word):
        if self.path is None:
            self.path = word
        elif self.table is None:
            self.table = word
        else:
            raise Refused(f'ERROR: extra argument: "{word}".  Usage:\n{USAGE}')

    def separators(self, settings):
        if self.form is not None:
            return (b",", b"\n") if self.form == "csv" else (b"\x1f", b"\x1e")
        column, row = settings.column_separator, settings.row_separator
        if row == b"\r\n" and settings.mode == "csv":
            row = settings.row_separator = b"\n"  # what is printed ends so, too, from now on
        for kind, separator in (("column", column), ("row", row)):
            if not separator:
                raise Refused(f"Error: non-null {kind} separator required for import\n")
            if len(separator) > 1:
                raise Refused(f"Error: multi-character {kind} separators not allowed for import\n")
        self.form = "ascii" if settings.mode == "ascii" else "csv"
        return column, row


def contents(path):
    if path.startswith("|"):
        return subprocess.run(path[1:], shell=True, stdout=subprocess.PIPE).stdout
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        raise Refused(f'Error: cannot open "{path}"\n') from None


def skip_row(fields):
    while fields.read() is not None and fields.ended is COLUMN:
        pass


def read_row(fields, ncolumns, complain):
    """The values of a row, or None at the end of the file."""
    values, begun_in_line = [], fields.line
    while len(values) < ncolumns:
        field = fields.read()
        if field is None and not values or isinstance(fields, Ascii) and not field and fields.ended is not COLUMN and not values:
            return None
        values.append(None if field is None else text_of(field))
        if len(values) < ncolumns and fields.ended is not COLUMN:
            complain(f"{fields.name}:{begun_in_line}: expected {ncolumns} columns but found {len(values)} - filling the rest with NULL")
            return values + [None] * (ncolumns - len(values))
    if fields.ended is COLUMN:
        nfound = ncolumns
        while fields.ended is COLUMN:
            fields.read()
            nfound += 1
        complain(f"{fields.name}:{begun_in_line}: expected {ncolumns} columns but found {nfound} - extras ignored")
    return values


def make_table(connection, table, fields, options, write, complain):
    names = []
    while True:
        field = fields.read()
        if field is None:
            break
        names.append(text_of(field))
        if fields.ended is not COLUMN:
            break
    if not names:
        raise Refused(f"{options.path}: empty file\n")
    names, renamed = unlike_names(names)
    if renamed:
        lines = [f'"{name}" to "{new}"' for name, new in renamed]
        complain(f"Columns renamed during .import {options.path} due to duplicates:\n" + ",\n".join(lines))
    sql = f"CREATE TABLE {table}{declaration(names)}"
    if options.is_verbose:
        write(f"{sql}\n\n".encode("utf-8", "replace"))
    connection.cursor().execute(sql)
    return len(names)


def import_rows(connection, arguments, settings, write, complain):
    """Carries out `.import` with these arguments. complain: what prints a line about a row that is not as it should be."""
    options = Options(arguments, settings)
    name = "<pipe>" if options.path.startswith("|") else options.path
    reader = Csv if options.form == "csv" else Ascii
    fields = reader(contents(options.path), name, options.column, options.row, complain)
    for _ in range(options.nskipped):
        skip_row(fields)
    table = ".".join(quoted_name(part) for part in (options.schema, options.table) if part)
    is_own_transaction = method(connection, "get_autocommit")()
    if is_own_transaction:
        connection.cursor().execute("BEGIN")
    try:
        nrows, nfailed = _import(connection, table, fields, options, write, complain)
    except BaseException:
        if is_own_transaction and not method(connection, "get_autocommit")():
            connection.cursor().execute("ROLLBACK")
        raise
    if is_own_transaction and not method(connection, "get_autocommit")():
        connection.cursor().execute("COMMIT")
    if options.is_verbose:
        write(f"Added {nrows} rows with {nfailed} errors using {fields.line - 1} lines of input\n".encode())


def _import(connection, table, fields, options, write, complain):
    ncolumns = column_count(connection, table)
    if ncolumns is None:
        ncolumns = make_table(connection, table, fields, options, write, complain)
    insert = f"INSERT INTO {table} VALUES({','.join('?' * ncolumns)})"
    cursor = connection.cursor()
    nrows = nfailed = 0
    while True:
        line = fields.line
        values = read_row(fields, ncolumns, complain)
        if values is None:
            return nrows, nfailed
        try:
            cursor.execute(insert, values)
            nrows += 1
        except apsw.ConstraintError as error:
            complain(f"{fields.name}:{line}: INSERT failed: {error}")
            nfailed += 1
        if fields.ended is FILE:
            return nrows, nfailed
