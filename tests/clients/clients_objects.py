"""Arrays of objects as the last NumPy 1 and the newest NumPy save them, texts of StringDType among them, and objects of pandas and
SciPy, which are named (`make check-clients`)."""

import packages
import pytest
import shell

SCRIPT = '''
import io, json, sqlite3, sys, warnings
import numpy as np

warnings.simplefilter("ignore")
db = sqlite3.connect(":memory:")
db.enable_load_extension(True)
db.load_extension(sys.argv[1])

def values(array):
    file = io.BytesIO()
    np.save(file, array)
    return [value for (value,) in db.execute("SELECT value FROM npy_elements(?) ORDER BY idx", (file.getvalue(),))]

def array_of(items):
    array = np.empty(len(items), object)
    array[:] = items
    return array

nested = array_of([1, "a", None, {"k": np.arange(3), "s": np.float32(0.5)}, np.arange(4).reshape(2, 2), np.bool_(True), np.datetime64("2026-01-02"), np.str_("t")])
want = [1, "a", None, {"k": [0, 1, 2], "s": 0.5}, [[0, 1], [2, 3]], 1, "2026-01-02", "t"]
got = values(nested)
assert [json.loads(value) if isinstance(value, str) and value[0] in "[{" else value for value in got] == want, got
assert values(np.array({"lr": 0.1})) == [\'{"lr":0.1}\']
masked = array_of([np.ma.array([1.5, 2.5], mask=[1, 0])])
assert values(masked) == ["[null,2.5]"], values(masked)
structured = np.array([(1, "x", [2])], [("a", "i4"), ("b", "U3"), ("c", "O")])
assert values(structured) == [\'{"a":1,"b":"x","c":[2]}\'], values(structured)
if int(np.__version__.split(".")[0]) >= 2:
    texts = ["", "a", "gr\\u00fcn", "x" * 1000]
    assert values(np.array(texts, np.dtypes.StringDType())) == texts
    assert values(np.array(["a", None], np.dtypes.StringDType(na_object=None))) == ["a", None]
    assert values(np.array(["a", np.nan], np.dtypes.StringDType(na_object=np.nan))) == ["a", None]
    assert values(array_of([np.array(["b", "cd"], np.dtypes.StringDType())])) == [\'["b","cd"]\']
for name in sys.argv[2:]:
    __import__(name)
if "pandas" in sys.argv:
    import pandas
    shown = values(array_of([pandas.Series([1.5, 2.5]), pandas.Timestamp("2026-01-02"), pandas.DataFrame({"a": [1]}), pandas.NaT]))
    for value in shown:
        assert "pandas" in json.loads(value)["__class__"], value
if "scipy" in sys.argv:
    import scipy.sparse
    (value,) = values(array_of([scipy.sparse.csr_matrix(np.eye(2))]))
    assert "csr" in json.loads(value)["__class__"], value
print(np.__version__)
'''


@pytest.mark.parametrize("name, wanted", [("numpy-1", ["numpy<2"]), ("numpy-2", ["numpy", "pandas", "scipy"])])
def test_objects_of_numpy(name, wanted):
    python = packages.python_with(f"objects-{name}", *wanted)
    printed = packages.run(python, "-B", "-c", SCRIPT, shell.EXTENSION, *(package for package in wanted if package.isalpha() and package != "numpy"))
    assert printed.strip().startswith(name[-1]), printed
