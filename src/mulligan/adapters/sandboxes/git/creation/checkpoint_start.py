"""Starting a repository of checkpoints: what it must know before there are pins, and its first commit."""

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from msgspec.structs import replace

from mulligan.adapters.sandboxes.git.checkpoints.checkpoint_commits import start_from
from mulligan.adapters.sandboxes.git.creation.first_commit import begin, copy_objects
from mulligan.adapters.sandboxes.git.repository.bare_repository import BareRepository, Memory
from mulligan.adapters.sandboxes.git.repository.user_repository import Repository


def make_anew(bare: BareRepository, repository: Repository, pins: str, lenders: Iterable[Path]) -> None:
    """Make it, empty, with the knowledge where its pins are."""
    bare.make(repository)
    bare.remember(
        Memory(
            object_format=repository.object_format,
            prefix=pins,
            lenders=tuple(str(lender) for lender in lenders),
            links=(),
            collected=0,
            path=str(bare.path),
        )
    )


def commit_start(
    bare: BareRepository, repository: Repository, top: Path, index: Path, had: tuple[str, ...]
) -> None:
    """Commit the working tree at `top` with that index; trees in `had` are borrowed, the rest is its own."""
    own = bare.path / "index"
    if index.is_file():
        shutil.copyfile(index, own)
    started = begin(bare.git, repository, top, own)
    own.unlink(missing_ok=True)
    copy_objects(bare.git, (started.tree,), had, bare.path / "objects")
    bare.remember(replace(bare.memory, links=tuple(map(os.fsdecode, started.links))))
    start_from(bare, bytes.fromhex(started.tree))
