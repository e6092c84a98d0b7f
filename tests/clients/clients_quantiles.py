"""npy_quantile against numpy.nanquantile of the newest NumPy, whose thirteen methods it has (`make check-clients`)."""

import os

import packages
import shell


def test_every_method_of_the_newest_numpy():
    python = packages.python_with("quantiles", "numpy")
    script = os.path.join(shell.TESTS, "lib", "quantiles.py")
    printed = packages.run(python, "-B", script, shell.EXTENSION, str(shell.random_seed()), "200")
    version, nasked = printed.split()
    assert int(version.split(".")[0]) >= 2 and int(nasked) > 1500
