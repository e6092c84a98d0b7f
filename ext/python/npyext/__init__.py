"""npyext: SQLite reads and writes NumPy's .npy and .npz and WebDataset's .ten files.

    import sqlite3, npyext
    db = sqlite3.connect("experiments.db")
    npyext.load(db)
    db.execute("SELECT path, shape FROM npy_meta('runs/**/*.npy')")

NumPy is needed for register_adapters, to_npy and from_npy alone.
"""

from ._load import load, load_readonly, loadable_path
from ._repair import repair_scalars
from ._version import __version__
from ._adapters import from_npy, register_adapters, to_npy
from ._map import MapError, dask, map

__all__ = [  # map and dask are npyext.map and npyext.dask: a `*` is not to take the names from others
    "MapError",
    "__version__",
    "from_npy",
    "load",
    "load_readonly",
    "loadable_path",
    "register_adapters",
    "repair_scalars",
    "to_npy",
]
