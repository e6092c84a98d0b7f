#!/bin/sh
# build-sqlite.sh: make .build/sqlite/VERSION/libsqlite3.so.0 of the SQLite releases that the tests are to run on
# beside the installed one. Their amalgamations come from the npm registry, inside of better-sqlite3: 7.5.0 has
# SQLite 3.37.2, the last without sqlite3_vtab_in; 7.5.1 has 3.38.2, the first with it; 11.1.2 has 3.46.0, the first of
# which OFFSET is taken; the latest has a new one.
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

if [ "$#" -gt 0 ]; then
    build "$@"
else
    for release in 7.5.0 7.5.1 11.1.2 latest; do build "$release" ".build/sqlite/$release"; done
fi
