"""Files of torch.save without PyTorch, from the sources of its serialization.py: whatever a pickle may say, true or not."""

import functools
import io
import pickle
import struct
import zipfile
import zlib


class Global:
    """What is pickled as a module and a name."""

    def __init__(self, module, name):
        self.module, self.name = module, name

    def __reduce__(self):
        return self.name


class Call:
    """What is pickled as a call of a global: REDUCE."""

    def __init__(self, module, name, *args, state=None):
        self.call, self.args, self.state = Global(module, name), args, state

    def __reduce__(self):
        return (self.call, self.args) if self.state is None else (self.call, self.args, self.state)

    def __call__(self):
        raise AssertionError("it is only pickled")


class Storage:
    """('storage', class, key, location, number of items), as a persistent id."""

    def __init__(self, kind, key, nelem, *view):
        self.id = ("storage", Global("torch", kind + "Storage"), key, "cpu", nelem, *view)


class _Pickler(pickle._Pickler):
    def persistent_id(self, value):
        return value.id if isinstance(value, Storage) else None

    def save_global_object(self, value):
        self.write(b"c" + value.module.encode() + b"\n" + value.name.encode() + b"\n")
        self.memoize(value)

    dispatch = dict(pickle._Pickler.dispatch)
    dispatch[Global] = save_global_object

    def save_reduce(self, func, args, *rest, **named):
        if not isinstance(func, Global):
            return super().save_reduce(func, args, *rest, **named)
        self.save(func)
        self.save(args)
        self.write(b"R")
        if named.get("obj") is not None and id(named["obj"]) not in self.memo:
            self.memoize(named["obj"])
        state = rest[0] if rest else None
        if state is not None:
            self.save(state)
            self.write(b"b")


def pickled(value, protocol=2):
    out = io.BytesIO()
    _Pickler(out, protocol).dump(value)
    return out.getvalue()


def tensor(kind, key, nelem, first, shape, strides, *rest):
    """A tensor of version 2."""
    return Call("torch._utils", "_rebuild_tensor_v2", Storage(kind, key, nelem), first, tuple(shape), tuple(strides), False, {}, *rest)


def typed_tensor(dtype, key, nbytes, first, shape, strides):
    """A tensor of version 3, whose storage is untyped."""
    return Call("torch._utils", "_rebuild_tensor_v3", Storage("Untyped", key, nbytes), first, tuple(shape), tuple(strides), False, {}, Global("torch", dtype))


def torch_zip(value, storages, *, name="archive", byteorder="little", others=(), method=zipfile.ZIP_STORED, pickle_bytes=None):
    """storages: {key: bytes}; others: {name below the archive's: bytes}."""
    out = io.BytesIO()
    members = {"data.pkl": pickled(value) if pickle_bytes is None else pickle_bytes}
    members |= {"byteorder": byteorder} if byteorder else {}
    members |= {f"data/{key}": contents for key, contents in storages.items()} | dict(others) | {"version": "3\n"}
    with zipfile.ZipFile(out, "w") as archive:
        for member, contents in members.items():  # with torch.save's time, which is none
            archive.writestr(zipfile.ZipInfo(f"{name}/{member}"), contents, method)
    return out.getvalue()


def write_sparse_torch_zip(path, value, storages):
    """A file of torch.save on disk, as large as it says, though almost nothing is written. storages: {key: bytes, or a number of
    zeros}. zipfile writes it, but for the zeros, which are a hole, and their CRC."""
    crc_of_zeros = functools.lru_cache(None)(lambda n: functools.reduce(lambda crc, i: zlib.crc32(bytes(min(n - i, 1 << 24)), crc), range(0, n, 1 << 24), 0))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", pickled(value))
        for key, contents in storages.items():
            with archive.open(f"archive/data/{key}", "w", force_zip64=True) as member:
                if isinstance(contents, bytes):
                    member.write(contents)
                else:
                    archive.fp.seek(contents, io.SEEK_CUR)
                    member._file_size, member._crc = contents, crc_of_zeros(contents)


def torch_legacy(value, storages, protocol=2):
    """storages: {key: (number of items, bytes)}, in the order of the file."""
    system = {"protocol_version": 1001, "little_endian": True, "type_sizes": {"short": 2, "int": 4, "long": 4}}
    heads = [pickled(part, protocol) for part in (0x1950A86A20F9469CFC6C, 1001, system, value, list(storages))]
    return b"".join(heads) + b"".join(struct.pack("<q", nelem) + contents for nelem, contents in storages.values())


__all__ = ["Call", "Global", "Storage", "pickled", "tensor", "torch_legacy", "torch_zip", "typed_tensor", "write_sparse_torch_zip"]
