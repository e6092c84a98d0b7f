"""Pictures as libpng reads them (Pillow) and as Matplotlib would have them coloured; previews as the newest NumPy prints them
(`make check-clients`)."""

import subprocess

import packages
import shell

SCRIPT = r"""
import io, re, sqlite3, sys
import matplotlib, numpy as np
from PIL import Image

db = sqlite3.connect(":memory:")
db.enable_load_extension(True)
db.load_extension(sys.argv[1])
rng = np.random.default_rng(int(sys.argv[2]))
np.seterr(all="ignore")


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def opened(array, *arguments):
    (data,) = db.execute(f"SELECT npy_png({', '.join('?' * (1 + len(arguments)))})", (npy(array), *arguments)).fetchone()
    image = Image.open(io.BytesIO(data))
    image.load()
    return image


for _ in range(60):
    h, w = (int(n) for n in rng.integers(1, 60, 2))
    array = rng.normal(size=(h, w)) * 10.0 ** rng.integers(-5, 5)
    lo, hi = sorted(rng.normal(size=2))
    for name in ("gray", "viridis", "magma", "coolwarm"):
        for ends in ((None, None), (lo, hi)):
            norm = matplotlib.colors.Normalize(*ends, clip=True)
            wanted = matplotlib.colormaps[name](norm(array), bytes=True)[..., :3].astype(int)
            got = np.asarray(opened(array, name, *ends).convert("RGB")).astype(int)
            # Matplotlib cuts its colours off, and does not round them; it has 33 of coolwarm, and lines between
            assert np.abs(got - wanted).max() <= (5 if name == "coolwarm" else 1), (name, ends)
    for shape in ((h, w), (h, w, 3), (h, w, 4)):
        pixels = rng.integers(0, 256, shape).astype("u1")
        image = opened(pixels)
        assert image.mode == ("L" if len(shape) == 2 else {3: "RGB", 4: "RGBA"}[shape[2]])
        assert np.array_equal(np.asarray(image), pixels)
    array[rng.random(array.shape) < 0.3] = np.nan
    assert np.array_equal(np.asarray(opened(array, "viridis").convert("RGBA"))[..., 3] == 0, np.isnan(array)) or np.isnan(array).all()


def printed(array, n):
    return re.sub(r"\n+ *", " ", np.array2string(array, threshold=0, edgeitems=n, max_line_width=10**9))


for dtype in ("f2", "f4", "f8", "c8", "c16", ">f4", "i2", "u8", "?"):
    for _ in range(200):
        shape = tuple(rng.integers(1, 9, int(rng.integers(0, 4))))
        array = rng.normal(size=shape) * 10.0 ** rng.integers(-9, 9, shape if rng.random() < 0.5 else ())
        if np.dtype(dtype).kind in "fc" and rng.random() < 0.2:
            array = np.where(rng.random(shape) < 0.3, rng.choice([np.nan, np.inf, -np.inf, 0]), array)
        if np.dtype(dtype).kind == "c":
            array = array + 1j * rng.normal(size=shape)
        array, n = np.asarray(array).astype(dtype), int(rng.integers(1, 5))
        (got,) = db.execute("SELECT npy_preview(?, ?)", (npy(array), n)).fetchone()
        assert got == printed(array, n), (got, printed(array, n))
print("same", np.__version__, matplotlib.__version__)
"""


def test_pictures_and_previews():
    python = packages.python_with("pictures", "numpy", "pillow", "matplotlib")
    done = subprocess.run([python, "-B", "-c", SCRIPT, shell.EXTENSION, str(shell.random_seed())], capture_output=True, text=True, timeout=5 * shell.PATIENCE)
    assert done.returncode == 0 and done.stdout.startswith("same"), done.stderr[-3000:]
