"""The first commit of a sandbox: what git would commit of it, made by git from a copy of its index."""

from pathlib import Path

from msgspec import Struct

from mulligan.adapters.sandboxes.git.creation.tracked_files import Tracking
from mulligan.adapters.sandboxes.git.git_command import Git
from mulligan.adapters.sandboxes.git.position.index_file import IndexFile
from mulligan.adapters.sandboxes.git.position.worktree_entry import Kind, head_of, standing
from mulligan.adapters.sandboxes.git.repository.git_packs import GITLINK_MODE
from mulligan.adapters.sandboxes.git.repository.user_repository import Repository


class Beginning(Struct, frozen=True):
    """The trees a sandbox begins with."""

    staged: str  # of the index, as far as it can be a tree
    loose: tuple[str, ...]  # objects of entries that no tree can have: in several versions, or announced only
    tree: str  # of the working tree: all that is tracked or not ignored
    links: tuple[bytes, ...]  # folders that are repositories of their own


def begin(git: Git, repository: Repository, top: Path, index: Path) -> Beginning:
    """Write the trees of a new sandbox, whose working tree is `top`; `index` is a copy that may be changed.

    `git` works in the repository of the checkpoints.
    """
    there = git.on(top, GIT_WORK_TREE=top, GIT_INDEX_FILE=index)
    links: list[bytes] = []
    unmerged: set[bytes] = set()
    loose: set[str] = set()
    if index.exists():
        known = IndexFile(index.read_bytes(), repository.object_format)
        for entry in known.entries():
            if entry.mode == GITLINK_MODE:
                links.append(entry.path)
            if entry.announced or entry.stage:
                loose.add(known.object_of(entry))
            if entry.stage:
                unmerged.add(entry.path)
    null = repository.null_id
    _set_entries(there, dict.fromkeys(unmerged, (0, null)))
    staged = there.run("write-tree", "--missing-ok").decode().strip()
    changed = there.run("diff-files", "--name-only", "-z", "--ignore-submodules=all").split(b"\0")
    sparse = repository.git_dir / "info" / "sparse-checkout"
    tracking = Tracking(git, top, index, repository.object_format, lasting=False, sparse=sparse)
    untracked = tracking.untracked(ignored=False)
    inner = [path.rstrip(b"/") for path in untracked if path.endswith(b"/")]
    paths = {*changed, *unmerged, *untracked} - {b""} - {path for path in untracked if path.endswith(b"/")}
    entries = _present(tracking, top, sorted(paths), null)
    for path in inner:
        if head := head_of(top, path, repository.object_format):
            entries[path] = (GITLINK_MODE, head)
            links.append(path)
    _set_entries(there, entries)
    tree = there.run("write-tree", "--missing-ok").decode().strip()
    return Beginning(staged, tuple(sorted(loose)), tree, tuple(sorted(links)))


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


def _present(tracking: Tracking, top: Path, paths: list[bytes], null: str) -> dict[bytes, tuple[int, str]]:
    """Return index entries for these paths as they are now; missing paths are removed."""
    found = {path: standing(top, path) for path in paths}
    files = [path for path, what in found.items() if what in (Kind.FILE, Kind.PROGRAM)]
    links = [path for path, what in found.items() if what is Kind.SYMLINK]
    names = {**tracking.blobs(files), **tracking.link_blobs(links)}
    return {
        path: (what.mode, names[path].hex()) if path in names else (0, null) for path, what in found.items()
    }


def _set_entries(there: Git, entries: dict[bytes, tuple[int, str]]) -> None:
    if entries:
        lines = (b"%o %s\t%s\0" % (mode, name.encode(), path) for path, (mode, name) in entries.items())
        there.run("update-index", "-z", "--index-info", stdin=b"".join(lines))
