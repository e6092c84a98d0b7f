"""Rows as the sqlite3 program prints them: its output modes, byte for byte.

Everything here is bytes, as in that program: a BLOB is printed as what it holds, a text ends at its first NUL, and the
width of a text is its number of characters. Settings holds what .mode, .headers, .separator, .nullvalue and .width set;
print_rows prints the result of one statement.
"""

import itertools
import math
import re
import shutil
import struct
import sys
import unicodedata
from decimal import ROUND_HALF_UP, Context, Decimal

COLUMNAR = ("column", "table", "markdown", "box")
# The separators that .mode sets; other modes leave them as they are.
SEPARATORS = {
    "line": (None, b"\n"),
    "column": (None, b"\n"),
    "list": (b"|", b"\n"),
    "tcl": (b" ", b"\n"),
    "csv": (b",", b"\r\n"),
    "tabs": (b"\t", b"\n"),
    "quote": (b",", b"\n"),
    "ascii": (b"\x1f", b"\x1e"),
}
MODES = ("ascii", "auto", "box", "column", "csv", "html", "insert", "json", "line", "list", "markdown", "qbox", "quote", "table", "tabs", "tcl")
WRAP = 60  # characters of a cell in columns after .mode, unless it or .width says otherwise
UNLIMITED = 1000000
# The rows that mode `auto` lays out at once: it begins to print before all rows of a long answer are there.
AUTO_ROWS = 1000


class Settings:
    """What is printed how, until a command changes it."""

    def __init__(self):
        self.mode = "list"
        self.has_headers, self.are_headers_set = False, False
        self.column_separator, self.row_separator = b"|", b"\n"
        self.null = b""
        self.widths = []
        self.wrap, self.wraps_words, self.quotes = 0, False, False
        self.table = b"table"
        self.escapes = False  # what would command a terminal

    def set_mode(self, mode):
        if mode == "column" and not self.are_headers_set:
            self.has_headers = True
        column, row = SEPARATORS.get(mode, (None, None))
        self.column_separator = self.column_separator if column is None else column
        self.row_separator = self.row_separator if row is None else row
        self.mode = "list" if mode == "tabs" else mode


# --- values -----------------------------------------------------------------------------------------------------------


def real_text(value, ndigits):
    """A REAL as SQLite's own %!.15g and %!.20g."""
    if math.isinf(value):
        return "Inf" if value > 0 else "-Inf"
    if value == 0:
        return "0.0"
    sign, digits, exponent = Context(ndigits, ROUND_HALF_UP).create_decimal(Decimal(value)).as_tuple()
    power = len(digits) + exponent - 1
    shown = "".join(map(str, digits)).rstrip("0")
    if power < -4 or power >= ndigits:
        text = f"{shown[0]}.{shown[1:] or '0'}e{'-' if power < 0 else '+'}{abs(power):02}"
    elif power < 0:
        text = "0." + "0" * (-power - 1) + shown
    else:
        text = shown[: power + 1].ljust(power + 1, "0") + "." + (shown[power + 1 :] or "0")
    return "-" + text if sign else text


def encoded(text):
    return text.encode("utf-8", "surrogatepass")


def raw(value):
    """All bytes of a value, or None."""
    if value is None:
        return None
    if isinstance(value, str):
        return encoded(value)
    if isinstance(value, float):
        return real_text(value, 15).encode()
    return str(value).encode() if isinstance(value, int) else bytes(value)


def as_text(value):
    """What the program takes for a value's text: it ends at a NUL."""
    found = raw(value)
    return found if found is None else found.partition(b"\0")[0]


# All but tabs and ends of lines, as newer programs of SQLite's print them, and the C1 controls of Unicode.
CONTROLS = {code: f"^{chr(code ^ 64)}" for code in (*range(32), 127) if code not in (9, 10)}
CONTROLS.update((code, f"\\x{code:02x}") for code in range(128, 160))
CONTROL_BYTES = re.compile(rb"[\x01-\x08\x0b-\x1f\x7f]")


def harmless(value):
    """A value without what a terminal would obey: texts and names of files may be a stranger's."""
    if isinstance(value, str):
        return value.partition("\0")[0].translate(CONTROLS)
    if isinstance(value, bytes):
        return CONTROL_BYTES.sub(lambda found: CONTROLS[found[0][0]].encode(), value)
    return value


def quoted(text):
    return b"'" + text.replace(b"'", b"''") + b"'"


def unused(text, *names):
    """The first of the names that is not in the text; after them come longer ones."""
    numbered = ((b"(%s%d)" % (names[0].strip(b"\\"), i)) for i in itertools.count())
    return next(each for each in itertools.chain(names, numbered) if each not in text)


def quoted_on_one_line(text):
    """A literal whose ends of lines are named, so that it stays one line."""
    if b"\n" not in text and b"\r" not in text:
        return quoted(text)
    body, before, after = text, b"", b""
    if b"\n" in text:
        name = unused(text, b"\\n", b"\\012")
        body, before, after = body.replace(b"\n", name), b"replace(" + before, after + b",'" + name + b"',char(10))"
    if b"\r" in text:
        name = unused(text, b"\\r", b"\\015")
        body, before, after = body.replace(b"\r", name), b"replace(" + before, b",'" + name + b"',char(13))" + after
    return before + quoted(body) + after


def literal(value, quote=quoted, infinity=None):
    """A value as SQL. infinity: what stands for an infinite number, where SQL is to be read again."""
    if value is None:
        return b"NULL"
    if isinstance(value, float):
        if infinity and math.isinf(value):
            return infinity if value > 0 else b"-" + infinity
        return real_text(value, 20).encode()
    if isinstance(value, int):
        return b"%d" % value
    return quote(as_text(value)) if isinstance(value, str) else b"X'" + bytes(value).hex().encode() + b"'"


JSON_ESCAPES = {b'"'[0]: b'\\"', b"\\"[0]: b"\\\\", 8: b"\\b", 9: b"\\t", 10: b"\\n", 12: b"\\f", 13: b"\\r"}


def json_string(data):
    escaped = (JSON_ESCAPES.get(c) or (b"\\u%04x" % c if c < 32 else bytes((c,))) for c in data)
    return b'"' + b"".join(escaped) + b'"'


def json_value(value):
    if value is None:
        return b"null"
    if isinstance(value, float):
        return (b"1e999" if value > 0 else b"-1e999") if math.isinf(value) else real_text(value, 20).encode()
    if isinstance(value, int):
        return b"%d" % value
    return json_string(as_text(value) if isinstance(value, str) else bytes(value))


C_ESCAPES = {b"\\"[0]: b"\\\\", b'"'[0]: b'\\"', 9: b"\\t", 10: b"\\n", 13: b"\\r"}


def c_string(data):
    return b'"' + b"".join(C_ESCAPES.get(c) or (bytes((c,)) if 32 <= c < 127 else b"\\%03o" % c) for c in data) + b'"'


def html(data):
    for character, entity in ((b"&", b"&amp;"), (b"<", b"&lt;"), (b">", b"&gt;"), (b'"', b"&quot;"), (b"'", b"&#39;")):
        data = data.replace(character, entity)
    return data


PLAIN_IN_CSV = frozenset(range(33, 127)) - {ord('"'), ord("'")}


def csv_field(data, separator):
    if not data or not PLAIN_IN_CSV.issuperset(data) or separator in data:
        return b'"' + data.replace(b'"', b'""') + b'"'
    return data


# --- columns ----------------------------------------------------------------------------------------------------------


def count_characters(data):
    return len(data) if data.isascii() else sum(c & 0xC0 != 0x80 for c in data)


def count_cells(data):
    """Of a terminal: wide characters take two, marks none. Only mode `auto` counts so, which sqlite3 has not."""
    if data.isascii():
        return len(data)
    wide = {"W": 2, "F": 2}
    return sum(0 if unicodedata.combining(c) else wide.get(unicodedata.east_asian_width(c), 1) for c in data.decode("utf-8", "replace"))


def is_alphanumeric(c):
    return 48 <= c <= 57 or 65 <= c <= 90 or 97 <= c <= 122


def first_line(text, width, wraps_words):
    """The part of a text that one line of a cell shows, and the rest, or None when nothing is left. Control characters but
    tabs end a line."""
    width = abs(width) or UNLIMITED
    if len(text) < width and not any(c < 32 for c in text):
        return text, None
    text += b"\0\0"
    place = column = 0
    shown = []  # pieces, each with where it begins in the text
    while column < width:
        c = text[place]
        if c < 32 and c != 9:
            break
        begin = place
        place += 1
        while c != 9 and text[place] & 0xC0 == 0x80:
            place += 1
        if c == 9:
            blanks = min(8 - column % 8, width - column)
            shown.append((begin, b" " * blanks))
            column += blanks
        else:
            shown.append((begin, text[begin:place]))
            column += 1
    end = place
    if column >= width and wraps_words:
        end, place = word_end(text, place)
    if column >= width and text[place] >= 32:
        rest = text[place:-2]
    elif text[place : place + 2] == b"\r\n":
        rest = text[place + 2 : -2] or None
    elif text[place] == 0 or text[place + 1] == 0:
        rest = None
    else:
        rest = text[place + 1 : -2]
    return b"".join(piece for begin, piece in shown if begin < end), rest


def word_end(text, place):
    """Where a line that is full at the place had better end, and where the next begins."""
    for k in range(place, place // 2, -1):
        if text[k - 1] in b" \t\n\v\f\r":
            break
    else:
        for k in range(place, place // 2, -1):
            if is_alphanumeric(text[k - 1]) != is_alphanumeric(text[k]) and text[k] & 0xC0 != 0x80:
                break
        else:
            return place, place
    place = k
    while text[place] == 32:
        place += 1
    return k, place


class Grid:
    """Rows of cells, each row of one or more lines, and the widths of the columns."""

    def __init__(self, settings, names, rows, count=count_characters):
        self.count = count
        self.asked = (settings.widths + [0] * len(names))[: len(names)]
        wraps = [abs(width or settings.wrap) for width in self.asked]
        show = (lambda value: literal_in_cell(value)) if settings.quotes else (lambda value: settings.null if value is None else as_text(value))
        self.names = [first_line(name, wrap, settings.wraps_words)[0] for name, wrap in zip(names, wraps)]
        self.rows = []
        for row in rows:
            rest = [show(value) for value in row]
            lines = []
            while not lines or any(each is not None for each in rest):
                cells = [(b"", None) if each is None else first_line(each, wrap, settings.wraps_words) for each, wrap in zip(rest, wraps)]
                lines.append([cell for cell, _ in cells])
                rest = [left for _, left in cells]
            self.rows.append(lines)
        self.is_spaced = any(len(lines) > 1 for lines in self.rows)
        self.widths = [abs(width) for width in self.asked]
        for cells in itertools.chain([self.names], *self.rows):
            self.widths = [max(width, count(cell)) for width, cell in zip(self.widths, cells)]

    def padded(self, cells):
        for cell, width, asked in zip(cells, self.widths, self.asked):
            blanks = b" " * (width - self.count(cell))
            yield blanks + cell if asked < 0 else cell + blanks

    def centred(self):
        for name, width in zip(self.names, self.widths):
            left = (width - self.count(name)) // 2
            yield b" " * left + name + b" " * (width - self.count(name) - left)


def literal_in_cell(value):
    if isinstance(value, float):
        return real_text(value, 15).encode()
    return literal(value).replace(b"X'", b"x'", 1) if isinstance(value, bytes) else literal(value)


def print_column(settings, grid, write):
    if settings.has_headers:
        write(b"  ".join(grid.padded(grid.names)) + b"\n")
        write(b"  ".join(b"-" * width for width in grid.widths) + b"\n")
    for i, lines in enumerate(grid.rows):
        write(b"".join(b"  ".join(grid.padded(cells)) + b"\n" for cells in lines))
        if grid.is_spaced and i + 1 < len(grid.rows):
            write(b"\n")


# Of the rules above, between and below the rows: left, middle, right; the line, and what stands between cells.
BOX = [["┌", "┬", "┐"], ["├", "┼", "┤"], ["└", "┴", "┘"], "─", "│"]
TABLE = [["+"] * 3, ["+"] * 3, ["+"] * 3, "-", "|"]
MARKDOWN = [None, ["|"] * 3, None, "-", "|"]


def print_ruled(grid, characters, write):
    above, between, below, line, bar = characters

    def rule(ends):
        if ends:
            left, middle, right = ends
            write((left + middle.join(line * (width + 2) for width in grid.widths) + right + "\n").encode())

    bar = bar.encode()

    def print_line(cells):
        write(bar + b" " + (b" " + bar + b" ").join(cells) + b" " + bar + b"\n")

    rule(above)
    print_line(grid.centred())
    rule(between)
    for i, lines in enumerate(grid.rows):
        for cells in lines:
            print_line(grid.padded(cells))
        if grid.is_spaced and above and i + 1 < len(grid.rows):
            rule(between)
    rule(below)


def print_columnar(settings, mode, names, rows, write):
    rows = list(rows)
    if not rows:
        return
    grid = Grid(settings, names, rows)
    settings.widths += [0] * (len(names) - len(settings.widths))  # as .show tells
    if mode == "column":
        print_column(settings, grid, write)
    else:
        print_ruled(grid, {"box": BOX, "table": TABLE, "markdown": MARKDOWN}[mode], write)


def print_auto(settings, names, rows, write):
    """A box where the rows fit the terminal, and lines where they do not."""
    ncolumns = shutil.get_terminal_size().columns
    has_boxes = "utf" in (sys.stdout.encoding or "").lower().replace("-", "")
    unwrapped = Settings()
    unwrapped.null, unwrapped.widths, unwrapped.wrap = settings.null, settings.widths, 0
    rows = iter(rows)
    nprinted = 0
    while True:
        part = list(itertools.islice(rows, AUTO_ROWS))
        if not part:
            return
        grid = Grid(unwrapped, names, part, count_cells)
        if sum(grid.widths) + 3 * len(names) + 1 <= ncolumns:
            print_ruled(grid, BOX if has_boxes else TABLE, write)
        else:
            if nprinted:
                write(b"\n")
            print_lines(unwrapped, names, part, write)
        nprinted += len(part)


# --- rows one by one --------------------------------------------------------------------------------------------------


def print_lines(settings, names, rows, write):
    width = max([5, *map(len, names)])
    end = settings.row_separator
    for i, row in enumerate(rows):
        shown = (name.rjust(width) + b" = " + (settings.null if value is None else as_text(value)) + end for name, value in zip(names, row))
        write((end if i else b"") + b"".join(shown))


def print_list(settings, names, rows, write):
    column, end, null = settings.column_separator, settings.row_separator, settings.null
    for i, row in enumerate(rows):
        if i == 0 and settings.has_headers:
            write(column.join(names) + end)
        write(column.join(null if value is None else as_text(value) for value in row) + end)


def print_tcl(settings, names, rows, write):
    column, end = settings.column_separator, settings.row_separator
    for i, row in enumerate(rows):
        if i == 0 and settings.has_headers:
            write(column.join(map(c_string, names)) + end)
        write(column.join(c_string(settings.null if value is None else as_text(value)) for value in row) + end)


def print_csv(settings, names, rows, write):
    column, end = settings.column_separator, settings.row_separator
    field = lambda value: settings.null if value is None else csv_field(as_text(value), column)
    for i, row in enumerate(rows):
        if i == 0 and settings.has_headers:
            write(column.join(csv_field(name, column) for name in names) + end)
        write(column.join(map(field, row)) + end)


def print_html(settings, names, rows, write):
    def line(tag, cells):
        write(b"<TR>" + b"".join(b"<%s>%s</%s>\n" % (tag, html(cell), tag) for cell in cells) + b"</TR>\n")

    for i, row in enumerate(rows):
        if i == 0 and settings.has_headers:
            line(b"TH", names)
        line(b"TD", (settings.null if value is None else as_text(value) for value in row))


def print_json(settings, names, rows, write):
    keys = [json_string(name) + b":" for name in names]
    i = -1
    for i, row in enumerate(rows):
        write((b",\n{" if i else b"[{") + b",".join(key + json_value(value) for key, value in zip(keys, row)) + b"}")
    if i >= 0:
        write(b"]\n")


def print_quote(settings, names, rows, write):
    column, end = settings.column_separator, settings.row_separator
    for i, row in enumerate(rows):
        if i == 0 and settings.has_headers:
            write(column.join(map(quoted, names)) + end)
        write(column.join(map(literal, row)) + end)


def insert_line(table, names, row):
    """names: of the columns, as SQL, or None."""
    columns = b"(" + b",".join(names) + b")" if names else b""
    values = b",".join(literal(value, quoted_on_one_line, b"1e999") for value in row)
    return b"INSERT INTO " + table + columns + b" VALUES(" + values + b");\n"


def print_insert(settings, names, rows, write):
    columns = [name_in_sql(name.decode("utf-8", "surrogatepass")).encode() for name in names] if settings.has_headers else None
    for row in rows:
        write(insert_line(settings.table, columns, row))


# Those names that SQLite takes without quotes: the keywords are a list that print_insert's caller has from SQLite.
KEYWORDS = set()


def name_in_sql(name):
    """A name, quoted where it has to be."""
    plain = name.isascii() and name.replace("_", "a").isalnum() and not name[0].isdigit() and name.upper() not in KEYWORDS
    return name if plain else '"' + name.replace('"', '""') + '"'


PRINTERS = {
    "list": print_list,
    "ascii": print_list,
    "line": print_lines,
    "tcl": print_tcl,
    "csv": print_csv,
    "html": print_html,
    "json": print_json,
    "quote": print_quote,
    "insert": print_insert,
    "auto": print_auto,
}


ESCAPED = {"list", "line", "auto", *COLUMNAR}  # the others have quotes of their own, or are for programs


def print_rows(settings, names, rows, write):
    """Prints what a statement answers: names of columns, rows of values."""
    if settings.escapes and settings.mode in ESCAPED:
        names, rows = map(harmless, names), (tuple(map(harmless, row)) for row in rows)
    names = [encoded(name) for name in names]
    if settings.mode in COLUMNAR:
        print_columnar(settings, settings.mode, names, rows, write)
    else:
        PRINTERS[settings.mode](settings, names, rows, write)


# --- plans ------------------------------------------------------------------------------------------------------------


def print_plan(rows, write):
    """The answer of EXPLAIN QUERY PLAN, as a tree."""
    children = {}
    for number, parent, _, detail in rows:
        children.setdefault(parent, []).append((number, detail))

    def print_level(parent, prefix):
        below = children.get(parent, [])
        for i, (number, detail) in enumerate(below):
            is_last = i + 1 == len(below)
            write(encoded(f"{prefix}{'`--' if is_last else '|--'}{detail}\n"))
            print_level(number, prefix + ("   " if is_last else "|  "))

    if children:
        write(b"QUERY PLAN\n")
        print_level(0, "")


PROGRAM_WIDTHS = (4, 13, 4, 4, 4, 13, 2, 13)
ENDS_OF_LOOPS = {"Next", "Prev", "VPrev", "VNext", "SorterNext", "Return"}
BEGINNINGS_OF_LOOPS = {"Yield", "SeekLT", "SeekGT", "RowSetRead", "Rewind"}


def print_program(settings, names, rows, write):
    """The answer of EXPLAIN: instructions, with loops indented."""
    rows = [row[: len(PROGRAM_WIDTHS)] for row in rows]
    if not rows:
        return
    indents = [0] * len(rows)
    begins = [row[1] in BEGINNINGS_OF_LOOPS for row in rows]
    for place, (address, opcode, p1, p2) in enumerate(row[:4] for row in rows):
        target = p2 + place - address
        is_end = opcode in ENDS_OF_LOOPS and target > 0
        if is_end or (opcode == "Goto" and 0 <= target < place and (begins[target] or p1)):
            for i in range(max(target, 0), place):
                indents[i] += 2
    names = [encoded(name) for name in names[: len(PROGRAM_WIDTHS)]]
    write(b"  ".join(name.ljust(width) for name, width in zip(names, PROGRAM_WIDTHS)) + b"\n")
    write(b"  ".join(b"-" * width for width in PROGRAM_WIDTHS) + b"\n")
    for row, indent in zip(rows, indents):
        line = b""
        for i, (value, width) in enumerate(zip(row, PROGRAM_WIDTHS)):
            shown = settings.null if value is None else as_text(value)
            is_last = i + 1 == len(row)
            is_long = count_characters(shown) > (0 if is_last else width)
            line += b" " * indent if i == 1 else b""
            line += shown if is_long or is_last else shown + b" " * (width - count_characters(shown))
            line += b"\n" if is_last else b" " if is_long else b"  "
        write(line)
