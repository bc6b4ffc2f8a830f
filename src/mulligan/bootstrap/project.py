"""A project in the hands of a caller: everything the commands do, as methods with typed answers."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mulligan.application.queries import CheckpointView, PlanLine, PlanStatus, views_of
from mulligan.bootstrap.services import Services
from mulligan.config import Entry, Source, parse_value, setting_named
from mulligan.domain.event import Event
from mulligan.domain.ids import PlanId
from mulligan.domain.plan import State
from mulligan.errors import UsageWrong
from mulligan.ports import Observer

if TYPE_CHECKING:
    from mulligan.application.checkpoint_library import ExportedFolder, Verification
    from mulligan.application.plan_executor import Execution
    from mulligan.application.prune_service import Pruning
    from mulligan.application.rollback_service import Rollback
    from mulligan.application.sweep_service import SweepReport
    from mulligan.bootstrap.tools import Tools
    from mulligan.domain.diff import Diff
    from mulligan.domain.history_tree import TreeNode

_LARGEST_PLAN_FILE = 1024 * 1024  # bytes; the reader refuses more, with a place


class Project:
    """A folder with a project home, and all that can be done in it."""

    def __init__(self, *, services: Services, observer: Observer) -> None:
        """Tell this observer what goes on."""
        self._services = services
        self._observer = observer
        self.checkpoints = Checkpoints(services=services, observer=observer)
        self.config = Configuration(services=services)

    @property
    def folder(self) -> Path:
        """The project folder."""
        return self._services.folder

    @property
    def database(self) -> Path:
        """The file that plans and checkpoints are recorded in."""
        return self._services.database_path

    @property
    def tools(self) -> "Tools":
        """The tools that plans of this project can use."""
        from mulligan.bootstrap.tools import Tools

        return Tools(toolbox=self._services.toolbox)

    def prepare(self) -> None:
        """Open the database, which makes it or brings it up to date."""
        with self._services.database.reading():
            pass

    def create(self, file: Path) -> PlanStatus:
        """Read, check and record a plan file; nothing runs."""
        return self.status(self._create(file))

    def execute(self, plan: str | Path) -> PlanStatus:
        """Run a plan file, or run on with a recorded plan, to its end or to the step that fails."""
        return self.run(plan)[0]

    def run(self, plan: str | Path) -> "tuple[PlanStatus, Execution]":
        """As `execute`, with what stopped the plan, if something did."""
        plan_id = self._create(plan) if isinstance(plan, Path) else self._plan_id(plan)
        execution = self._services.executor.execute(plan_id, self._observer)
        return self._services.queries.status(plan_id, execution.resumed_from), execution

    def status(self, plan: str) -> PlanStatus:
        """Where a plan stands."""
        return self._services.queries.status(self._plan_id(plan), None)

    def plans(self, state: State | None = None) -> Sequence[PlanLine]:
        """All plans, oldest first."""
        return self._services.queries.plans(state)

    def log(self, plan: str) -> Sequence[Event]:
        """All that happened to a plan, in order."""
        return self._services.queries.log(self._plan_id(plan))

    def tree(self, plan: str, *, superseded: bool = False) -> "TreeNode":
        """A plan's decisions and checkpoints as a tree; superseded ones on request."""
        return self._services.queries.tree(self._plan_id(plan), superseded=superseded)

    def diff(
        self, plan: str, *, old: str | None = None, new: str | None = None, binary: bool = False
    ) -> "Diff":
        """What differs between two checkpoints of a plan; unless told its first live group and its newest."""
        return self._services.diffs.of_plan(self._plan_id(plan), old, new, binary=binary)

    def rollback(self, plan: str, checkpoint: str, *, dry_run: bool = False) -> "Rollback":
        """Bring a plan back, or forward, to one of its checkpoint groups."""
        rollbacks = self._services.rollbacks
        act = rollbacks.preview if dry_run else rollbacks.rollback
        return act(self._plan_id(plan), checkpoint, self._observer)

    def cancel(self, plan: str, reason: str | None = None) -> PlanStatus:
        """End a plan for good."""
        plan_id = self._plan_id(plan)
        self._services.plans.cancel(plan_id, reason, self._observer)
        return self.status(plan_id)

    def gc(self, *, dry_run: bool = False) -> "SweepReport":
        """Free all that no plan refers to any more, while others run."""
        return self._services.sweeps.sweep(dry_run=dry_run, observer=self._observer)

    def _plan_id(self, word: str) -> PlanId:
        return self._services.queries.plan_id(word)

    def _create(self, file: Path) -> PlanId:
        from mulligan.planfile import read_plan_file  # here: only plan files need a YAML parser

        try:
            with file.open("rb") as stream:
                data = stream.read(_LARGEST_PLAN_FILE + 1)
        except OSError as exc:
            raise UsageWrong(
                reason=f"{file}: {exc.strerror or exc}", hint="name a plan file that can be read"
            ) from exc
        definition = read_plan_file(
            data,
            file=str(file),
            project=self.folder,
            declarations=self._services.known_tools,
            default_resource=self._services.default_resource,
        )
        return self._services.plans.create(definition)


class Checkpoints:
    """The checkpoints of a project."""

    def __init__(self, *, services: Services, observer: Observer) -> None:
        """Tell this observer what goes on."""
        self._services = services
        self._observer = observer

    def list(self, plan: str, *, superseded: bool = False) -> Sequence[CheckpointView]:
        """A plan's checkpoints, newest last."""
        queries = self._services.queries
        return queries.checkpoints(queries.plan_id(plan), superseded=superseded)

    def show(self, checkpoint: str) -> Sequence[CheckpointView]:
        """One checkpoint, or those of a group."""
        found = self._services.queries.find_checkpoint(checkpoint)
        views = views_of(found.group)
        if found.checkpoint is None:
            return views
        return [v for v in views if v.checkpoint_id == found.checkpoint.checkpoint_id]

    def create(self, plan: str, label: str) -> Sequence[CheckpointView]:
        """Take a labelled group of a plan that nobody works on."""
        plan_id = self._services.queries.plan_id(plan)
        return views_of(self._services.library.create(plan_id, label, self._observer))

    def verify(self, checkpoint: str | None = None, *, quick: bool = False) -> "Verification":
        """Read and hash the stored bytes of one checkpoint or of all."""
        found = self._services.queries.find_checkpoint(checkpoint) if checkpoint is not None else None
        return self._services.library.verify(found, quick=quick, observer=self._observer)

    def prune(self, plan: str, *, keep: int | None = None, dry_run: bool = False) -> "Pruning":
        """Prune a plan's groups to so many, or to the limit of its settings, and free their bytes."""
        plan_id, prunes = self._services.queries.plan_id(plan), self._services.prunes
        return prunes.preview(plan_id, keep) if dry_run else prunes.prune(plan_id, keep, self._observer)

    def delete(self, checkpoint: str) -> "Pruning":
        """Delete the group of a checkpoint, unless it must stay."""
        found = self._services.queries.find_checkpoint(checkpoint)
        return self._services.prunes.delete(found.group, self._observer)

    def restore(self, checkpoint: str, to: Path) -> "Sequence[ExportedFolder]":
        """Write a checkpoint's files into a new folder; of a group, one folder per resource."""
        found = self._services.queries.find_checkpoint(checkpoint)
        return self._services.library.export(found, to, self._observer)

    def diff(self, old: str, new: str, *, binary: bool = False) -> "Diff":
        """What differs between two checkpoints or groups, of one plan or of two."""
        return self._services.diffs.between(old, new, binary=binary)


class Configuration:
    """The settings of a project."""

    def __init__(self, *, services: Services) -> None:
        """Change the project's own file."""
        self._services = services

    def list(self) -> Sequence[Entry]:
        """Every setting with its value and where it comes from."""
        return self._services.shown_settings()

    def get(self, key: str) -> Entry:
        """One setting."""
        name = setting_named(key, Source.COMMAND_LINE).key
        return next(entry for entry in self.list() if entry.key == name)

    def set(self, key: str, value: str) -> Entry:
        """Set a key for this project, if the value is one it can have."""
        from mulligan.adapters.settings import set_setting

        parsed = parse_value(key, value, Source.COMMAND_LINE)
        set_setting(self._services.settings_file, Source.PROJECT_FILE, key, parsed)
        return self.get(key)

    def unset(self, key: str) -> bool:
        """Forget a key of this project; tells whether it was set."""
        from mulligan.adapters.settings import unset_setting

        return unset_setting(self._services.settings_file, Source.PROJECT_FILE, key)
