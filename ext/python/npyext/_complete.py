"""Completion of what is typed: commands, keywords, functions, tables, their columns, and files within quotes."""

import os
import re

import apsw

from . import _dot, _output

# Columns of these are looked up: the tables that a statement names, and table-valued functions.
_NAMED = re.compile(r"\b(?:FROM|JOIN|INTO|UPDATE|TABLE)\s+(?:\w+\.)?\"?(\w+)", re.I)
_STATEMENTS = """SELECT FROM WHERE GROUP BY ORDER LIMIT OFFSET HAVING JOIN LEFT INNER CROSS ON USING AS AND OR NOT NULL IS IN LIKE GLOB
BETWEEN CASE WHEN THEN ELSE END DISTINCT UNION ALL EXCEPT INTERSECT WITH RECURSIVE MATERIALIZED VALUES INSERT INTO UPDATE SET DELETE CREATE
TABLE VIEW INDEX TRIGGER VIRTUAL TEMP DROP ALTER ATTACH DETACH PRAGMA EXPLAIN QUERY PLAN BEGIN COMMIT ROLLBACK SAVEPOINT RELEASE OVER
PARTITION FILTER EXISTS CAST COLLATE DEFAULT PRIMARY KEY UNIQUE CHECK REFERENCES FOREIGN IF REPLACE RETURNING ASC DESC NULLS FIRST LAST"""


def files(text):
    """Paths that begin with a text; folders end with a slash."""
    folder, begin = os.path.split(text)
    try:
        names = sorted(os.listdir(os.path.expanduser(folder) or "."))
    except OSError:
        return []
    found = [os.path.join(folder, name) for name in names if name.startswith(begin) and (begin or not name.startswith("."))]
    return [path + "/" if os.path.isdir(os.path.expanduser(path)) else path for path in found]


def quote_before(text):
    """The place after the quote that a text is within, or None. A doubled quote ends nothing."""
    quote, begin, i = None, None, 0
    while i < len(text):
        if quote is None and text[i] in "'\"":
            quote, begin = text[i], i + 1
        elif text[i] == quote and text[i + 1 : i + 2] == quote:
            i += 1
        elif text[i] == quote:
            quote = begin = None
        i += 1
    return begin


class Completer:
    """For readline, which asks for one completion after the other."""

    def __init__(self, shell, readline):
        self.shell, self.readline = shell, readline
        self.found = []

    def complete(self, text, state):
        try:
            if state == 0:
                line, begin = self.readline.get_line_buffer(), self.readline.get_begidx()
                self.found = self.candidates(line[:begin], text, line[self.readline.get_endidx() :])
            return self.found[state] if state < len(self.found) else None
        except Exception:  # a completion that fails must not end the line
            return None

    def candidates(self, before, text, after=""):
        """before, after: what stands around the word that is completed."""
        place = quote_before(before + text)
        if place is not None:
            return self.quoted_files(before, text, place, after)
        if before.startswith("."):
            command = _dot.words(before[1:])[0]
            if command == "mode":
                return [mode for mode in _output.MODES if mode.startswith(text)]
            if command in ("read", "open", "import", "cd", "output", "once", "load"):
                known = before.split()[-1] if not before[-1:].isspace() else ""
                return [path[len(known) :] for path in files(known + text)]
        if not before.strip() and text.startswith("."):
            return ["." + name + " " for name in _dot.NAMES if name.startswith(text[1:])]
        return self.words(before + self.readline.get_line_buffer()[len(before) :], text)

    def quoted_files(self, before, text, place, after):
        """Files, and a quote after each but the folders. place: after the quote that the word is within, or that is in it."""
        line = before + text
        quote = line[place - 1]
        typed = line[place:].replace(2 * quote, quote)
        ends = lambda path: "" if path.endswith("/") or after.startswith(quote) else quote
        paths = [path.replace(quote, 2 * quote) + ends(path) for path in files(typed)]
        return [(line[:place] + path)[len(before) :] for path in paths]

    def words(self, line, text):
        prefix, dot, word = text.rpartition(".")
        folded = word.lower()
        matching = lambda names: sorted({name for name in names if name.lower().startswith(folded)})
        if dot:
            return [f"{prefix}.{name}" for name in matching(self.columns([prefix]) or self.columns(_NAMED.findall(line)))]
        found = matching(self.columns(_NAMED.findall(line)))
        found += [name for name in matching(self.tables()) if name not in found]
        found += [name + "(" for name in matching(self.functions())]
        keywords = [name.lower() if word.islower() else name for name in _STATEMENTS.split()]
        return found + [name for name in matching(keywords) if name not in found]

    def ask(self, sql, *values):
        try:
            return [row[0] for row in self.shell.connection.cursor().execute(sql, values or None)]
        except apsw.Error:
            return []

    def columns(self, tables):
        return [name for table in tables for name in self.ask("SELECT name FROM pragma_table_xinfo(?)", table)]

    def tables(self):
        names = [self.ask(f"SELECT name FROM {_output.name_in_sql(schema)}.sqlite_schema WHERE type IN ('table', 'view')") for schema in self.ask("SELECT name FROM pragma_database_list")]
        return [name for each in names for name in each] + self.ask("SELECT name FROM pragma_module_list WHERE name NOT LIKE 'pragma%'")

    def functions(self):
        return self.ask("SELECT DISTINCT name FROM pragma_function_list WHERE name GLOB '[a-z]*'")
