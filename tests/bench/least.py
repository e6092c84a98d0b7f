"""The works of least.c: the least that SQLite, the kernel and the memory allow for a row of bench.py, measured in our place."""

import ctypes

import fresh
import shell
from fresh import path

# Sums in any order, as vectors of the processor take them; not -ffast-math, which would change how this process calculates.
FLAGS = ("-O3", "-march=native", "-fno-math-errno", "-ffinite-math-only", "-fno-signed-zeros", "-fno-trapping-math", "-fassociative-math")


def library():
    return fresh.compiled("least", *FLAGS, libraries=("-lpthread",))


def work(function, *names):
    """A function that calls one of least.c for files of .build/bench."""
    called = getattr(ctypes.CDLL(library()), f"least_{function}")
    called.restype = ctypes.c_double
    return lambda: called(*(path(name).encode() for name in names))


def connect():
    """A connection that has the virtual table `least`, too."""
    connection = shell.connect()
    connection.enable_load_extension(True)
    connection.load_extension(library())
    connection.enable_load_extension(False)
    return connection
