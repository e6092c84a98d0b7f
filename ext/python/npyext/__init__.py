"""npyext: SQL over NumPy's .npy and .npz, WebDataset shards and .safetensors files, in SQLite.

    import npyext
    db = npyext.connect("experiments.db")
    db.execute("SELECT path, shape FROM npy_meta('runs/**/*.npy')")

NumPy is needed for register_adapters, to_npy and from_npy alone.
"""

from ._load import connect, load, load_readonly, loadable_path
from ._repair import repair_scalars
from ._version import __version__
from ._adapters import from_npy, register_adapters, to_npy
from ._map import MapError, dask, map

__all__ = [  # map and dask are npyext.map and npyext.dask: a `*` is not to take the names from others
    "MapError",
    "__version__",
    "connect",
    "from_npy",
    "load",
    "load_readonly",
    "loadable_path",
    "register_adapters",
    "repair_scalars",
    "to_npy",
]
