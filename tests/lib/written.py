"""Tables that write, and what they leave: the form that tests of them share."""

import os
import re


def quoted(text):
    return "'" + str(text).replace("'", "''") + "'"


def make(db, path="out.npy", name="out", **arguments):
    listed = "".join(f", {key}={quoted(value)}" for key, value in arguments.items())
    db.execute(f"CREATE VIRTUAL TABLE temp.{name} USING npy({quoted(path)}{listed})")


def contents(path="out.npy"):
    with open(path, "rb") as file:
        return file.read()


def only(folder, *names, pending=()):
    """Nothing lies in the folder but these, and one new file beside each path of which rows are pending."""
    is_new = re.compile(r"\.(.+)\.[0-9a-f]{12}\.npyext").fullmatch
    listed = os.listdir(folder)
    assert sorted(name for name in listed if not is_new(name)) == sorted(names)
    assert sorted(is_new(name)[1] for name in listed if is_new(name)) == sorted(pending)
