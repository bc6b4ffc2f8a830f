"""The outcome of an act, or of its preview: the reply, a sentence, and the paths that it touches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING

from msgspec import Struct, json

from mulligan.api.document import Reply, encode

if TYPE_CHECKING:
    from mulligan.api.results import Application, PathRestores, RevertedChange


class Touched(Struct, frozen=True, kw_only=True):
    """One path, or one plan, that an act touches."""

    action: str
    where: str  # a resource
    name: str


class ActOutcome(Struct, frozen=True, kw_only=True):
    """An act that was done, or what it would do."""

    reply: Reply
    says: str  # one sentence
    touches: tuple[Touched, ...] = ()
    hidden: int = 0  # caches that it touches, too
    plan: str | None = None  # that it is about
    notes: tuple[str, ...] = ()  # what else a reader should know
    entry: int | None = None  # of the timeline, that it takes back or brings back
    result: str | None = None  # names the contents that it brings

    @property
    def seen(self) -> str:
        """Return a digest of what a reader sees: what is agreed to is what is done."""
        return sha256(
            json.encode(encode([self.says, self.touches, self.hidden, self.notes, self.result]))
        ).hexdigest()


def of_return(changes: Iterable[RevertedChange]) -> tuple[Touched, ...]:
    """Return the paths that a return changes, but for caches."""
    return tuple(
        Touched(action=str(each.action), where=each.resource, name=each.about or each.file)
        for each in changes
        if not each.hidden
    )


def of_application(done: Application) -> tuple[Touched, ...]:
    """Return the real paths that an apply or unapply changes, and the commits that it makes."""
    commits = [
        Touched(action="commit", where=each.resource, name=each.subject)
        for each in done.applied
        if each.subject is not None
    ]
    paths = [Touched(action=str(f.status), where=f.resource, name=f.path) for f in done.files]
    folders = [Touched(action=str(f.status), where=f.resource, name=f"{f.path}/") for f in done.folders]
    conflicts = [Touched(action="conflict", where=c.resource, name=c.path) for c in done.conflicts]
    return (*commits, *conflicts, *paths, *folders)


def of_restores(done: PathRestores) -> tuple[Touched, ...]:
    """Return the paths that a restore of paths changes."""
    return tuple(
        Touched(action=str(change.action), where=change.resource, name=change.path)
        for each in done.restores
        for change in each.changes
    )


def plans_named(action: str, names: Sequence[str]) -> tuple[Touched, ...]:
    """Return plans that an act touches as a whole."""
    return tuple(Touched(action=action, where="plan", name=name) for name in names)
