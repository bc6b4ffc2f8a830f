"""A private git directory: what the user's holds, but for the objects, which it borrows."""

import os
import shutil
import stat
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct, field

from mulligan.adapters.sandboxes.git.git_command import Git
from mulligan.adapters.sandboxes.git.places.lenders import with_places
from mulligan.adapters.sandboxes.git.position.index_file import IndexFile
from mulligan.adapters.sandboxes.git.repository.git_config import Setting, as_text, for_sandbox, read_settings
from mulligan.adapters.sandboxes.git.repository.ref_locks import common_dir_in
from mulligan.adapters.sandboxes.git.repository.user_repository import Repository, quoted

PINS = "refs/mulligan"

# Copied by its own rules, borrowed, or of other working trees and running programs.
_NOT_COPIED = (
    *("config", "config.worktree", "index", "modules", "packed-refs", "objects", "lfs", "annex"),
    *("commondir", "gitdir", "locked", "worktrees", "fsmonitor--daemon", "gc.log", "gc.pid"),
)
# What a linked worktree has in common with the others.
_SHARED = (
    *("branches", "description", "hooks", "info", "logs", "refs", "remotes", "rr-cache", "shallow", "svn"),
)
_OWN_REFS = ("refs/bisect", "refs/worktree", "refs/rewritten", "logs/HEAD", "info/sparse-checkout")
_OURS = (PINS, f"logs/{PINS}")


class Copy(Struct, frozen=True):
    """A git directory of the user's, and the private one made of it."""

    repository: Repository
    git_dir: Path  # the private one
    top: Path  # of the working tree it belongs to, which holds what the user's does


class PrivateCopies(Struct, frozen=True, eq=False):
    """Makes the private git directories of one sandbox, of its submodules and of repositories inside it."""

    git: Git
    old: Path  # the top of the user's checkout
    new: Path  # that of the sandbox
    home: Path  # of the project
    made: list[Copy] = field(default_factory=list[Copy])

    def make(self, repository: Repository, target: Path, top: Path) -> Copy:
        copy = Copy(repository, target, top)
        self.made.append(copy)
        target.mkdir(parents=True)
        self._copy_files(copy)
        moved = self._moved(copy)
        settings = for_sandbox(read_settings(self.git, repository), moved)
        if target != top / ".git":
            settings.append(Setting("core.worktree", os.path.relpath(top, target)))
        write(target / "config", as_text(settings))
        borrow(target / "objects", with_places(repository.object_folders(), self.home))
        self._copy_index(copy)
        for module in git_dirs_under(repository.git_dir / "modules"):
            self._make_module(module, target / "modules" / module.relative_to(repository.git_dir / "modules"))
        return copy

    def make_inner(self, folders: Sequence[str]) -> bool:
        """Separate repositories inside the sandbox, given by their folders, from the user's.

        Return whether a file of the working tree had to be changed for it.
        """
        changed = [self._make_inner(folder) for folder in folders]
        return any(changed)

    def _make_module(self, module: Path, target: Path) -> None:
        worktree = _setting_in(self.git, module, "core.worktree")
        old = (module / worktree).resolve() if worktree else module
        inside = old.relative_to(self.old.resolve()) if old.is_relative_to(self.old.resolve()) else None
        top = self.new / inside if inside is not None else target
        self.make(_repository_at(self.git, module, old), target, top)

    def _make_inner(self, folder: str) -> bool:
        """Of one repository: a folder is a copy already, a file says where its git directory is."""
        place = self.new / folder / ".git"
        if place.is_dir() and not place.is_symlink():
            return self._cut_off(place)
        here = named_git_dir(self.new / folder)
        if here is not None and here.is_relative_to((self.new / ".git").resolve()) and here.is_dir():
            return False
        there = named_git_dir(self.old / folder)
        if there is None or not there.is_dir():
            return False
        target = self.new / ".git" / "inner" / folder.replace("%", "%25").replace("/", "%2F")
        self.make(_repository_at(self.git, there, self.old / folder), target, self.new / folder)
        st = place.lstat()
        place.unlink()
        write(place, f"gitdir: {os.path.relpath(target, place.parent)}\n")
        os.utime(place, ns=(st.st_atime_ns, st.st_mtime_ns))
        return True

    def _cut_off(self, git_dir: Path) -> bool:
        """Take from a whole copy of a git directory what points at the user's checkout."""
        changed = (git_dir / "worktrees").is_dir()
        if changed:
            shutil.rmtree(git_dir / "worktrees")
        config = git_dir / "config"
        if config.is_file() and any(os.fsencode(old) in config.read_bytes() for old, _ in self._moved(None)):
            source = _repository_at(self.git, self.old / git_dir.relative_to(self.new), self.old)
            settings = for_sandbox(read_settings(self.git, source), self._moved(None))
            write(config, as_text(settings))
            changed = True
        return changed

    def _moved(self, copy: Copy | None) -> list[tuple[Path, Path]]:
        """Places of the user's and what stands for them in the sandbox, the inner before the outer."""
        places = [(self.old, self.new), (self.old.resolve(), self.new)]
        if copy is not None:
            repository = copy.repository
            places += [(repository.git_dir, copy.git_dir), (repository.common_dir, copy.git_dir)]
        return sorted(dict.fromkeys(places), key=lambda pair: -len(str(pair[0])))

    def _copy_files(self, copy: Copy) -> None:
        repository, target = copy.repository, copy.git_dir
        moved = self._moved(copy)
        _copy_folder(repository.git_dir, target, frozenset(), moved)
        if repository.git_dir != repository.common_dir:  # it is a linked worktree
            others = {name for name in os.listdir(repository.common_dir) if name not in _SHARED}
            _copy_folder(repository.common_dir, target, others | set(_OWN_REFS), moved)
        (target / "refs").mkdir(exist_ok=True)
        packed = repository.common_dir / "packed-refs"  # last: a ref that is packed meanwhile is in here
        with suppress(FileNotFoundError):
            write(target / "packed-refs", without_pins(packed.read_text("utf-8", "surrogateescape")))

    def _copy_index(self, copy: Copy) -> None:
        source, target = copy.repository.git_dir / "index", copy.git_dir / "index"
        if not source.is_file():
            return
        st = source.stat()
        data = source.read_bytes()
        index = IndexFile(data, copy.repository.object_format)
        if index.is_split:
            target.write_bytes(data)
            whole = self.git.on(copy.top, GIT_DIR=copy.repository.git_dir, GIT_INDEX_FILE=target)
            whole.on(copy.top, GIT_WORK_TREE=copy.repository.top).run("update-index", "--no-split-index")
            index = IndexFile(target.read_bytes(), copy.repository.object_format)
        index.follow(copy.repository.top, copy.top)
        target.write_bytes(index.to_bytes())
        shutil.copymode(source, target)
        # Git recognises files that changed right after the index was written by its mtime.
        os.utime(target, ns=(st.st_atime_ns, st.st_mtime_ns))


def borrow(objects: Path, lenders: Sequence[Path]) -> None:
    """Make a folder of objects that finds in those of others what it has not itself."""
    for name in ("info", "pack"):
        (objects / name).mkdir(parents=True, exist_ok=True)
    write(objects / "info" / "alternates", "".join(f"{quoted(path)}\n" for path in lenders))


def inner_repositories(top: Path) -> list[str]:
    """The folders below this one that have a git directory, or name one, relative to it; outer ones first."""
    found: list[str] = []
    pending = [str(top)]  # plain strings: every folder of a large tree comes through here
    while pending:
        folder = pending.pop()
        with suppress(PermissionError, FileNotFoundError), os.scandir(folder) as entries:
            for entry in entries:
                if entry.name == ".git":
                    found += [os.path.relpath(folder, top)] if folder != str(top) else []
                elif entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
    return sorted(found)


def named_git_dir(folder: Path) -> Path | None:
    """The git directory that a folder's `.git` is or names; None: it has none."""
    place = folder / ".git"
    if place.is_dir():
        return place.resolve()
    try:
        text = place.read_text("utf-8", "surrogateescape")
    except OSError:
        return None
    name = text.removeprefix("gitdir:").strip()
    return (folder / name).resolve() if text.startswith("gitdir:") else None


def without_pins(packed_refs: str) -> str:
    """The list of packed refs without those that keep objects for sandboxes."""
    kept: list[str] = []
    dropped = False
    for line in packed_refs.splitlines(keepends=True):
        if not line.startswith("^"):
            dropped = line.partition(" ")[2].startswith(f"{PINS}/")
        if not dropped:
            kept.append(line)
    return "".join(kept)


def write(path: Path, text: str) -> None:
    """Write a text as git has them: bytes of names that are not UTF-8 as they are."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode("utf-8", "surrogateescape"))


def _copy_folder(
    source: Path, target: Path, left_out: Collection[str], moved: Sequence[tuple[Path, Path]]
) -> None:
    """Copy a git directory's files with modes and times; what is a lock, or vanishes meanwhile, is left out."""
    left = {*left_out, *_NOT_COPIED, *_OURS}
    pending = [""]
    while pending:
        folder = pending.pop()
        with suppress(FileNotFoundError), os.scandir(source / folder) as entries:
            (target / folder).mkdir(exist_ok=True)
            for entry in entries:
                path = os.path.join(folder, entry.name)
                if path in left or entry.name.endswith((".lock", ".locks")):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    pending.append(path)
                else:
                    with suppress(FileNotFoundError):
                        _copy_file(Path(entry.path), target / path, moved)


def _copy_file(source: Path, target: Path, moved: Sequence[tuple[Path, Path]]) -> None:
    mode = source.lstat().st_mode
    if stat.S_ISLNK(mode):
        link = Path(os.readlink(source))
        place = next((new / link.relative_to(old) for old, new in moved if link.is_relative_to(old)), link)
        target.unlink(missing_ok=True)
        target.symlink_to(place)
    elif stat.S_ISREG(mode):
        shutil.copy2(source, target)


def is_git_dir(folder: Path) -> bool:
    """Return whether a folder looks like a git directory."""
    return (folder / "HEAD").is_file() and (folder / "objects").is_dir()


def git_dirs_under(modules: Path) -> Iterator[Path]:
    """The git directories of submodules; the names of submodules may hold slashes."""
    pending = [modules]
    while pending:
        folder = pending.pop()
        if is_git_dir(folder):
            yield folder
        elif folder.is_dir():
            pending += sorted(each for each in folder.iterdir() if each.is_dir() and not each.is_symlink())


def _setting_in(git: Git, git_dir: Path, key: str) -> str | None:
    asked = git.on(git_dir).attempt("config", "--file", str(git_dir / "config"), "--get", key)
    return os.fsdecode(asked.stdout).rstrip("\n") if asked.returncode == 0 else None


def _repository_at(git: Git, git_dir: Path, top: Path) -> Repository:
    common = common_dir_in(git_dir)
    object_format = _setting_in(git, common, "extensions.objectformat") or "sha1"
    return Repository(top=top, git_dir=git_dir, common_dir=common, object_format=object_format.lower())
