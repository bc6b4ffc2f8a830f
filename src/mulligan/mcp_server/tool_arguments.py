"""The arguments of the tools; the schemas that clients see are made of these types."""

from typing import Annotated, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType

_Word: TypeAlias = Annotated[str, Meta(min_length=1, max_length=1000)]
_Plan: TypeAlias = Annotated[_Word, Meta(description="The name of a plan, such as `tune`.")]
_Checkpoint: TypeAlias = Annotated[_Word, Meta(description="A checkpoint: `tune@3`, a label, or an id.")]
_Entry: TypeAlias = Annotated[
    int, Meta(ge=1, description="The number of an entry, as `list_checkpoints` lists them.")
]
_Path: TypeAlias = Annotated[str, Meta(min_length=1, max_length=4096)]
_DryRun: TypeAlias = Annotated[bool, Meta(description="Only report what would happen.")]
_OntoBranch: TypeAlias = Annotated[
    bool, Meta(description="Act on the branch that a checkout is on now, although it was switched since.")
]


class ListCheckpoints(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments of `list_checkpoints`."""

    plan: Annotated[_Word, Meta(description="Of this plan; else of the newest.")] | UnsetType = UNSET
    superseded: Annotated[bool, Meta(description="Those too that were left behind by going back.")] = False
    limit: Annotated[int, Meta(ge=1, le=200, description="At most so many, the newest.")] = 20


class ShowChanges(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments of `show_changes`."""

    plan: _Plan | UnsetType = UNSET
    entry: _Entry | UnsetType = UNSET
    from_checkpoint: _Checkpoint | UnsetType = UNSET
    to_checkpoint: _Checkpoint | UnsetType = UNSET
    paths: Annotated[
        list[_Path],
        Meta(max_length=200, description="Only what these match, from the top of the project folder."),
    ] = []
    offset: Annotated[
        int, Meta(ge=0, description="Continue the patch there: `next_offset` of the answer before.")
    ] = 0
    limit: Annotated[int, Meta(ge=1000, le=100_000, description="At most so many bytes of the patch.")] = (
        20_000
    )


class LabelCheckpoint(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments of `label_checkpoint`."""

    label: Annotated[str, Meta(min_length=1, max_length=200, description="The name of the checkpoint.")]
    plan: _Plan | UnsetType = UNSET


class RestoreFiles(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments of `restore_files`."""

    paths: Annotated[
        list[_Path],
        Meta(min_length=1, max_length=200, description="Paths from the top of the project folder."),
    ]
    checkpoint: (
        Annotated[_Word, Meta(description="Such as `tune@3`; else the newest that would change each path.")]
        | UnsetType
    ) = UNSET
    entry: _Entry | UnsetType = UNSET
    delete: Annotated[bool, Meta(description="Remove what the checkpoint does not have.")] = False
    dry_run: _DryRun = False


class Rewind(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments of `rewind`."""

    checkpoint: _Checkpoint | UnsetType = UNSET
    entry: _Entry | UnsetType = UNSET
    plan: _Plan | UnsetType = UNSET
    onto_branch: _OntoBranch = False
    dry_run: _DryRun = False


class RunInSandbox(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments of `run_in_sandbox`."""

    command: Annotated[
        list[Annotated[str, Meta(max_length=100_000)]],
        Meta(
            min_length=1,
            max_length=1000,
            description="A program and its words, taken literally; for a line of shell: sh, -c, the line.",
        ),
    ]
    plan: (
        Annotated[_Word, Meta(description="Run it as the next step of this plan, in the same sandbox.")]
        | UnsetType
    ) = UNSET
    name: Annotated[_Word, Meta(description="The name of the plan that is made.")] | UnsetType = UNSET
    keep: Annotated[bool, Meta(description="Keep what it did, whatever its exit status.")] = False


class TryVariants(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments of `try_variants`."""

    variants: Annotated[
        dict[Annotated[str, Meta(min_length=1, max_length=100)], Annotated[str, Meta(max_length=100_000)]],
        Meta(min_length=1, max_length=50, description="A line of shell for each variant, by its name."),
    ]
    check: (
        Annotated[_Word, Meta(description="A line of shell that exits with 0 where a variant passes.")]
        | UnsetType
    ) = UNSET
    from_checkpoint: (
        Annotated[_Word, Meta(description="Start from this one, such as `tune@3`; else from the real files.")]
        | UnsetType
    ) = UNSET
    timeout_seconds: Annotated[float, Meta(gt=0, description="How long each may take.")] | UnsetType = UNSET
    name: Annotated[_Word, Meta(description="The name of the plan that is made.")] | UnsetType = UNSET


class Apply(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments of `apply`."""

    plan: Annotated[_Word, Meta(description="Else the newest that can be applied.")] | UnsetType = UNSET
    commit: (
        Annotated[bool, Meta(description="Make a commit in a git checkout, or not; else as set there.")]
        | UnsetType
    ) = UNSET
    message: Annotated[_Word, Meta(description="The message of the commit.")] | UnsetType = UNSET
    onto_branch: _OntoBranch = False
    dry_run: _DryRun = False
