#!/bin/sh
# install-packages.sh GROUP...: install what the targets of the Makefile need and the machine lacks.
# install-packages.sh --tell GROUP...: install nothing, but say which command does, if anything is missing.
#
# Groups: see packages() below. Says nothing and touches nothing when all is there. Where there is no apt-get, or no way to
# become root, it names what is missing and fails. Names of packages are those that Debian 12, 13 and sid have in common.
set -eu

compiler=${CC:-cc}
python=${PYTHON:-/usr/bin/python3}

building="gcc libc6-dev libsqlite3-dev zlib1g-dev libminizip-dev"

packages() {
    case $1 in
    demo) echo $building sqlite3 ;;
    check) echo $building sqlite3 libcmocka-dev python3 python3-numpy python3-pytest python3-pytest-xdist binutils pkg-config ;;
    build) echo $building ;;
    python) echo python3 ;;
    bench) echo $building sqlite3 python3 python3-numpy python3-venv ;;
    clients) echo python3-venv curl npm g++ nginx ;;
    versions) echo npm ;;
    debian) echo dpkg-dev python3 ;;
    root) echo debootstrap ;;
    coverage) echo clang-19 llvm-19 libclang-rt-19-dev ;;
    valgrind) echo valgrind libc6-dbg ;;
    graph) echo graphviz python3 ;;
    lint) echo $building clang clang-format clang-tidy binutils python3 golang-go ;;
    format) echo clang-format ;;
    cross) echo python3-venv dpkg-dev ;;
    web) echo npm ;;
    browser) echo chromium ;;
    platforms) echo musl wine qemu-user npm ;;
    fuzz) echo $building python3 python3-numpy clang libclang-rt-dev ;;
    *)
        echo "install-packages.sh: no group '$1'; see the script" >&2
        exit 2
        ;;
    esac
}

command_is_there() { command -v "$1" >/dev/null 2>&1; }
header_is_there() { echo "#include <$1>" | "$compiler" -E - >/dev/null 2>&1; }
module_is_there() { "$python" -c "import $1" >/dev/null 2>&1; }

# Asks for what a package brings, not for the package, so that a compiler or library of another origin will do.
is_there() {
    case $1 in
    gcc) command_is_there "$compiler" ;;
    libc6-dev) header_is_there stdio.h ;;
    libsqlite3-dev) header_is_there sqlite3ext.h ;;
    zlib1g-dev) header_is_there zlib.h ;;
    libminizip-dev) header_is_there minizip/unzip.h ;;
    libcmocka-dev) printf '%s\n' '#include <stdarg.h>' '#include <stddef.h>' '#include <stdint.h>' \
        '#include <setjmp.h>' '#include <cmocka.h>' | "$compiler" -E - >/dev/null 2>&1 ;;
    python3) command_is_there "$python" ;;
    python3-venv) module_is_there ensurepip ;;
    python3-pytest-xdist) module_is_there xdist ;;
    python3-*) module_is_there "${1#python3-}" ;;
    graphviz) command_is_there dot ;;
    golang-go) command_is_there go ;;
    nginx) command_is_there nginx || test -x /usr/sbin/nginx ;;
    binutils) command_is_there nm ;;
    dpkg-dev) command_is_there dpkg-source ;;
    musl) test -n "$(find /lib/ -name 'ld-musl-*.so.1' 2>/dev/null)" ;;
    qemu-user) command_is_there qemu-aarch64 ;;
    llvm-19) command_is_there llvm-cov-19 ;;
    libclang-rt-19-dev) test -n "$(find "$(clang-19 -print-resource-dir 2>/dev/null)/lib" -name 'libclang_rt.profile*' 2>/dev/null)" ;;
    libc6-dbg) test -d /usr/lib/debug/.build-id ;;
    libclang-rt-dev) test -n "$(find "$(clang -print-resource-dir 2>/dev/null)/lib" -name 'libclang_rt.fuzzer*' 2>/dev/null)" ;;
    *) command_is_there "$1" ;;
    esac
}

tells=
if [ "${1:-}" = --tell ]; then
    tells=yes
    shift
fi

missing=
for group in "$@"; do
    wanted=$(packages "$group")
    for package in $wanted; do
        case " $missing " in
        *" $package "*) ;;
        *) is_there "$package" || missing="$missing $package" ;;
        esac
    done
done
[ -n "$missing" ] || exit 0

if [ -n "$tells" ]; then
    echo "These Debian packages seem to be missing:$missing"
    echo "\`make $*\` installs them, and so does, as root: apt-get install -y$missing"
    exit 0
fi

# What is only good to have: without it the tests run one after the other.
case $missing in
" python3-pytest-xdist") can_do_without=yes ;;
*) can_do_without= ;;
esac

give_up() {
    [ -z "$can_do_without" ] || exit 0
    {
        echo "$1 Please install what these Debian packages hold, then try again:"
        for package in $missing; do echo "    $package"; done
    } >&2
    exit 1
}

command_is_there apt-get || give_up "There is no apt-get here."
if [ "$(id -u)" -eq 0 ]; then
    as_root=
elif command_is_there sudo; then
    as_root=sudo
else
    give_up "Installing packages needs root, and there is no sudo."
fi

echo "Installing with apt-get:$missing"
install() {
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq &&
        $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" </dev/null
}
# shellcheck disable=SC2086 # a list of words
output=$(install $missing 2>&1) || {
    [ -n "$can_do_without" ] || printf '%s\n' "$output" >&2
    give_up "apt-get failed."
}

for package in $missing; do
    is_there "$package" || give_up "Something is missing still, although apt-get reported success."
done
