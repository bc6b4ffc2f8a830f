"""Ways out of confinement, tried by a step: run by path, as `escapes.py FACTS`, it prints what came of each.

Each attempt is harmless where nothing refuses it: it passes an argument that is checked after the right to do
it, or only opens what it could write. FACTS is a JSON file: a file and a process outside, and an abstract socket.
"""

import ctypes
import errno
import json
import mmap
import os
import platform
import socket
import stat
import struct
import sys
from collections.abc import Callable
from pathlib import Path

X86 = platform.machine() == "x86_64"
NUMBERS = {  # x86-64, and the numbers that newer architectures share
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "swapon": (167, 224),
    "sethostname": (170, 161),
    "reboot": (169, 142),
    "init_module": (175, 105),
    "kexec_load": (246, 104),
    "acct": (163, 89),
    "adjtimex": (159, 171),
    "add_key": (248, 217),
    "keyctl": (250, 219),
    "ptrace": (101, 117),
    "process_vm_writev": (311, 271),
    "perf_event_open": (298, 241),
    "bpf": (321, 280),
    "fanotify_init": (300, 262),
    "unshare": (272, 97),
    "setns": (308, 268),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438),
    "pidfd_send_signal": (424, 424),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
}
LIBRARY = ctypes.CDLL(None, use_errno=True)
HERE, TREE = -100, 0x8000  # AT_FDCWD; AT_RECURSIVE
NEW_USER, NEW_MOUNTS = 0x10000000, 0x00020000
NOWHERE = b"/nowhere/at/all"


def call(name: str, *arguments: "int | bytes | None") -> int:
    number = NUMBERS[name][0 if X86 else 1]
    words = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    answer = LIBRARY.syscall(ctypes.c_long(number), *words)
    if answer < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return answer


class Attempts:
    """Every public method is one attempt: OSError where it is refused."""

    def __init__(self, facts: dict[str, str]) -> None:
        self._file = facts["file"]
        self._process = int(facts["process"])
        self._socket = facts["socket"]

    def make_a_character_device(self) -> None:
        self._make("node", stat.S_IFCHR)

    def make_a_block_device(self) -> None:
        self._make("node", stat.S_IFBLK)

    def make_a_block_device_in_a_temporary_folder(self) -> None:
        self._make(f"/dev/shm/node-{os.getpid()}", stat.S_IFBLK)

    def _make(self, path: str, kind: int) -> None:
        os.mknod(path, 0o600 | kind, os.makedev(1, 3))
        os.unlink(path)

    def mount(self) -> None:
        call("mount", b"none", b".", b"nonsense", 0, None)

    def mount_in_a_user_namespace(self) -> None:
        call("unshare", NEW_USER | NEW_MOUNTS)
        call("mount", b"none", b".", b"nonsense", 0, None)

    def mount_in_the_new_way(self) -> None:
        call("fsopen", b"nonsense", 0)

    def move_a_mount(self) -> None:
        call("move_mount", HERE, NOWHERE, HERE, NOWHERE, 0)

    def unmount(self) -> None:
        call("umount2", b".", 0)  # which is not one

    def exchange_the_root(self) -> None:
        call("pivot_root", NOWHERE, NOWHERE)

    def leave_the_mount_namespace(self) -> None:
        call("unshare", NEW_MOUNTS)

    def enter_a_namespace(self) -> None:
        with Path("/proc/self/ns/mnt").open() as own:
            call("setns", own.fileno(), 0)

    def write_outside_of_a_changed_root(self) -> None:
        os.chroot("/")
        os.chdir("/")
        os.close(os.open(self._file, os.O_WRONLY))

    def trace_a_process(self) -> None:
        call("ptrace", 0x4206, self._process, 0, 0)  # PTRACE_SEIZE: ends with this process

    def open_the_memory_of_a_process(self) -> None:
        os.close(os.open(f"/proc/{self._process}/mem", os.O_RDWR))

    def write_the_memory_of_a_process(self) -> None:
        byte = ctypes.create_string_buffer(1)
        own = struct.pack("QQ", ctypes.addressof(byte), 1)
        call("process_vm_writev", self._process, own, 1, struct.pack("QQ", 0, 1), 1, 0)  # nothing is at 0

    def take_a_descriptor_of_a_process(self) -> None:
        call("pidfd_getfd", call("pidfd_open", self._process, 0), 0, 0)

    def signal_a_process(self) -> None:
        os.kill(self._process, 0)

    def signal_through_a_descriptor(self) -> None:
        call("pidfd_send_signal", call("pidfd_open", self._process, 0), 0, None, 0)

    def connect_to_an_abstract_socket(self) -> None:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect("\0" + self._socket)

    def load_a_module(self) -> None:
        call("init_module", None, 0, b"")

    def load_another_kernel(self) -> None:
        call("kexec_load", 0, 0, None, 0xFFFF)

    def restart_the_machine(self) -> None:
        call("reboot", 0, 0, 0, None)

    def set_the_clock(self) -> None:
        call("adjtimex", struct.pack("I", 0x4000) + bytes(300))  # a tick of 0, which no clock can have

    def name_the_machine(self) -> None:
        call("sethostname", None, -1)

    def swap_to_a_file(self) -> None:
        call("swapon", NOWHERE, 0)

    def account_for_processes(self) -> None:
        call("acct", NOWHERE)

    def open_a_raw_socket(self) -> None:
        socket.socket(socket.AF_INET, socket.SOCK_RAW, 1).close()

    def open_a_packet_socket(self) -> None:
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW).close()

    def write_a_setting_of_the_kernel(self) -> None:
        os.close(os.open("/proc/sys/kernel/hostname", os.O_WRONLY))

    def write_below_sys(self) -> None:
        os.close(os.open("/sys/kernel/mm/transparent_hugepage/enabled", os.O_WRONLY))

    def write_to_the_log_of_the_kernel(self) -> None:
        os.close(os.open("/dev/kmsg", os.O_WRONLY))

    def look_up_a_keyring(self) -> None:
        call("keyctl", 0, -4, 1)  # KEYCTL_GET_KEYRING_ID of the user's

    def add_a_key(self) -> None:
        call("add_key", b"user", b"mulligan:test", b"x", 1, -2)  # to this process's own keyring

    def look_at_programs_in_the_kernel(self) -> None:
        call("bpf", 11, bytes(64), 64)  # BPF_PROG_GET_NEXT_ID

    def watch_a_processor(self) -> None:
        attributes = struct.pack("IIQ", 1, 120, 0) + bytes(104)  # a clock, nothing left out
        os.close(call("perf_event_open", attributes, -1, 0, -1, 0))

    def watch_a_file_system(self) -> None:
        os.close(call("fanotify_init", 4, 0))  # FAN_CLASS_CONTENT

    def open_by_handle(self) -> None:
        handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + bytes(128))
        mount = ctypes.create_string_buffer(4)
        words = (ctypes.c_char_p(os.fsencode(self._file)), handle, mount, ctypes.c_int(0))
        if LIBRARY.name_to_handle_at(ctypes.c_int(HERE), *words) < 0:
            raise OSError(ctypes.get_errno(), "no handle")
        place = os.open(os.path.dirname(self._file), os.O_RDONLY)
        found = LIBRARY.open_by_handle_at(ctypes.c_int(place), handle, ctypes.c_int(os.O_RDONLY))
        if found < 0:
            raise OSError(ctypes.get_errno(), "refused")
        os.close(found)

    def open_through_a_ring(self) -> None:
        """Open the file for writing by io_uring, which no filter of system calls sees."""
        parameters = ctypes.create_string_buffer(120)
        ring = call("io_uring_setup", 4, ctypes.addressof(parameters))
        words = struct.unpack("30I", parameters.raw)
        tail, array = words[11], words[16]  # offsets in the queue of requests
        completions = words[25]  # the offset of the answers
        queue = mmap.mmap(ring, array + 4 * 4, offset=0)
        answers = mmap.mmap(ring, completions + 16 * 8, offset=0x8000000)
        entries = mmap.mmap(ring, 64 * 4, offset=0x10000000)
        path = ctypes.create_string_buffer(os.fsencode(self._file))
        entries[:64] = struct.pack(
            "BBHiQQIIQHHIQQ", 18, 0, 0, HERE, 0, ctypes.addressof(path), 0, os.O_WRONLY, 7, 0, 0, 0, 0, 0
        )
        queue[array : array + 4] = struct.pack("I", 0)
        queue[tail : tail + 4] = struct.pack("I", 1)
        call("io_uring_enter", ring, 1, 1, 1, None, 0)
        result = struct.unpack("Qi", answers[completions : completions + 12])[1]
        if result < 0:
            raise OSError(-result, os.strerror(-result))
        os.close(result)


def tried(attempt: Callable[[], None]) -> str:
    """Make one attempt in a process of its own; returns the name of its error, or `done`."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        outcome = "done"
        try:
            attempt()
        except OSError as exc:
            outcome = errno.errorcode.get(exc.errno or 0, str(exc))
        except BaseException as exc:  # noqa: BLE001 - the parent reports it
            outcome = repr(exc)
        os.write(writer, outcome.encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as told:
        outcome = told.read()
    os.waitpid(child, 0)
    return outcome


if __name__ == "__main__":
    attempts = Attempts(json.loads(Path(sys.argv[1]).read_text()))
    names = [name for name in dir(attempts) if not name.startswith("_")]
    json.dump({name: tried(getattr(attempts, name)) for name in names}, sys.stdout)
