"""Projects with plans that have child plans."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mulligan.api.project import Project
from mulligan.domain.plans.event import Event
from tests.faults.projects import nothing, project_in

Steps = list[dict[str, Any]]


def shell(command: str, name: str | None = None) -> dict[str, Any]:
    """A step that runs a command."""
    step = {"tool": "shell", "args": {"command": command}}
    return step if name is None else {"name": name, **step}


def children(plans: Mapping[str, Steps], **options: Any) -> dict[str, Any]:
    """A step with child plans, called `parts`; `needs` says which depend on which."""
    needs: Mapping[str, list[str]] = options.pop("needs", {})
    listed = [
        {"name": name, "steps": steps} | ({"depends_on": needs[name]} if name in needs else {})
        for name, steps in plans.items()
    ]
    return {"name": "parts", "subplans": {**options, "plans": listed}}


class Family:
    """A project whose plan `p` has children, as one process after the other opens it."""

    def __init__(self, folder: Path) -> None:
        """Put a folder `d` there as the one resource, and a place for notes that no rollback takes back."""
        self.folder = folder
        self.notes = folder / "notes"
        self.real = folder / "d"
        self.real.mkdir()
        self.notes.mkdir()
        (self.real / "text").write_text("".join(f"line {number}\n" for number in range(1, 10)))

    def project(self, act: Callable[[Event], None] = nothing) -> Project:
        """The project as a new process opens it."""
        return project_in(self.folder, act)

    def write(self, *steps: dict[str, Any], **settings: Any) -> Path:
        """Write the plan file; settings as `a__b_c` for `a.b-c`."""
        policy = settings.pop("rollback_policy", None)
        document: dict[str, Any] = {
            "name": "p",
            "resources": settings.pop("resources", {"d": {"type": "fs-directory", "location": "d"}}),
            "config": {"sandbox.isolate": "off"}
            | {key.replace("__", ".").replace("_", "-"): value for key, value in settings.items()},
            "variables": {"notes": str(self.notes)},
            "steps": list(steps),
        }
        if policy is not None:
            document["rollback_policy"] = policy
        file = self.folder / "plan.yaml"
        file.write_text(json.dumps(document, indent=1))
        return file

    def sandbox(self, plan: str = "p") -> Path:
        """The working copy of a plan."""
        return Path(self.project().status(plan).sandboxes[0].path)

    def files(self, plan: str = "p") -> dict[str, str]:
        """What a plan's working copy holds."""
        top = self.sandbox(plan)
        return {str(p.relative_to(top)): p.read_text() for p in sorted(top.rglob("*")) if p.is_file()}

    def noted(self, name: str) -> list[str]:
        """The lines that steps wrote into a file of the notes."""
        file = self.notes / name
        return file.read_text().split() if file.exists() else []

    def states(self) -> dict[str, str]:
        """The state of every plan, by name; of several of one name the newest."""
        return {plan.name: f"{plan.phase}/{plan.state}" for plan in self.project().plans()}


NOTE = 'echo {0} >> "$MULLIGAN_VAR_NOTES/{1}"'


def note(word: str, file: str = "ran") -> str:
    """A command that writes a word where no rollback takes it back."""
    return NOTE.format(word, file)
