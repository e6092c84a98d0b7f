"""A line on a terminal about a statement that lasts: `3 s: 1 file opened, 512 MB read, 171 MB/s`.

Where nothing was read, as in a join of tables that SQLite keeps itself, it is the steps of SQLite's machine that go on:
`3 s: 96 million steps, 32 million/s`. How much is still to be read nobody knows, so no time that is left is shown.
"""

import json
import os
import time

FIRST_SECONDS = 1.0  # a statement that ends sooner has no line
EVERY_SECONDS = 0.5


def _bytes_text(nbytes):
    units = ["B", "kB", "MB", "GB", "TB"]
    while nbytes >= 999.5 and len(units) > 1:
        nbytes /= 1000
        units.pop(0)
    return f"{nbytes:.1f} {units[0]}" if nbytes < 9.95 and units[0] != "B" else f"{nbytes:.0f} {units[0]}"


def _count_text(count):
    return f"{count / 1e6:.1f} million" if count < 9.95e6 else f"{count / 1e6:,.0f} million"


def line_of(seconds, files_opened, bytes_read, nsteps):
    """Of what is going on; nsteps are those since the statement began."""
    if files_opened == 0 and bytes_read == 0:
        return f"{int(seconds)} s: {_count_text(nsteps)} steps, {_count_text(nsteps / seconds)}/s"
    files = f"{files_opened} file{'' if files_opened == 1 else 's'} opened"
    return f"{int(seconds)} s: {files}, {_bytes_text(bytes_read)} read, {_bytes_text(bytes_read / seconds)}/s"


class Progress:
    """What a statement has read since begin, shown on the terminal.

    asked is a connection that runs nothing else: the one that is busy cannot be asked. Whoever writes to the terminal
    calls wipe before.
    """

    def __init__(self, terminal, asked):
        self._terminal, self._asked = terminal, asked
        self._shown = ""
        self._show_at, self._nsteps = None, 0

    def begin(self):
        self.end()
        self._begun_at = time.monotonic()
        self._show_at = self._begun_at + FIRST_SECONDS
        self._nsteps = 0
        self._counters = self._ask()

    def end(self):
        self.wipe()
        self._show_at = None

    def step(self, nsteps):
        """To be called often while the statement runs, each time after so many steps of SQLite's machine."""
        now = time.monotonic()
        self._nsteps += nsteps
        if self._show_at is None or now < self._show_at:
            return
        self._show_at = now + EVERY_SECONDS
        read = {name: count - self._counters[name] for name, count in self._ask().items()}
        self._show(line_of(now - self._begun_at, read["files_opened"], read["bytes_read"] + read["remote_bytes"], self._nsteps))

    def wipe(self):
        if self._shown:
            self._write("\r" + " " * len(self._shown) + "\r")
            self._shown = ""

    def _ask(self):
        return json.loads(next(self._asked.execute("SELECT npyext_counters('process')"))[0])

    def _show(self, line):
        line = line[: self._ncolumns() - 1]
        self._write("\r" + line.ljust(len(self._shown)))
        self._shown = line

    def _ncolumns(self):
        try:
            return os.get_terminal_size(self._terminal.fileno()).columns or 80
        except (OSError, ValueError):
            return 80

    def _write(self, text):
        self._terminal.write(text)
        self._terminal.flush()
