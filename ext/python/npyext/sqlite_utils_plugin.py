"""The sqlite-utils plugin: npyext in every connection, as `--load-extension` would have it.

With all of it, what writes files included: the SQL is the user's own, and a database's own views and triggers
reach nothing that writes. A connection keeps the entry point that it began with, so a read-only one here would be in the
way of everyone who loads the rest.
"""

from sqlite_utils import hookimpl

from ._load import can_load, load


@hookimpl
def prepare_connection(conn):
    if can_load(conn):
        load(conn)
