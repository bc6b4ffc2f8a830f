"""What tests of git checkouts share: git with a user of its own, and pictures of repositories."""

import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from msgspec.structs import replace

from mulligan.adapters.sandboxes.git.checkout_copy import GitSandboxes
from mulligan.adapters.sandboxes.git.git_command import Git
from mulligan.adapters.sandboxes.git.git_context import GitContext
from mulligan.adapters.sandboxes.git.repository.checkpoint_repositories import CheckpointRepositories
from mulligan.adapters.sandboxes.private_sandbox import Workplace
from mulligan.domain.checkpoints.checkpoint import Checkpoint
from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.checkpoints.store_report import Capture
from mulligan.domain.resources.resource import Resource, ResourceType, Sandbox
from mulligan.domain.text.ids import CheckpointId, PlanId
from mulligan.ports import Publication, SandboxOrder
from tests.support.snapshot_world import Watcher, new_store, picture

PLAN = PlanId("01JZZZZZZZZZZZZZZZZZZZZZZZ")
AT = datetime(2026, 1, 1, tzinfo=UTC)

# A user's git: whoever runs the tests, and whatever their own configuration says.
GIT_ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_GLOBAL": os.fspath(Path(__file__).with_name("gitconfig")),
    "GIT_CONFIG_NOSYSTEM": "1",
}


def git_context(place: Workplace, environment: Mapping[str, str]) -> GitContext:
    """Return what kinds of sandboxes of git checkouts need in a project."""
    git = Git.within(environment, place.project_home)
    return GitContext(place, git, CheckpointRepositories(git=git, home=place.project_home / "git"))


def run_git(folder: Path, *arguments: str, check: bool = True, stdin: str = "", **environment: str) -> str:
    """What git prints, run as a user does."""
    ended = subprocess.run(
        ["git", *arguments],
        cwd=folder,
        env={**GIT_ENVIRONMENT, **environment},
        capture_output=True,
        input=stdin,
        text=True,
        errors="surrogateescape",
        check=False,
    )
    assert not check or ended.returncode == 0, f"git {arguments} in {folder}: {ended.stderr}{ended.stdout}"
    return ended.stdout


def looks(top: Path) -> dict[bytes, tuple[object, ...]]:
    """A working tree as a picture, without git directories and the files that name them."""
    found = picture(top)
    return {
        name: (what[:3] if stat.S_ISDIR(cast("int", what[0])) else what)
        for name, what in found.items()
        if b".git" not in name.split(b"/") and b".mulligan" not in name.split(b"/")
    }


def repository_picture(top: Path, *, pins: bool = False) -> dict[str, object]:
    """All of a user's checkout and repository, byte for byte, but for objects and pins."""
    asked = run_git(top, "rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir").splitlines()
    found: dict[str, object] = {
        os.fsdecode(name): what
        for name, what in picture(top).items()
        if name.split(b"/")[1:2] not in ([b".git"], [b".mulligan"])
    }
    for folder in sorted({Path(each) for each in asked}):
        for name, what in picture(folder).items():
            ours = b"mulligan" in name.split(b"/")
            if b"objects" not in name.split(b"/") and not (ours and not pins):
                # A folder's time changes when pins come and go; sharedindex files are touched by reading.
                kept = what[:3] if stat.S_ISDIR(cast("int", what[0])) or b"sharedindex" in name else what
                found[f"{folder}/{os.fsdecode(name)}"] = kept
    return found


def unlike(one: Mapping[Any, object], other: Mapping[Any, object]) -> dict[Any, tuple[object, object]]:
    """Where two pictures differ."""
    return {
        name: (one.get(name), other.get(name))
        for name in one.keys() | other.keys()
        if one.get(name) != other.get(name)
    }


@dataclass
class GitProject:
    """A project with a checkout somewhere inside, and the kind of sandbox that works on it."""

    base: Path
    top: Path
    environment: Mapping[str, str] = field(default_factory=lambda: GIT_ENVIRONMENT)

    def __post_init__(self) -> None:
        home = self.base / ".mulligan"
        home.mkdir()
        (home / ".gitignore").write_text("*\n")
        self.kind = GitSandboxes(self.context())

    def context(self) -> GitContext:
        """Return what kinds of sandboxes need in this project."""
        home = self.base / ".mulligan"
        place = Workplace(
            store=new_store(home / "store"),
            home=home / "sandboxes",
            project=self.base,
            project_home=home,
            user_home=Path("/nonexistent/me"),
            pool=lambda: 1,
        )
        return git_context(place, self.environment)

    def order(
        self, name: str = "app", *, revision: str | None = None, include_ignored: bool = True
    ) -> SandboxOrder:
        return SandboxOrder(
            plan_id=PLAN,
            resource=Resource(
                name=name,
                type=ResourceType.GIT_CHECKOUT,
                location=os.path.relpath(self.top, self.base),
                strategy=None,
                from_revision=revision,
                create=False,
            ),
            location=self.top,
            path=self.base / ".mulligan" / "sandboxes" / PLAN / name,
            excluded=frozenset(),
            include_ignored=include_ignored,
        )

    def create(self, **how: Any) -> tuple[Sandbox, Capture]:
        order = self.order(**how)
        self.kind.check(order.resource, order.location)
        return self.kind.create(order, Watcher())

    def publish(self, sandbox: Sandbox, number: int, after: Checkpoint | None) -> Checkpoint:
        """Take a checkpoint of the sandbox as it is."""
        snapshot = self.kind.capture(sandbox, Watcher()).snapshot
        new = self.checkpoint(sandbox, CheckpointId(f"01JZZZZZZZZZZZZZZZZZZZZ{number:03}"), snapshot)
        commit = self.kind.publish(sandbox, Publication(checkpoint=new, after=after, at=AT))
        return replace(new, sandbox_ref=commit)

    def pin_folders(self) -> Iterator[Path]:
        """What is left of pins anywhere."""
        for folder, names, _ in os.walk(self.base):
            names[:] = [name for name in names if name != ".mulligan"]
            if folder.endswith("refs/mulligan") or "refs/mulligan/" in folder:
                yield Path(folder)

    def misbehave(self, there: Path) -> None:
        """All that an agent may do with git, as far as the checkout allows it."""
        (there / ".git" / "hooks").mkdir(exist_ok=True)
        (there / ".git" / "hooks" / "pre-commit").write_text("#!/bin/sh\ntouch hooked-by-agent\n")
        (there / "by agent").write_text("by agent\n")
        for command in (
            "add -A",
            "-c commit.gpgSign=false commit -q -m by-agent --no-verify",
            "branch -f other HEAD",
            "tag -f v1 -m moved",
            "tag light",
            "stash clear",
            "config user.email agent@example.com",
            "config core.fsmonitor false",
            "worktree add -q ../extra-tree HEAD",
            "switch -q -c topic",
            "gc -q --prune=now",
            "pack-refs --all",
            "remote add evil /nowhere",
            "update-ref -d refs/heads/other",
        ):
            run_git(there, *command.split(), check=False)
        (there / "by agent").write_text("stashed by agent\n")
        run_git(there, "stash", "-q", check=False)

    def change(self, there: Path) -> None:
        """Changes of files, as an agent's step makes them."""
        (there / "deep" / "er").mkdir(parents=True)
        (there / "deep" / "er" / "new").write_text("new\n")
        (there / "program").write_text("#!/bin/sh\n")
        (there / "program").chmod(0o755)
        (there / "dos again.txt").write_bytes(b"a\r\nb\r\n")
        (there / "again.up").write_text("filtered\n")
        (there / "pointer").symlink_to("deep/er/new")
        (there / "more.log").write_text("ignored where there is such a rule\n")
        for old in ("sub/file5", "untracked", "file"):
            (there / old).unlink(missing_ok=True)
        if (there / "sub" / "deep").is_dir():
            (there / "sub" / "deep").rmdir()
            (there / "sub" / "deep").write_text("a file where a folder was\n")

    def change_rules(self, there: Path) -> None:
        """Changes of what is ignored and tracked."""
        (there / ".gitignore").write_text("deep/\n")
        (there / "deep" / "er" / "new").write_text("changed, and ignored now\n")
        (there / "forced").mkdir()
        (there / "forced" / ".gitignore").write_text("*\n")
        (there / "forced" / "in").write_text("added by force\n")
        run_git(there, "add", "-f", "--sparse", "forced/in")
        (there / ".git" / "info").mkdir(exist_ok=True)
        (there / ".git" / "info" / "exclude").write_text("program\n")

    def change_index(self, there: Path) -> None:
        """Changes of the index alone."""
        run_git(there, "add", "-f", "--sparse", ".", check=False)
        run_git(there, "rm", "-q", "--cached", "--sparse", "forced/in")

    def what_git_would_commit(self, there: Path) -> str:
        """The tree that `git add -A` in a copy of the sandbox gives, in the words of `ls-tree -r`."""
        with tempfile.TemporaryDirectory(dir=self.base) as folder:
            copy = Path(folder) / "copy"
            shutil.copytree(there, copy, symlinks=True)
            (copy / ".git" / "index.lock").unlink(missing_ok=True)
            for inner in copy.glob("vendor/unborn"):
                shutil.rmtree(inner)
            run_git(copy, "-c", "core.fsmonitor=false", "add", "-A", "--sparse")
            return run_git(copy, "ls-tree", "-r", run_git(copy, "write-tree").strip())

    def checkpoint(self, sandbox: Sandbox, id: CheckpointId, snapshot: Snapshot) -> Checkpoint:
        return Checkpoint(
            checkpoint_id=id,
            resource=sandbox.resource,
            snapshot=snapshot,
            sandbox_ref="",
            filesystem_path=sandbox.path,
            size_bytes=0,
            modified=True,
        )
