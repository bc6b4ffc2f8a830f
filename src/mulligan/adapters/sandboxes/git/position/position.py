"""The position of a checkout: HEAD, the commit of the branch it names, and the index.

It is stored as a folder of small files; a stored position can be edited there and become that of the checkout.
"""

import os
from pathlib import Path
from typing import TypeAlias

from mulligan.adapters.sandboxes.git.git_command import Git
from mulligan.adapters.sandboxes.git.position.index_entries import same_entries
from mulligan.adapters.sandboxes.git.position.index_lock import index_locked
from mulligan.adapters.sandboxes.git.position.ref_files import refs_of
from mulligan.adapters.sandboxes.git.position.staged_objects import keep_staged
from mulligan.adapters.sandboxes.git.repository.git_config import is_of_filter, read_settings
from mulligan.adapters.sandboxes.git.repository.ref_locks import HEAD, PACKED, noting
from mulligan.adapters.sandboxes.git.repository.user_repository import Repository
from mulligan.boundaries import act
from mulligan.domain.text.ids import PlanId
from mulligan.errors import Advice, ChangedMeanwhile, NextStep, RestoreFailed

BRANCHES = "branches"  # the commits of all of them: the branch that HEAD leaves goes back too
STAGED = "staged.pack"  # what the index names and HEAD has not: no ref keeps it
FILES_ALONE = Advice("the files of a checkpoint: ", NextStep("checkpoints.restore", checkpoint=..., to=...))
_STAMP_NS = 0
_SHORT = 7  # characters of a commit, for people
_ON, _BACK = "mulligan", "mulligan: going back"  # in reflogs
# An index, with its signature, that names nothing that this commit lacks.
Unstaged: TypeAlias = tuple[str, str | None, int, int, int, int]


class Position:
    """The part of a user's git directory that goes back with the files."""

    def __init__(self, git: Git, repository: Repository, plan_id: PlanId, unstaged: set[Unstaged]) -> None:
        """`unstaged` is kept from one position to the next: git need not be asked again."""
        self._repository = repository
        self._unstaged = unstaged
        self._plan_id = plan_id
        self._seen: tuple[str | None, str | None] = (None, None)
        self._there = git.on(repository.top, GIT_DIR=repository.git_dir, GIT_COMMON_DIR=repository.common_dir)

    def write_down(self, folder: Path) -> None:
        """Write it into an empty folder: HEAD, `branch` where it names one that has a commit, and the index."""
        name, commit = self._seen = self._branch()
        head = f"ref: {name}\n" if name else f"{commit}\n"
        (folder / "HEAD").write_text(head, "utf-8", "surrogateescape")
        if name and commit:
            (folder / "branch").write_text(f"{commit}\n")
        branches = refs_of(self._there, self._repository.common_dir, "refs/heads/")
        (folder / BRANCHES).write_bytes(
            b"".join(os.fsencode(f"{name} {commit}\n") for name, commit in branches.items())
        )
        index = self._repository.git_dir / "index"
        if index.is_file():
            st = index.stat()
            (folder / "index").write_bytes(data := index.read_bytes())
            self._seen_beside(folder).write_bytes(data)
            # Git recognises files that changed right after the index was written by its mtime.
            os.utime(folder / "index", ns=(st.st_mtime_ns, st.st_mtime_ns))
            known = (str(index), commit, st.st_ino, st.st_size, st.st_mtime_ns, st.st_ctime_ns)
            if known not in self._unstaged:
                keep_staged(self._there, commit, folder / STAGED)
                is_same = os.path.samestat(st, now := index.stat()) and now.st_ctime_ns == st.st_ctime_ns
                if is_same and not (folder / STAGED).exists():
                    self._unstaged.add(known)
        stamp(folder)

    def put_back(self, folder: Path) -> None:
        """Make it what is written there; repeatable. Nothing is moved that others moved since `write_down`."""
        self.require(folder)
        name, commit = standing_in(folder)
        left, stood_at = self._seen  # the branch that is left goes back to where it was too, if it is another
        noted_then = _branches(folder / BRANCHES)
        if (folder / STAGED).exists():
            self._write("unpack-objects", "-q", stdin=(folder / STAGED).read_bytes())
        data, mtime_ns = self._refreshed(folder / "index")
        index = self._repository.git_dir / "index"
        with index_locked(index, data, mtime_ns):
            if not same_entries(self._there, self._seen_beside(folder), index):
                raise ChangedMeanwhile(plan_id=self._plan_id, paths=str(index))
            if left and left != name and left in noted_then:
                old = stood_at or self._repository.null_id
                if noted_then[left] != stood_at:
                    self._write("update-ref", "-m", _BACK, left, noted_then[left], old)
            self._move_head(name, commit)

    def require(self, folder: Path) -> None:
        """Refuse to go where a commit is needed that the repository has no longer; touches nothing."""
        left, _ = self._branch()
        needed = {standing_in(folder)[1], _branches(folder / BRANCHES).get(left or "")}
        for commit in sorted(each for each in needed if each is not None):
            self._require(commit)

    def _seen_beside(self, folder: Path) -> Path:
        """The index as it was when it was written down, beside what was: there it may be changed."""
        return folder.with_name(f"{folder.name}-index")

    def _move_head(self, name: str | None, commit: str | None) -> None:
        """Let HEAD name a branch, and the branch a commit; or HEAD a commit directly."""
        if name is None:
            self._write("update-ref", "-m", _BACK, "--no-deref", "HEAD", commit or "", self._head_now() or "")
            return
        if name != self._seen[0]:
            self._head_now()
            self._write("symbolic-ref", "-m", _BACK, "HEAD", name)
        self._move(name, commit)

    def _head_now(self) -> str | None:
        """The commit that HEAD names, now that nobody may have moved it; ChangedMeanwhile where someone has."""
        name, commit = self._branch()
        seen_name, _ = self._seen
        if name != seen_name or (name is None and commit != self._seen[1]):
            raise ChangedMeanwhile(plan_id=self._plan_id, paths=f"HEAD of {self._repository.top}")
        return commit

    def _move(self, name: str, commit: str | None) -> None:
        """Let the branch that is checked out name a commit, or none."""
        seen_name, seen = self._seen
        before = self._commit_of(name)
        if before == commit:
            return
        if name == seen_name and before != seen:
            raise ChangedMeanwhile(
                plan_id=self._plan_id, paths=f"the branch {name} of {self._repository.top}"
            )
        if commit is None:
            self._write("update-ref", "-d", name, before or "")
        else:
            old = before or self._repository.null_id
            self._write("update-ref", "-m", self._reason(commit, before), name, commit, old)

    def _commit_of(self, branch: str) -> str | None:
        read = self._repository.standing()
        if read is not None and read[0] == branch:
            return read[1]
        asked = self._there.attempt("rev-parse", "-q", "--verify", f"{branch}^{{commit}}")
        return asked.stdout.decode().strip() or None

    def _reason(self, commit: str, before: str | None) -> str:
        """The reflog message of a move."""
        text = os.fsdecode(self._there.run("cat-file", "commit", commit))
        head, _, message = text.partition("\n\n")
        parents = [line.partition(" ")[2] for line in head.split("\n") if line.startswith("parent ")]
        follows = parents == ([before] if before else [])
        return f"{_ON}: {message.partition(chr(10))[0]}" if follows else _BACK

    def _require(self, commit: str) -> None:
        if self._there.attempt("cat-file", "-e", f"{commit}^{{commit}}").returncode:
            raise RestoreFailed(
                path=str(self._repository.git_dir),
                reason=f"the commit {commit} is no longer in the repository",
                hint=Advice("fetch it, or put it back, then try again; ", FILES_ALONE),
            )

    def _write(self, *words: str, stdin: bytes = b"") -> None:
        # These are the user's own: they outlast a power cut, and are logged wherever logs are kept.
        unborn = self._seen[1] is None
        logs = (self._repository.git_dir / "logs" / "HEAD").exists() or unborn
        logging = ("-c", f"core.logAllRefUpdates={'true' if logs else 'false'}")
        locks = (HEAD, PACKED, *(f"{word}.lock" for word in words if word.startswith("refs/")))
        with (
            noting(self._there, self._repository.git_dir, locks, durable=True) as there,
            act("position.move"),
        ):
            there.run("-c", "core.fsync=all", *logging, *words, stdin=stdin)

    def _branch(self) -> tuple[str | None, str | None]:
        if (read := self._repository.standing()) is not None:
            return read
        asked = self._there.attempt("symbolic-ref", "-q", "HEAD")
        commit = self._there.attempt("rev-parse", "-q", "--verify", "HEAD^{commit}").stdout.decode().strip()
        return os.fsdecode(asked.stdout).strip() or None, commit or None

    def _refreshed(self, wanted: Path) -> tuple[bytes | None, int | None]:
        """An index that was written down, with what it knows of files brought up to date; and its time."""
        if not wanted.exists():
            return None, None
        top = self._repository.top
        there = self._there.on(top, GIT_WORK_TREE=top, GIT_INDEX_FILE=wanted)
        # A file that differs from its entry is not a failure: the user has not staged it. Git would pass files through
        # the filters of the repository's own configuration: a stranger may have named them.
        if not any(map(is_of_filter, read_settings(self._there, self._repository))):
            there.attempt("-c", "core.untrackedCache=keep", "update-index", "-q", "--refresh")
        return wanted.read_bytes(), wanted.stat().st_mtime_ns


def stamp(folder: Path) -> None:
    """Give what is written down a time of its own, but for the index: equal positions are equal trees."""
    for path in (*folder.iterdir(), folder):
        if path.name != "index":
            os.utime(path, ns=(_STAMP_NS, _STAMP_NS))


def standing_in(folder: Path) -> tuple[str | None, str | None]:
    """The branch that is written down as checked out, None: none is; and the commit, None: there is none yet."""
    noted = folder / "branch"
    return standing_of(
        (folder / "HEAD").read_text("utf-8", "surrogateescape"), noted.read_text() if noted.exists() else ""
    )


def standing_of(head: str, branch: str) -> tuple[str | None, str | None]:
    """The same, of the contents of the two files."""
    if not head.startswith("ref: "):
        return None, head.strip()
    return head.strip().removeprefix("ref: "), branch.strip() or None


def move_in_words(old: tuple[str | None, str | None], new: tuple[str | None, str | None]) -> str:
    """Describe a move of HEAD or its branch: `branch: x → main`, `branch: main 12ab34c → 98ef76d`."""
    if old == new:
        return ""
    branches = [name.removeprefix("refs/heads/") if name else None for name, _ in (old, new)]
    commits = [commit[:_SHORT] if commit else "no commit" for _, commit in (old, new)]
    if branches[0] == branches[1]:
        return f"{f'branch: {branches[0]}' if branches[0] else 'HEAD:'} {commits[0]} → {commits[1]}"
    sides = [branch or commit for branch, commit in zip(branches, commits, strict=True)]
    return f"branch: {sides[0]} → {sides[1]}"


def commits_in(folder: Path) -> set[str]:
    """Return the commits that are written down: of HEAD and of all branches."""
    _, head = standing_in(folder)
    return {*_branches(folder / BRANCHES).values(), *([head] if head is not None else [])}


def move_on(folder: Path, commit: str) -> None:
    """Change what is written down: the branch that is checked out names another commit."""
    name, _ = standing_in(folder)
    assert name is not None  # with none there is no commit to make
    (folder / "branch").write_text(f"{commit}\n")
    branches = {**_branches(folder / BRANCHES), name: commit}
    lines = sorted(f"{ref} {tip}\n".encode("utf-8", "surrogateescape") for ref, tip in branches.items())
    (folder / BRANCHES).write_bytes(b"".join(lines))


def _branches(noted: Path) -> dict[str, str]:
    """The branches that were written down, each with its commit."""
    if not noted.exists():
        return {}
    lines = noted.read_text("utf-8", "surrogateescape").splitlines()
    return dict(line.rsplit(" ", 1) for line in lines)
