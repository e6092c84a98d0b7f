"""Takes openat2 from this process, as a kernel before 5.6 or a sandbox that does not know it does."""

import ctypes
import errno
import os

OPENAT2 = 437  # on every architecture but alpha
LOAD_NUMBER, IF_EQUAL, RETURN = 0x20, 0x15, 0x06
FAIL, ALLOW = 0x00050000 | errno.ENOSYS, 0x7FFF0000
SET_SECCOMP, FILTER, SET_NO_NEW_PRIVS = 22, 2, 38


class Instruction(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint16), ("on_true", ctypes.c_uint8), ("on_false", ctypes.c_uint8), ("k", ctypes.c_uint32)]


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_uint16), ("instructions", ctypes.POINTER(Instruction))]


libc = ctypes.CDLL(None, use_errno=True)


def is_there():
    """Asked with a size that no kernel takes."""
    libc.syscall(OPENAT2, -1, b".", None, ctypes.c_size_t(0))
    return ctypes.get_errno() != errno.ENOSYS


def take_away():
    instructions = [(LOAD_NUMBER, 0, 0, 0), (IF_EQUAL, 0, 1, OPENAT2), (RETURN, 0, 0, FAIL), (RETURN, 0, 0, ALLOW)]
    program = Program(len(instructions), (Instruction * len(instructions))(*(Instruction(*i) for i in instructions)))
    for arguments in [(SET_NO_NEW_PRIVS, 1, 0, 0, 0), (SET_SECCOMP, FILTER, ctypes.byref(program), 0, 0)]:
        if libc.prctl(*arguments) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
