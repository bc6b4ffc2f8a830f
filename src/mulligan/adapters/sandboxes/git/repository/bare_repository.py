"""The bare repository of a sandbox: its path, its memory, its creation and clean-up."""

import json
import os
import shutil
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct, ValidationError, convert
from msgspec.structs import asdict, replace

from mulligan.adapters.sandboxes.git.creation.private_git_dir import borrow, write
from mulligan.adapters.sandboxes.git.git_command import Git, GitFailed
from mulligan.adapters.sandboxes.git.repository.git_config import as_text, for_checkpoints, read_settings
from mulligan.adapters.sandboxes.git.repository.git_packs import OURS, Objects, remove_pack, write_durably
from mulligan.adapters.sandboxes.git.repository.pins import pinned_trees
from mulligan.adapters.sandboxes.git.repository.ref_locks import HEAD, PACKED, SHALLOW, noting
from mulligan.adapters.sandboxes.git.repository.user_repository import Repository
from mulligan.boundaries import act
from mulligan.domain.text.ids import CheckpointId
from mulligan.errors import Advice, NextStep

BASE = "refs/mulligan/base"  # the commit of what the sandbox started from
CHECKPOINTS = "refs/checkpoints"
_MEMORY = "mulligan.json"
_SMALL_PACK = 8 << 20
_MANY_PACKS = 32
_LOCKS = (HEAD, PACKED, SHALLOW, f"{CHECKPOINTS}/")
_DURABLE = ("-c", "core.fsync=all")
_ALONE = ("-c", "pack.compression=1", "pack-objects", "-q", "--window=0", "--no-reuse-delta")
_WORTH_COLLECTING = 1 << 20  # bytes that were added since the last time, at least


class Memory(Struct, frozen=True, kw_only=True):
    """Facts about a sandbox's repository that git does not keep."""

    object_format: str
    prefix: str  # of the pins
    lenders: tuple[str, ...]  # git directories of the user's that have pins
    links: tuple[str, ...] = ()  # folders of the working tree that are repositories of their own
    collected: int = 0  # bytes of packs after the last collection of garbage
    path: str  # where it was made: in a copy of the project it knows of the original's pins


class BareRepository:
    """One bare repository, in the project home, whether it exists or not."""

    def __init__(self, callers: Git, path: Path) -> None:
        self.path = path
        self.pack_folder = path / "objects" / "pack"
        self.git = callers.on(path, GIT_DIR=path)

    def make(self, repository: Repository, *, filters: bool = True) -> None:
        """Make it again, empty; it borrows the repository's objects and filters by the user's configuration.

        Without `filters` those that only the repository itself defines are left out: they are programs that a stranger
        may have named, and nobody asked for a checkpoint of a hook.
        """
        self._make_folders()
        settings = for_checkpoints(read_settings(self.git, repository), filters=filters)
        borrow(self.path / "objects", repository.object_folders())
        write(self.path / "HEAD", "ref: refs/heads/checkpoints\n")
        write(self.path / "config", as_text(settings))
        (self.path / "info").mkdir()
        for name in ("exclude", "attributes"):
            with suppress(FileNotFoundError):
                shutil.copyfile(repository.common_dir / "info" / name, self.path / "info" / name)

    def make_like(self, other: "BareRepository") -> None:
        """Make it again with the objects of another; they never change, so the files are shared."""
        self._make_folders()
        for name in ("HEAD", "config", _MEMORY):
            shutil.copy2(other.path / name, self.path / name)
        shutil.copytree(other.path / "info", self.path / "info")
        shutil.copytree(other.path / "objects", self.path / "objects", copy_function=os.link)

    def _make_folders(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        (self.path / CHECKPOINTS).mkdir(parents=True)
        self.path.parent.parent.chmod(0o700)

    @property
    def is_there(self) -> bool:
        """Return whether it was made far enough to know what it borrows."""
        return (self.path / _MEMORY).is_file()

    @property
    def is_usable(self) -> bool:
        """Return whether commits can be added: it is a repository with the commit that the sandbox started from."""
        there = self.is_there and (self.path / "HEAD").is_file() and (self.path / "objects").is_dir()
        return there and self.git.attempt("cat-file", "-e", f"{BASE}^{{tree}}").returncode == 0

    def holds(self, commits: Mapping[CheckpointId, str]) -> bool:
        """Return whether it has these commits under the checkpoints' names, complete."""
        if not self.is_usable:
            return False
        format = "--format=%(refname) %(objectname)"
        listed = self.git.attempt("for-each-ref", format, f"{CHECKPOINTS}/").stdout
        found = dict(line.rsplit("/", 1)[1].split(" ") for line in listed.decode().splitlines())
        if any(found.get(checkpoint_id) != commit for checkpoint_id, commit in commits.items()):
            return False
        # What a partial clone has not fetched is missing in ours as well.
        first = self.memory.lenders[:1]
        partial = any(any(Path(lender).glob("objects/pack/*.promisor")) for lender in first)
        return partial or self.git.attempt("rev-list", "--objects", "--quiet", "--all").returncode == 0

    @property
    def memory(self) -> Memory:
        try:
            return convert(json.loads((self.path / _MEMORY).read_bytes()), Memory)
        except (OSError, ValueError, ValidationError) as exc:
            raise GitFailed(
                path=str(self.path),
                reason="the repository of the plan's checkpoints is gone or damaged",
                hint=Advice(NextStep("doctor"), " makes it again from the store"),
            ) from exc

    def known_lenders(self) -> tuple[str, ...]:
        """Return the git directories that it is known to borrow from; none where its memory is gone or damaged."""
        try:
            return self.memory.lenders
        except GitFailed:
            return ()

    def lent_to_this(self) -> tuple[str, ...]:
        """The git directories that have pins of this repository, and not of one that it is a copy of."""
        memory = self.memory
        return memory.lenders if memory.path == str(self.path) else ()

    def remember(self, memory: Memory) -> None:
        write_durably(self.path, [(self.path / _MEMORY, json.dumps(asdict(memory)).encode())])

    def note_pins(self, repository: Repository, prefix: str, lenders: Iterable[Path]) -> None:
        """Remember where its pins will be, before there are any, so that they can be removed."""
        names = tuple(dict.fromkeys(map(str, lenders)))
        memory = Memory(
            object_format=repository.object_format, prefix=prefix, lenders=names, path=str(self.path)
        )
        self.remember(memory)

    def set_base(self, commit: str) -> None:
        path = self.path / BASE
        path.parent.mkdir(parents=True, exist_ok=True)
        write_durably(self.path, [(path, commit.encode() + b"\n")])

    def base(self) -> str:
        """The commit of what the sandbox started from."""
        return self.git.run("rev-parse", "--verify", BASE).decode().strip()

    def retire(self, kept: Collection[str]) -> None:
        """Drop the commits of all checkpoints but these, and cut their children off from them."""
        format = "--format=%(refname) %(objectname) %(parent)"
        listed = self.git.run("for-each-ref", format, f"{CHECKPOINTS}/")
        refs = [line.decode().split(" ") for line in listed.splitlines()]
        gone = [ref for ref, *_ in refs if ref.rpartition("/")[2] not in kept]
        if not gone:
            return
        staying = {commit: parent for ref, commit, parent in refs if ref.rpartition("/")[2] in kept}
        cut = {commit for commit, parent in staying.items() if parent and parent not in staying}
        shallow = self.path / "shallow"
        known = set(shallow.read_text("ascii").splitlines()) if shallow.exists() else set[str]()
        # Commits that go may be cut off themselves, from some that went before: as long as they are there.
        self._cut_off(known | cut)
        with noting(self.git, self.path, _LOCKS) as noted, act("git.retire"):
            noted.run("update-ref", "--stdin", stdin="".join(f"delete {ref}\n" for ref in gone).encode())
        if not known <= staying.keys():
            self._cut_off((known & staying.keys()) | cut)
        memory, size = self.memory, self._size()
        if size > 2 * memory.collected and size > memory.collected + _WORTH_COLLECTING:
            with act("git.collect"):
                self._collect(memory)
            self.remember(replace(memory, collected=self._size()))

    def keep(self, names: Collection[bytes]) -> None:
        """Write objects into a pack of its own, durably, even if others have them: the user may prune borrowed ones."""
        if not names:
            return
        stem = self.pack_folder / OURS.removesuffix("-")
        self.git.run(*_DURABLE, *_ALONE, str(stem), stdin=b"".join(b"%s\n" % n.hex().encode() for n in names))
        for name in map(bytes.hex, names):
            (self.path / "objects" / name[:2] / name[2:]).unlink(missing_ok=True)

    def _collect(self, memory: Memory) -> None:
        """Put all that is reachable into one pack, but for what pins keep at the lender, and drop the rest.

        Not `git repack`: that would drop its own copy of whatever a pack of the lender's has for the moment.
        """
        folder, old = self.pack_folder, set(self._packs())
        # By their trees: a commit that is left out of a pack leaves its tree in.
        pinned = [t for each in memory.lenders[:1] for t in pinned_trees(self.git, Path(each), memory.prefix)]
        borrowed = "".join(f"^{tree}\n" for tree in pinned).encode()
        words = ("pack-objects", "--all", "--revs", "--non-empty", "-q", "--missing=allow-any")
        made = self.git.run(*_DURABLE, *words, str(folder / "pack"), stdin=borrowed).decode().strip()
        for pack in old - {folder / f"pack-{made}.pack"}:
            for file in (pack.with_suffix(".idx"), *folder.glob(f"{pack.stem}.*")):
                file.unlink(missing_ok=True)
        with noting(self.git, self.path, _LOCKS) as noted:
            noted.run("prune", "--expire=now")

    def _cut_off(self, commits: Collection[str]) -> None:
        """Hide the parents of these commits from readers of the repository."""
        lines = "".join(f"{commit}\n" for commit in sorted(commits))
        write_durably(self.path, [(self.path / "shallow", lines.encode())])

    def join_packs(self, objects: Objects) -> None:
        """Make one pack of many small ones: git looks into each."""
        ours = sorted(self.pack_folder.glob(f"{OURS}*.pack"))
        # A process that was killed between the two leaves a pack without an index: nobody sees what is in it.
        complete = [pack for pack in ours if pack.with_suffix(".idx").exists()]
        small = [pack for pack in complete if pack.stat().st_size < _SMALL_PACK]
        if len(small) >= _MANY_PACKS:
            objects.join(small)
            for pack in set(ours) - set(complete):
                remove_pack(pack)

    def _size(self) -> int:
        return sum(pack.stat().st_size for pack in self._packs())

    def _packs(self) -> list[Path]:
        return sorted(self.pack_folder.glob("pack-*.pack"))
