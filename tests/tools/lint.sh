#!/bin/sh
# Layout, static analysis, and the house rules that a tool can check. Every check runs; one that finds something
# makes the whole fail.
set -eu
cd "$(dirname "$0")/../.."

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

layout() { find src ext tests/unit tests/fuzz tests/prove tests/hosts tests/safety -name '*.[ch]' -exec clang-format --dry-run --Werror {} +; }

analysis() {
    mkdir -p .build
    find src ext -name '*.c' | sort | xargs -n 1 -P "$(nproc || echo 1)" \
        sh -c 'clang-tidy --quiet "$0" -- -std=c11 -D_GNU_SOURCE -Isrc -Iext 2>>.build/clang-tidy.log'
}

# Nothing but the entry points, Python's among them, may be seen from outside: hosts load other extensions beside this one.
exports() {
    symbols=$(nm -D --defined-only npyext.so | awk '{ print $3 }')
    for entry_point in init readonly_init blob_init; do
        echo "$symbols" | grep -qx "sqlite3_npyext_$entry_point" || return 1
    done
    if echo "$symbols" | grep -vxE 'sqlite3_npyext_((readonly|blob)_)?init|PyInit_npyext'; then return 1; fi
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

# Calls of these functions, and of none that only ends in such a name. Methods (x->open, .open) are other things.
calls() {
    names=$1
    shift
    grep -nE "(^|[^[:alnum:]_>.])($names)\\(" "$@" | grep -vE '^[^:]*:[0-9]*:[[:space:]]*(/?\*|//)'
}

# A path is opened or looked up by the host's root alone, and what is done below an open folder stays with the
# files that are written: any other way to the file system would not be confined. ext/tools/standalone.h gives calls other
# names, and makes none; src/io/system_*.c are these calls; ext/entry/second_library.c reads the shared object itself.
file_system() {
    by_path='open|open64|creat|fopen|freopen|opendir|scandir|ftw|nftw|glob|stat|lstat|statx|access|euidaccess|readlink|realpath'
    by_path="$by_path|unlink|rename|link|symlink|mkdir|rmdir|remove|truncate|chmod|chown|mkstemp|mkfifo|mknod|chdir|syscall"
    by_entry='openat|openat2|fstatat|faccessat|readlinkat|unlinkat|renameat|renameat2|linkat|symlinkat|mkdirat|mkfifoat|mknodat|fchmodat|fchownat|fchdir'
    others=$(ls src/*/*.[ch] ext/*/*.[ch] | grep -vxE 'src/io/(root|file_system|system_[a-z]*)\.[ch]|ext/tools/standalone\.h|ext/entry/second_library\.c')
    not_targets=$(echo "$others" | grep -vxE 'src/io/target(_[a-z]+)?\.c')
    # shellcheck disable=SC2086
    if calls "$by_path" $others || calls "$by_entry" $not_targets; then return 1; fi
}

# What lies at the top is decided; a file that a trial left behind does not belong there. Seen where Git is.
only_the_house() {
    [ -e .git ] || return 0
    ! git ls-files | sed 's,/.*,,' | sort -u | grep -vxE '\..*|CHANGELOG\.md|LICENSE|Makefile|README\.md|docs|ext|sql|src|tests'
}

sizes() { "${PYTHON:-/usr/bin/python3}" -B tests/tools/sizes.py; }

floors() { "${PYTHON:-/usr/bin/python3}" -B tests/tools/floors.py check; }

scripts() {
    for script in .ci/run tests/*/*.sh; do sh -n "$script" || return 1; done
    "${PYTHON:-/usr/bin/python3}" - tests/*.py tests/*/*.py ext/tools/*.py ext/python/*.py ext/python/*/*.py <<'END'
import ast, sys
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        ast.parse(file.read(), path)
END
}

# The release is the newest that the compiler of Debian 12 builds.
workflows() {
    [ -x .build/lint/actionlint ] ||
        GOTOOLCHAIN=local GOFLAGS=-modcacherw GOBIN="$PWD/.build/lint" go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.7 || return 1
    .build/lint/actionlint .github/workflows/*.yml
}

# Names that are private to two files collide where all of them are one.
one_file() {
    "${PYTHON:-/usr/bin/python3}" -B ext/tools/amalgamate.py .build/lint || return 1
    "${CC:-cc}" -std=c11 -D_GNU_SOURCE -DSQLITE_CORE -fsyntax-only .build/lint/npyext.c
}

check "layout (clang-format)" layout
check "static analysis (clang-tidy)" analysis
check "only entry points are exported" exports
check "all sources compile as one file" one_file
check "the codec knows no SQLite" only '' '.*sqlite3(ext)?\.h' src
check "no file includes a floor above its own" floors
check "only the zip files of the codec include minizip" only 'src/format/(archive_npz|zip_[a-z_]*)\.c' '(minizip/)?(unzip|zip|ioapi)\.h' src ext
check "paths are opened in one place" file_system
check "sizes are multiplied where a product that wraps is noticed" sizes
check "scripts parse" scripts
check "workflows (actionlint)" workflows
check "nothing else lies at the top" only_the_house
exit "$failed"
