"""Asides: where a restore of a real tree stages what it writes and keeps what it takes out, until all was compared.

A user may save a file at any instant. So a restore never replaces or removes a name: it exchanges the name with what
it staged, or moves it here, and compares what came out with what it expected. Whatever differs goes back under its
name at once, or beside it where the name is taken by then. Only when everything that came out was compared twice is
the aside cleared.

A journal says for every number in an aside which path it is about, what was expected there, and which file is ours.
It is durable before the first change. When the process is killed, the recovery (asides.py) compares what lies here
and puts back what is not ours.
"""

import contextlib
import os
import stat
from collections.abc import Callable, Generator
from pathlib import Path

from msgspec import Struct, to_builtins

from mulligan.adapters.snapshots.format.signatures import fields_of, inode_and_links, signature
from mulligan.adapters.snapshots.restore.open_files import is_open_for_writing
from mulligan.boundaries import act
from mulligan.domain.resources.placement import kept_name, spare_name
from mulligan.errors import SystemFailed
from mulligan.osfiles.directory_handles import FOLDER_FLAGS
from mulligan.osfiles.moves import exchange, move_to_free_name

JOURNAL = "journal"
MOVED = ".out"  # behind a number: what was there, where the filesystem cannot exchange names
OURS = ".ours"  # suffix of a name: what was staged and taken out of the tree again
_NONE = 0  # the number of a line that only says that there is a folder
TRIES = 20
_OWNER = 0o300  # what the owner of a folder needs to change what is in it

# Folder, name, record: whether the name holds the bytes of the record.
Proof = Callable[[int, str, bytes], bool]


class Foreign(Exception):
    """An unexpected entry came out of a tree or is in the way: another process changed it."""


class Noted(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The journal's entry for one number."""

    number: int  # from 1 on
    path: str  # relative to the tree; bytes that are not UTF-8 as surrogates
    folder: str = ""  # where the number lies: a folder in the tree, relative to it; empty: the aside itself
    expected: str = ""  # the signature of what was there, in hexadecimal; empty: nothing
    record: str = ""  # its record in the store; empty: its signature alone identifies it
    ours: str = ""  # the signature of what was staged; empty: nothing was


class Header(Struct, frozen=True):
    """The first line of a journal."""

    tree: str  # absolute path
    identity: tuple[int, int]  # device and inode of that folder


class Aside:
    """The aside of one restore."""

    def __init__(self, path: Path, tree: Path, journal: int) -> None:
        """Use a folder whose journal is open and locked."""
        self._path = path
        self._tree = tree
        self._journal = journal
        self._folders: dict[str, int] = {"": os.open(path, FOLDER_FLAGS)}
        self._out: dict[int, tuple[Noted, str, bytes]] = {}  # came out: number -> name here, signature then
        self.note(Header(str(tree), identity_of(tree)))

    def folder(self, name: str) -> int:
        """The descriptor of the aside itself, or of one of its folders in the tree."""
        return self._folders[name]

    def place_of(self, name: str) -> Path:
        """The path of the aside itself, or of one of its folders in the tree."""
        return self._tree / name if name else self._path

    def folder_in_tree(self, tree_folder: str, parent_fd: int) -> str:
        """Make a folder of this aside inside the tree, which lies on another filesystem; return its name."""
        name = spare_name(os.urandom(8))
        path = name if tree_folder == "." else f"{tree_folder}/{name}"
        self.note(Noted(number=_NONE, path="", folder=path))
        self.sync()
        with act("aside.make"):
            os.mkdir(name, 0o700, dir_fd=parent_fd)
        self._folders[path] = os.open(name, FOLDER_FLAGS, dir_fd=parent_fd)
        return path

    def sync(self) -> None:
        """Make the journal durable."""
        with act("restore.stage_sync"):
            os.fsync(self._journal)

    def replace(self, noted: Noted, tree_fd: int, name: str, proof: Proof | None) -> None:
        """Put what was staged in the place of what is expected there; Foreign where it is something else."""
        here, staged = self._folders[noted.folder], str(noted.number)
        try:
            exchanged = exchange(here, staged, tree_fd, name)
        except FileNotFoundError as exc:
            raise Foreign from exc  # the name went
        came_out = staged if exchanged else f"{staged}{MOVED}"
        if not exchanged:
            self._move_out(noted, tree_fd, name, came_out)
        self._compare(noted, came_out, proof)
        if not exchanged:
            try:
                self.place(noted, tree_fd, name)
            except BaseException:
                put_back(
                    self._tree, noted, here, came_out
                )  # unless the name was taken, nothing is under it now
                del self._out[noted.number]
                raise

    def remove(self, noted: Noted, tree_fd: int, name: str, proof: Proof | None) -> None:
        """Take what is expected under a name out of the tree; Foreign where it is something else."""
        came_out = f"{noted.number}{MOVED}"
        self._move_out(noted, tree_fd, name, came_out)
        self._compare(noted, came_out, proof)

    def place(self, noted: Noted, tree_fd: int, name: str) -> None:
        """Put what was staged under a name that is free; Foreign where it is taken."""
        try:
            move_to_free_name(self._folders[noted.folder], str(noted.number), tree_fd, name)
        except FileExistsError as exc:
            raise Foreign from exc

    def _move_out(self, noted: Noted, tree_fd: int, name: str, to: str) -> None:
        try:
            os.rename(
                name, to, src_dir_fd=tree_fd, dst_dir_fd=self._folders[noted.folder]
            )  # a name of our own
        except FileNotFoundError as exc:
            raise Foreign from exc

    def _compare(self, noted: Noted, came_out: str, proof: Proof | None) -> None:
        here = self._folders[noted.folder]
        found = signature(os.stat(came_out, dir_fd=here, follow_symlinks=False))
        self._out[noted.number] = (noted, came_out, found)
        if not is_same_file(bytes.fromhex(noted.expected), found):
            raise Foreign
        if proof is not None and not proof(here, came_out, bytes.fromhex(noted.record)):
            raise Foreign

    def changed_since(self) -> list[str]:
        """Compare again all that came out: through an open descriptor it can still be written. Return the paths."""
        changed: list[str] = []
        for noted, name, then in self._out.values():
            here = self._folders[noted.folder]
            now = signature(os.stat(name, dir_fd=here, follow_symlinks=False))
            shared = inode_and_links(then)[1] > 1  # another name of it may have come out since
            same = is_same_file(then, now) if shared else then == now
            if not same or is_open_for_writing(here, name, here):
                changed.append(noted.path)
        return changed

    def return_foreign(self, paths: set[str]) -> list[str]:
        """Put what came out of these paths back; return where each is now, relative to the tree."""
        returned: list[str] = []
        for number, (noted, name, _) in list(self._out.items()):
            if noted.path in paths:
                returned.append(put_back(self._tree, noted, self._folders[noted.folder], name))
                del self._out[number]
        return returned

    def clear(self) -> None:
        """Remove all that is left here: every byte of it is ours, or was compared and is stored."""
        for path in [path for path in self._folders if path]:
            with act("aside.clear"):
                remove_in_tree(self._tree / path, self._folders[path])
        with contextlib.suppress(OSError), act("aside.clear"):  # the next recovery clears what is left
            empty(self._folders[""])
            self._path.rmdir()

    def close(self) -> None:
        """Let go of the descriptors; what is left here is for `recover`."""
        for fd in self._folders.values():
            os.close(fd)
        self._folders.clear()
        os.close(self._journal)

    def note(self, *lines: Header | Noted) -> None:
        """Write down what is about to happen. The caller makes it durable with what was staged."""
        import json  # here: only restores of real trees write journals; names that are not UTF-8 need this one

        data = b"".join(json.dumps(to_builtins(line)).encode() + b"\n" for line in lines)
        while data:
            data = data[os.write(self._journal, data) :]


def identity_of(folder: Path) -> tuple[int, int]:
    """Return the device and the inode of a folder; of one that is missing those of none."""
    try:
        st = folder.stat()
    except FileNotFoundError:
        return (0, 0)
    return st.st_dev, st.st_ino


def is_same_file(expected: bytes, found: bytes) -> bool:
    """Return whether a moved name is still the same file: links and ctime change with the move."""
    mode, _, inode, size, mtime, _, device = fields_of(expected)
    mode_now, _, inode_now, size_now, mtime_now, _, device_now = fields_of(found)
    return (mode, inode, size, mtime, device) == (mode_now, inode_now, size_now, mtime_now, device_now)


def put_back(tree: Path, noted: Noted, here: int, name: str) -> str:
    """Give something of others its name again, or a free one beside it; return its path in the tree.

    No guard is asked first: a process that lost its plan still has to give back what it took.
    """
    parent, own, path = _reach(tree, noted.path)
    try:
        with _writable(parent):
            for _ in range(TRIES):
                if _moved_back(noted, here, name, parent, own, is_own=path == noted.path):
                    return path
                found = signature_of(parent, own)
                if found is not None and not is_ours(noted, found):
                    own = kept_name(noted.path.rpartition("/")[2], os.urandom(3))
                    path = f"{path.rpartition('/')[0]}/{own}".lstrip("/")
        raise SystemFailed(path=str(tree / path), reason="other programs kept changing it")
    finally:
        os.close(parent)


def _moved_back(noted: Noted, here: int, name: str, parent: int, own: str, *, is_own: bool) -> bool:
    """Move something to a name that is free, or in the place of what is ours; False: to be tried again."""
    found = signature_of(parent, own)
    try:
        if found is None:
            move_to_free_name(here, name, parent, own)
            return True
        if not is_own or not is_ours(noted, found):
            return False
        if exchange(here, name, parent, own):
            # Where someone saved in between, what came out now is newer, and goes back next.
            return is_ours(noted, signature_of(here, name))
        os.rename(own, f"{name}{OURS}", src_dir_fd=parent, dst_dir_fd=here)  # make room first
        if not is_ours(noted, signature_of(here, f"{name}{OURS}")):
            move_to_free_name(here, f"{name}{OURS}", parent, own)
    except (FileExistsError, FileNotFoundError):
        pass  # someone was faster
    return False


@contextlib.contextmanager
def _writable(folder_fd: int) -> Generator[None]:
    """Let the owner change a folder meanwhile that may not be changed."""
    mode = stat.S_IMODE(os.fstat(folder_fd).st_mode)
    closed = mode & _OWNER != _OWNER
    if closed:
        os.fchmod(folder_fd, mode | _OWNER)
    try:
        yield
    finally:
        if closed:
            os.fchmod(folder_fd, mode)


def remove_in_tree(folder: Path, fd: int) -> None:
    """Remove a folder of an aside from the tree it was made in, whose own time stays."""
    empty(fd)
    st = folder.parent.stat()
    folder.rmdir()
    os.utime(folder.parent, ns=(st.st_atime_ns, st.st_mtime_ns))


def _reach(tree: Path, path: str) -> tuple[int, str, str]:
    """Open the folder a path is in, or the nearest around it that is left; return it, the name, and the path then."""
    *folders, own = path.split("/")
    fd = os.open(tree, FOLDER_FLAGS)
    reached: list[str] = []
    for name in folders:
        try:
            inner = os.open(name, FOLDER_FLAGS, dir_fd=fd)
        except OSError:
            break
        os.close(fd)
        fd = inner
        reached.append(name)
    return fd, own, "/".join([*reached, own])


def signature_of(folder_fd: int, name: str) -> bytes | None:
    """Return the signature of a name in an open folder; None where nothing is there."""
    try:
        return signature(os.stat(name, dir_fd=folder_fd, follow_symlinks=False))
    except FileNotFoundError:
        return None


def is_ours(noted: Noted, found: bytes | None) -> bool:
    """Return whether this is the staged file, unchanged since."""
    return found is not None and bool(noted.ours) and is_same_file(bytes.fromhex(noted.ours), found)


def empty(folder_fd: int) -> None:
    """Remove what is left in a folder of an aside: files and symlinks."""
    # The journal goes last: without it nobody clears the rest.
    for name in sorted(os.listdir(folder_fd), key=lambda name: name == JOURNAL):
        if not stat.S_ISDIR(os.stat(name, dir_fd=folder_fd, follow_symlinks=False).st_mode):
            os.unlink(name, dir_fd=folder_fd)
