"""A corpus of degenerate arrays, and every function with its arguments asked about each of them:

    python3 tests/safety/degenerate.py [--rows] [--lazy] [--archives] [--sample N] [--seed S] [--stack NBYTES]

Items without bytes, axes of length 0, none and 64 of them, subarrays, structures of 98 levels, 2^62 of nothing; in both orders, as a
.npy and as a member. Functions of whole arrays end within a second and 64 MiB, or with an error. Functions that give a row an item are
asked with LIMIT 100 and, with --rows, without it, and then for all of them at once: an interrupt after 50 ms must be noticed in 10 ms. --stack asks on a thread whose
stack has so many bytes. With --lazy they are asked about handles of npy_concat and npy_calc over a file that holds the array. With --archives the
corpus is archives of every format, without an array, with one and with two, in every place where an array or a file may stand. A sample is taken at random; without --sample all are asked.

Times are the processor's, so that other work on the machine does not count. The name of the array and the statement are printed before
each question that fails, and the last line counts the questions.
"""

import argparse
import os
import random
import resource
import signal
import sqlite3
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lib"))

import shell  # noqa: E402
import tars  # noqa: E402
import torch_files  # noqa: E402
from formats import npy, npz, numbers, safetensors, ten  # noqa: E402
from gguf_files import gguf  # noqa: E402

MANY = 2**62
SECONDS = 1 if shell.FLAVOUR == "release" else 10
NBYTES = 64 << 20
NOTICED_SECONDS = 0.01 if shell.FLAVOUR == "release" else 0.1


def nested(levels, innermost):
    """A structure in a structure in a structure."""
    return innermost if levels == 0 else f"[('a', {nested(levels - 1, innermost)})]"


ONES = "(" + "1, " * 63 + "1)"
NOTHING = [
    "'|S0'", "'<U0'", "'>U0'", "'|V0'", "[]", "[('a', '<f8', (0,))]", "[('a', '|V0'), ('b', '<i4', (0, 3))]", "[('a', '|S0')]",
    f"[('a', '<f4', (2147483647, 0))]", f"[('a', [('b', '|V0', (46340,))], (46340,))]", nested(98, "'|S0'"), f"[('a', '|V0', {ONES})]",
]  # fmt: skip
SOMETHING = [
    "'<f8'", "'>f4'", "'<f2'", "'<f16'", "'|b1'", "'|u1'", "'>i8'", "'<c16'", "'|S3'", "'<U2'", "'|V5'", "'<M8[D]'", "'>m8[s]'",
    "[('a', '<f8'), ('b', '>i2', (2, 0)), ('c', '|S2')]", nested(98, "'<f4'"), f"[('a', '<f4', {ONES})]", f"[('', '|V3'), ('x', '<u2')]",
]  # fmt: skip
OF_NONE = [(0,), (0, 3), (3, 0), (MANY, 0), (0, MANY), (1, 0, 2), (1,) * 63 + (0,), (0,) * 64]
OF_FEW = [(), (1,), (1, 1), (3,), (3, 2), (2, 3), (1,) * 64]
OF_MANY = [(MANY + 10,), (MANY, 1), (1, MANY), (3, MANY // 4), (MANY // 4, 1, 3), (200_000_000,), (1,) * 63 + (MANY,)]


def header(descr, is_fortran, shape):
    return f"{{'descr': {descr}, 'fortran_order': {is_fortran}, 'shape': {shape}, }}"


def corpus():
    """(name, bytes of a .npy) of each array. What few items have is more bytes than they need, of all kinds."""
    for is_fortran in (False, True):
        for descrs, shapes in ((NOTHING, OF_NONE + OF_FEW + OF_MANY), (SOMETHING, OF_NONE + OF_FEW)):
            for descr in descrs:
                for shape in shapes:
                    text = header(descr, is_fortran, shape)
                    data = b"" if shape not in OF_FEW or descr in NOTHING else bytes(range(1, 251)) * 4
                    yield text, npy("", (), data, text=text)


# :a is the array, :z an archive with it.
WHOLE = [
    *(f"SELECT {columns} FROM npy_stats(:a{arguments})" for columns in ("count, nulls, min, max, mean, argmin", "sum", "crc32", "median") for arguments in ("", ", '', '::-1'")),
    *(f"SELECT * FROM npy_stats(:a) WHERE by = {labels}" for labels in (":a", "npy_slice(:a, '0')", "npy_slice(:a, ':, 0')", "npy_field(:a, 'a')", "npy_from_json('[1, 2, 3]')")),
    *(f"SELECT *, first FROM npy_unique(:a{arguments})" for arguments in ("", ", '', '::-1'", ", '', '', 'a'")),
    "SELECT value, label, count FROM npy_unique(:a) WHERE by = :a", "SELECT value, label, count FROM npy_unique(:a) WHERE by = npy_from_json('[1, 2, 3]')",
    *(f"SELECT * FROM npy_histogram(:a{arguments})" for arguments in ("", ", '', '', 3", ", '', '', 'auto'", ", '', '', 4, 0, 1", ", '', '', '[0, 1, 2]'")),
    *(f"SELECT * FROM npy_quantile(:a{arguments})" for arguments in ("", ", '', '', '[0, 0.5, 1]'")),
    *(f"SELECT * FROM npy_quantile(:a, '', '{part}', '[0, 0.5]') WHERE by = {labels}" for part in ("", ":0") for labels in (":a", "npy_from_json('[1, 2, 3]')")),
    *(f"SELECT {columns} WHERE by = npy_from_json('[1, 2, 3]')" for columns in ("label, count, median FROM npy_stats(:a, '', ':0')", "value, label, count FROM npy_unique(:a, '', ':0')")),
    "SELECT * FROM npy_compare(:a, :a)", "SELECT * FROM npy_compare(:z, :z)", "SELECT * FROM npy_compare(:a, npy_transpose(:a))", "SELECT *, crc_ok FROM npz_members(:z)",
    "SELECT * FROM npy_nearest(:a, '', '', npy_from_json('[1, 2, 3]'), 2)", "SELECT *, data FROM npy_nearest(:a, '', '', :a, 2, 'cosine')",
    "SELECT *, metadata, strides FROM npy_meta(:a)", "SELECT *, strides FROM npy_meta(:z)", "SELECT npy_valid(:a), npy_dtype(:a), npy_shape(:a), npy_ndim(:a), npy_size(:a)",
    *(f"SELECT npy_{function}(:a{arguments})" for function in ("sum", "mean", "std", "min", "max", "argmin", "argmax", "median") for arguments in ("", ", 0", ", '[0, 1]'")),
    *(f"SELECT npy_{call}" for call in (
        "json(:a)", "json(npy_slice(:a, '0'))", "data(:a)", "preview(:a)", "preview(:a, 3)", "preview(npy_slice(:a, '::-1'))", "spark(:a)", "spark(:a, 5)", "png(:a)", "png(:a, 'viridis')", "plot(:a)",
        "sketch(:a)", "sketch(:a, 10)", "sketch_quantile(npy_sketch(:a), 0.5)", "norm(:a)", "norm(:a, 1)", "dot(:a, :a)", "distance(:a, :a)", "distance(:a, :a, 'cosine')", "corrcoef(:a)", "corrcoef(:a, 0)",
        "get(:a)", "get(:a, 0)", "get(:a, 0, 0)", "get(:a, -1)", "get_or('none', :a, 5)", "astype(:a, 'f4')", "astype(:a, 'U3')", "reshape(:a, '[-1]')", "reshape(:a, '[0, 4]')", "reshape(:a, '[-1, 3]')",
        "transpose(:a)", "transpose(:a, '[1, 0]')", "order(:a, 'F')", "order(:a, 'C')", "slice(:a, '0')", "slice(:a, '...')", "slice(:a, '::-1')", "slice(:a, '1:2, ...')", "slice(:a, 'None, :1')", "hash(:a)",
        "from_data(npy_data(:a), npy_dtype(:a), npy_shape(:a))", "from_json(npy_json(:a))", "member(:z, 'x')",
    )),
    *(f"SELECT {aggregate} FROM (VALUES (1), (2))" for aggregate in ("npy_stack(:a)", "npy_stack(:a, 'F')", "npy_array(:a)", "npy_array(:a, 'f4')", "npz_archive('x', :a)", "ten_archive(:a)")),
    "SELECT npy_records('v', array) FROM (SELECT array FROM npy_rows(:a) LIMIT 3)", "CREATE TABLE t AS SELECT npy_slice(:a, ':1') AS a",
]  # fmt: skip
ROWS = [
    *(f"SELECT {columns} FROM npy_rows({source}{arguments}){rest}" for source in (":a", ":z") for columns, rest in (
        ("*", ""), ("data", ""), ("array", ""), ("row", " WHERE row > 3"), ("value", " WHERE row IN (0, 5, 2)"),
    ) for arguments in ("", ", '', '::-1'", ", '', ':, 0'")),
    *(f"SELECT {columns} FROM npy_elements({source}{arguments}){rest}" for source in (":a", ":z") for columns, rest in (
        ("*", ""), ("real, imag", ""), ("value", " WHERE i0 = 1"),
    ) for arguments in ("", ", '', '::-1'", ", '', '...', 'a'")),
    "SELECT value FROM npy_rows(:a) WHERE astype = 'f8'", "SELECT value FROM npy_rows(:a) WHERE view = 'u1'", "SELECT value FROM npy_elements(:a) WHERE view = '(2,)u1'",
    *(f"SELECT {columns} FROM npy_stats(:a{arguments})" for columns in ("at, count, nulls, min, max, mean, argmin", "sum", "median") for arguments in (", '', '...', 0", ", '', '', -1", ", '', '', '[0, 2]'")),
    *(f"SELECT * FROM npy_stats(:a, '', '', 0) WHERE by = {labels}" for labels in (":a", "npy_slice(:a, ':, 0')", "npy_from_json('[1, 2, 3]')")),
    *(f"SELECT * FROM npy_quantile(:a, '', '{part}', 0.5, {axis}) WHERE by = npy_from_json('[1, 2, 3]')" for part in ("", ":0") for axis in (0, -1)),
    *(f"SELECT * FROM npy_quantile(:a{arguments})" for arguments in (", '', '', '[0, 0.5, 1]', 0", ", '', '', 0.3, -1")),
]
# What goes through all rows before the first answer.
SCANS = [
    *(f"SELECT {columns} FROM npy_rows(:a{arguments}) {rest}" for columns, rest in (
        ("row", "WHERE value IS NULL"), ("value", "ORDER BY row DESC"), ("count(*)", ""), ("max(data)", ""), ("count(array)", ""),
    ) for arguments in ("", ", '', '::-1'")),
    *(f"SELECT {columns} FROM npy_elements({source}) {rest}" for source in (":a", ":z") for columns, rest in (
        ("idx", "WHERE value IS NULL"), ("value", "ORDER BY idx DESC"), ("idx, i1", "WHERE idx = 5"), ("count(*)", ""), ("max(real)", ""),
    )),
    "SELECT count(*) FROM npy_rows(:a) AS x JOIN npy_rows(:a) AS y USING (row)", "SELECT count(*) FROM npy_elements(:a) AS x JOIN npy_elements(:z) AS y USING (idx)",
    "SELECT count(*) FROM npy_stats(:a, '', '', 0)", "SELECT count(*) FROM npy_quantile(:a, '', '', 0.5, 0)",
]  # fmt: skip


def members(array):
    """An .npz with the array as x."""
    import io
    import zipfile

    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("x.npy", array)
    return out.getvalue()


# An archive as :a where an array is expected in addition to another, which is :b.
OPERANDS = [
    "SELECT label, count FROM npy_stats(:b) WHERE by = :a", "SELECT label, count FROM npy_stats(:a) WHERE by = :b", "SELECT value, label FROM npy_unique(:b) WHERE by = :a",
    "SELECT * FROM npy_nearest(:b, '', '', :a, 1)", "SELECT * FROM npy_nearest(:a, '', '', :b, 1)", "SELECT * FROM npy_compare(:a, :b)", "SELECT * FROM npy_compare(:b, :a)",
    "SELECT npy_calc('a + b', :a, :b)", "SELECT npy_calc('a + b', :b, :a)", "SELECT npy_dot(:b, :a)", "SELECT npy_distance(:a, :b)", "SELECT * FROM npy_histogram(:b, '', '', :a)",
    "SELECT npy_shape(npy_concat(:a))", "SELECT npy_shape(npy_concat(:a, 0))", "SELECT npy_json(npy_concat(:a, '', 1))", "SELECT npy_member(:a, 0), npy_member(:a, '')",
    "SELECT *, metadata FROM npy_meta(:a, 'row')", "SELECT * FROM npy_globals(:a, 'row')", "SELECT *, crc_ok FROM npz_members(:a, 'row')", "SELECT * FROM tar_members(:a, 'row')", "SELECT * FROM ten_arrays(:a, 'row')",
    "SELECT count(*) FROM npy_file(:a)", "SELECT npy_json(array) FROM npy_file(:a, 0)", "SELECT * FROM npy_rows(:a, 1)", "SELECT * FROM npy_quantile(:a, 0)", "SELECT npy_hash(:a)", "SELECT npz_archive('x', :a)", "SELECT ten_archive(:a)",
    "SELECT * FROM npy_write('no such folder/x', :a)", "SELECT npy_astype(:a, 'f4'), npy_slice(:a, '0')", "SELECT npy_field(:a, 'a')",
]  # fmt: skip


def archives():
    """(name, bytes) of archives of no array, of one and of two, in every format."""
    items = [numbers("<f4", (3,), [1, 2, 3]), numbers("<i8", (2, 2), range(4))]
    raw = [("F32", (3,), bytes(12)), ("I64", (2, 2), bytes(32))]
    kinds = ["Float", "Long"]
    for n in range(3):
        names = ["x", "y"][:n]
        tensors = {name: torch_files.tensor(kinds[i], str(i), 4, 0, (2,), (1,)) for i, name in enumerate(names)}
        storages = {str(i): bytes(32) for i in range(n)}
        members = [(f"{name}.npy", item) for name, item in zip(names, items)]
        made = {
            "npy": b"".join(items[:n]), "npz": npz(members), "tar": tars.tar(*(tars.member(name.encode(), item) for name, item in members)),
            "ten": ten([(kind, name, (3,), bytes(3 * int(kind[1]))) for kind, name in zip(("f4", "u1"), names)]),
            "safetensors": safetensors([(name, *parts) for name, parts in zip(names, raw)], {}), "gguf": gguf([(name, *parts) for name, parts in zip(names, raw)]),
            "torch": torch_files.torch_zip(tensors, storages), "old torch": torch_files.torch_legacy(tensors, {key: (4, part) for key, part in storages.items()}),
            "pickle": torch_files.pickled({name: 1 for name in names}, 4), "zip": npz([(f"{name}.txt", b"text") for name in names]),
        }  # fmt: skip
        yield from ((f"{kind} of {n}", contents) for kind, contents in made.items())


class Failure(Exception):
    pass


def ask(db, sql, values):
    """The processor's seconds that a statement takes, whatever it answers."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    signal.alarm(60)  # ends what asks nobody whether to stop
    start = time.process_time()
    try:
        db.execute(sql, values).fetchall()
    except (sqlite3.Error, OverflowError):
        pass  # OverflowError: of Python's own, for a BLOB beyond its limits
    seconds = time.process_time() - start
    signal.alarm(0)
    if db.in_transaction:
        db.rollback()
    db.execute("DROP TABLE IF EXISTS t")
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10
    if seconds > SECONDS:
        raise Failure(f"took {seconds:.2f} s")
    if grown > NBYTES and shell.FLAVOUR == "release":
        raise Failure(f"took {grown >> 20} MiB")


def ask_and_interrupt(db, sql, values):
    """Interrupted after 50 ms; the processor's seconds that pass from then on."""
    clock = time.pthread_getcpuclockid(threading.get_ident())
    interrupted_at = []

    def interrupt():
        interrupted_at.append(time.clock_gettime(clock))
        db.interrupt()

    timer = threading.Timer(0.05, interrupt)
    timer.start()
    try:
        for _ in db.execute(sql, values):
            pass
    except sqlite3.Error:
        pass
    ended_at = time.clock_gettime(clock)
    timer.cancel()
    timer.join()
    if interrupted_at and ended_at - interrupted_at[0] > NOTICED_SECONDS:
        raise Failure(f"was stopped after {(ended_at - interrupted_at[0]) * 1000:.0f} ms")


def questions(options):
    if options.archives:
        plain = numbers("<f8", (3,), [1, 0, 1])
        statements = [*OPERANDS, *WHOLE, *(f"SELECT * FROM ({sql}) LIMIT 100" for sql in ROWS)]
        for name, archive in archives():
            yield from ((name, sql, {"a": archive, "z": archive, "b": plain}) for sql in statements)
        return
    asks_rows = options.rows
    for name, array in corpus():
        values = {"a": array, "z": members(array)}
        for sql in [*ROWS, *SCANS] if asks_rows else [*WHOLE, *(f"SELECT * FROM ({sql}) LIMIT 100" for sql in ROWS)]:
            yield name, sql, values


def lazy_handle(db, folder, array, rng):
    """The array through npy_concat, of one part or two, or through npy_calc; as it is if that takes no such array."""
    path = os.path.join(folder, "x.npy")
    with open(path, "wb") as file:
        file.write(array)
    made = [f"npy_concat({source!r}, '', {axis})" for source in (path, f'["{path}","{path}"]') for axis in (0, -1)]
    made += ["(SELECT npy_calc('a', array) FROM npy_file(:path))", f"npy_calc('a', npy_concat({path!r}))", "npy_concat((SELECT array FROM npy_file(:path)))"]
    try:
        return db.execute(f"SELECT {rng.choice(made)} WHERE :path = :path", {"path": path}).fetchone()[0]
    except sqlite3.Error:
        return array


def run(options):
    rng = random.Random(options.seed)
    db = shell.connect()
    asked = list(questions(options))
    if options.sample:
        asked = [asked[i] for i in sorted(rng.sample(range(len(asked)), options.sample))]
    failed = 0
    folder = tempfile.TemporaryDirectory()
    log = open(options.log, "w")  # once: ext4 waits for the disk whenever a file that was emptied is closed
    for name, sql, values in asked:
        if options.lazy and ":a" in sql:
            values = values | {"a": lazy_handle(db, folder.name, values["a"], rng)}
        log.seek(0)
        log.truncate()
        log.write(f"{name}\n{sql}\n")
        log.flush()
        try:
            (ask_and_interrupt if options.rows else ask)(db, sql, {key: value for key, value in values.items() if f":{key}" in sql})
        except Failure as failure:
            failed += 1
            print(f"{failure}: {name if len(name) < 300 else name[:140] + ' ... ' + name[-140:]}: {sql}", flush=True)
    print(f"{len(asked)} questions, {failed} failed, seed {options.seed}", flush=True)
    return failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", action="store_true")
    parser.add_argument("--lazy", action="store_true")
    parser.add_argument("--archives", action="store_true")
    parser.add_argument("--sample", type=int)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--stack", type=int)
    parser.add_argument("--log", default=os.devnull, help="a file that names the question at hand, for a process that dies")
    options = parser.parse_args()
    options.seed = shell.random_seed() if options.seed is None else options.seed
    failed = []
    if options.stack:
        threading.stack_size(options.stack)
        thread = threading.Thread(target=lambda: failed.append(run(options)))
        thread.start()
        thread.join()
    else:
        failed.append(run(options))
    sys.exit(bool(not failed or failed[0]))


if __name__ == "__main__":
    main()
