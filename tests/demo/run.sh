#!/bin/sh
# Shows the extension on the four training runs beside this script; the extension is built already.
set -eu
cd "$(dirname "$0")"
exec "${SQLITE3:-sqlite3}" -init /dev/null -batch -echo -cmd '.load ../../npyext' :memory: <../../sql/demo.sql
