"""Models and frames that scikit-learn, pandas and joblib have pickled, the newest of PyPI (`make check-clients`)."""

import packages
import shell

SCRIPT = r'''
import json, pickle, sqlite3, sys
import joblib
import numpy as np
import pandas as pd
import sklearn
from sklearn.cluster import KMeans
from sklearn.ensemble import GradientBoostingClassifier, RandomForestRegressor
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

seed = int(sys.argv[2])
print(f"NPYEXT_SEED={seed}, scikit-learn {sklearn.__version__}, pandas {pd.__version__}, joblib {joblib.__version__}")
rng = np.random.default_rng(seed)
db = sqlite3.connect(":memory:")
db.enable_load_extension(True)
db.load_extension(sys.argv[1])

def found_in(path):
    rows = db.execute("SELECT name, idx, shape, descr, fortran_order, error FROM npy_meta(?) WHERE idx IS NOT NULL", (path,)).fetchall()
    assert all(row[5] is None for row in rows), rows
    found = {}
    for name, idx, shape, descr, fortran_order, _ in rows:
        if descr == "|O":
            values = [value for (value,) in db.execute("SELECT value FROM npy_elements(?, ?)", (path, idx))]
            found.setdefault(name, []).append((json.loads(shape), values))
        elif "masked" not in descr:
            [(data,)] = db.execute("SELECT data FROM npy_rows(?, ?, 'None')", (path, idx))
            found.setdefault(name, []).append((json.loads(shape), bytes(data)))
    return found

def walked(value, name=""):
    """The arrays of an object that was unpickled, by the names of its attributes."""
    of = lambda key, part: walked(part, f"{name}.{key}" if name else str(key))
    if isinstance(value, np.ndarray) and value.dtype == object and any(hasattr(item, "__dict__") for item in value.ravel()):
        return [pair for i, part in enumerate(value.ravel()) for pair in of(i, part)]
    if isinstance(value, np.ndarray):
        return [(name, value)]
    if isinstance(value, (list, tuple)):
        return [pair for i, part in enumerate(value) for pair in of(i, part)]
    if isinstance(value, dict):
        return [pair for key, part in value.items() for pair in of(key, part)]
    if type(value).__module__.startswith("sklearn") and hasattr(value, "__dict__"):
        return [pair for key, part in value.__dict__.items() for pair in of(key, part)]
    return []

ncompared = 0
def compare(path, value):
    global ncompared
    found = found_in(path)
    for name, array in walked(value):
        if array.ndim == 0:
            continue
        expected = (list(array.shape), [str(x) if isinstance(x, str) else x for x in array.ravel().tolist()] if array.dtype == object else array.tobytes())
        assert expected in found.get(name, []), str((path, name, array.dtype, expected, found.get(name)))[:900]
        ncompared += 1

X = rng.normal(size=(300, 5))
y = (X[:, 0] + X[:, 1] > 0).astype(int)
texts = [" ".join(rng.choice(["heron", "loon", "swan", "teal", "coot"], 6)) for _ in range(40)]
models = [
    make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y), RandomForestRegressor(4).fit(X, y), GradientBoostingClassifier(n_estimators=3).fit(X, y),
    KMeans(3, n_init=1).fit(X), KNeighborsClassifier().fit(X, y), MLPClassifier((30, 20), max_iter=5).fit(X, y), SVC().fit(X, y),
    TfidfVectorizer().fit(texts), OneHotEncoder().fit(np.array(texts, object).reshape(-1, 1)), LogisticRegression().fit(np.tile(X, (1, 500)), y),
]
for model in models:
    for compress in (0, 3, ("gzip", 1)):
        joblib.dump(model, "m.joblib", compress=compress)
        compare("m.joblib", model)
    for protocol in (2, 4, 5):
        with open("m.pkl", "wb") as file:
            pickle.dump(model, file, protocol)
        compare("m.pkl", model)
forest = models[1]
joblib.dump(forest, "m.joblib")
nodes = db.execute("SELECT value FROM npy_rows('m.joblib', 'estimators_.0.tree_.nodes')").fetchall()
assert [json.loads(node)["threshold"] for (node,) in nodes] == forest.estimators_[0].tree_.threshold.tolist()

# --- frames: every column's values are in one of the arrays
for n in (5, 5000):
    frame = pd.DataFrame({"i": rng.integers(0, 99, n), "j": rng.integers(0, 99, n), "x": rng.normal(size=n), "when": pd.date_range("2026-01-01", periods=n), "t": rng.choice(["a", "b"], n), "flag": rng.random(n) < 0.5})
    for path in ("f.pkl", "f.pkl.gz"):
        frame.to_pickle(path)
        octets = [data for values in found_in(path).values() for _, data in values]
        for column in ("i", "j", "x", "when", "flag"):
            assert any(isinstance(data, bytes) and frame[column].to_numpy().tobytes() in data for data in octets), (path, column)
            ncompared += 1
    frame["x"].to_pickle("s.pkl")
    assert any(isinstance(data, bytes) and data == frame["x"].to_numpy().tobytes() for values in found_in("s.pkl").values() for _, data in values)
print(f"{ncompared} arrays compared")
assert ncompared > 300
'''


def test_models_and_frames(tmp_path):
    python = packages.python_with("pickles", "numpy", "pandas", "scikit-learn", "joblib")
    printed = packages.run(python, "-B", "-c", SCRIPT, shell.EXTENSION, str(shell.random_seed()), cwd=str(tmp_path))
    assert "arrays compared" in printed
