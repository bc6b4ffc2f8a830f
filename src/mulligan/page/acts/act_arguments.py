"""The arguments of the acts; forms, and the schemas of the HTTP API, are made of these types.

Their fields are named as the parameters of the operations of `Project`, so that a next step can fill them in.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct

_Word: TypeAlias = Annotated[str, Meta(min_length=1, max_length=1000)]
_Line: TypeAlias = Annotated[str, Meta(max_length=5000)]
_Text: TypeAlias = Annotated[str, Meta(max_length=100_000)]
_Number: TypeAlias = Annotated[int, Meta(ge=1)]
_Plan: TypeAlias = Annotated[_Word, Meta(title="Plan", description="The name of a plan, such as `tune`.")]
_OntoBranch: TypeAlias = Annotated[
    bool,
    Meta(
        title="Also on another branch",
        description="Act on the branch that a checkout is on now, although it was switched since.",
    ),
]
_Paths: TypeAlias = Annotated[
    tuple[Annotated[str, Meta(min_length=1, max_length=4096)], ...],
    Meta(title="Paths", max_length=1000, description="Paths from the top of the project folder."),
]


_Agreed: TypeAlias = Annotated[
    int | None,
    Meta(
        title="Agreed", description="The entry of a preview: if it would be another one now, nothing is done."
    ),
]

_Result: TypeAlias = Annotated[
    str | None,
    Meta(
        title="Agreed",
        description="The `result_id` of a preview: if the plan has another result now, nothing is done.",
    ),
]


class ActArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments of an act."""


class Undo(ActArguments, frozen=True, kw_only=True):
    """The arguments of `undo`."""

    what: Annotated[
        _Word | None,
        Meta(title="Entry or plan", description="The number of an entry, or a plan; else the newest."),
    ] = None
    only: Annotated[
        tuple[_Word, ...],
        Meta(
            title="Only",
            max_length=100,
            description="Sessions, prompts (3) and calls (3.2) of agents: what they did goes, what others did stays.",
        ),
    ] = ()
    keep_commits: Annotated[
        bool,
        Meta(
            title="Keep commits",
            description="Of what was done in place, change files only: the branch stays.",
        ),
    ] = False
    end_processes: Annotated[
        bool,
        Meta(
            title="End processes", description="First end the processes that calls of an agent left running."
        ),
    ] = False
    onto_branch: _OntoBranch = False
    agreed: _Agreed = None


class Redo(ActArguments, frozen=True, kw_only=True):
    """The arguments of `redo`."""

    onto_branch: _OntoBranch = False
    agreed: _Agreed = None


class Rollback(ActArguments, frozen=True, kw_only=True):
    """The arguments of `rollback`."""

    plan: _Plan
    checkpoint: Annotated[
        _Word,
        Meta(title="Checkpoint", description="A number such as `@3`, a label, `first`, `latest` or an id."),
    ]


class RestorePaths(ActArguments, frozen=True, kw_only=True):
    """The arguments of `restore_paths`."""

    paths: _Paths = ()
    checkpoint: Annotated[
        _Word | None,
        Meta(
            title="Checkpoint",
            description="Where they come from; else the newest that would change each path.",
        ),
    ] = None
    entry: Annotated[
        _Number | None,
        Meta(
            title="Entry",
            description="Take them from right after this entry; no paths: all that it changed.",
        ),
    ] = None
    sandbox: Annotated[
        bool,
        Meta(
            title="Into the sandbox",
            description="Into that of the checkpoint's plan, not the real folder.",
        ),
    ] = False
    delete: Annotated[
        bool, Meta(title="Also remove", description="Remove what the checkpoint does not have.")
    ] = False


class Resume(ActArguments, frozen=True, kw_only=True):
    """The arguments of `resume`."""

    plan: _Plan
    start: Annotated[
        _Word | None, Meta(title="From checkpoint", description="Go there first; else to the last good one.")
    ] = None
    take_over: Annotated[
        bool, Meta(title="Take over", description="Take the plan from a process that hangs, which is ended.")
    ] = False


class Correct(ActArguments, frozen=True, kw_only=True):
    """The arguments of `correct`."""

    decision: Annotated[_Word, Meta(title="Decision", description="A decision, such as `tune/d1`.")]
    mode: Annotated[
        Literal["revert", "append"],
        Meta(title="Mode", description="Take back all that followed from it, or append work to it."),
    ] = "revert"
    choose: Annotated[_Line | None, Meta(title="New choice", description="What to choose instead.")] = None
    guidance: Annotated[
        _Text | None,
        Meta(title="Guidance", description="Instructions for the steps from now on."),
    ] = None
    execute: Annotated[
        bool, Meta(title="Run on", description="Run the plan on at once; otherwise it waits to be resumed.")
    ] = True


class Resolve(ActArguments, frozen=True, kw_only=True):
    """The arguments of `resolve`."""

    plan: _Plan
    paths: Annotated[_Paths, Meta(description="The conflicts that are solved; none: all.")] = ()


class ResolveWith(ActArguments, frozen=True, kw_only=True):
    """The arguments of `resolve_with`."""

    plan: _Plan
    path: Annotated[_Word, Meta(title="Path", description="A file in conflict, as `status` names it.")]
    content: Annotated[
        Annotated[str, Meta(max_length=1 << 20)] | None,
        Meta(title="Content", description="What the file is to become, with its line ends."),
    ] = None
    remove: Annotated[bool, Meta(title="Remove", description="Remove the file instead.")] = False
    seen: Annotated[
        _Word | None,
        Meta(description="That of the `conflict` which was edited; refused where the sandbox has another."),
    ] = None


class Accept(ActArguments, frozen=True, kw_only=True):
    """The arguments of `accept`."""

    plan: _Plan
    at: Annotated[
        _Word | None, Meta(title="At checkpoint", description="As it was there; else as it is now.")
    ] = None


class AnswerQuestion(ActArguments, frozen=True, kw_only=True):
    """The arguments of `answer`."""

    plan: _Plan
    choice: Annotated[str, Meta(title="Choice", min_length=1, max_length=10_000, description="The answer.")]
    rationale: Annotated[_Text | None, Meta(title="Because", description="Why.")] = None


class Apply(ActArguments, frozen=True, kw_only=True):
    """The arguments of `apply`."""

    plan: _Plan
    commit: Annotated[
        bool | None,
        Meta(title="Commit", description="Make a commit of it; else as the setting apply.commit says."),
    ] = None
    message: Annotated[_Text | None, Meta(title="Message", description="Of the commit; asks for one.")] = None
    include: Annotated[
        _Paths,
        Meta(title="Include", description="Paths in git directories, and hidden ones, to apply as well."),
    ] = ()
    onto_branch: _OntoBranch = False
    agreed: _Result = None


class Unapply(ActArguments, frozen=True, kw_only=True):
    """The arguments of `unapply`."""

    plan: _Plan
    onto_branch: _OntoBranch = False


class Cancel(ActArguments, frozen=True, kw_only=True):
    """The arguments of `cancel`."""

    plan: _Plan
    reason: Annotated[_Line | None, Meta(title="Reason", description="Why, for the log.")] = None


class PickVariant(ActArguments, frozen=True, kw_only=True):
    """The arguments of `pick_variant`."""

    variant: Annotated[
        _Word,
        Meta(title="Variant", description="Its handle, or its name in the newest try."),
    ]
    rationale: Annotated[_Text | None, Meta(title="Because", description="Why.")] = None


class Label(ActArguments, frozen=True, kw_only=True):
    """The arguments of `label`."""

    plan: _Plan
    label: Annotated[
        str, Meta(title="Label", min_length=1, max_length=200, description="The name of the new checkpoint.")
    ]


class RemovePlan(ActArguments, frozen=True, kw_only=True):
    """The arguments of `remove_plan`."""

    plan: _Plan


class CollectGarbage(ActArguments, frozen=True, kw_only=True):
    """The arguments of `gc`: there are none."""


class LookOver(ActArguments, frozen=True, kw_only=True):
    """The arguments of `doctor`: there are none."""
