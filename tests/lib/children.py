"""Work done in forked children, so that a crash or a hang is one failure and not the end of the run."""

import itertools
import json
import os
import signal
import traceback


def run(work, items, seconds):
    """{item: None, or what went wrong} of work(item) for each item, which are strings. A child does as many as it
    survives; the next one goes on after the item that ended it."""
    outcomes, pending = {}, list(items)
    while pending:
        finished, status = _run_child(work, pending, seconds)
        outcomes.update(finished)
        pending = pending[len(finished) :]
        if pending:
            outcomes[pending.pop(0)] = _how_it_ended(status, seconds)
    return outcomes


def _run_child(work, items, seconds):
    """The outcomes of the items that a child finished, in order, and how it ended."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        try:
            for item in items:
                signal.alarm(seconds)
                os.write(writer, json.dumps(_outcome(work, item)).encode() + b"\n")
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as lines:
        finished = [json.loads(line) for line in itertools.islice(lines, len(items)) if line.endswith(b"\n")]
    if len(finished) == len(items):
        os.kill(child, signal.SIGKILL)  # it has said all; a sanitized one once took two minutes, until its alarm, to end
    _, status = os.waitpid(child, 0)
    return dict(zip(items, finished)), status


def _outcome(work, item):
    try:
        work(item)
        return None
    except BaseException as error:
        if isinstance(error, AssertionError) and str(error):
            return str(error)
        return "".join(traceback.format_exception(type(error), error, error.__traceback__)[-4:])


def _how_it_ended(status, seconds):
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return f"no answer within {seconds} s" if number == signal.SIGALRM else f"ended by signal {number}"
    return f"the process ended with exit code {os.WEXITSTATUS(status)}"
