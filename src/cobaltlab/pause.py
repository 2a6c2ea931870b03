"""The pause program, which holds the namespaces of a pod and leaves no zombies.

It needs two system calls, so it is assembled here: a few hundred bytes without a compiler, and one
page of memory per pod.
"""

import platform
import struct
from collections.abc import Mapping
from typing import NamedTuple

from cobaltlab import errors

_LOAD_ADDRESS = 0x400000
_HEADERS_SIZE = 64 + 56
_SIGCHLD = 17
# struct sigaction of the kernel: SIG_IGN, no flags, no restorer, no mask. With SIG_IGN for SIGCHLD
# the kernel reaps children.
_IGNORE = struct.pack("<QQQQ", 1, 0, 0, 0)


class _Processor(NamedTuple):
    elf_machine: int
    code: bytes


_X86_64 = bytes.fromhex(
    "bf11000000"  # mov  edi, SIGCHLD
    "488d3518000000"  # lea  rsi, [rip + 24]: the struct behind the code
    "31d2"  # xor  edx, edx
    "41ba08000000"  # mov  r10d, 8
    "b80d000000"  # mov  eax, rt_sigaction
    "0f05"  # syscall
    "b822000000"  # loop: mov eax, pause
    "0f05"  # syscall
    "ebf7"  # jmp  loop
)
_AARCH64 = struct.pack(
    "<13I",
    0xD2800220,  # mov  x0, SIGCHLD
    0x10000181,  # adr  x1, the struct behind the code
    0xD2800002,  # mov  x2, 0
    0xD2800103,  # mov  x3, 8
    0xD28010C8,  # mov  x8, rt_sigaction
    0xD4000001,  # svc  0
    0xD2800000,  # loop: mov x0, 0
    0xD2800001,  # mov  x1, 0
    0xD2800002,  # mov  x2, 0
    0xD2800003,  # mov  x3, 0
    0xD2800928,  # mov  x8, ppoll
    0xD4000001,  # svc  0
    0x17FFFFFA,  # b    loop
)
_PROCESSORS: Mapping[str, _Processor] = {
    "x86_64": _Processor(62, _X86_64),
    "aarch64": _Processor(183, _AARCH64),
}


def program(machine: str = "") -> bytes:
    """The ELF executable for an architecture, by default that of this machine."""
    machine = machine or platform.machine()
    found = _PROCESSORS.get(machine)
    if found is None:
        known = " and ".join(_PROCESSORS)
        raise errors.LabError(
            f"the lab supports the architectures {known}, and this machine is {machine}"
        )
    content = found.code + _IGNORE
    return _headers(found.elf_machine, len(content)) + content


def _headers(machine: int, size: int) -> bytes:
    """An ELF header with one segment: the whole file."""
    identity = b"\x7fELF" + bytes([2, 1, 1]) + bytes(9)
    start = _LOAD_ADDRESS + _HEADERS_SIZE
    elf = struct.pack(
        "<16sHHIQQQIHHHHHH", identity, 2, machine, 1, start, 64, 0, 0, 64, 56, 1, 0, 0, 0
    )
    total = _HEADERS_SIZE + size
    readable_and_executable = 5
    segment = struct.pack(
        "<IIQQQQQQ",
        1,
        readable_and_executable,
        0,
        _LOAD_ADDRESS,
        _LOAD_ADDRESS,
        total,
        total,
        0x1000,
    )
    return elf + segment
