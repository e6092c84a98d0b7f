"""What is measured, and how: works timed in turn, in the shell, in this process, or each in a process of its own."""

import os
import re
import subprocess
import time

import fresh
import shell
from fresh import FOLDER, Unmeasured

SHELL = os.environ.get("SQLITE3", "sqlite3")
TURNS = 15


def run_shell(text, loads=()):
    """The shell's output for a script."""
    command = [SHELL, "-batch", "-init", "/dev/null", ":memory:"]
    text = "".join(f".load {load}\n" for load in (f"'{shell.EXTENSION}'", *loads)) + text
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    child = subprocess.run(command, input=text.encode(), cwd=FOLDER, **streams)
    output = child.stdout.decode("utf-8", "replace")
    fault = re.search(r"^(?:Error|Runtime error|Parse error).*", output, re.M)
    if fault:
        raise Unmeasured(fault[0])
    return output


def timed_in_shell(peer_sql, our_sql, loads=()):
    """Milliseconds of both statements, run in turn in one process of the shell, which is warm after the first turn.
    Processor time (user and system), which other work on the machine disturbs less: neither side waits for a disk or
    uses a second thread."""
    turns = f"{peer_sql};\n{our_sql};\n" * (TURNS + 1)
    output = run_shell(".timer on\n" + turns, loads)
    lines = re.findall(r"^Run Time: real [\d.]+ user ([\d.]+) sys ([\d.]+)", output, re.M)[2:]
    times = [1000 * (float(user) + float(system)) for user, system in lines]
    if len(times) != 2 * TURNS:
        raise Unmeasured(f"{len(times)} times of {2 * TURNS}")
    answers = {line for line in output.splitlines() if line and not line.startswith("Run Time")}
    print("   ", "; ".join(sorted(answers)))
    return min(times[::2]), min(times[1::2])


def timed_in_python(peer, ours, turns=TURNS):
    """Milliseconds of two calls, in turn in this process, after one of each that is not counted."""
    times = [[], []]
    print("   ", peer(), ours())
    for _ in range(turns):
        for call, counted in zip((peer, ours), times):
            start = time.perf_counter()
            call()
            counted.append(1000 * (time.perf_counter() - start))
    return min(times[0]), min(times[1])


def timed_in_processes(*works, turns=TURNS, **options):
    """Milliseconds of works of fresh.py, as the peer's and ours, in turn, each time in a process of its own. A work is
    its name, its arguments and the variables of its environment."""
    done = lambda side: fresh.done(*side[:-1], variables=side[-1], **options)
    times = [[done(work) for work in works] for _ in range(turns)]
    print("   ", *(side.answer for side in times[0]))
    return tuple(1000 * min(side.seconds for side in sides) for sides in zip(*times))


def query(sql, *parameters, mapped=False):
    """A function that runs a query on a connection of its own and returns its first row."""
    os.environ["NPYEXT_MMAP"] = "1" if mapped else ""
    connection = shell.connect()
    connection.execute("SELECT npyext_debug()")
    os.environ["NPYEXT_MMAP"] = ""
    return lambda: connection.execute(sql, parameters).fetchone()


def peak_of_shell(sql):
    """Bytes of resident memory that the shell came to need. The kernel's own figure of the process, asked for at the
    end: what getrusage says of a child counts the memory of its parent before exec, too."""
    output = run_shell(f"{sql};\n.system grep VmHWM /proc/$PPID/status\n")
    return int(re.search(r"VmHWM:\s+(\d+) kB", output)[1]) << 10


def peak_memory(scans):
    """The shell's own peak and its worst one over the scans, in MiB."""
    own = peak_of_shell("SELECT sum(value), count(*) FROM generate_series(1, 100000)")
    peaks = {name: peak_of_shell(sql) - own for name, sql in scans.items()}
    print("   ", ", ".join(f"{name} {peak / 2**20:.1f} MiB" for name, peak in peaks.items()))
    return own / 2**20, max(peaks.values()) / 2**20
