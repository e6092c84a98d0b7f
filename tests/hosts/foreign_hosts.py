"""Another host gives the answers of this one: `make check-foreign`, where SQLITE3 and NPYEXT_SO are an emulated shell
and its extension. What ./npyext.so answers here is compared with NumPy elsewhere."""

import os
import re

import numpy as np
import pytest

import shell
from arrays import (
    SCALARS,
    both_byte_orders,
    expressible_array,
    npy_bytes,
    npz_bytes,
    random_array,
    random_shape,
    random_structured_dtype,
    seeded_generator,
    ten_bytes,
    write_sparse_npy,
)

FLOAT = re.compile(r"-?\b\d+(?:\.\d+(?:e[+-]?\d+)?|e[+-]?\d+)\b")
NATIVE = os.path.join(shell.ROOT, "npyext.so")


@pytest.fixture
def compare(monkeypatch):
    """compare(sql, there[, here]): runs the SQL on the other host in the folder `there` and on this one in the folder
    `here`; -> their one answer."""
    assert os.path.realpath(shell.EXTENSION) != os.path.realpath(NATIVE)

    def compare(sql, there, here=None):
        got = shell.run(sql, there)
        with monkeypatch.context() as patch:
            patch.setattr(shell, "EXTENSION", NATIVE)
            patch.delenv("SQLITE3")
            want = shell.run(sql, here or there)
        # What is between the floats is the same; those are printed by SQLite, with the long double of the host.
        assert FLOAT.split(got) == FLOAT.split(want)
        for ours, theirs in zip(FLOAT.findall(want), FLOAT.findall(got)):
            assert float(theirs) == pytest.approx(float(ours), rel=1e-12, nan_ok=True), (theirs, ours)
        return got

    return compare


@pytest.fixture(scope="module")
def arrays(tmp_path_factory):
    """A folder with arrays of every dtype, order and container."""
    rng, folder = seeded_generator(), tmp_path_factory.mktemp("arrays")
    dtypes = [dtype for name in SCALARS for dtype in both_byte_orders(name)]
    dtypes += [random_structured_dtype(rng) for _ in range(40)]
    members = {}
    for i, dtype in enumerate(dtypes):
        shape, order = random_shape(rng, i % 4), "CF"[i // 4 % 2]
        array = random_array(rng, dtype, shape, order)
        members[f"m{i}"] = array
        (folder / f"{i:03}.npy").write_bytes(npy_bytes(array))
    for variant in ("stored", "deflate"):
        (folder / f"{variant}.npz").write_bytes(npz_bytes(members, variant))
    numbers = [np.arange(12, dtype=code).reshape(3, 4) for code in ("f4", "i8", "u1", "f8", "f2", "i2")]
    for order, name in (("<", "little"), (">", "big")):
        (folder / f"{name}.ten").write_bytes(ten_bytes(numbers, order))
    return folder


READING = {
    "meta": """SELECT path, name, idx, format, dtype, descr, kind, itemsize, byteorder, shape, strides, size, nbytes, fields,
        version, data_offset, compression, file_size, error FROM npy_meta('**')""",
    "members": "SELECT *, crc_ok FROM npz_members('*.npz')",
    "tens": "SELECT * FROM ten_arrays('*.ten')",
    "rows": "SELECT path, name, row, typeof(value), hex(data), value"
    " FROM npy_rows('**') WHERE on_error = 'skip'",
    "elements": "SELECT path, name, idx, i0, i1, i2, iif(typeof(value) = 'blob', hex(value), value)"
    " FROM npy_elements('**') WHERE on_error = 'skip'",
    "steps": "SELECT path, row, hex(data) FROM npy_rows('*.npy', '', '::-2') WHERE on_error = 'skip'",
    # Sums of more than a few numbers depend on the order of additions, which is the processor's: a mean whose numbers
    # cancel each other is as sure as the largest of them.
    "statistics": """SELECT path, name, field_name, count, nulls, infs, zeros,
        iif(typeof(min) = 'real', min, hex(min)), iif(typeof(max) = 'real', max, hex(max)), argmin, argmax, crc32, error,
        iif(typeof(min) IN ('integer', 'real') AND 1000 * abs(mean) < max(abs(min + 0.0), abs(max + 0.0)),
            2 + mean / max(abs(min + 0.0), abs(max + 0.0)), mean), std, typeof(sum) FROM npy_stats('**')""",
    "histograms": "SELECT path, bin, lo, hi, count FROM npy_histogram('*.ten')",
    "filters": "SELECT path, name, idx FROM npy_elements('**') WHERE value > 1 AND on_error = 'skip'",
    "casts": "SELECT path, name, row, hex(data) FROM npy_rows('**') WHERE astype = '<f4' AND on_error = 'skip'",
    "views": "SELECT path, row, hex(data), value FROM npy_rows('*.npy') WHERE view = 'bfloat16' AND on_error = 'skip'",
    "compare": "SELECT name, status, max_abs, max_rel, differing, error FROM npy_compare('stored.npz', 'deflate.npz')",
    "json": "SELECT path, name, npy_json(array), npy_shape(array), npy_dtype(array) FROM npy_file('*.np[yz]')",
    "reorder": "SELECT path, hex(npy_order(array, 'F')), hex(npy_transpose(array)), hex(npy_data(array)) FROM npy_file('*.npy')",
}


@pytest.mark.parametrize("name", READING)
def test_reading(compare, arrays, name):
    answer = compare(READING[name] + ";", arrays)
    assert answer.count("\n") > 5 and not answer.startswith("Error")


def test_writing(compare, tmp_path):
    """The same statements leave the same files, byte for byte."""
    rng, names = seeded_generator(), []
    there, here = tmp_path / "there", tmp_path / "here"
    there.mkdir()
    here.mkdir()
    script = []
    for name in SCALARS:
        for dtype in both_byte_orders(name):
            array = expressible_array(rng, dtype, (7,))
            for folder in (there, here):
                np.save(folder / f"in{len(names)}.npy", array)
            i = len(names)
            names.append(name)
            script.append(
                f"CREATE VIRTUAL TABLE temp.t USING npy('out{i}.npy', mode='w+', dtype='{dtype.str}');"
                f"INSERT INTO t SELECT value FROM npy_rows('in{i}.npy');"
                "DROP TABLE t;"
                f"SELECT hex(npy_array(value, '{dtype.str}')) FROM npy_rows('in{i}.npy');"
            )
    script.append("SELECT bytes FROM npy_write('all.npz', (SELECT npz_archive('m' || rowid, array, 'deflate') FROM (SELECT row_number() OVER () AS rowid, array FROM npy_file('in*.npy'))));")
    script.append("SELECT bytes FROM npy_write('all.ten', (SELECT ten_archive(npy_from_data(data, '<f4', '[2]')) FROM (SELECT x'0000803f00000040' AS data)));")
    script.append("CREATE VIRTUAL TABLE temp.z USING npy('rows.npz', mode='w+', method='deflate'); INSERT INTO z SELECT 'a' || path, array FROM npy_file('in1*.npy'); DROP TABLE z;")
    script.append("CREATE VIRTUAL TABLE temp.r USING npy('out3.npy', mode='a'); INSERT INTO r VALUES (1), (2); DROP TABLE r;")
    answer = compare("\n".join(script), there, here)
    assert "Error" not in answer
    assert sorted(os.listdir(there)) == sorted(os.listdir(here)) and len(os.listdir(there)) == 2 * len(names) + 3
    for name in os.listdir(there):
        assert (there / name).read_bytes() == (here / name).read_bytes(), name


@pytest.mark.parametrize("mapped", ["", "1"], ids=["read", "mapped"])
def test_beyond_what_32_bits_count(compare, tmp_path, monkeypatch, mapped):
    """A file of 5.6 GB and of a time after 2038, read at its end and added to."""
    monkeypatch.setenv("NPYEXT_MMAP", mapped)
    path = tmp_path / "x.npy"
    write_sparse_npy(path, (700_000_000,))
    with open(path, "r+b") as file:
        file.seek(-8, os.SEEK_END)
        file.write(np.float64(7).tobytes())
    os.utime(path, (5_000_000_000, 5_000_000_000))
    answer = compare(
        "SELECT file_size, mtime, nbytes, size FROM npy_meta('x.*');"
        "SELECT row, value FROM npy_rows('x.npy', '', '-2:');"
        "SELECT value FROM npy_rows('x.npy') WHERE row = 699999999;"
        "SELECT max FROM npy_stats('x.npy', '', '699999990:');",
        tmp_path,
    )
    assert answer.split() == ["5600000128|5000000000|5600000000|700000000", "699999998|0.0", "699999999|7.0", "7.0", "7.0"]
    added = shell.run(
        "CREATE VIRTUAL TABLE temp.t USING npy('x.npy', mode='a'); INSERT INTO t VALUES (8); DROP TABLE t;"
        "SELECT row, value FROM npy_rows('x.npy', '', '-2:');",
        tmp_path,
    )
    assert added.split() == ["699999999|7.0", "700000000|8.0"]
    assert os.path.getsize(path) == 5_600_000_136
