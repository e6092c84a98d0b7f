"""What an object asks of the machine that loads it, against what its platform promises: faults(path, platform).

The object is read by LIEF (on PyPI), which knows ELF, Mach-O and PE. Nothing is run, so objects for other machines can be
examined, too.
"""

import re

ENTRY_POINTS = {"sqlite3_npyext_init", "sqlite3_npyext_readonly_init", "sqlite3_npyext_blob_init"}
# Of the libraries in PEP 599's list, only those of the C library are needed.
OF_GLIBC = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
OF_MACOS = {"/usr/lib/libSystem.B.dylib"}
# The universal C runtime, which is part of Windows 10, and the system itself.
OF_WINDOWS = re.compile(r"(api-ms-win-crt-[a-z]+-l1-1-0|kernel32|ntdll|ucrtbase)\.dll", re.IGNORECASE)


def faults(path, platform):
    """[text], empty if the object keeps its platform's promise."""
    import lief

    lief.logging.disable()
    binary = lief.parse(path)
    examined = {"so": elf_faults, "dylib": macho_faults, "dll": pe_faults}[platform.suffix]
    expected = {"so": lief.ELF.Binary, "dylib": lief.MachO.Binary, "dll": lief.PE.Binary}[platform.suffix]
    if not isinstance(binary, expected):
        return [f"{path} is not a {platform.suffix} file"]
    return list(examined(binary, platform))


def machine_fault(found, platform):
    machines = {"x86_64": ("X86_64", "AMD64"), "aarch64": ("AARCH64", "ARM64")}[platform.target.split("-")[0]]
    if found not in machines:
        yield f"is for {found}, not for {platform.target}"


def export_fault(names, expected=ENTRY_POINTS):
    if set(names) != expected:
        yield f"exports {sorted(names)}"


def elf_faults(binary, platform):
    yield from machine_fault(binary.header.machine_type.name, platform)
    names = [each.name for each in binary.exported_symbols if each.name not in ("_init", "_fini")]
    yield from export_fault(names, ENTRY_POINTS | {"PyInit_npyext"})  # python_import.c
    allowed = {platform.needed} if platform.needed else OF_GLIBC
    if not set(binary.libraries) <= allowed:
        yield f"needs {sorted(set(binary.libraries) - allowed)}"
    if platform.needed and platform.needed not in binary.libraries:
        yield f"does not name its C library, {platform.needed}"
    versions = [each.name for need in binary.symbols_version_requirement for each in need.get_auxiliary_symbols()]
    promised = re.search(r"gnu\.(\d+)\.(\d+)", platform.target)
    for version in versions:
        numbers = re.fullmatch(r"GLIBC_(\d+)\.(\d+)(\.\d+)?", version)
        if not promised or not numbers or (int(numbers[1]), int(numbers[2])) > (int(promised[1]), int(promised[2])):
            yield f"needs {version}"


def macho_faults(binary, platform):
    yield from machine_fault(binary.header.cpu_type.name, platform)
    # the linker itself adds these to each library; they are not for others to link with
    of_linker = {"__mh_dylib_header", "___dso_handle"}
    yield from export_fault([each.name.lstrip("_") for each in binary.exported_symbols if each.name not in of_linker])
    libraries = {each.name for each in binary.libraries} - {"@rpath/npyext.dylib"}
    if not libraries <= OF_MACOS:
        yield f"needs {sorted(libraries - OF_MACOS)}"
    promised = tuple(map(int, platform.target.split("macos.")[1].split(".")))
    found = tuple((binary.build_version.minos if binary.has_build_version else binary.version_min.version)[:2])
    if found > promised:
        yield f"needs macOS {found}, more than {promised}"
    # macOS on arm64 loads nothing without a signature, even if it is only an ad-hoc one.
    if platform.target.startswith("aarch64") and not binary.has_code_signature:
        yield "is not signed"


def pe_faults(binary, platform):
    yield from machine_fault(binary.header.machine.name, platform)
    yield from export_fault([each.name for each in binary.get_export().entries])
    others = sorted(each.name for each in binary.imports if not OF_WINDOWS.fullmatch(each.name))
    if others:
        yield f"needs {others}"
