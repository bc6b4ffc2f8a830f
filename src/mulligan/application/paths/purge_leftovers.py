"""Finds what a purge of paths does not reach: where the bytes still are, or may come from again."""

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from mulligan.application.checkpoints.project_sweep import SweepService
from mulligan.domain.checkpoints.checkpoint import CheckpointGroup
from mulligan.domain.plans.plan import Plan
from mulligan.domain.plans.tool import ToolCall
from mulligan.domain.resources.resource import Strategy
from mulligan.domain.text.json_value import Json
from mulligan.domain.trees.tree_difference import StoredContent
from mulligan.domain.views.printed import printed_in
from mulligan.errors import Advice, NextStep
from mulligan.ports import SandboxKinds, SnapshotStore
from mulligan.rows.database import Database

_NAMED = 5  # paths of one content that are listed
_LARGEST = 1024 * 1024  # bytes of a file that outputs are searched for, from its beginning
_TELLING = 12  # characters of a line that is not in an output by chance


class Remaining(Struct, frozen=True, kw_only=True):
    """A place that a purge leaves as it is."""

    what: str  # "real_folder", "sandbox", "git_objects", "commits", "outputs", "same_bytes" or "packs"
    handle: str | None  # of the plan that it belongs to
    path: str
    reason: str
    remedy: str


class Scoped(Protocol):
    """A plan, and the paths to purge in each of its resources."""

    @property
    def plan(self) -> Plan:
        """The plan."""
        ...

    @property
    def paths(self) -> Mapping[str, tuple[str, ...]]:
        """The paths by resource, relative to it."""
        ...


class PurgeLeftovers(Struct, kw_only=True, frozen=True, eq=False):
    """Looks for the paths and their bytes outside of what a purge rewrites."""

    project: Path
    database: Database
    store: SnapshotStore
    kinds: SandboxKinds
    sweeps: SweepService

    def elsewhere(self, paths: Sequence[str], scopes: Sequence[Scoped]) -> Iterator[Remaining]:
        """Yield the files of the real folder and of sandboxes: they are not checkpoints, and stay."""
        for path in paths:
            if os.path.lexists(self.project / path):
                yield Remaining(
                    what="real_folder",
                    handle=None,
                    path=path,
                    reason="the real folder has it: later plans keep it again in their checkpoints",
                    remedy="move it out of the project folder, if no plan needs it",
                )
        for scope in scopes:
            with self.database.reading() as db:
                sandboxes = db.sandboxes.list(scope.plan.plan_id)
            for sandbox in sandboxes:
                for inside in scope.paths.get(sandbox.resource, ()):
                    place = Path(sandbox.path) / inside
                    if sandbox.strategy is not Strategy.IN_PLACE and os.path.lexists(place):
                        yield Remaining(
                            what="sandbox",
                            handle=scope.plan.handle,
                            path=str(place),
                            reason="the sandbox has it; it is in no checkpoint of this plan from now on",
                            remedy=Advice(
                                "remove it there, or forget the plan: ",
                                NextStep("remove_plan", plan=scope.plan.handle),
                            ),
                        )

    def in_git(
        self, scope: Scoped, groups: Sequence[CheckpointGroup], contents: set[StoredContent]
    ) -> Iterator[Remaining]:
        """Yield the checkpoints whose git directory holds the bytes: they were committed or staged there."""
        for resource in scope.plan.definition.resources:
            if resource.name not in scope.paths or not contents:
                continue
            kind = self.kinds.choose(resource, Strategy.AUTO)
            by_snapshot = [(group, group.snapshot_of(resource.name)) for group in groups]
            hit = set(kind.holding((snapshot for _, snapshot in by_snapshot), contents))
            numbers = [f"@{group.number}" for group, snapshot in by_snapshot if snapshot in hit]
            if numbers:
                yield Remaining(
                    what="git_objects",
                    handle=scope.plan.handle,
                    path=", ".join(numbers),
                    reason="it was committed or staged there: the git directory in these checkpoints holds it",
                    remedy=Advice(
                        NextStep("remove_plan", plan=scope.plan.handle),
                        " forgets the plan with its checkpoints",
                    ),
                )

    def words_of(self, contents: Iterable[StoredContent]) -> set[bytes]:
        """Return what outputs are searched for: the text of each file, and its longer lines."""
        words: set[bytes] = set()
        for content in contents:
            text = self._beginning(content).strip()
            words |= {
                text,
                *(line for line in map(bytes.strip, text.splitlines()) if len(line) >= _TELLING),
            }
        return words - {b""}

    def _beginning(self, content: StoredContent) -> bytes:
        found = b""
        for piece in self.store.pieces(content):
            found += piece
            if len(found) >= _LARGEST:
                break
        return found[:_LARGEST]

    def in_outputs(self, words: Collection[bytes]) -> Iterator[Remaining]:
        """Yield the plans that recorded such a word: a step printed it, or has it among its arguments."""
        with self.database.reading() as db:
            plans = db.plans.list(None) if words else ()
            found = {
                plan.handle: dict.fromkeys(
                    call.step_name for call in db.tool_calls.each(plan.plan_id) if _holds(call, words)
                )
                for plan in plans
            }
        for handle, steps in found.items():
            if steps:
                yield Remaining(
                    what="outputs",
                    handle=handle,
                    path=", ".join(steps),
                    reason="the record of these steps, with what they printed, holds lines of it",
                    remedy=Advice(NextStep("remove_plan", plan=handle), " forgets the plan with its record"),
                )

    def same_bytes(self, contents: set[StoredContent]) -> Iterator[Remaining]:
        """Yield the contents that are stored all the same: other paths have them, or their packs may not go yet."""
        kept = set(self.store.kept_contents(contents))
        if not kept:
            return
        places: dict[StoredContent, set[str]] = {content: set() for content in kept}
        with self.store.hold():
            for root in {root for snapshot in self.sweeps.live() for root in snapshot.roots}:
                for item in self.store.items(root, ".", recursive=True):
                    if item.entry.content in places:
                        places[item.entry.content].add(item.path)
        if not all(places.values()):
            yield Remaining(
                what="packs",
                handle=None,
                path="store",
                reason="no checkpoint has it, and packs of the store still do: in a bucket they stay for "
                "`core.store.grace`, since other machines may be about to rely on them",
                remedy=Advice(
                    NextStep("gc"), " removes them: one half of that time from now, and one after it"
                ),
            )
        for found in filter(None, places.values()):
            names = sorted(found)
            more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
            yield Remaining(
                what="same_bytes",
                handle=None,
                path=", ".join(names[:_NAMED]) + more,
                reason="the same bytes are stored under other paths",
                remedy=Advice("forget those too: ", NextStep("forget", paths=tuple(names[:_NAMED]) or ...)),
            )


def _holds(call: ToolCall, words: Collection[bytes]) -> bool:
    printed = printed_in(call.detail, call.output)
    recorded = [] if printed is None else [printed.stdout, printed.stderr]
    recorded += [
        text.encode("utf-8", "surrogateescape") for text in _texts([call.output, *call.arguments.values()])
    ]
    recorded.append((call.error or "").encode("utf-8", "surrogateescape"))
    return any(word in text for text in recorded for word in words)


def _texts(value: Json) -> Iterator[str]:
    """Yield the texts in a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
