"""Random questions about random arrays, asked of processes with other settings, which must all answer alike:

    python3 tests/numpy/same.py [SECONDS | --questions N] [--seed S] [--small] [--only NUMBER] [--keep FOLDER] [--goes-on] [--forms concat,calc]

or `make same SECONDS=...`. Question NUMBER of a seed is always the same one, about the same array.

- The released build with 1, 2, 3 and 16 threads, and with mapped files: the same to the last bit, errors included.
- The build whose sizes are variables (src/base/tunables.h), with all sizes at their least, as released, and at random; each with
  one thread and with three, which must be the same to the last bit. Where blocks have other sizes, sums are rounded elsewhere:
  those, means, deviations, norms, products and correlations may differ by 1e-12 of what is added up.
- NumPy, where it has an answer.

NPYEXT_SO names another build, NPYEXT_SMALL_SO one with variable sizes; without .build/small/npyext.so or with NPYEXT_SO alone, only
threads are compared.
A difference is printed with how to have it again, and ends the run, unless it --goes-on.
"""

import argparse
import collections
import contextlib
import hashlib
import io
import itertools
import json
import math
import os
import pickle
import re
import select
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lib"))

if "--work" not in sys.argv:  # workers start often, and importing NumPy takes longer than all else that they do first
    import numpy as np  # noqa: E402

import shell  # noqa: E402

ASKS_NUMPY = True
SMALL_BUILD = os.environ.get("NPYEXT_SMALL_SO") or os.path.join(shell.ROOT, ".build", "small", "npyext.so")
QUESTIONS_PER_CASE = 20
CASES_PER_TUNING = 6
# Seconds, of a machine that has nothing else to do. Where sizes are small, panels of a compressed array are inflated again and again.
PATIENCE, PATIENCE_SMALL = 60 if shell.FLAVOUR == "release" else 120, 180
# Rows beyond these, and values longer than this, are compared by their digests.
KEPT_ROWS, KEPT_NBYTES = 3000, 1 << 16
# A file of a process's own, as questions name it.
OWN = "@own.npy"
# Rows beyond these are not fetched.
FETCHED_ROWS = 100000



class Difference(Exception):
    pass


# --- in a worker -------------------------------------------------------------------------------------------


def kept(value):
    if isinstance(value, (str, bytes)) and len(value) > KEPT_NBYTES:
        octets = value.encode() if isinstance(value, str) else value
        return ("long", len(octets), hashlib.md5(octets).hexdigest())
    return value


def digested(rows):
    """(the first rows, how many there are, a digest of the others), long values by their digests."""
    some = [tuple(map(kept, row)) for row in rows[:KEPT_ROWS]]
    rest = hashlib.md5(repr([tuple(map(kept, row)) for row in rows[KEPT_ROWS:]]).encode())
    return some, len(rows), rest.hexdigest()


def answer(db, question):
    """The pickled ("rows", those that are kept, how many there are, a digest) or ("error", its text, the rows before it)."""
    setup, sql, parameters, after = question
    rows = []
    own = f"own{os.getpid()}.npy"
    setup, sql = [statement.replace(OWN, own) for statement in setup], sql.replace(OWN, own)
    try:
        for statement in setup:
            db.execute(statement)
        rows.extend(itertools.islice(db.execute(sql, parameters), FETCHED_ROWS))
    except sqlite3.Error as error:
        return pickle.dumps(("error", str(error).replace(own, OWN), digested(rows[:20])[0]))
    finally:
        for statement in after:
            with contextlib.suppress(sqlite3.Error):
                db.execute(statement)
        if after and os.path.exists(own):
            os.remove(own)
    if len(rows) <= KEPT_ROWS:
        whole = pickle.dumps(("rows", rows, len(rows), ""))
        if len(whole) <= KEPT_NBYTES:
            return whole
    return pickle.dumps(("rows", *digested(rows)))


def with_blobs(parameters, files):
    """Parameters that name files as what is in these."""
    made = {}
    for name, value in parameters.items():
        if isinstance(value, tuple):
            if value not in files:
                with open(value[0], "rb") as file:
                    files[value] = file.read()
            value = files[value]
        made[name] = value
    return made


def connect():
    db = shell.connect()
    db.isolation_level = None
    db.text_factory = lambda text: text.decode("utf-8", "surrogateescape")
    return db


def work():
    """Questions of one case after the other from standard input: whether each has a connection of its own, the questions."""
    inlet, outlet = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    while True:
        try:
            is_fresh, questions = pickle.load(inlet)
        except EOFError:
            return
        files, db = {}, None
        for setup, sql, parameters, after in questions:
            if db is None or is_fresh:
                db = connect()
            found = answer(db, (setup, sql, with_blobs(parameters, files), after))
            if is_fresh:
                db.close()
            outlet.write(struct.pack("<q", len(found)) + found)
            outlet.flush()
        if not is_fresh:
            db.close()


# --- workers -----------------------------------------------------------------------------------------------


class Worker:
    """A process that answers, under one setting."""

    def __init__(self, folder, extension, threads, tune=None, label="", is_mapped=False):
        self.folder, self.extension, self.threads, self.tune, self.is_mapped = folder, extension, threads, tune, is_mapped
        self.label = f"{label or 'release'}, {threads} thread{'s' * (threads > 1)}"
        self.process = None

    def settings(self):
        settings = {"NPYEXT_SO": self.extension, "NPYEXT_THREADS": str(self.threads)}
        settings |= {"NPYEXT_MMAP": "1"} if self.is_mapped else {}
        return settings | ({"NPYEXT_TUNE": self.tune} if self.tune else {})

    def start(self):
        environment = {name: value for name, value in os.environ.items() if name != "NPYEXT_TUNE"}
        self.process = subprocess.Popen(
            [sys.executable, "-B", os.path.abspath(__file__), "--work"], cwd=self.folder, env=environment | self.settings(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )

    def send(self, is_fresh, questions):
        if self.process is None:
            self.start()
        asked = [(question.setup, question.sql, {name: tuple(value) if isinstance(value, tuple) else value for name, value in question.parameters.items()}, question.after) for question in questions]
        try:
            self.process.stdin.write(pickle.dumps((is_fresh, asked)))
        except BrokenPipeError:
            pass  # receive() tells

    def read(self, nbytes, until):
        parts = []
        while nbytes:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, until - time.monotonic()))
            part = os.read(self.process.stdout.fileno(), min(nbytes, 1 << 20)) if ready else None
            if not part:
                return None if part is None else b""
            parts.append(part)
            nbytes -= len(part)
        return b"".join(parts)

    def receive(self):
        """The bytes of an answer, or of what became of the process."""
        patience = PATIENCE_SMALL if self.tune else PATIENCE
        until = time.monotonic() + patience * max(1, os.getloadavg()[0] / (os.cpu_count() or 1))
        length = self.read(8, until)
        found = self.read(struct.unpack("<q", length)[0], until) if length else length
        if found:
            return found
        text = f"no answer within {patience} s" if found is None else "the process ended"
        self.process.kill()
        status = self.process.wait()
        self.process = None
        return pickle.dumps(("end", text if found is None else f"{text}, status {status}"))

    def stop(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()
            self.process = None


def tunables():
    """{name: (default, least)}"""
    with open(os.path.join(shell.ROOT, "src", "base", "tunables.h")) as file:
        found = re.findall(r"T\(NPYX_(\w+), ([\d <]+), ([\d <]+)\)", file.read())
    number = lambda text: int(text.split("<<")[0]) << int(text.split("<<")[1]) if "<<" in text else int(text)
    return {name: (number(most), number(least)) for name, most, least in found}


def random_tuning(rng):
    """Some sizes or all, shifted to the right, as all loops can take them."""
    values, share = {name: most for name, (most, _) in tunables().items()}, float(rng.choice([0.1, 0.5, 1]))
    # Blocks of 64 bytes hold too few items for most chunks to be filled: half the time they are as released.
    has_blocks = rng.random() < 0.5
    for name, (most, least) in tunables().items():
        if rng.random() < share and (has_blocks or not name.endswith("NBYTES")):
            shifted = max(least, most >> int(rng.integers(0, int(math.log2(most / least)), endpoint=True)))
            values[name] = least if rng.random() < 0.3 else shifted
    return ",".join(f"{name.lower()}={values[name]}" for name, (most, _) in tunables().items() if values[name] != most)


# --- answers -----------------------------------------------------------------------------------------------


def numbers_in(value):
    """The numbers of a rounded value: of itself, of JSON, or of a .npy; and what else it says."""
    if isinstance(value, (int, float)):
        return [value], None
    if isinstance(value, str):
        try:
            made = json.loads(value)
        except ValueError:
            return [], value
        made = made if isinstance(made, list) else [made]
        return [number for number in made if isinstance(number, (int, float))], [number for number in made if not isinstance(number, (int, float))]
    if isinstance(value, bytes):
        try:
            array = np.load(io.BytesIO(value))
        except ValueError:
            return [], value  # no array that NumPy knows, as void items of some names
        if array.dtype.kind not in "fc":
            return [], value
        flat = array.astype("c16" if array.dtype.kind == "c" else "f8").ravel().view("f8")
        return flat.tolist(), (array.dtype, array.shape)
    return [], value


def is_near(a, b, scale):
    """Whether two rounded numbers are one; where the sum overflows on its way, its order decides when."""
    return a == b or not math.isfinite(scale) or math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-12 * scale) or (a != a and b != b)


def is_same_value(a, b, scale):
    """Whether two values are one, where scale is None to the last bit."""
    if repr(a) == repr(b):
        return True
    if scale is None:
        return False
    (x, rest), (y, other) = numbers_in(a), numbers_in(b)
    return type(a) is type(b) and rest == other and len(x) == len(y) and all(map(lambda p, q: is_near(p, q, scale), x, y))


def is_end(answer):
    """Whether it says that the process has ended, or gave no answer in time."""
    return answer is not None and answer.find(b"\x03end", 0, 40) >= 0 and pickle.loads(answer)[0] == "end"


def is_same(a, b, loose):
    """Whether two answers are one; loose: {column: scale} of rounded sums, and "ties": columns that stay in their order
    where rows change places whose distances differ by no more than their rounding."""
    if a == b and repr(a) == repr(b):
        return True
    if a[0] == b[0] == "error" and a[1] == b[1]:  # the rows before it are rounded, too
        a, b = (("rows", rows, len(rows)) for _, _, rows in (a, b))
    if a[0] != "rows" or b[0] != "rows" or not loose or a[2] != b[2] or len(a[1]) != len(b[1]):
        return False
    kept = loose.get("ties")
    if kept is not None:
        a, b = [(0, [tuple(value if i in kept else None for i, value in enumerate(row)) for row in rows]) for _, rows, *_ in (a, b)]
    return all(len(p) == len(q) and all(is_same_value(v, w, loose.get(i)) for i, (v, w) in enumerate(zip(p, q))) for p, q in zip(a[1], b[1]))


def shown(found):
    """An answer, as short as it can be read."""
    text = repr(found[1:]) if found[0] != "rows" else f"{found[2]} rows: {found[1][:8]!r}"
    return text if len(text) < 1200 else f"{text[:1200]} … md5 {hashlib.md5(repr(found).encode()).hexdigest()}"


def first_difference(a, b):
    if a[0] == b[0] == "rows":
        for i, (p, q) in enumerate(zip(a[1], b[1])):
            if repr(p) != repr(q):
                return f"first in row {i}: {str(p)[:300]} and {str(q)[:300]}"
    return ""


# --- the run -----------------------------------------------------------------------------------------------


class Case:
    """An array, its files and the questions about it, all of one number."""

    def __init__(self, seed, number, shares, is_small):
        import same_data
        import same_questions

        self.rng = rng = np.random.default_rng([seed, number])
        self.size = same_data.pick(rng, shares)
        dtype = same_data.random_dtype(rng, self.size)
        shape = same_data.random_lengths(rng, same_data.random_nelem(rng, self.size, dtype.itemsize))
        how, array = same_data.array_of(rng, dtype, shape)
        source = same_data.write_source(rng, array, self.size)
        self.write_labels(array, source)
        other = self.write_other(same_data, array)
        # Loading the extension takes as long as some twenty answers about a small array.
        self.is_fresh = bool(rng.random() < (0.1 if is_small else 0.5))
        self.told = f"{how} {dtype!r} of shape {shape}{' in Fortran order' if not array.flags.c_contiguous else ''}, as {source.how}: {source.value}, member {source.member!r}, parts {[part.shape for part in source.arrays][:9]}"
        self.questions = []
        for i in range(QUESTIONS_PER_CASE):
            own = np.random.default_rng([seed, number, i])
            view = same_data.random_view(own, source)
            subject = same_questions.Subject(source, view, self.size, "labels.npy", other, how == "wild")
            self.questions.append(same_questions.random_question(own, subject))

    def write_labels(self, array, source):
        length = sum(part.shape[0] if part.ndim else 1 for part in source.arrays[:1])
        kinds = self.rng.integers(0, int(self.rng.choice([2, 5, 300])), length)
        kind = self.rng.random()
        labels = kinds if kind < 0.6 else kinds.astype("f4") if kind < 0.8 else np.char.add("k", kinds.astype("U4")) if length < 1 << 18 else kinds
        np.save("labels.npy", np.where(kinds == 1, np.nan, labels) if labels.dtype.kind == "f" else labels)

    def write_other(self, same_data, array):
        other = array.copy(order="K")
        flat = other.reshape(-1) if other.flags.c_contiguous else other.T.reshape(-1)
        if other.size and self.rng.random() < 0.8:
            places = self.rng.integers(other.size, size=int(self.rng.integers(1, 5)))
            flat[places] = flat[(places + 1) % other.size]
        with open("other.npy", "wb") as out:
            out.write(same_data.npy_of(self.rng, other))
        return "other.npy", other


class Run:
    def __init__(self, seed, folder, goes_on=False, is_small=False):
        self.seed, self.folder, self.goes_on, self.is_small = seed, folder, goes_on, is_small
        self.nquestions = self.nerrors = self.nchecked = self.nrows = self.nanswers = 0
        self.differences = []
        worker = lambda *setting: Worker(folder, *setting)
        self.release = [worker(shell.EXTENSION, threads) for threads in (1, 2, 3, 16)]
        self.release.append(worker(shell.EXTENSION, 2, None, "release, mapped", True))
        self.small = []
        # Another compiler's options round elsewhere.
        if shell.FLAVOUR == "release" and os.path.exists(SMALL_BUILD) and (not os.environ.get("NPYEXT_SO") or os.environ.get("NPYEXT_SMALL_SO")):
            for tune, label in ((None, "small as released"), ("least", "small, least"), ("", "small, random")):
                self.small.append([worker(SMALL_BUILD, threads, tune, label) for threads in (1, 3)])

    def workers(self):
        return [*self.release, *itertools.chain.from_iterable(self.small)]

    def stop(self):
        for worker in self.workers():
            worker.stop()

    def tune(self, number):
        """Another random setting every so many cases, which the case's number decides."""
        if self.small:
            tuning = random_tuning(np.random.default_rng([self.seed, number // CASES_PER_TUNING, 7]))
            for worker in self.small[-1]:
                if worker.tune != tuning:
                    worker.stop()
                    worker.tune = tuning

    def shares(self):
        import same_data

        if self.is_small:
            return same_data.SHARES_OF_SMALL
        return same_data.SHARES if self.small else same_data.SHARES_OF_THREADS

    def asked(self, case):
        """The workers that a case is asked of. Sizes at their least would take minutes over large arrays."""
        if case.size == "big":
            return [[self.release[0], self.release[int(case.rng.integers(1, 5))]]]
        if self.is_small and self.small and case.size == "small":
            # Small arrays have no threads in the released build, and its sizes are those of `small as released`.
            return [self.release[:1], *[group for group in self.small[1:] if group is self.small[1] or case.rng.random() < 0.5]]
        some = [self.release[0], self.release[int(case.rng.integers(1, 5))]] if case.size == "small" else self.release
        if not self.small or case.size == "small":
            return [some, *self.small]
        return [some, self.small[0], *([self.small[2]] if case.rng.random() < 0.3 else [])]

    def answers(self, case, questions, groups):
        """{worker: the bytes of its answers}, two workers at a time."""
        workers = [worker for group in groups for worker in group]
        found = {}
        for pair in zip(workers[::2], [*workers[1::2], None]) if len(workers) % 2 else zip(workers[::2], workers[1::2]):
            pair = [worker for worker in pair if worker is not None]
            for worker in pair:
                worker.send(case.is_fresh, questions)
            for worker in pair:
                found[worker] = []
                for _ in questions:
                    found[worker].append(worker.receive())
                    if is_end(found[worker][-1]):
                        found[worker] += [None] * (len(questions) - len(found[worker]))
                        break
        return found

    def one(self, number, last=None):
        """The questions of a case, up to the last one."""
        os.chdir(self.folder)
        for name in os.listdir("."):
            os.remove(name)
        self.tune(number)
        case = Case(self.seed, number, self.shares(), self.is_small)
        questions = case.questions[: last + 1] if last is not None else case.questions
        groups = self.asked(case)
        found = self.answers(case, questions, groups)
        for i, question in enumerate(questions):
            if last is not None and i != last and not any(is_end(answers[i]) for answers in found.values()):
                continue
            self.compare(case, number * QUESTIONS_PER_CASE + i, question, groups, {worker: answers[i] for worker, answers in found.items()})
        self.nquestions += len(questions)

    def compare(self, case, number, question, groups, found):
        reference = groups[0][0]
        if found[reference] is None:
            return  # a process ended before it, and was reported
        first = pickle.loads(found[reference])
        self.nanswers += len(found)
        self.nerrors += first[0] == "error"
        self.nrows += first[2] if first[0] == "rows" else 0
        for group in groups:
            own = pickle.loads(found[group[0]]) if found[group[0]] is not None else None
            if own is None:
                continue
            if own[0] == "end" or group[0] is not reference and not is_same(own, first, question.loose):
                self.report(case, number, question, (reference, first), (group[0], own))
            for worker in group[1:]:
                if found[worker] is not None and found[worker] != found[group[0]]:
                    other = pickle.loads(found[worker])
                    if not is_same(own, other, {}):
                        self.report(case, number, question, (group[0], own), (worker, other))
        is_whole = first[0] == "rows" and not any(isinstance(value, tuple) for row in first[1] for value in row)
        if ASKS_NUMPY and question.check is not None and is_whole:
            self.nchecked += 1
            try:
                question.check(first[1], first[2])
            except OverflowError:
                self.nchecked -= 1  # Python's own, of a bound that no float64 holds
            except AssertionError as error:
                self.report(case, number, question, (reference, first), (None, ("NumPy", str(error)[:1500])))

    def report(self, case, number, question, one, other):
        lines = [f"question {number} of seed {self.seed} has two answers", *(f"    {statement};" for statement in question.setup), f"    {question.sql}"]
        lines += [f"    {name} = {str(value)[:300]!r}" for name, value in question.parameters.items()]
        lines.append(f"about {case.told}; {'a connection for each question' if case.is_fresh else 'one connection'}")
        for worker, found in (one, other):
            lines.append(f"  {worker.label if worker else 'NumPy'}: {shown(found)}")
            if worker and worker.tune:
                lines.append(f"    NPYEXT_TUNE={worker.tune}")
        lines += [f"  {first_difference(one[1], other[1])}", f"again: {'' if self.small else 'without the build of variable sizes, '}tests/numpy/same.py --seed {self.seed}{' --small' * self.is_small} --only {number}"]
        self.differences.append("\n".join(lines))
        if not self.goes_on:
            raise Difference(self.differences[-1])
        print(self.differences[-1], flush=True)


def run(seconds=None, questions=None, seed=None, only=None, keep=None, goes_on=False, is_small=False):
    """Returns a line about what was run; raises Difference."""
    seed = shell.random_seed() if seed is None else seed
    home, began = os.getcwd(), time.monotonic()
    folder = os.path.abspath(keep) if keep else tempfile.mkdtemp()
    os.makedirs(folder, exist_ok=True)
    runs = Run(seed, folder, goes_on, is_small)
    try:
        if only is not None:
            runs.one(only // QUESTIONS_PER_CASE, only % QUESTIONS_PER_CASE)
        else:
            for number in itertools.count():
                if runs.nquestions >= questions if questions is not None else time.monotonic() - began > seconds:
                    break
                runs.one(number)
    except Difference as difference:
        raise Difference(f"{difference}\nfound after {runs.nquestions} questions and {time.monotonic() - began:.0f} s") from None
    finally:
        runs.stop()
        os.chdir(home)
        if not keep:
            shutil.rmtree(folder)
    took = time.monotonic() - began
    return (
        f"seed {seed}: {runs.nquestions} questions with {len(runs.differences) or 'no'} difference{'s' * (len(runs.differences) > 1)} in {took:.0f} s "
        f"({runs.nquestions / took:.0f} a second, {runs.nanswers} answers, {runs.nrows} rows, {runs.nerrors} errors, {runs.nchecked} also by NumPy)"
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("seconds", nargs="?", type=float, default=30)
    parser.add_argument("--questions", type=int)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--small", action="store_true", help="fewer large arrays, so that more is asked")
    parser.add_argument("--only", type=int)
    parser.add_argument("--keep", help="a folder for the files, which stay there")
    parser.add_argument("--goes-on", action="store_true")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--forms", help="of the sources, with commas: concat,calc,tar")
    options = parser.parse_args()
    if options.forms:
        import same_data

        same_data.FORMS.update(options.forms.split(","))
    if options.work:
        return work()
    try:
        print(run(options.seconds, options.questions, options.seed, options.only, options.keep, options.goes_on, options.small), flush=True)
    except Difference as difference:
        sys.exit(str(difference))


if __name__ == "__main__":
    main()
