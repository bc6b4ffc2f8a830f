"""The first commit of a sandbox: what git would commit of it, made by git from a copy of its index."""

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from mulligan.adapters.sandboxes.git.checkpoints.checkpoint_commits import start_from
from mulligan.adapters.sandboxes.git.creation.tracked_files import Tracking, without_matched
from mulligan.adapters.sandboxes.git.git_command import Git
from mulligan.adapters.sandboxes.git.position.index_entries import set_entries
from mulligan.adapters.sandboxes.git.position.index_file import IndexFile
from mulligan.adapters.sandboxes.git.repository.bare_repository import BareRepository
from mulligan.adapters.sandboxes.git.repository.git_packs import GITLINK, GITLINK_MODE
from mulligan.adapters.sandboxes.git.repository.git_trees import Leaf
from mulligan.adapters.sandboxes.git.repository.named_objects import head_of
from mulligan.adapters.sandboxes.git.repository.user_repository import Repository
from mulligan.domain.paths.path_patterns import PathPatterns


class Beginning(Struct, frozen=True):
    """The trees a sandbox begins with."""

    staged: str  # of the index, as far as it can be a tree
    loose: tuple[str, ...]  # objects of entries that no tree can have: in several versions, or announced only
    tree: str  # of the working tree: all that is tracked or not ignored
    links: tuple[bytes, ...]  # folders that are repositories of their own


def begin(
    bare: BareRepository, repository: Repository, top: Path, index: Path, patterns: Iterable[str]
) -> Beginning:
    """Write the trees of a new sandbox, whose working tree is `top`, from a copy of that index.

    What the patterns match belongs to no checkpoint: the trees have of it what the index has.
    """
    own = bare.path / "index"
    if index.is_file():
        shutil.copy2(index, own)
    there = bare.git.on(top, GIT_WORK_TREE=top, GIT_INDEX_FILE=own)
    links: list[bytes] = []
    unmerged: set[bytes] = set()
    loose: set[str] = set()
    if own.exists():
        known = IndexFile(own.read_bytes(), repository.object_format)
        for entry in known.odd_entries():
            if entry.mode == GITLINK_MODE:
                links.append(entry.path)
            if entry.announced or entry.stage:
                loose.add(known.object_of(entry))
            if entry.stage:
                unmerged.add(entry.path)
    set_entries(there, dict.fromkeys(unmerged), repository.null_id)
    staged = there.run("write-tree", "--missing-ok").decode().strip()
    excluded = PathPatterns(patterns)
    listed = there.run("diff-files", "--name-only", "-z", "--ignore-submodules=all").split(b"\0")
    changed = without_matched(listed, excluded)
    sparse = repository.git_dir / "info" / "sparse-checkout"
    tracking = Tracking(bare.git, top, own, repository.object_format, lasting=False, sparse=sparse)
    untracked = without_matched(tracking.untracked(ignored=False), excluded)
    inner = {path for path in untracked if path.endswith(b"/")}
    paths = sorted({*changed, *unmerged, *untracked} - {b""} - inner)
    entries: dict[bytes, Leaf | None] = {**dict.fromkeys(paths), **tracking.leaves(paths)}
    for path in (path.rstrip(b"/") for path in inner):
        if head := head_of(top, path, repository.object_format):
            entries[path] = (GITLINK, bytes.fromhex(head))
            links.append(path)
    set_entries(there, entries, repository.null_id)
    tree = there.run("write-tree", "--missing-ok").decode().strip()
    own.unlink(missing_ok=True)
    return Beginning(staged, tuple(sorted(loose)), tree, tuple(sorted(links)))


def commit_start(
    bare: BareRepository,
    repository: Repository,
    top: Path,
    index: Path,
    had: tuple[str, ...],
    patterns: Iterable[str],
) -> None:
    """Commit the working tree at `top` with that index; trees in `had` are borrowed, the rest is its own."""
    started = begin(bare, repository, top, index, patterns)
    copy_objects(bare.git, (started.tree,), had, bare.path / "objects")
    record(bare, started)


def record(bare: BareRepository, started: Beginning) -> None:
    """Make the commit that a sandbox starts from."""
    bare.remember(replace(bare.memory, links=tuple(map(os.fsdecode, started.links))))
    start_from(bare, bytes.fromhex(started.tree))


def tree_of_head(git: Git) -> tuple[str, ...]:
    """The tree of the commit that is checked out; none where there is no commit yet."""
    return tuple(git.attempt("rev-parse", "--verify", "-q", "HEAD^{tree}").stdout.decode().split())


def copy_objects(git: Git, wanted: tuple[str, ...], had: tuple[str, ...], *targets: Path) -> None:
    """Put what these objects need and those trees have not into folders of objects, as packs.

    No ref reaches what is staged or untracked: the user's next prune could take it.
    """
    question = "".join([*(f"{name}\n" for name in wanted), *(f"^{name}\n" for name in had)])
    pack = git.run("pack-objects", "--revs", "--stdout", "-q", "--missing=allow-any", stdin=question.encode())
    if int.from_bytes(pack[8:12], "big"):
        for objects in targets:
            there = git.on(git.folder, GIT_OBJECT_DIRECTORY=objects)
            there.run("-c", "core.fsync=all", "index-pack", "--stdin", stdin=pack)
