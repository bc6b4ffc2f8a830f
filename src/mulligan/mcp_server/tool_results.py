"""The results of the tools; the schemas that clients see are made of these types.

Names of checkpoints are words that every tool takes, such as `tune@3`. Of long lists only the first are there, with the
number of all.
"""

from msgspec import Struct


class Checkpoint(Struct, frozen=True, kw_only=True):
    """A moment to which files can go back."""

    checkpoint: str
    resources: list[str]
    taken: str  # the reason
    label: str | None
    created_at: str
    superseded: bool


class Entry(Struct, frozen=True, kw_only=True):
    """Something that was done in the folder: a prompt, a run, a step, an apply, a restore."""

    entry: int
    kind: str
    title: str
    plan: str
    status: str
    before: str | None
    after: str | None
    files: int | None
    undone: bool
    created_at: str


class CheckpointList(Struct, frozen=True, kw_only=True):
    """The checkpoints of a plan, newest last, and the newest entries of all plans, newest first."""

    plan: str | None
    checkpoints: list[Checkpoint]
    older_checkpoints: int
    entries: list[Entry]
    older_entries: int


class ChangedPath(Struct, frozen=True, kw_only=True):
    """A path that differs, or is changed."""

    path: str
    change: str
    resource: str
    insertions: int | None = None
    deletions: int | None = None


class ChangesShown(Struct, frozen=True, kw_only=True):
    """A comparison of two checkpoints; `next_offset` continues the patch where it is long."""

    from_checkpoint: str
    to_checkpoint: str
    paths: list[ChangedPath]
    paths_total: int
    patch: str
    offset: int
    next_offset: int | None
    patch_bytes: int
    hidden: int
    messages: list[str]


class Labelled(Struct, frozen=True, kw_only=True):
    """A checkpoint that was taken."""

    checkpoints: list[Checkpoint]
    messages: list[str]


class Returned(Struct, frozen=True, kw_only=True):
    """Files that went back, or would; `kept` is the checkpoint of what was there."""

    what: str
    dry_run: bool
    paths: list[ChangedPath]
    paths_total: int
    kept: list[str]
    messages: list[str]


class CommandResult(Struct, frozen=True, kw_only=True):
    """A command that ran in a sandbox; the real files are as they were."""

    plan: str
    state: str
    exit_status: int | None
    stdout: str
    stderr: str
    stdout_omitted: int
    stderr_omitted: int
    paths: list[ChangedPath]
    paths_total: int
    checkpoint: str | None
    error: str | None
    messages: list[str]


class Variant(Struct, frozen=True, kw_only=True):
    """One variant; `plan` has its files."""

    variant: str
    plan: str
    passed: bool
    exit_status: int | None
    check_exit_status: int | None
    files: int | None
    insertions: int | None
    deletions: int | None
    duration_ms: int | None


class VariantList(Struct, frozen=True, kw_only=True):
    """Variants that ran beside each other, each in a sandbox of its own."""

    plan: str
    state: str
    passed: int
    variants: list[Variant]
    error: str | None
    next_step: str
    messages: list[str]


class Applied(Struct, frozen=True, kw_only=True):
    """A result that is in the real files now, or would be."""

    plan: str
    state: str
    dry_run: bool
    paths: list[ChangedPath]
    paths_total: int
    commits: list[str]
    messages: list[str]
