"""The operations of the HTTP API that only look: their addresses, their parameters and what they answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from msgspec import Meta, Struct

from mulligan.api.document import Reply
from mulligan.api.project import Project
from mulligan.api.project_checkpoints import Checkpoints
from mulligan.api.replies import calls_reply, tried_reply
from mulligan.domain.history.timeline_entry import DeedKind
from mulligan.errors import UsageWrong

if TYPE_CHECKING:
    from mulligan.domain.trees.diff import Diff

_Word: TypeAlias = Annotated[str, Meta(min_length=1, max_length=1000)]
_Plan: TypeAlias = Annotated[_Word, Meta(description="The name of a plan, such as `tune`.")]
_Path: TypeAlias = Annotated[
    str, Meta(min_length=1, max_length=4096, description="From the top of the folder.")
]
_Limit: TypeAlias = Annotated[int, Meta(ge=1, le=1000, description="At most so many, the newest.")]
_Number: TypeAlias = Annotated[int, Meta(ge=1, description="The number of an entry of the timeline.")]


class LookParameters(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The parameters of a look."""


class OfTimeline(LookParameters, frozen=True, kw_only=True):
    """The parameters of `timeline`."""

    limit: _Limit = 50
    before: Annotated[int, Meta(ge=1, description="Entries with a lower number.")] | None = None
    kind: Annotated[DeedKind | None, Meta(description="Of this kind.")] = None
    agent: Annotated[_Word, Meta(description="By this agent, or of this plan.")] | None = None
    path: Annotated[_Path, Meta(description="That changed this path, or what is in it.")] | None = None
    found: Annotated[bool, Meta(description="Only what changed outside of any call of an agent.")] = False


class OfEntry(LookParameters, frozen=True, kw_only=True):
    """The parameters of `entry`."""

    number: _Number


class OfPlans(LookParameters, frozen=True, kw_only=True):
    """The parameters of `plans`."""

    limit: _Limit = 50
    waiting: Annotated[bool, Meta(description="Only those that wait for someone.")] = False


class OfPlan(LookParameters, frozen=True, kw_only=True):
    """The parameters of looks at one plan."""

    plan: _Plan


class OfLog(OfPlan, frozen=True, kw_only=True):
    """The parameters of `log`."""

    limit: _Limit = 200
    after: Annotated[int, Meta(ge=0, description="Events after this sequence number.")] = 0


class OfCheckpoints(OfPlan, frozen=True, kw_only=True):
    """The parameters of `checkpoints`."""

    limit: _Limit = 100
    superseded: Annotated[bool, Meta(description="Those too that were left behind by going back.")] = False


class OfDiff(LookParameters, frozen=True, kw_only=True):
    """The parameters of `diff`: a plan, an entry, or two checkpoints."""

    plan: _Plan | None = None
    entry: _Number | None = None
    old: Annotated[_Word, Meta(description="A checkpoint.")] | None = None
    new: Annotated[_Word, Meta(description="A later checkpoint.")] | None = None
    path: _Path | None = None
    hidden: Annotated[bool, Meta(description="What `sandbox.hide` matches, too.")] = False


class OfTree(LookParameters, frozen=True, kw_only=True):
    """The parameters of `tree`."""

    checkpoint: Annotated[_Word, Meta(description="A checkpoint: `tune@3`, a label, or an id.")]
    path: _Path = "."


class OfConflict(OfPlan, frozen=True, kw_only=True):
    """The parameters of `conflict`."""

    path: _Path


class Look(Struct, frozen=True, kw_only=True):
    """An operation that only looks."""

    name: str  # in addresses
    about: str
    parameters: type[LookParameters]
    look: Callable[[Project, Any], Reply]
    answers: Callable[..., Any]  # the operation whose type of result it answers with, alone or
    within: str | None = None  # as a member of an object, under this name


def _timeline(project: Project, wanted: OfTimeline) -> Reply:
    kinds = () if wanted.kind is None else (wanted.kind,)
    found = project.timeline_window(
        limit=wanted.limit,
        before=wanted.before,
        kinds=kinds,
        agent=wanted.agent,
        path=wanted.path,
        found=wanted.found,
    )
    return Reply(data=found)


def _entry(project: Project, wanted: OfEntry) -> Reply:
    entry = project.entry(wanted.number)
    calls = project.calls(wanted.number) if entry.kind is DeedKind.PROMPT else ()
    return calls_reply(entry, calls)


def _compared(project: Project, wanted: OfDiff) -> Diff:
    paths = (wanted.path,) if wanted.path else ()
    folder = project.folder if paths else None
    if wanted.entry is not None:
        return project.diff_of_entry(wanted.entry, hidden=wanted.hidden, paths=paths, folder=folder)
    if wanted.plan is not None:
        return project.diff(
            wanted.plan, old=wanted.old, new=wanted.new, hidden=wanted.hidden, paths=paths, folder=folder
        )
    if wanted.old is None or wanted.new is None:
        raise UsageWrong(reason="two points are compared", hint="name `old` and `new`, a plan, or an entry")
    old, new = (project.checkpoints.named(word) for word in (wanted.old, wanted.new))
    return project.checkpoints.diff(old, new, hidden=wanted.hidden, paths=paths, folder=folder)


_LOOKS = (
    Look(
        name="timeline",
        about="What was done in the folder, newest first, and what changed between that outside of any call.",
        parameters=OfTimeline,
        look=_timeline,
        answers=Project.timeline_window,
    ),
    Look(
        name="entry",
        about="One entry of the timeline, and the calls of an agent that it is about.",
        parameters=OfEntry,
        look=_entry,
        answers=Project.entry,
        within="entry",
    ),
    Look(
        name="plans",
        about="The plans, oldest first.",
        parameters=OfPlans,
        look=lambda project, w: Reply(data={"plans": project.plans(limit=w.limit, waiting=w.waiting)}),
        answers=Project.plans,
        within="plans",
    ),
    Look(
        name="status",
        about="The status of a plan.",
        parameters=OfPlan,
        look=lambda project, wanted: Reply(data=project.status(wanted.plan)),
        answers=Project.status,
    ),
    Look(
        name="progress",
        about="The progress of a plan and its child plans; cheap enough to poll.",
        parameters=OfPlan,
        look=lambda project, wanted: Reply(data=project.progress(wanted.plan)),
        answers=Project.progress,
    ),
    Look(
        name="log",
        about="The events of a plan, in order.",
        parameters=OfLog,
        look=lambda project, w: Reply(data={"events": project.log(w.plan, limit=w.limit, after=w.after)}),
        answers=Project.log,
        within="events",
    ),
    Look(
        name="outputs",
        about="All that was recorded of what the steps of a plan printed.",
        parameters=OfPlan,
        look=lambda project, wanted: Reply(data={"outputs": project.outputs(wanted.plan)}),
        answers=Project.outputs,
        within="outputs",
    ),
    Look(
        name="checkpoints",
        about="The checkpoints of a plan, newest last.",
        parameters=OfCheckpoints,
        look=lambda project, w: Reply(
            data={"checkpoints": project.checkpoints.list(w.plan, superseded=w.superseded, limit=w.limit)}
        ),
        answers=Checkpoints.list,
        within="checkpoints",
    ),
    Look(
        name="diff",
        about="What differs between two checkpoints, or what a plan or an entry changed, with a patch.",
        parameters=OfDiff,
        look=lambda project, wanted: Reply(data=_compared(project, wanted)),
        answers=Project.diff,
    ),
    Look(
        name="tree",
        about="What a checkpoint holds in a folder.",
        parameters=OfTree,
        look=lambda project, w: Reply(
            data=project.list_tree(project.checkpoints.named(w.checkpoint), w.path)
        ),
        answers=Project.list_tree,
    ),
    Look(
        name="conflict",
        about="A file in conflict: what both sides began with, what each made of it, and what the sandbox has.",
        parameters=OfConflict,
        look=lambda project, wanted: Reply(data=project.conflict_file(wanted.plan, wanted.path)),
        answers=Project.conflict_file,
    ),
    Look(
        name="variants",
        about="A try with its variants.",
        parameters=OfPlan,
        look=lambda project, wanted: tried_reply(project.variants(wanted.plan)),
        answers=Project.variants,
    ),
    Look(
        name="gc",
        about="What `gc` would free, and what sandboxes keep.",
        parameters=LookParameters,
        look=lambda project, _: Reply(data=project.gc(dry_run=True)),
        answers=Project.gc,
    ),
)

LOOKS = {look.name: look for look in _LOOKS}
