"""Files that several processes write and nobody replaces, for two_writers.py --mix: to a .npy, an .npz and a set of shards,
none of which is there at first, they add with mode 'a'; in an array of numbers they count up with 'r+'.

Whatever a COMMIT has acknowledged is there at the end, once, however writers were killed or stopped in between; what was
refused or taken back is nowhere. Of a transaction whose writer was killed in its COMMIT all is there or nothing; of a set of
shards perhaps a part. A row's number tells its writer, the transaction and its place there.
"""

import collections
import glob
import io
import json
import os
import sqlite3
import tarfile
import zipfile

import numpy as np

FORMS = {
    "added.npy": ("npy('added.npy', mode='a', dtype='i8')", "INSERT INTO {0} VALUES ({1})"),
    "added.npz": ("npy('added.npz', mode='a')", "INSERT INTO {0} VALUES ('{1}', npy_from_json('[{1}]', 'i8'))"),
    "set": ("wds('set-%06d.tar', mode='a', columns='cls', maxcount=3)", "INSERT INTO {0}(__key__, cls) VALUES ('s{1}', {1})"),
    "cells.npy": ("npy('cells.npy', mode='r+')", "UPDATE {0} SET value = value + 1 WHERE rowid = {1}"),
}
NCELLS = 20


def begin(folder):
    np.save(os.path.join(folder, "cells.npy"), np.zeros(NCELLS, "i8"))


# --- writers ---------------------------------------------------------------------------------------------------------


def asked(writer, sql):
    try:
        writer.db.execute(sql)
        return True
    except sqlite3.Error as error:
        writer.say("kept told", str(error))
        return False


def work(writer):
    """A table of one of the paths, and one or two transactions."""
    writer.ntables += 1
    table, form = f"kept{writer.ntables}", writer.rng.choice(list(FORMS))
    declared, written = FORMS[form]
    asked(writer, "CREATE TABLE IF NOT EXISTS main.kept(writer, number)")
    if not asked(writer, f"CREATE VIRTUAL TABLE temp.{table} USING {declared}"):
        return
    for _ in range(writer.rng.choice([1, 1, 2, 3])):
        transaction(writer, table, form, written)
    asked(writer, f"DROP TABLE {table}")


def transaction(writer, table, form, written):
    rng, name, n = writer.rng, writer.new_name(), writer.rng.choice([1, 1, 2, 4, 7])
    rows = [name[0] * 10**6 + name[1] * 10 + i for i in range(n)] if form != "cells.npy" else rng.sample(range(NCELLS), n)
    writer.db.execute("BEGIN")
    if rng.random() < 0.4:
        writer.db.execute("INSERT INTO kept VALUES (?, ?)", name)
    is_written = all(asked(writer, written.format(table, row)) for row in rows)
    if is_written and rng.random() < 0.2:  # more that is taken back
        writer.db.execute("SAVEPOINT s")
        asked(writer, written.format(table, 7 if form == "cells.npy" else name[0] * 10**6 + name[1] * 10 + 9))
        asked(writer, "ROLLBACK TO s")
    if not is_written or rng.random() < 0.15:
        writer.db.execute("ROLLBACK")
        return
    writer.say("keep", name, form, rows)
    is_kept = asked(writer, "COMMIT")
    if writer.db.in_transaction:
        writer.db.execute("ROLLBACK")
    writer.say("kept", name, is_kept)


# --- what is there ---------------------------------------------------------------------------------------------------


def rows_there(form):
    if form == "added.npy":
        return np.load(form).tolist() if os.path.exists(form) else []
    if form == "added.npz":
        if not os.path.exists(form):
            return []
        with zipfile.ZipFile(form) as archive:
            assert archive.testzip() is None
            return [int(np.lib.format.read_array(io.BytesIO(archive.read(name)))[0]) for name in archive.namelist()]
    found = []
    for path in sorted(glob.glob("set-*.tar")):
        with tarfile.open(path) as archive:
            found += [int(archive.extractfile(member).read()) for member in archive]
    return found


def transactions_of(lines):
    """name: (form, rows, "ok", "no" or "maybe")"""
    known = {}
    for line in lines:
        what, *facts = json.loads(line)
        if what == "keep":
            known[tuple(facts[0])] = (facts[1], facts[2], "maybe")
        elif what == "kept":
            known[tuple(facts[0])] = (*known[tuple(facts[0])][:2], "ok" if facts[1] else "no")
    return known


def check_rows(form, transactions):
    """Returns how many rows were acknowledged."""
    found = collections.Counter(rows_there(form))
    twice = [row for row, n in found.items() if n > 1]
    assert not twice, f"{form} has {twice} more than once"
    known, acknowledged, lost = set(), 0, []
    for name, (own, rows, outcome) in transactions.items():
        if own != form:
            continue
        known |= set(rows) if outcome != "no" else set()
        nthere = sum(row in found for row in rows)
        acknowledged += len(rows) if outcome == "ok" else 0
        lost += [row for row in rows if row not in found] if outcome == "ok" else []
        is_whole = outcome != "maybe" or nthere in (0, len(rows)) or form == "set"
        assert is_whole, f"{form} has a part of {name}: {nthere} of {rows}"
    assert not lost, f"{form} has lost {len(lost)} of {acknowledged} rows that were acknowledged: {lost[:20]}"
    assert set(found) <= known, f"{form} has rows of nobody: {sorted(set(found) - known)[:20]}"
    return acknowledged


def check_cells(transactions):
    least, most = np.zeros(NCELLS, "i8"), np.zeros(NCELLS, "i8")
    for own, rows, outcome in transactions.values():
        if own == "cells.npy":
            least[rows] += outcome == "ok"
            most[rows] += outcome != "no"
    found = np.load("cells.npy")
    assert np.all(least <= found) and np.all(found <= most), f"cells.npy has {found.tolist()}: at least {least.tolist()}, at most {most.tolist()}"
    return int(least.sum())


def check_databases(transactions):
    for path in glob.glob("own*.db"):
        db = sqlite3.connect(path)
        has_table = db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'kept'").fetchone()[0]
        for name in db.execute("SELECT writer, number FROM kept") if has_table else []:
            assert transactions.get(name, (0, 0, "no"))[2] != "no", f"{path} has {name}, which was refused or taken back"
        db.close()


def check(lines):
    """Returns a Counter of what was acknowledged. All writers have ended."""
    transactions, totals = transactions_of(lines), collections.Counter()
    for form in ("added.npy", "added.npz", "set"):
        totals[f"rows kept in {form}"] = check_rows(form, transactions)
    totals["cells counted up"] = check_cells(transactions)
    check_databases(transactions)
    return totals
