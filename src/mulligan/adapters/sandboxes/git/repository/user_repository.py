"""The user's repository: where its parts are, and why a plan may not be able to work on it."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from mulligan.adapters.sandboxes.git.git_command import Git
from mulligan.adapters.sandboxes.git.position.index_lock import HeldLock, wait_for_release
from mulligan.adapters.sandboxes.git.position.ref_files import commit_in_files
from mulligan.adapters.sandboxes.git.repository.ref_locks import clear_locks

_QUESTIONS = (
    "--path-format=absolute",
    "--git-dir",
    "--git-common-dir",
    "--show-object-format",
    "--is-bare-repository",
)
_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_AS_FOLDER = "to work on it as a plain folder use `type: fs-directory, strategy: filesystem_copy`"


class Unsuited(Struct, frozen=True):
    """The reason why no sandbox can be made of something, and what to do."""

    reason: str
    hint: str
    lost: bool = False  # there is no git directory, or none that git can open


class Repository(Struct, frozen=True, kw_only=True):
    """A repository with the working tree that belongs to one of its git directories."""

    top: Path  # of the working tree
    git_dir: Path  # HEAD, index and what else is this working tree's own
    common_dir: Path  # refs, configuration and objects; the same folder unless it is a linked worktree
    object_format: str  # sha1 or sha256

    @property
    def objects(self) -> Path:
        return self.common_dir / "objects"

    @property
    def null_id(self) -> str:
        return "0" * (64 if self.object_format == "sha256" else 40)

    @property
    def branch(self) -> str | None:
        """The branch that is checked out, born or not; None: HEAD is detached."""
        head = self.git_dir / "HEAD"
        target = os.readlink(head) if head.is_symlink() else head.read_text("utf-8", "surrogateescape")
        return branch_named(target)

    def standing(self) -> tuple[str, str] | None:
        """The branch that HEAD names and its commit, read from files; None where git has to be asked."""
        head = self.git_dir / "HEAD"
        try:
            if head.is_symlink():
                return None
            name = head.read_text("utf-8", "surrogateescape").removeprefix("ref: ").removesuffix("\n")
            if not name.startswith("refs/heads/") or ".." in name:
                return None
            commit = commit_in_files(self.common_dir, name)
        except (OSError, UnicodeError):
            return None
        return (name, commit) if _ID.fullmatch(commit) else None

    def through(self, git: Git) -> Git:
        return git.on(self.top, GIT_DIR=self.git_dir, GIT_WORK_TREE=self.top)

    def object_folders(self) -> tuple[Path, ...]:
        """Its objects and what they borrow from: git follows relative names one level deep only."""
        return tuple(dict.fromkeys(with_alternates(self.objects, depth=0)))


def branch_named(head: str) -> str | None:
    """Return the branch that a HEAD names, given as the text of its file; None: it is detached."""
    name = head.removeprefix("ref:").strip()
    return name.removeprefix("refs/heads/") if name.startswith("refs/") else None


class KnownRepository(Struct, frozen=True):
    """A repository as git found it, and the files that this depends on, as they were."""

    repository: Repository
    witness: object

    def holds(self) -> bool:
        """Return whether git would find the same now."""
        return self.witness == _witness(self.repository)


def open_repository(
    git: Git,
    top: Path,
    known: dict[Path, KnownRepository] | None = None,
    in_vain: set[HeldLock] | None = None,
) -> Repository | Unsuited:
    """The repository whose working tree has its top here, or why there is none to work on.

    Git is asked unless it was before, and nothing that its answer depends on has changed since. Locks of indexes that
    were waited for `in_vain` are not waited for again.
    """
    in_vain = set() if in_vain is None else in_vain
    if known is not None and top in known and known[top].holds():
        return _at_rest(known[top].repository, in_vain)
    found = _found(git, top)
    if isinstance(found, Unsuited):
        return found
    witness = _witness(found)
    opened = _at_rest(found, in_vain)
    if known is not None and isinstance(opened, Repository):
        known[top] = KnownRepository(found, witness)
    return opened


def _witness(repository: Repository) -> object:
    """Return what git's answers depend on: the link to the git directory, its HEAD, and its settings."""
    top, git_dir, common = repository.top / ".git", repository.git_dir, repository.common_dir
    files = (git_dir / "commondir", git_dir / "config.worktree", common / "config")
    try:
        link = top.lstat()
        own = (link.st_dev, link.st_ino, link.st_mode)
        beside = [_signature(path) for path in (*files, *(() if top.is_dir() else (top,)))]
        return own, beside, (git_dir / "HEAD").read_bytes(), repository.objects.is_dir()
    except OSError:
        return object()  # equal to nothing


def _signature(path: Path) -> tuple[int, int, int, int] | None:
    try:
        st = path.stat()
    except FileNotFoundError:
        return None
    return st.st_ino, st.st_size, st.st_mtime_ns, st.st_ctime_ns


def _found(git: Git, top: Path) -> Repository | Unsuited:
    if not os.path.lexists(top / ".git"):
        return _no_checkout(git, top)
    asked = git.on(top, GIT_CEILING_DIRECTORIES=top.parent).attempt("rev-parse", *_QUESTIONS)
    if asked.returncode != 0:
        return _not_opened(top, os.fsdecode(asked.stderr).strip())
    answers = os.fsdecode(asked.stdout).removesuffix("\n").split("\n")
    if len(answers) != len(_QUESTIONS) - 1:
        return Unsuited("its path, or that of its git directory, has a line break in it", "rename the folder")
    git_dir, common_dir, object_format, bare = answers
    if bare == "true":
        return Unsuited("its repository is bare: it has no working tree", "clone it, and work on the clone")
    return Repository(
        top=top, git_dir=Path(git_dir), common_dir=Path(common_dir), object_format=object_format
    )


def _at_rest(found: Repository, in_vain: set[HeldLock]) -> Repository | Unsuited:
    """Return a repository that nobody is changing; what killed processes of ours left in it is removed."""
    clear_locks(found.git_dir)
    if not wait_for_release(found.git_dir / "index", in_vain):
        return Unsuited(
            f"another git command is at work in it, or died: {found.git_dir / 'index.lock'} exists",
            "let it finish; if none is running, delete that file and try again",
        )
    if (found.common_dir / "reftable").is_dir():
        return _reftable()
    return found


def _no_checkout(git: Git, top: Path) -> Unsuited:
    asked = git.on(top).attempt("rev-parse", "--show-toplevel", "--is-bare-repository")
    around, _, bare = os.fsdecode(asked.stdout).strip().rpartition("\n")
    if bare == "false" and around:
        return Unsuited(
            f"it lies inside a git checkout, whose top is {around}",
            f"take the top as its location, or {_AS_FOLDER.removeprefix('to ')}",
        )
    if (top / "HEAD").is_file() and (top / "objects").is_dir():
        return Unsuited("it is a bare repository, without a working tree", "clone it, and work on the clone")
    return Unsuited(
        "it is not a git checkout: there is no .git in it",
        f"make one with `git init`; {_AS_FOLDER}",
        lost=True,
    )


def _not_opened(top: Path, said: str) -> Unsuited:
    if "dubious ownership" in said:
        return Unsuited(
            "git does not trust it: it belongs to another user (safe.directory)",
            f"if you do: `git config --global --add safe.directory {top}`",
        )
    if "refstorage" in said.lower():
        return _reftable()
    hint = f"fix it, and try `git status` there; {_AS_FOLDER}"
    return Unsuited(f"git cannot open it: {said}", hint, lost=True)


def _reftable() -> Unsuited:
    return Unsuited(
        "it keeps its refs in a reftable, which this version cannot copy",
        f"`git refs migrate --ref-format=files` changes that; {_AS_FOLDER}",
    )


def with_alternates(objects: Path, *, depth: int) -> Iterator[Path]:
    """A folder of objects, and those that it borrows from, directly or through others."""
    yield objects
    if depth <= 5:
        for each in alternates_of(objects):
            yield from with_alternates(each.resolve(), depth=depth + 1)


def alternates_of(objects: Path) -> Iterator[Path]:
    """The folders that a folder of objects borrows from."""
    listed = objects / "info" / "alternates"
    if listed.is_file():
        for line in os.fsdecode(listed.read_bytes()).splitlines():
            if line and not line.startswith("#"):
                yield objects / unquoted(line)


def unquoted(line: str) -> str:
    """A path as git writes it into a list of alternates."""
    if not line.startswith('"'):
        return line
    return os.fsdecode(
        line[1:-1].encode("utf-8", "surrogateescape").decode("unicode_escape").encode("latin-1")
    )


def quoted(path: Path) -> str:
    """A path for a list of alternates."""
    text = str(path)
    return quoted_always(path) if text.startswith(('"', "#")) or "\n" in text else text


def quoted_always(path: Path) -> str:
    """A path for a variable that lists alternates, in which a colon would end it."""
    escaped = str(path).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
