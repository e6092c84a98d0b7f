"""What is in a database, as the sqlite3 program shows it: names in columns, CREATE statements, and all of it as SQL."""

import re

import apsw

from . import _output


def ask(connection, sql, *values):
    return list(connection.cursor().execute(sql, values or None))


def literal(text):
    return "'" + text.replace("'", "''") + "'"


def schemas(connection):
    return [name for _, name, _ in ask(connection, "PRAGMA database_list")]


# --- names ------------------------------------------------------------------------------------------------------------


def _names(connection, what, pattern):
    parts = []
    for schema in schemas(connection):
        shown = "name" if schema == "main" else f"{literal(schema)} || '.' || name"
        column = "tbl_name" if what == "index" else "name"
        parts.append(f"SELECT {shown} FROM {_output.name_in_sql(schema)}.sqlite_schema WHERE {WHICH[what]} AND {column} LIKE ?1")
    return [row[0] for row in ask(connection, " UNION ALL ".join(parts) + " ORDER BY 1", pattern)]


WHICH = {"table": "type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'", "index": "type = 'index'"}


def table_names(connection, pattern="%"):
    return _names(connection, "table", pattern)


def index_names(connection, pattern="%"):
    return _names(connection, "index", pattern)


def print_names(shell, names):
    """In columns of 80 characters, downwards."""
    if not names:
        return
    longest = max(len(_output.encoded(name)) for name in names)
    ncolumns = max(80 // (longest + 2), 1)
    nlines = -(-len(names) // ncolumns)
    for i in range(nlines):
        shell.write(b"  ".join(_output.encoded(name).ljust(longest) for name in names[i::nlines]) + b"\n")


# --- schemas ----------------------------------------------------------------------------------------------------------

SCHEMA_OF_SCHEMAS = """\
CREATE TABLE %s (
  type text,
  name text,
  tbl_name text,
  rootpage integer,
  sql text
);
"""


def _guarded(sql):
    """Tables whose names are quoted, as a virtual table's own, may be there already when the statement is run."""
    return re.sub(r"^CREATE TABLE (?=['\"])", "CREATE TABLE IF NOT EXISTS ", sql)


def _in_schema(sql, schema):
    return sql if schema == "main" else re.sub(r"^(CREATE (?:TABLE|VIRTUAL TABLE|VIEW|INDEX|UNIQUE INDEX|TRIGGER)) (?!IF NOT )", lambda found: f"{found[1]} {_output.name_in_sql(schema)}.", sql)


def _with_columns(connection, schema, name, kind, sql):
    """Views and virtual tables with a comment that names their columns."""
    if kind != "view" and not sql.upper().startswith("CREATE VIRTUAL"):
        return sql
    try:
        columns = [_output.name_in_sql(row[1]) for row in ask(connection, f"PRAGMA {_output.name_in_sql(schema)}.table_info({literal(name)})")]
    except apsw.Error:
        return sql
    prefix = "" if schema == "main" else _output.name_in_sql(schema) + "."
    return f"{sql}\n/* {prefix}{_output.name_in_sql(name)}({','.join(columns)}) */" if columns else sql


def print_schema(shell, pattern, leaves_out_system):
    connection = shell.connection
    if pattern is not None and re.fullmatch(r"sqlite_(?:temp_)?(?:schema|master)", pattern, re.I):
        shell.write((SCHEMA_OF_SCHEMAS % pattern.lower()).encode())
        return
    for schema in schemas(connection):
        wanted, name = "1", "tbl_name"
        values = ()
        if pattern is not None:
            name = f"{literal(schema)} || '.' || tbl_name" if "." in pattern else "tbl_name"
            wanted = f"lower({name}) {'GLOB' if set(pattern) & set('*?[') else 'LIKE'} lower(?1)"
            values = (pattern,)
        if leaves_out_system:
            wanted += " AND name NOT LIKE 'sqlite__%'"
        rows = ask(connection, f"SELECT name, type, sql FROM {_output.name_in_sql(schema)}.sqlite_schema WHERE sql NOT NULL AND {wanted} ORDER BY rowid", *values)
        for name, kind, sql in rows:
            shell.write(_output.encoded(_with_columns(connection, schema, name, kind, _guarded(_in_schema(sql, schema))) + ";\n"))


# --- all of it --------------------------------------------------------------------------------------------------------


def print_dump(shell, patterns):
    connection = shell.connection
    like = " OR ".join("name LIKE ? ESCAPE '\\'" for _ in patterns) or "1"
    shell.write(b"PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\n")
    writes_schema = False
    for name, sql in ask(connection, f"SELECT name, sql FROM sqlite_schema WHERE ({like}) AND type = 'table' AND sql NOT NULL ORDER BY tbl_name = 'sqlite_sequence', rowid", *patterns):
        if name == "sqlite_sequence":
            shell.write(b"DELETE FROM sqlite_sequence;\n")
        elif re.match(r"sqlite_stat\d$", name):
            shell.write(b"ANALYZE sqlite_schema;\n")
        elif name.startswith("sqlite_"):
            continue
        elif sql.startswith("CREATE VIRTUAL TABLE"):
            if not writes_schema:
                shell.write(b"PRAGMA writable_schema=ON;\n")
                writes_schema = True
            shell.write(_output.encoded(f"INSERT INTO sqlite_schema(type,name,tbl_name,rootpage,sql)VALUES('table',{literal(name)},{literal(name)},0,{literal(sql)});\n"))
            continue
        else:
            shell.write(_output.encoded(_guarded(sql) + ";\n"))
        table = _output.name_in_sql(name)
        for row in connection.cursor().execute(f'SELECT * FROM "{name.replace(chr(34), chr(34) * 2)}"'):
            shell.write(_output.insert_line(_output.encoded(table), None, row))
    for (sql,) in ask(connection, f"SELECT sql FROM sqlite_schema WHERE ({like}) AND sql NOT NULL AND type IN ('index', 'trigger', 'view')", *patterns):
        shell.write(_output.encoded(sql + ";\n"))
    if writes_schema:
        shell.write(b"PRAGMA writable_schema=OFF;\n")
    shell.write(b"COMMIT;\n")
