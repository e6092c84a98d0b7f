#!/bin/sh
# Shows the extension, which is built already, on the four training runs beside this script: what sql/demo.sql asks, and its
# answers. What it writes goes to .build/demo.
set -eu
cd "$(dirname "$0")"
top=$(cd ../.. && pwd)
made=$top/.build/demo
rm -rf "$made"
mkdir -p "$made"
cp -R runs experiments.csv "$made"
cd "$made"
# Without the lines that load the extension where nobody has.
sed '/^-- `sqlite3 -init`/,/^$/d' "$top/sql/demo.sql" |
    "${SQLITE3:-sqlite3}" -init /dev/null -batch -echo -cmd ".load $top/npyext" :memory:
echo
echo "Written by the last statements, to look at:"
for file in best.npy runs.tar losses.svg wave.png; do echo "    .build/demo/$file"; done
