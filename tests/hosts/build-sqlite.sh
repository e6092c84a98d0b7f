#!/bin/sh
# build-sqlite.sh: make .build/sqlite/VERSION/libsqlite3.so.0 of the SQLite releases that the tests are to run on
# beside the installed one. Their amalgamations come from the npm registry, inside of better-sqlite3: 7.5.0 has
# SQLite 3.37.2, the last without sqlite3_vtab_in; 7.5.1 has 3.38.2, the first with it; 11.1.2 has 3.46.0, the first of
# which OFFSET is taken; the latest has a new one.
#
# And unpack into .build/sqlite/apsw-VERSION apsw's wheels, each of which has a SQLite of its own inside: of each minor
# release the newest patch that PyPI has for this Python.
#
# build-sqlite.sh VERSION FOLDER FLAG...: make FOLDER/libsqlite3.so.0 of one of them, with these flags for the compiler.
set -eu
cd "$(dirname "$0")/../.."

command -v npm >/dev/null || {
    echo "build-sqlite.sh: npm fetches the sources, and there is none (apt-get install npm)" >&2
    exit 1
}

build() {
    release=$1
    folder=$2
    shift 2
    [ ! -e "$folder/libsqlite3.so.0" ] || return 0
    mkdir -p "$folder"
    archive=$(cd "$folder" && npm pack --silent "better-sqlite3@$release" 2>/dev/null)
    tar -xzf "$folder/$archive" -C "$folder" package/deps/sqlite3
    "${CC:-cc}" -O1 -w -fPIC -shared -Wl,-soname,libsqlite3.so.0 -DSQLITE_ENABLE_COLUMN_METADATA -DSQLITE_ENABLE_JSON1 \
        "$@" -o "$folder/made" "$folder/package/deps/sqlite3/sqlite3.c" -lm
    mv "$folder/made" "$folder/libsqlite3.so.0"
    rm -r "$folder/package" "${folder:?}/$archive"
}

# The newest patch of each minor release from 3.39 on: before that one there are no wheels.
releases_of_apsw() {
    "$python" -m pip index versions apsw 2>/dev/null | sed -n 's/^Available versions: //p' | tr -d ' ' | tr ',' '\n' |
        grep -E '^3\.(39|[4-9][0-9]|[1-9][0-9]{2})\.[0-9.]+$' | sort -V | awk -F. '{ newest[$2] = $0 } END { for (minor in newest) print newest[minor] }'
}

fetch_apsw() {
    python=${PYTHON:-/usr/bin/python3}
    if ! "$python" -m pip --version >/dev/null 2>&1; then # Debian's Python has none, but can make a place that has
        [ -x .build/sqlite/pip/bin/python ] || "$python" -m venv .build/sqlite/pip
        python=.build/sqlite/pip/bin/python
    fi
    for release in $(releases_of_apsw); do
        folder=.build/sqlite/apsw-$release
        [ ! -e "$folder" ] || continue
        rm -rf "$folder.new"
        "$python" -m pip install -q --disable-pip-version-check --root-user-action=ignore --no-deps --only-binary :all: \
            --target "$folder.new" "apsw==$release" || { # none for this Python
            rm -rf "$folder.new"
            continue
        }
        mv "$folder.new" "$folder"
    done
    ls -d .build/sqlite/apsw-* >/dev/null # at least one
}

if [ "$#" -gt 0 ]; then
    build "$@"
else
    for release in 7.5.0 7.5.1 11.1.2 latest; do build "$release" ".build/sqlite/$release"; done
    fetch_apsw
fi
