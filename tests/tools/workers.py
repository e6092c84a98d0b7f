"""Prints the options that have pytest run the tests in several processes: NPYEXT_WORKERS of them, or as many as there are
cores; nothing, where that is one or pytest-xdist is not installed."""

import importlib.util
import os

count = int(os.environ.get("NPYEXT_WORKERS") or len(os.sched_getaffinity(0)))
if count > 1 and importlib.util.find_spec("xdist"):
    print(f"-n {count}")
