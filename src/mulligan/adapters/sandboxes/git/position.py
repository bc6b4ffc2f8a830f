"""Where a checkout stands: HEAD, the commit of the branch it names, and the index."""

import os
from pathlib import Path

from mulligan.adapters.sandboxes.git.command import Git
from mulligan.adapters.sandboxes.git.index_lock import replace_index
from mulligan.adapters.sandboxes.git.repository import Repository
from mulligan.adapters.sandboxes.git.staged import keep_staged
from mulligan.boundaries import act
from mulligan.errors import RestoreFailed

BRANCHES = "branches"  # where all of them stood: the one that HEAD is moved away from goes back as well
STAGED = "staged.pack"  # what the index names and HEAD has not: no ref keeps it
FILES_ALONE = "the files of a checkpoint: `mulligan checkpoint restore ID --to DIR`"
_STAMP_NS = 0  # of what is written down: equal positions are equal trees


class Position:
    """The part of a user's git directory that goes back with the files."""

    def __init__(self, git: Git, repository: Repository) -> None:
        """Read and write it through git, without hooks; the index as git's own protocol has it."""
        self._repository = repository
        self._there = git.on(repository.top, GIT_DIR=repository.git_dir, GIT_COMMON_DIR=repository.common_dir)

    def write_down(self, folder: Path) -> None:
        """Write it into an empty folder: HEAD, `branch` where it names one that has a commit, and the index."""
        name, commit = self._branch()
        head = f"ref: {name}\n" if name else f"{commit}\n"
        (folder / "HEAD").write_text(head, "utf-8", "surrogateescape")
        if name and commit:
            (folder / "branch").write_text(f"{commit}\n")
        (folder / BRANCHES).write_bytes(
            self._there.run("for-each-ref", "--format=%(refname) %(objectname)", "refs/heads/")
        )
        index = self._repository.git_dir / "index"
        if index.is_file():
            (folder / "index").write_bytes(index.read_bytes())
            keep_staged(self._there, commit, folder / STAGED)
        for path in (*folder.iterdir(), folder):
            os.utime(path, ns=(_STAMP_NS, _STAMP_NS))

    def put_back(self, folder: Path) -> None:
        """Make it what was written down; repeatable."""
        self.require(folder)
        if (folder / STAGED).exists():
            self._write("unpack-objects", "-q", stdin=(folder / STAGED).read_bytes())
        name, commit = _head_in(folder)
        left, _ = self._branch()  # the branch that is left goes back to where it was too, if it is another
        noted_then = _branches(folder / BRANCHES)
        if left and left != name and left in noted_then:
            self._write("update-ref", left, noted_then[left])
        if name is None:
            self._write("update-ref", "--no-deref", "HEAD", str(commit))
        else:
            self._write("symbolic-ref", "HEAD", name)
            if commit is not None:
                self._write("update-ref", name, commit)
            elif self._there.attempt("show-ref", "--verify", "-q", name).returncode == 0:
                self._write("update-ref", "-d", name)
        wanted = folder / "index"
        replace_index(self._repository.git_dir / "index", wanted.read_bytes() if wanted.exists() else None)

    def require(self, folder: Path) -> None:
        """Refuse to go where a commit is needed that the repository has no longer; touches nothing."""
        left, _ = self._branch()
        for needed in (_head_in(folder)[1], _branches(folder / BRANCHES).get(left or "")):
            if needed is not None:
                self._require(needed)

    def _require(self, commit: str) -> None:
        if self._there.attempt("cat-file", "-e", f"{commit}^{{commit}}").returncode:
            raise RestoreFailed(
                path=str(self._repository.git_dir),
                reason=f"the commit {commit} is no longer in the repository",
                hint=f"fetch it, or put it back, then try again; {FILES_ALONE}",
            )

    def _write(self, *words: str, stdin: bytes = b"") -> None:
        with act("position.move"):  # the user's own: they outlast a power cut
            self._there.run("-c", "core.fsync=all", *words, stdin=stdin)

    def _branch(self) -> tuple[str | None, str | None]:
        asked = self._there.attempt("symbolic-ref", "-q", "HEAD")
        commit = self._there.attempt("rev-parse", "-q", "--verify", "HEAD^{commit}").stdout.decode().strip()
        return os.fsdecode(asked.stdout).strip() or None, commit or None


def _head_in(folder: Path) -> tuple[str | None, str | None]:
    """The branch that was checked out, None for none, and the commit, None before the first."""
    head = (folder / "HEAD").read_text("utf-8", "surrogateescape").strip()
    if not head.startswith("ref: "):
        return None, head
    noted = folder / "branch"
    return head.removeprefix("ref: "), noted.read_text().strip() if noted.exists() else None


def _branches(noted: Path) -> dict[str, str]:
    """The branches that were written down, each with its commit."""
    if not noted.exists():
        return {}
    lines = noted.read_text("utf-8", "surrogateescape").splitlines()
    return dict(line.rsplit(" ", 1) for line in lines)
