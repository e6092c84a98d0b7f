"""Tables that write, and what they leave: the form that tests of them share."""

import os


def quoted(text):
    return "'" + str(text).replace("'", "''") + "'"


def make(db, path="out.npy", name="out", **arguments):
    listed = "".join(f", {key}={quoted(value)}" for key, value in arguments.items())
    db.execute(f"CREATE VIRTUAL TABLE temp.{name} USING npy({quoted(path)}{listed})")


def contents(path="out.npy"):
    with open(path, "rb") as file:
        return file.read()


def only(folder, *names):
    """Nothing lies in the folder but these."""
    assert sorted(os.listdir(folder)) == sorted(names)
