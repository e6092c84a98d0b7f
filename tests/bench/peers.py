"""How the peers come here: NumPy 2 and webdataset by pip, sqlite-vec by npm, PyTorch from Debian 13, all into .build/bench."""

import glob
import importlib.util
import os
import shutil
import subprocess
import sys

from fresh import Unmeasured, path

# vec_npy_each was dropped later.
SQLITE_VEC = "sqlite-vec-linux-x64@0.1.6"
IS_NUMPY_2 = "import sys, numpy; sys.exit(int(numpy.__version__.split('.')[0]) < 2)"


def runs(*command):
    try:
        return subprocess.run(command, capture_output=True, timeout=600).returncode == 0
    except (OSError, subprocess.SubprocessError):
        return False


def python_with_numpy_2():
    """A Python that has it, or None where it cannot be had: this one, or one of its kind in an environment of ours."""
    folder, python = path("python"), path("python/bin/python")
    for candidate in (sys.executable, python):
        if runs(candidate, "-c", IS_NUMPY_2):
            return candidate
    print("installing NumPy 2", flush=True)
    made = runs(sys.executable, "-m", "venv", "--clear", folder)
    made = made and runs(python, "-m", "pip", "install", "-q", "--retries", "1", "numpy>=2")
    return python if made and runs(python, "-c", IS_NUMPY_2) else None


def webdataset():
    """Sees to it that this Python has it, unless it is the system's own."""
    if importlib.util.find_spec("webdataset") is None and sys.prefix == path("python"):
        runs(sys.executable, "-m", "pip", "install", "-q", "--retries", "1", "webdataset")
        importlib.invalidate_caches()
    if importlib.util.find_spec("webdataset") is None:
        raise Unmeasured("pip cannot install webdataset")


def sqlite_vec():
    """sqlite-vec's loadable file."""
    folder = path("peer")
    pattern = os.path.join(folder, "node_modules", "sqlite-vec-*", "vec0.so")
    if not glob.glob(pattern):
        os.makedirs(folder, exist_ok=True)
        if not runs("npm", "install", "--silent", "--no-save", "--prefix", folder, SQLITE_VEC):
            raise Unmeasured(f"npm cannot install {SQLITE_VEC}")
    found = glob.glob(pattern)
    if not found:
        raise Unmeasured(f"{SQLITE_VEC} holds no vec0.so for this machine")
    return found[0]


def root_with_torch():
    """A root of Debian 13's, whose PyTorch maps files; it needs root and debootstrap, and two gigabytes. Where one lies already,
    NPYEXT_TORCH_ROOT names it."""
    root = os.environ.get("NPYEXT_TORCH_ROOT") or path("trixie")
    if not os.path.exists(os.path.join(root, "usr/lib/python3/dist-packages/torch")):
        print("making a root of Debian 13 with PyTorch", flush=True)
        shutil.rmtree(root, ignore_errors=True)
        command = ["debootstrap", "--variant=minbase", "--include=python3-torch,python3-numpy", "trixie", root]
        if subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=3600).returncode != 0:
            raise Unmeasured("debootstrap cannot make a root with python3-torch")
    return root


def by_torch(root, script):
    """What a script prints in that root."""
    command = ["chroot", root, "/usr/bin/python3", "-B", "-c", script]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=600)
    if done.returncode != 0:
        raise Unmeasured("PyTorch's script fails")
    return done.stdout
