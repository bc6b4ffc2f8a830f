"""Making a git sandbox: the private git directory, the pins, the repository of its checkpoints."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from mulligan.adapters.sandboxes.git.creation.first_commit import (
    begin,
    commit_start,
    copy_objects,
    record,
    tree_of_head,
)
from mulligan.adapters.sandboxes.git.creation.private_git_dir import (
    PrivateCopies,
    git_dirs_under,
    is_git_dir,
    write,
)
from mulligan.adapters.sandboxes.git.git_command import Git
from mulligan.adapters.sandboxes.git.git_context import GitContext
from mulligan.adapters.sandboxes.git.places.private_files import read_below, replace_below
from mulligan.adapters.sandboxes.git.position.index_file import IndexFile
from mulligan.adapters.sandboxes.git.repository.bare_repository import BareRepository
from mulligan.adapters.sandboxes.git.repository.borrowed_objects import git_dirs_in
from mulligan.adapters.sandboxes.git.repository.checkpoint_repositories import pins_of
from mulligan.adapters.sandboxes.git.repository.git_packs import GITLINK
from mulligan.adapters.sandboxes.git.repository.pins import copy_pins, pin, pinned_trees
from mulligan.adapters.sandboxes.git.repository.user_repository import Repository
from mulligan.boundaries import act
from mulligan.domain.checkpoints.store_report import Survey
from mulligan.domain.resources.resource import Sandbox
from mulligan.ports import SandboxOrder

# What a clean start has not: a merge, rebase, bisection or cherry-pick that is half done.
_HALF_DONE = (
    *("AUTO_MERGE", "MERGE_HEAD", "MERGE_MODE", "MERGE_MSG", "MERGE_RR", "SQUASH_MSG"),
    *("CHERRY_PICK_HEAD", "REVERT_HEAD", "sequencer", "REBASE_HEAD", "rebase-apply", "rebase-merge"),
    *("BISECT_ANCESTORS_OK", "BISECT_EXPECTED_REV", "BISECT_LOG", "BISECT_NAMES", "BISECT_RUN"),
    *("BISECT_START", "BISECT_TERMS", "refs/bisect"),
)


class Making:
    """One sandbox that is being made of the user's repository."""

    def __init__(self, context: GitContext, repository: Repository, order: SandboxOrder) -> None:
        self.bare = context.repositories.of(order.plan_id, order.resource.name)
        self._git = context.git
        self._there = repository.through(context.git)
        self._top = order.path
        self._prefix = pins_of(order.plan_id, order.resource.name)
        self._repository = repository
        self._order = order
        self._copies = PrivateCopies(context.git, repository.top, order.path, context.place.project_home)

    def left_out(self) -> frozenset[str]:
        """Return the paths that the sandbox excludes: those of other resources and, if asked for, ignored ones."""
        if self._order.include_ignored:
            return self._order.excluded
        listed = self._there.run("ls-files", "-o", "-i", "--exclude-standard", "--directory", "-z")
        return self._order.excluded | {os.fsdecode(path).rstrip("/") for path in listed.split(b"\0") if path}

    def survey_of(self, commit: str) -> Survey:
        listed = self._there.run("ls-tree", "-r", "-l", "-z", "--full-tree", commit).split(b"\0")
        sizes = [line.partition(b"\t")[0].split()[3] for line in listed if line]
        return Survey(files=len(sizes), size_bytes=sum(int(size) for size in sizes if size.isdigit()))

    def branch_named(self, revision: str) -> str | None:
        """The branch that a revision is the name of."""
        name = revision.removeprefix("refs/heads/")
        asked = self._there.attempt("show-ref", "--verify", "-q", f"refs/heads/{name}")
        return name if asked.returncode == 0 else None

    def copy(self, inner: Sequence[str]) -> bool:
        """Make private git directories for an existing working tree; return whether its files changed by it.

        `inner` are the folders in it that have, or name, a git directory of their own, outer ones first.
        """
        self.bare.make(self._repository)
        self._copies.make(self._repository, self._top / ".git", self._top)
        return self._copies.make_inner(inner)

    def check_out(self, revision: str, commit: str) -> None:
        """Make a working tree of a commit, with a private git directory that has it checked out."""
        self.bare.make(self._repository)
        self._top.mkdir(parents=True)
        self._top.parent.chmod(0o700)
        index = self.bare.path / "index"
        there = self.bare.git.on(self._top, GIT_WORK_TREE=self._top, GIT_INDEX_FILE=index)
        there.run("read-tree", commit)
        there.run("checkout-index", "-a", "-u", "-q")
        private = self._top / ".git"
        self._copies.make(self._repository, private, self._top)
        for name in _HALF_DONE:
            path = private / name
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        branch = self.branch_named(revision)
        (private / "HEAD").unlink()
        write(private / "HEAD", f"ref: refs/heads/{branch}\n" if branch else f"{commit}\n")
        shutil.copy2(index, private / "index")
        index.unlink()

    def keep_borrowed(self) -> None:
        """Pin what the private git directories borrow; first of all remember where, so that it can be undone."""
        lenders = (copy.repository.git_dir for copy in self._copies.made)
        self.bare.note_pins(self._repository, self._prefix, lenders)
        for copy in self._copies.made:
            pin(self._git, copy.repository.git_dir, copy.git_dir, self._prefix)

    def begin(self) -> None:
        """Make the commit of what the sandbox starts from, and copy what no ref keeps."""
        private, objects = self._top / ".git", self.bare.path / "objects"
        head = tree_of_head(self._there)
        started = begin(self.bare, self._repository, self._top, private / "index", self._order.patterns)
        copy_objects(self.bare.git, (started.staged, *started.loose), head, private / "objects", objects)
        if started.tree != started.staged:
            copy_objects(self.bare.git, (started.tree,), (started.staged, *head), objects)
        record(self.bare, started)
        for copy in self._copies.made[1:]:
            _copy_staged(self._git, copy.repository, copy.git_dir)


def borrow_again(context: GitContext, repository: Repository, sandbox: Sandbox) -> None:
    """Give a sandbox that was made again a repository for its checkpoints, and pin what it borrows."""
    private, prefix = Path(sandbox.path) / ".git", pins_of(sandbox.plan_id, sandbox.resource)
    modules = repository.git_dir / "modules"
    inner = {each: private / "modules" / each.relative_to(modules) for each in git_dirs_under(modules)}
    borrowing = {lender: own for lender, own in inner.items() if is_git_dir(own)}
    if is_git_dir(private):
        borrowing = {repository.git_dir: private, **borrowing}
    bare = context.bare_of(sandbox)
    lenders = (*borrowing, *map(Path, bare.known_lenders()))
    with act("git.remake"):
        bare.make(repository)
        bare.note_pins(repository, prefix, lenders)
    for lender, own in borrowing.items():
        pin(context.git, lender, own, prefix)


def make_fork(context: GitContext, order: SandboxOrder, parent: Sandbox) -> BareRepository:
    """Give a restored copy of a sandbox a repository and pins of its own; nothing of it leads to its parent."""
    path, parent_path = order.path, Path(parent.path)
    prefix = pins_of(order.plan_id, order.resource.name)
    bare = context.repositories.of(order.plan_id, order.resource.name)
    bare.make_like(context.bare_of(parent))
    memory = bare.memory
    bare.remember(replace(memory, prefix=prefix, path=str(bare.path)))
    for lender in memory.lenders:
        copy_pins(context.git, Path(lender), memory.prefix, prefix)
    _follow(path, parent_path, memory.object_format)
    return bare


def make_fork_again(context: GitContext, sandbox: Sandbox, parent: Sandbox) -> None:
    """Give the same to a copy of a sandbox whose repository of checkpoints is gone."""
    repository, bare = context.opened(sandbox.resource, Path(sandbox.location)), context.bare_of(sandbox)
    top = Path(sandbox.path)
    borrow_again(context, repository, sandbox)
    _follow(top, Path(parent.path), repository.object_format)
    borrowed = pinned_trees(context.git, repository.git_dir, pins_of(sandbox.plan_id, sandbox.resource))
    commit_start(bare, repository, top, top / ".git" / "index", borrowed, sandbox.patterns)


def _follow(path: Path, parent_path: Path, object_format: str) -> None:
    """Let the git directory of a copy name the copy where it names the sandbox that it is of."""
    for git_dir in git_dirs_in(path / ".git"):
        config = str((git_dir / "config").relative_to(path))
        data = read_below(path, config)
        moved = data.replace(os.fsencode(parent_path), os.fsencode(path)) if data else data
        if moved and moved != data:
            replace_below(path, config, moved)
    index = read_below(path, ".git/index")
    if index is not None:
        known = IndexFile(index, object_format)
        known.follow(parent_path, path)
        replace_below(path, ".git/index", known.to_bytes())


def _copy_staged(git: Git, repository: Repository, private: Path) -> None:
    """Copy what is staged in a repository inside the sandbox."""
    there = git.on(repository.git_dir, GIT_DIR=repository.git_dir)
    index = private / "index"
    if index.is_file():
        listed = there.on(repository.git_dir, GIT_INDEX_FILE=index).run("ls-files", "-s", "-z").split(b"\0")
        staged = {line.split(b" ")[1].decode() for line in listed if line and not line.startswith(GITLINK)}
        copy_objects(there, tuple(sorted(staged)), tree_of_head(there), private / "objects")
