#!/bin/sh
# foreign.sh ARCHITECTURE...: build for other Debian architectures (s390x: big-endian; i386: 32 bits; arm64: kernels of
# its own) and run there, by qemu-user, the unit tests, the scripts of tests/sql and the documents, and what tests/hosts/foreign_hosts.py compares with
# this host. Compilers are installed where they are missing (root); libraries are unpacked below .build and installed
# nowhere. The last line is `N passed, M failed`.
set -eu
cd "$(dirname "$0")/../.."

sh ext/tools/install-packages.sh check

compiler_of() {
    case $1 in
    s390x) echo s390x-linux-gnu ;;
    i386) echo i686-linux-gnu ;;
    arm64) echo aarch64-linux-gnu ;;
    *)
        echo "foreign.sh: no architecture '$1' (s390x, i386, arm64)" >&2
        exit 2
        ;;
    esac
}

# Debian's folder of libraries, which is not always the compiler's name.
folder_of() {
    case $1 in
    arm64) echo aarch64-linux-gnu ;;
    *) echo "$1-linux-gnu" ;;
    esac
}

install_compilers() {
    missing=
    command -v qemu-s390x >/dev/null || missing=qemu-user
    for architecture in "$@"; do
        compiler=$(compiler_of "$architecture")
        command -v "$compiler-gcc" >/dev/null || missing="$missing gcc-$compiler libc6-dev-$architecture-cross"
    done
    [ -n "$missing" ] || return 0
    echo "Installing: $missing"
    as_root=
    [ "$(id -u)" -eq 0 ] || as_root=sudo
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq
    # shellcheck disable=SC2086 # a list of words
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing \
        </dev/null >/dev/null
}

# Unpacks the libraries of an architecture, and the shell, in a folder. An apt with lists of its own fetches them: the
# machine's own architectures stay as they are.
fetch() {
    [ ! -e "$2/complete" ] || return 0
    rm -rf "$2"
    mkdir -p "$2/apt/lists/partial" "$2/apt/cache/archives/partial" "$2/debs"
    {
        echo "APT::Architecture \"$1\";"
        echo "APT::Architectures { \"$1\"; };"
        echo "Dir::State \"$2/apt\";"
        echo "Dir::State::status \"/dev/null\";"
        echo "Dir::Cache \"$2/apt/cache\";"
        echo 'Acquire::Languages "none";'
        echo 'Acquire::IndexTargets::deb { DEP-11::DefaultEnabled "false"; DEP-11-icons-small::DefaultEnabled "false"; };'
        echo 'APT::Sandbox::User "root";'
    } >"$2/apt.conf"
    # a source of another kind than Debian's has no such architecture, and only a warning
    APT_CONFIG=$2/apt.conf apt-get update -qq || true
    (cd "$2/debs" && APT_CONFIG=$2/apt.conf apt-get download -qq libcmocka0 libcmocka-dev zlib1g zlib1g-dev \
        libminizip1 libminizip-dev libsqlite3-0 libsqlite3-dev sqlite3 libreadline8 libtinfo6 coreutils)
    for package in "$2"/debs/*.deb; do dpkg -x "$package" "$2"; done
    for link in "$2"/usr/lib/*/libz.so; do # which is absolute
        ln -sf "$(echo "$2"/lib/*/libz.so.1)" "$link"
    done
    rm -r "$2/apt" "$2/debs"
    : >"$2/complete"
}

emulator_of() { [ "$1" = arm64 ] && echo qemu-aarch64 || echo "qemu-$1"; }

# Says what is run by what: a processor that runs i386 itself needs no emulator. With qemu's own -L `/` would be
# another folder.
runner_of() {
    case $1 in
    s390x) loader=/usr/$2/lib/ld64.so.1 ;;
    i386) loader=/usr/$2/lib/ld-linux.so.2 ;;
    arm64) loader=/usr/$2/lib/ld-linux-aarch64.so.1 ;;
    esac
    emulator="$(emulator_of "$1") "
    ! "$loader" --version >/dev/null 2>&1 || emulator=
    echo "$emulator$loader --library-path /usr/$2/lib"
}

# The shell there. Its output must be unbuffered by the stdbuf of that architecture, not of this one. Debian 12's
# qemu-i386 hangs when a thread is made: what runs i386 itself runs the shell, too, and elsewhere it has one thread.
write_shell() {
    preloaded=$3/usr/libexec/coreutils/libstdbuf.so
    case $1/$2 in
    i386/qemu*) start="exec $2 -E NPYEXT_THREADS=1 -E LD_PRELOAD=$preloaded -E LD_LIBRARY_PATH=$4" ;;
    */qemu*) start="exec $2 -E LD_PRELOAD=$preloaded -E LD_LIBRARY_PATH=$4" ;;
    *) start="exec $2:$4 --preload $preloaded" ;;
    esac
    {
        echo '#!/bin/sh'
        echo "unset LD_PRELOAD"
        echo "$start $3/usr/bin/sqlite3 \"\$@\""
    } >"$3/sqlite3"
    chmod +x "$3/sqlite3"
}

check() {
    root=$PWD/.build/foreign/$1
    compiler=$(compiler_of "$1")
    fetch "$1" "$root"
    folder=$(folder_of "$1")
    libraries=$root/usr/lib/$folder:$root/lib/$folder
    ${MAKE:-make} -s -j"$(nproc || echo 1)" CC="$compiler-gcc" WERROR=-Werror \
        CFLAGS="-O2 -g -isystem $root/usr/include -isystem $root/usr/include/$folder" \
        LDFLAGS="-L$root/usr/lib/$folder -Wl,-rpath,$libraries" ".build/$1/npyext.so" "units-$1"
    runner=$(runner_of "$1" "$compiler")
    case $runner in
    qemu*) write_shell "$1" "$(emulator_of "$1") -L /usr/$compiler" "$root" "$libraries" ;;
    *) write_shell "$1" "$runner" "$root" "$libraries" ;;
    esac
    tests='tests/unit/test_unit.py tests/sql/test_sql.py tests/docs/test_docs.py tests/hosts/foreign_hosts.py'
    [ "$1" != arm64 ] || tests='tests/unit/test_unit.py tests/sql/test_sql.py' # little-endian, 64 bits: as here but for kernels
    # shellcheck disable=SC2086 # a list of words
    NPYEXT_UNIT_ROUNDS=few NPYEXT_FLAVOUR=$1 NPYEXT_SO=.build/$1/npyext.so SQLITE3=$root/sqlite3 NPYEXT_RUNNER=$runner \
        "${PYTHON:-/usr/bin/python3}" -B -m pytest -c tests/pytest.ini $tests
}

install_compilers "$@"
${MAKE:-make} -s npyext.so
mkdir -p .build/foreign
for architecture in "$@"; do
    (check "$architecture") >".build/foreign/$architecture.log" 2>&1 &
done
wait
passed=0
failed=0
for architecture in "$@"; do
    echo "-- $architecture"
    cat ".build/foreign/$architecture.log"
    totals=$(tail -n 1 ".build/foreign/$architecture.log")
    good=0
    bad=1
    if echo "$totals" | grep -qxE '[0-9]+ passed, [0-9]+ failed'; then
        good=${totals%% *}
        bad=${totals#*, }
        bad=${bad%% *}
    fi
    passed=$((passed + good))
    failed=$((failed + bad))
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
