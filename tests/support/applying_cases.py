"""Cases of applying to a git checkout: what a user has, what a plan does, and what becomes of both."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.applying_world import Files, lines, write
from tests.support.git_world import run_git

Act = Callable[[Path], object]
START: Files = {"text": lines(), "other": "other\n", ".gitignore": "*.log\n", "folder/inner": "inner\n"}
SAME = lines()


def nothing(_: Path) -> None:
    """Nobody does anything."""


def writes(**files: str | bytes | None) -> Act:
    return lambda top: write(top, files)


def stages(**files: str | None) -> Act:
    def act(top: Path) -> None:
        write(top, files)
        run_git(top, "add", "-A", "--", *files)

    return act


def then(*acts: Act) -> Act:
    return lambda top: [act(top) for act in acts]


def git(*words: str) -> Act:
    return lambda top: run_git(top, *words)


@dataclass(frozen=True)
class Case:
    """What the user had, what the plan did, what the user did meanwhile, and what comes of it."""

    plan: Act
    working: Files  # that differ from what the user has then
    head: Files = field(default_factory=dict[str, str])
    index: Files = field(default_factory=dict[str, str])
    status: Sequence[str] = ()
    uncommitted: Sequence[str] = ()
    without_commit: Sequence[str] = ()  # the status after --no-commit
    before: Act = nothing
    meanwhile: Act = nothing
    commits: bool = True


PLANNED = lines("9 plan")
CASES: dict[str, Case] = {
    "clean": Case(
        plan=writes(text=PLANNED),
        working={"text": PLANNED},
        head={"text": PLANNED},
        index={"text": PLANNED},
        without_commit=[" M text"],
    ),
    "staged": Case(
        before=stages(text=lines("2 mine")),
        plan=writes(text=lines("2 mine", "9 plan")),
        working={"text": lines("2 mine", "9 plan")},
        head={"text": PLANNED},
        index={"text": lines("2 mine", "9 plan")},
        status=["M  text"],
        without_commit=["MM text"],
    ),
    "unstaged": Case(
        before=writes(text=lines("2 mine")),
        plan=writes(text=lines("2 mine", "9 plan")),
        working={"text": lines("2 mine", "9 plan")},
        head={"text": PLANNED},
        index={"text": PLANNED},
        status=[" M text"],
        without_commit=[" M text"],
    ),
    "both": Case(
        before=then(stages(text=lines("2 staged")), writes(text=lines("2 staged", "5 unstaged"))),
        plan=writes(text=lines("2 staged", "5 unstaged", "9 plan")),
        working={"text": lines("2 staged", "5 unstaged", "9 plan")},
        head={"text": PLANNED},
        index={"text": lines("2 staged", "9 plan")},
        status=["MM text"],
        without_commit=["MM text"],
    ),
    "staged meanwhile": Case(
        plan=writes(text=PLANNED),
        meanwhile=stages(text=lines("2 mine")),
        working={"text": lines("2 mine", "9 plan")},
        head={"text": PLANNED},
        index={"text": lines("2 mine", "9 plan")},
        status=["M  text"],
        without_commit=["MM text"],
    ),
    "built on unstaged lines": Case(
        before=writes(text=lines("9 mine")),
        plan=writes(text=lines("9 mine, and the plan's"), other="plan\n"),
        working={"text": lines("9 mine, and the plan's"), "other": "plan\n"},
        head={"text": SAME, "other": "plan\n"},
        index={"text": SAME, "other": "plan\n"},
        status=[" M text"],
        uncommitted=["text: it builds on what you have not committed there"],
        without_commit=[" M other", " M text"],
    ),
    "built on staged lines": Case(
        before=stages(text=lines("9 mine")),
        plan=writes(text=lines("9 mine, and the plan's")),
        working={"text": lines("9 mine, and the plan's")},
        head={"text": SAME},
        index={"text": lines("9 mine")},
        status=["MM text"],
        uncommitted=["text: it builds on what you have not committed there"],
        without_commit=["MM text"],
        commits=False,
    ),
    "staged otherwise than it stands": Case(
        before=then(stages(text=lines("9 staged")), writes(text=SAME)),
        plan=writes(text=PLANNED),
        working={"text": PLANNED},
        head={"text": SAME},
        index={"text": lines("9 staged")},
        status=["MM text"],
        uncommitted=["text: it builds on what you have not committed there"],
        without_commit=["MM text"],
        commits=False,
    ),
    "untracked": Case(
        before=writes(notes=SAME),
        plan=writes(notes=PLANNED),
        working={"notes": PLANNED},
        head={"notes": None},
        index={"notes": None},
        status=["?? notes"],
        uncommitted=["notes: you had it untracked"],
        without_commit=["?? notes"],
        commits=False,
    ),
    "untracked, and deleted by the plan": Case(
        before=writes(notes=SAME),
        plan=writes(notes=None),
        working={"notes": None},
        head={"notes": None},
        uncommitted=["notes: you had it untracked"],
        commits=False,
    ),
    "untracked, and moved by the plan": Case(
        before=writes(notes=SAME),
        plan=writes(notes=None, moved=SAME),
        working={"notes": None, "moved": SAME},
        head={"moved": None},
        status=["?? moved"],
        uncommitted=["moved: you had it untracked"],
        without_commit=["?? moved"],
        commits=False,
    ),
    "new": Case(
        plan=writes(added="added\n"),
        working={"added": "added\n"},
        head={"added": "added\n"},
        index={"added": "added\n"},
        without_commit=["?? added"],
    ),
    "new on both sides, equal": Case(
        plan=writes(added="added\n"),
        meanwhile=writes(added="added\n"),
        working={},
        head={"added": None},
        index={"added": None},
        status=["?? added"],
        uncommitted=["added: you made the same change, and have not committed it"],
        without_commit=["?? added"],
        commits=False,
    ),
    "staged as new": Case(
        before=stages(added=SAME),
        plan=writes(added=PLANNED),
        working={"added": PLANNED},
        head={"added": None},
        index={"added": SAME},
        status=["AM added"],
        uncommitted=["added: it is staged and in no commit yet"],
        without_commit=["AM added"],
        commits=False,
    ),
    "staged as new, and deleted by the plan": Case(
        before=stages(added=SAME),
        plan=writes(added=None),
        working={"added": None},
        head={"added": None},
        index={"added": None},
        without_commit=["AD added"],
        commits=False,
    ),
    "announced": Case(
        before=then(writes(added=SAME), git("add", "-N", "added")),
        plan=writes(added=PLANNED),
        working={"added": PLANNED},
        head={"added": None},
        status=[" A added"],
        uncommitted=["added: you had it untracked"],
        without_commit=[" A added"],
        commits=False,
    ),
    "ignored": Case(
        before=lambda top: write(top, {"a.log": "mine\n"}),
        plan=lambda top: write(top, {"a.log": "plan\n", "b.log": "new\n", "other": "plan\n"}),
        working={"a.log": "plan\n", "b.log": "new\n", "other": "plan\n"},
        head={"a.log": None, "b.log": None, "other": "plan\n"},
        index={"a.log": None},
        status=["!! a.log", "!! b.log"],
        uncommitted=["a.log: git ignores it", "b.log: git ignores it"],
        without_commit=[" M other", "!! a.log", "!! b.log"],
    ),
    "ignored by what the plan adds": Case(
        plan=lambda top: write(top, {".gitignore": "*.log\nbuild/\n", "build/out": "out\n"}),
        working={".gitignore": "*.log\nbuild/\n", "build/out": "out\n"},
        head={".gitignore": "*.log\nbuild/\n", "build/out": None},
        status=["!! build/out"],
        uncommitted=["build/out: git ignores it"],
        without_commit=[" M .gitignore", "!! build/out"],
    ),
    "ignored and tracked": Case(
        before=then(lambda top: write(top, {"a.log": SAME}), git("add", "-f", "a.log"), git("commit", "-qm", "log")),
        plan=lambda top: write(top, {"a.log": PLANNED}),
        working={"a.log": PLANNED},
        head={"a.log": PLANNED},
        index={"a.log": PLANNED},
        without_commit=[" M a.log"],
    ),
    "moved out of an ignored folder": Case(
        before=lambda top: write(top, {"x.log": SAME}),
        plan=lambda top: write(top, {"x.log": None, "x": SAME}),
        working={"x.log": None, "x": SAME},
        head={"x": SAME},
        uncommitted=["x.log: git ignores it"],
        without_commit=["?? x"],
    ),
    "moved to where git ignores it": Case(
        plan=lambda top: write(top, {"text": None, "text.log": SAME}),
        working={"text": None, "text.log": SAME},
        head={"text": None, "text.log": None},
        index={"text": None},
        status=["!! text.log"],
        uncommitted=["text.log: git ignores it"],
        without_commit=[" D text", "!! text.log"],
    ),
    "deleted by the plan": Case(
        plan=writes(text=None),
        working={"text": None},
        head={"text": None},
        index={"text": None},
        without_commit=[" D text"],
    ),
    "deleted by the plan, with unstaged lines": Case(
        before=writes(text=lines("2 mine")),
        plan=writes(text=None),
        working={"text": None},
        head={"text": SAME},
        index={"text": SAME},
        status=[" D text"],
        uncommitted=["text: it builds on what you have not committed there"],
        without_commit=[" D text"],
        commits=False,
    ),
    "deleted on both sides": Case(
        plan=writes(text=None),
        meanwhile=writes(text=None),
        working={},
        head={"text": SAME},
        index={"text": SAME},
        status=[" D text"],
        uncommitted=["text: you made the same change, and have not committed it"],
        without_commit=[" D text"],
        commits=False,
    ),
    "deleted by the user before, made anew by the plan": Case(
        before=writes(text=None),
        plan=writes(text="anew\n"),
        working={"text": "anew\n"},
        head={"text": SAME},
        index={"text": SAME},
        status=[" M text"],
        uncommitted=["text: it builds on what you have not committed there"],
        without_commit=[" M text"],
        commits=False,
    ),
    "renamed by the plan": Case(
        plan=writes(text=None, renamed=PLANNED),
        working={"text": None, "renamed": PLANNED},
        head={"text": None, "renamed": PLANNED},
        index={"text": None, "renamed": PLANNED},
        without_commit=[" D text", "?? renamed"],
    ),
    "renamed by the plan, with unstaged lines": Case(
        before=writes(text=lines("2 mine")),
        plan=writes(text=None, renamed=lines("2 mine", "9 plan")),
        working={"text": None, "renamed": lines("2 mine", "9 plan")},
        head={"text": None, "renamed": PLANNED},
        index={"text": None, "renamed": PLANNED},
        status=[" M renamed"],
        without_commit=[" D text", "?? renamed"],
    ),
    "renamed by the plan, with staged lines": Case(
        before=stages(text=lines("2 mine")),
        plan=writes(text=None, renamed=lines("2 mine")),
        working={"text": None, "renamed": lines("2 mine")},
        head={"text": None, "renamed": SAME},
        index={"text": None, "renamed": lines("2 mine")},
        status=["M  renamed"],
        without_commit=["MD text", "?? renamed"],
    ),
    "renamed by the user, committed": Case(
        plan=writes(text=PLANNED),
        meanwhile=then(git("mv", "text", "renamed"), git("commit", "-qm", "renamed")),
        working={"renamed": PLANNED},
        head={"text": None, "renamed": PLANNED},
        index={"text": None, "renamed": PLANNED},
        without_commit=[" M renamed"],
    ),
    "renamed by the user, staged": Case(
        plan=writes(text=PLANNED),
        meanwhile=git("mv", "text", "renamed"),
        working={"renamed": PLANNED},
        head={"text": PLANNED, "renamed": None},
        index={"text": None, "renamed": PLANNED},
        status=["R  text -> renamed"],
        without_commit=["RM text -> renamed"],
    ),
    "renamed by the user, unstaged": Case(
        plan=writes(text=PLANNED),
        meanwhile=lambda top: (top / "text").rename(top / "renamed"),
        working={"renamed": PLANNED},
        head={"text": PLANNED, "renamed": None},
        index={"text": PLANNED, "renamed": None},
        status=[" D text", "?? renamed"],
        without_commit=[" D text", "?? renamed"],
    ),
    "the branch moved on": Case(
        plan=writes(text=PLANNED),
        meanwhile=then(writes(text=lines("2 mine")), git("commit", "-qam", "mine")),
        working={"text": lines("2 mine", "9 plan")},
        head={"text": lines("2 mine", "9 plan")},
        index={"text": lines("2 mine", "9 plan")},
        without_commit=[" M text"],
    ),
    "the user committed the same": Case(
        plan=writes(text=PLANNED),
        meanwhile=then(writes(text=PLANNED), git("commit", "-qam", "the same")),
        working={},
        head={"text": PLANNED},
        commits=False,
    ),
    "the plan committed what the user had not": Case(
        before=writes(text=lines("2 mine")),
        plan=git("commit", "-qam", "by the plan"),
        working={},
        head={"text": SAME},
        status=[" M text"],
        without_commit=[" M text"],
        commits=False,
    ),
    "a folder becomes a file": Case(
        plan=lambda top: write(top, {"folder/inner": None, "folder": "f\n"}),
        working={"folder/inner": None, "folder": "f\n"},
        head={"folder": "f\n"},
        index={"folder": "f\n"},
        without_commit=[" D folder/inner", "?? folder"],
    ),
    "a file becomes a folder": Case(
        plan=lambda top: write(top, {"other": None, "other/in": "in\n"}),
        working={"other": None, "other/in": "in\n"},
        head={"other/in": "in\n"},
        index={"other/in": "in\n"},
        without_commit=[" D other", "?? other/in"],
    ),
    "nothing": Case(plan=nothing, working={}, head={"text": SAME}, commits=False),
}  # fmt: skip
