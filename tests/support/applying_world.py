"""What tests of applying to a git checkout share: a user's checkout, a sandbox of it, what can be seen of both."""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from mulligan.adapters.sandboxes.git.checkout_in_place import InPlaceCheckouts
from mulligan.domain.checkpoints.snapshot import Root, Snapshot
from mulligan.domain.resources.resource import Sandbox, Strategy
from mulligan.ports import ApplyOrder, Composed
from tests.support.git_world import AT, GIT_ENVIRONMENT, GitProject, run_git
from tests.support.snapshot_world import Watcher, take

Files = Mapping[str, str | bytes | None]  # None: not there


def lines(*changed: str) -> str:
    """Ten lines, some of them others: `lines("3 three")` changes the third."""
    told = dict(each.split(" ", 1) for each in changed)
    return "".join(f"{told.get(str(n), f'line {n}')}\n" for n in range(1, 11))


def write(top: Path, files: Files) -> None:
    for name, text in files.items():
        path = top / name
        if path.is_dir() and not path.is_symlink():
            path.rmdir()
        elif path.is_symlink() or path.exists():
            path.unlink()
        if text is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode() if isinstance(text, str) else text)


@dataclass
class Applied:
    """A checkout before and after."""

    top: Path
    composed: Composed
    kind: InPlaceCheckouts
    real: Sandbox
    before: Snapshot

    def head(self, path: str) -> str | None:
        return _shown(self.top, f"HEAD:{path}")

    def index(self, path: str) -> str | None:
        return _shown(self.top, f":{path}")

    def status(self) -> list[str]:
        told = run_git(self.top, "status", "--porcelain=v1", "--untracked-files=all", "--ignored")
        return [line for line in told.splitlines() if not line.endswith(".mulligan/")]

    def take_back(self) -> None:
        self.kind.restore(self.real, self.before, Watcher())


def _shown(top: Path, name: str) -> str | None:
    if run_git(top, "rev-parse", "-q", "--verify", name, check=False) == "":
        return None
    return run_git(top, "cat-file", "blob", name)


@dataclass
class Checkout(GitProject):
    """A user's checkout with a plan's sandbox."""

    sandbox: Sandbox = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        context = self.context()
        self.store = context.place.store
        self.in_place = InPlaceCheckouts(context)

    @staticmethod
    def made(base: Path, files: Files, **environment: str) -> "Checkout":
        """A checkout whose only commit holds these files."""
        top = base / "checkout"
        top.mkdir(parents=True)
        run_git(top, "init", "-q")
        write(top, files)
        run_git(top, "add", "-A")
        run_git(top, "commit", "-q", "-m", "first")
        return Checkout(base, top, {**GIT_ENVIRONMENT, **environment})

    def start(self, **how: Any) -> Path:
        """Make the sandbox; gives its folder."""
        self.sandbox, _ = self.create(**how)
        return Path(self.sandbox.path)

    @property
    def real(self) -> Sandbox:
        return replace(self.sandbox, strategy=Strategy.IN_PLACE, path=str(self.top))

    def apply_order(self, merged: Files, message: str | None, **how: Any) -> ApplyOrder:
        theirs = self.kind.capture(self.sandbox, Watcher()).snapshot
        ours = self.in_place.capture(self.real, Watcher()).snapshot
        changed = self.store.difference(self.sandbox.base.roots[0], theirs.roots[0])
        order = ApplyOrder(
            sandbox=self.sandbox,
            real=self.real,
            base=self.sandbox.base,
            theirs=theirs,
            ours=ours,
            files=self.merged(merged),
            changed=changed,
            message=message,
            withdraws=None,
            included=frozenset(),
            at=AT,
        )
        return replace(order, **how)

    def merged(self, files: Files) -> Root:
        """What the working tree is to become: as it is now, but for these."""
        copy = self.base / "merged"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self.top, copy, symlinks=True, ignore=shutil.ignore_patterns(".mulligan"))
        write(copy, files)
        for folder, _, _ in os.walk(copy, topdown=False):
            if (
                folder != str(copy)
                and not os.listdir(folder)
                and not (self.top / Path(folder).relative_to(copy)).is_dir()
            ):
                os.rmdir(folder)
        return take(self.store, copy, ".git").roots[0]

    def apply(self, merged: Files, message: str | None = "what the plan did", **how: Any) -> Applied:
        order = self.apply_order(merged, message, **how)
        self.in_place.refuse_apply(order.real, commit=message is not None)
        composed = self.in_place.compose(order)
        self.in_place.restore(order.real, composed.snapshot, Watcher())
        return Applied(self.top, composed, self.in_place, order.real, order.ours)
