"""Several processes run the tests, where pytest-xdist is installed: how many, and which of them runs what.

    python3 tests/lib/workers.py    prints pytest's options for NPYEXT_WORKERS processes, or for as many as there are cores
"""

import importlib.util
import os

# What takes longest begins first, so that no process is left with it at the end.
LONGEST = ["packaging/", "clients/", "hosts/test_sqlite_versions.py", "safety/test_derived.py", "queries/test_comparisons.py"]
LONGEST += ["queries/test_planned.py", "reading/test_cores.py", "numpy/test_vectors.py", "safety/test_crashes.py", "safety/test_lost_files.py", "safety/test_faults.py"]
LONGEST += ["safety/test_soak.py", "queries/test_differential.py", "unit/", "reading/test_corpus.py", "reading/test_random_access.py"]
LONGEST += ["numpy/test_histogram.py", "safety/test_policy.py", "numpy/", "hosts/"]
# The tests of a file stay together, for what they share is then made once; but those of a room that share one make and
# what it makes below .build, and files whose tests share little and take long.
TOGETHER = ["packaging/", "clients/"]
APART = ["hosts/test_sqlite_versions.py", "queries/test_planned.py", "safety/test_lost_files.py", "safety/test_faults.py"]


def options():
    """None, where one process is enough or all there can be."""
    count = int(os.environ.get("NPYEXT_WORKERS") or len(os.sched_getaffinity(0)))
    return f"-n {count}" if count > 1 and importlib.util.find_spec("xdist") else ""


def rank(nodeid):
    """The place of a test among those to run."""
    return next((i for i, begin in enumerate(LONGEST) if nodeid.startswith(begin)), len(LONGEST))


def scope(nodeid):
    """What tests that one process is to run have in common."""
    if any(nodeid.startswith(begin) for begin in APART):
        return nodeid
    return next((begin for begin in TOGETHER if nodeid.startswith(begin)), nodeid.split("::")[0])


def scheduler(config, log):
    from xdist.scheduler.loadscope import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return scope(nodeid)

        def remove_node(self, node):
            """A test that has ended its process is not tried again; the rest of what was to be done there is."""
            units = self.assigned_work[node]
            crashed = next((nodeid for unit in units.values() for nodeid, is_done in unit.items() if not is_done), None)
            for name, unit in list(units.items()):
                if crashed in unit:
                    unit[crashed] = True
                if all(unit.values()):
                    del units[name]
            super().remove_node(node)
            return crashed

    config.option.loadscopereorder = False  # newer releases begin with the scopes of most tests
    return Scheduling(config, log)


if __name__ == "__main__":
    print(options())
