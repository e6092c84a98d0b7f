#!/bin/sh
# Layout, static analysis, and the house rules that a tool can check. Every check runs; one that finds something
# makes the whole fail.
set -eu
cd "$(dirname "$0")/.."

failed=0
check() {
    name=$1
    shift
    if "$@"; then
        echo "ok: $name"
    else
        echo "FAILED: $name"
        failed=1
    fi
}

layout() { find src ext tests/unit -name '*.[ch]' -exec clang-format --dry-run --Werror {} +; }

analysis() {
    mkdir -p .build
    find src ext -name '*.c' | sort | xargs -n 1 -P "$(nproc || echo 1)" \
        sh -c 'clang-tidy --quiet "$0" -- -std=c11 -D_GNU_SOURCE 2>>.build/clang-tidy.log'
}

# Nothing but the entry points may be seen from outside: hosts load other extensions beside this one.
exports() {
    symbols=$(nm -D --defined-only npyext.so | awk '{ print $3 }')
    echo "$symbols" | grep -qx sqlite3_npyext_init || return 1
    if echo "$symbols" | grep -vxE 'sqlite3_npyext_([a-z]+_)?init'; then return 1; fi
}

# only FILES HEADERS FOLDER...: in the folders, these files alone include the headers (both are patterns).
only() {
    allowed=$1
    headers=$2
    shift 2
    if grep -rnE "^[[:space:]]*#[[:space:]]*include[[:space:]]*[<\"]($headers)" "$@" | grep -vE "^($allowed):"; then
        return 1
    fi
}

scripts() {
    for script in .ci/run tests/*.sh tests/demo/*.sh; do sh -n "$script" || return 1; done
    "${PYTHON:-/usr/bin/python3}" - tests/*.py tests/*/*.py ext/*.py ext/python/*.py ext/python/*/*.py <<'END'
import ast, sys
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        ast.parse(file.read(), path)
END
}

check "layout (clang-format)" layout
check "static analysis (clang-tidy)" analysis
check "only entry points are exported" exports
check "the codec knows no SQLite" only '' '.*sqlite3(ext)?\.h' src
check "the codec knows nothing of ext/" only '' '(\.\./)?ext/' src
check "only the zip files of the codec include minizip" only 'src/(archive_npz|zip_[a-z_]*)\.c' '(minizip/)?(unzip|zip|ioapi)\.h' src ext
check "scripts parse" scripts
exit "$failed"
