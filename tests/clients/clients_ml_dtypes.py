"""The types of ml_dtypes (PyPI), whose files do not say what they are: every pattern of the one-byte floats read, printed,
compared and written as ml_dtypes does (`make check-clients`)."""

import os
import subprocess

import install_guide
import packages
import shell

FOLDER = os.path.join(shell.ROOT, ".build", "clients")

SCRIPT = '''
import io, json, sqlite3, sys
import ml_dtypes, numpy as np

db = sqlite3.connect(":memory:")
db.enable_load_extension(True)
db.load_extension(sys.argv[1])

def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()

def one(sql, *arguments):
    return db.execute(sql, arguments).fetchone()[0]

NAMES = [name for name in dir(ml_dtypes) if name.startswith("float8")]
assert len(NAMES) >= 8
patterns = np.arange(256, dtype="u1")
rng = np.random.default_rng(int(sys.argv[2]))
with np.errstate(all="ignore"):
    for name in NAMES:
        dtype = np.dtype(getattr(ml_dtypes, name))
        values = patterns.view(dtype).astype("f8")
        is_nan = np.isnan(values)
        rows = [value for (value,) in db.execute("SELECT value FROM npy_rows(?) WHERE view = ?", (npy(patterns), name))]
        for got, want in zip(rows, values, strict=True):
            assert got is None if np.isnan(want) else (got == want and np.signbit(got) == np.signbit(want)), (name, got, want)
        # JSON reads back as the same patterns
        text = one("SELECT value FROM npy_rows(?) WHERE view = ?", npy(patterns.reshape(1, 256)), name)
        back = np.frombuffer(one("SELECT npy_from_json(?, ?)", text, name)[-256:], "u1")
        assert (is_nan | (back == patterns)).all(), name
        # conditions
        for condition, holds in [
            ("value > 0.3", values > 0.3), ("value <= -0.5", values <= -0.5), ("value = 1", values == 1), ("value IS NULL", is_nan),
            ("value IS NOT NULL", ~is_nan), ("value <> 1", (values != 1) & ~is_nan), ("value IN (0, 0.5, 1)", np.isin(values, [0, 0.5, 1])),
        ]:
            found = db.execute(f"SELECT row FROM npy_rows(?) WHERE view = ? AND {condition}", (npy(patterns), name)).fetchall()
            assert [row for (row,) in found] == np.nonzero(holds)[0].tolist(), (name, condition)
        row = db.execute("SELECT count, nulls, infs, min, max FROM npy_stats(?) WHERE view = ?", (npy(patterns), name)).fetchone()
        assert row == ((~is_nan).sum(), is_nan.sum(), np.isinf(values).sum(), np.nanmin(values), np.nanmax(values)), name
        # numbers become what ml_dtypes makes of them: halfway cases, small and large ones
        middles = ((values[:-1] + values[1:]) / 2)[np.isfinite(values[:-1] + values[1:])]
        numbers = np.concatenate([rng.normal(0, 1, 4000), np.exp(rng.uniform(-80, 60, 4000)), -np.exp(rng.uniform(-30, 8, 2000)), middles, [0.0, -0.0]])
        # Of float32, through which ml_dtypes 0.6 goes: it rounds others twice.
        numbers = numbers.astype("f4").astype("f8")
        rounded = numbers.astype(dtype)
        fits = np.isfinite(rounded.astype("f8"))
        array = one("SELECT npy_astype(?, ?)", npy(numbers[fits]), name)
        assert array == npy(rounded[fits]), name
        for number in numbers[~fits][:50]:
            try:
                one("SELECT npy_astype(?, ?)", npy(np.array([number])), name)
            except sqlite3.OperationalError as error:
                assert "cannot hold" in str(error)
            else:
                raise AssertionError((name, number))
print("same", len(NAMES))
'''


def test_one_byte_floats_as_ml_dtypes_has_them(patience_for):
    patience_for(5 * shell.PATIENCE)
    env = install_guide.environment(os.path.expanduser("~"))
    packages.run("/usr/bin/python3", "-m", "venv", "--clear", os.path.join(FOLDER, "ml_dtypes"), env=env)
    python = os.path.join(FOLDER, "ml_dtypes", "bin", "python")
    packages.run(python, "-m", "pip", "install", "-q", "numpy", "ml_dtypes", env=env)
    seed = shell.random_seed()
    print("seed", seed)
    done = subprocess.run([python, "-B", "-c", SCRIPT, shell.EXTENSION, str(seed)], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("same"), done.stderr[-3000:]
