"""The asides of a store: makes them, and puts back what killed restores had taken out of real trees."""

import contextlib
import fcntl
import os
from collections.abc import Generator, Iterator
from pathlib import Path

from msgspec import Struct, convert

from mulligan.adapters.snapshots.format.signatures import signature
from mulligan.adapters.snapshots.restore.aside import (
    JOURNAL,
    MOVED,
    OURS,
    TRIES,
    Aside,
    Header,
    Noted,
    Proof,
    empty,
    identity_of,
    is_ours,
    is_same_file,
    put_back,
    remove_in_tree,
    signature_of,
)
from mulligan.boundaries import act
from mulligan.errors import SystemFailed
from mulligan.osfiles.directory_handles import FOLDER_FLAGS
from mulligan.osfiles.folders import is_one_filesystem, make_private_folder

_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Asides(Struct, frozen=True, eq=False):
    """The asides of a store, in one of two places: names can only be exchanged within one filesystem."""

    home: Path
    staging: Path | None = None  # in the project folder, for trees that are not on the filesystem of `home`

    @contextlib.contextmanager
    def open(self, tree: Path) -> Generator[Aside]:
        """Make an aside for a restore of this tree; it is left as it is when the restore fails in between."""
        place = self._place_for(tree)
        make_private_folder(place)
        path, journal = _made_in(place)
        aside = Aside(path, tree, journal)
        try:
            yield aside
            aside.clear()
        finally:
            aside.close()
            self._leave()

    def _place_for(self, tree: Path) -> Path:
        """Return the place from which names of the tree can be exchanged."""
        make_private_folder(self.home)
        if self.staging is None or is_one_filesystem(self.home, tree):
            return self.home
        return self.staging if is_one_filesystem(self.staging.parent, tree) else self.home

    def _leave(self) -> None:
        """Remove the place in the project folder, unless something is in it."""
        if self.staging is not None:
            with contextlib.suppress(OSError):
                self.staging.rmdir()

    def _places(self) -> list[Path]:
        return [self.home] if self.staging is None else [self.home, self.staging]

    def recover(self, tree: Path, proof: Proof) -> list[str]:
        """Put back what killed restores took out of this tree and was not theirs; return where each is now."""
        found: list[str] = []
        for path, header, noted in self._abandoned():
            if header is None or header.identity == identity_of(tree):  # also where the tree was moved since
                found += _recover(path, tree, noted, proof)
        self._leave()
        return found

    def clear_abandoned(self, proof: Proof, *, dry_run: bool) -> int:
        """Recover every tree that is still there; return how many asides killed restores had left.

        One that cannot be recovered now stays, and what else is to be cleared is cleared.
        """
        count = 0
        for path, header, noted in self._abandoned(damaged_too=False):
            tree = Path(header.tree) if header is not None else self.home
            if header is None or header.identity == identity_of(tree):
                count += 1
                with contextlib.suppress(OSError, SystemFailed):
                    if not dry_run:
                        _recover(path, tree, noted, proof)
        if not dry_run:
            self._leave()
        return count

    def _abandoned(self, *, damaged_too: bool = True) -> Iterator[tuple[Path, Header | None, list[Noted]]]:
        """The asides whose restores were killed; one without a word has nothing of any tree.

        At one with a damaged journal this stops, unless those are left out.
        """
        for place in self._places():
            try:
                paths = sorted(place.iterdir())
            except FileNotFoundError:
                continue
            for path in paths:
                with _opened(path) as journal:
                    if journal is None:
                        continue
                    try:
                        header, noted = _read(path, journal)
                    except SystemFailed:
                        if damaged_too:
                            raise
                        continue
                    yield path, header, noted


def _made_in(place: Path) -> tuple[Path, int]:
    """Make an empty aside; return it and its journal, locked."""
    for _ in range(TRIES):
        path = place / os.urandom(8).hex()
        with act("aside.make"):
            path.mkdir(mode=0o700)
        try:
            journal = os.open(path / JOURNAL, _NEW, 0o600)
        except FileNotFoundError:
            continue  # a recovery took it for abandoned
        if _is_locked(journal):
            return path, journal
        os.close(journal)  # a recovery was faster, and clears it
    raise SystemFailed(path=str(place), reason="another process kept locking each new file in it")


def _recover(path: Path, tree: Path, noted: list[Noted], proof: Proof) -> list[str]:
    """Judge everything in an aside whose process is dead, put back what is foreign, and clear the rest."""
    found: list[str] = []
    inside = {each.folder for each in noted if each.folder}
    replaced = any(each.ours and not each.record and _is_placed(tree, each) for each in noted)
    for each in noted:
        with _folder(path if not each.folder else tree / each.folder) as here:
            if here is None:
                continue
            for name in _names_of(each.number):
                lies = signature_of(here, name)
                if lies is None or is_ours(each, lies):
                    continue
                if not _is_expected(here, name, each, proof):
                    found.append(put_back(tree, each, here, name))
                elif not replaced and _is_free(tree, each.path):
                    put_back(tree, each, here, name)  # nothing has taken its name yet
    for folder in sorted(tree / name for name in inside):
        with _folder(folder) as here:
            if here is not None:
                with act("aside.clear"):
                    remove_in_tree(folder, here)
    with _folder(path) as here, act("aside.clear"):
        if here is not None:
            empty(here)
            path.rmdir()
    return found


def _is_free(tree: Path, path: str) -> bool:
    """Return whether a name is free in an existing folder."""
    return (tree / path).parent.is_dir() and not os.path.lexists(tree / path)


def _is_placed(tree: Path, noted: Noted) -> bool:
    """Return whether the staged file is in the tree."""
    try:
        return is_ours(noted, signature((tree / noted.path).lstat()))
    except OSError:
        return False


def _names_of(number: int) -> tuple[str, ...]:
    """The names under which something may lie in an aside for one number."""
    moved = f"{number}{MOVED}"
    return (str(number), moved, f"{number}{OURS}", f"{moved}{OURS}")


def _is_expected(here: int, name: str, noted: Noted, proof: Proof) -> bool:
    if not noted.expected:
        return False
    found = signature(os.stat(name, dir_fd=here, follow_symlinks=False))
    same = is_same_file(bytes.fromhex(noted.expected), found)
    return same and (not noted.record or proof(here, name, bytes.fromhex(noted.record)))


@contextlib.contextmanager
def _opened(path: Path) -> Generator[int | None]:
    """The journal of an aside, locked; None where its process lives, or there is none."""
    try:
        journal = os.open(path / JOURNAL, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        with contextlib.suppress(OSError):  # its process is about to write one, or it is not empty
            path.rmdir()
        yield None
        return
    try:
        yield journal if _is_locked(journal) else None
    finally:
        os.close(journal)


@contextlib.contextmanager
def _folder(path: Path) -> Generator[int | None]:
    try:
        fd = os.open(path, FOLDER_FLAGS)
    except FileNotFoundError:
        yield None
        return
    try:
        yield fd
    finally:
        os.close(fd)


def _is_locked(journal: int) -> bool:
    """Lock a journal for as long as it is open; False where another process has it."""
    try:
        fcntl.flock(journal, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _read(path: Path, journal: int) -> tuple[Header | None, list[Noted]]:
    """Read a journal; its last line may be incomplete, and then its act was not done."""
    import json  # here: only what a killed restore left is read

    with open(os.dup(journal), "rb") as file:
        whole = file.read().split(b"\n")[:-1]
    try:
        lines = [json.loads(line) for line in whole]
    except ValueError as exc:
        raise SystemFailed(path=str(path), reason="the journal of an aside cannot be read") from exc
    if not lines:
        return None, []
    return convert(lines[0], Header), [convert(line, Noted) for line in lines[1:]]
