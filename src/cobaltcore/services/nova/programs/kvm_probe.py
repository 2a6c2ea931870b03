"""Find out whether KVM runs a guest on this node, and tell Nova. Runs in the image of Nova.

kvm_probe.py FILE      writes options for nova-compute to FILE

/dev/kvm says little: under some hypervisors it is there and guests die at the first unusual
instruction. So a guest of a few instructions is run in 64-bit mode, with one that emulators lack.
"""

import ctypes
import fcntl
import mmap
import os
import signal
import struct
import sys
from pathlib import Path

CREATE_VM, CREATE_VCPU, VCPU_MMAP_SIZE, RUN = 0xAE01, 0xAE41, 0xAE04, 0xAE80
SET_MEMORY, SET_REGS, GET_SREGS, SET_SREGS = 0x4020AE46, 0x4090AE82, 0x8138AE83, 0x4138AE84
GET_CPUID, SET_CPUID = 0xC008AE05, 0x4008AE90
EXIT_HLT = 5
MEMORY_BYTES = 64 * 1024
TABLES, CODE, DATA = (0x1000, 0x2000, 0x3000), 0x4000, 0x5000
MARK = 0x1234_5678_9ABC_DEF0
GUEST = bytes.fromhex("f0480fc70f f4")  # lock cmpxchg16b [rdi]; hlt
CPUID_ENTRIES = 256
PATIENCE_SECONDS = 10

KVM = "[libvirt]\nvirt_type = kvm\ncpu_mode = host-model\n"
QEMU = "[libvirt]\nvirt_type = qemu\ncpu_mode = none\n"


def guest_memory() -> mmap.mmap:
    """Page tables that map the memory to itself, and the guest's program."""
    memory = mmap.mmap(-1, MEMORY_BYTES)
    for table, entry in zip(TABLES, (TABLES[1] | 3, TABLES[2] | 3, 0x83), strict=True):
        memory[table : table + 8] = struct.pack("<Q", entry)
    memory[CODE : CODE + len(GUEST)] = GUEST
    return memory


def set_registers(vcpu: int) -> None:
    """64-bit mode, at the start of the program."""
    state = bytearray(312)
    fcntl.ioctl(vcpu, GET_SREGS, state)
    code = struct.pack("<QIHBBBBBBBBBx", 0, 0xFFFFFFFF, 8, 11, 1, 0, 0, 1, 1, 1, 0, 0)
    data = struct.pack("<QIHBBBBBBBBBx", 0, 0xFFFFFFFF, 16, 3, 1, 0, 1, 1, 0, 1, 0, 0)
    state[0:24] = code
    for segment in range(1, 6):
        state[segment * 24 : segment * 24 + 24] = data
    # cr0, cr2, cr3, cr4, cr8, efer: protected mode and paging, page tables, large pages, 64 bits.
    state[224:272] = struct.pack("<6Q", 0x8005_0033, 0, TABLES[0], 0x620, 0, 0x500)
    fcntl.ioctl(vcpu, SET_SREGS, bytes(state))
    # rax rbx rcx rdx rsi rdi rsp rbp, r8 to r15, rip, rflags
    registers = [0, MARK, 0, 0, 0, DATA, MEMORY_BYTES - 16, 0, *[0] * 8, CODE, 2]
    fcntl.ioctl(vcpu, SET_REGS, struct.pack("<18Q", *registers))


def set_processor(kvm: int, vcpu: int) -> None:
    """The processor that guests of Nova get: everything that KVM has."""
    table = bytearray(struct.pack("<II", CPUID_ENTRIES, 0)) + bytearray(CPUID_ENTRIES * 40)
    fcntl.ioctl(kvm, GET_CPUID, table)
    fcntl.ioctl(vcpu, SET_CPUID, table)


def runs_a_guest() -> bool:
    """Whether a guest reaches its end and has done its work."""
    kvm = os.open("/dev/kvm", os.O_RDWR | os.O_CLOEXEC)
    machine = fcntl.ioctl(kvm, CREATE_VM, 0)
    memory = guest_memory()
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    fcntl.ioctl(machine, SET_MEMORY, struct.pack("<IIQQQ", 0, 0, 0, MEMORY_BYTES, address))
    vcpu = fcntl.ioctl(machine, CREATE_VCPU, 0)
    size = fcntl.ioctl(kvm, VCPU_MMAP_SIZE, 0)
    with mmap.mmap(vcpu, size) as shared:
        set_processor(kvm, vcpu)
        set_registers(vcpu)
        fcntl.ioctl(vcpu, RUN, 0)
        (reason,) = struct.unpack_from("<I", shared, 8)
    (found,) = struct.unpack_from("<Q", memory, DATA)
    return bool(reason == EXIT_HLT and found == MARK)


def gives_up(number: int, frame: object) -> None:
    """A guest that does not end is none."""
    raise TimeoutError(f"the guest did not end within {PATIENCE_SECONDS} s (signal {number})")


def main(path: str) -> None:
    """Write what was found."""
    signal.signal(signal.SIGALRM, gives_up)
    signal.alarm(PATIENCE_SECONDS)
    try:
        works, why = runs_a_guest(), "the guest did not do its work"
    except OSError as error:
        works, why = False, str(error)
    signal.alarm(0)
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(KVM if works else QEMU)
    sys.stdout.write("KVM runs guests\n" if works else f"KVM does not run guests: {why}\n")


if __name__ == "__main__":
    main(sys.argv[1])
