"""A project in the hands of a caller: everything the commands do, as methods with typed answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from mulligan.errors import Advice, NextStep, NothingToChoose, UsageWrong
from mulligan.wiring.thread_services import ThreadServices

if TYPE_CHECKING:
    from mulligan.api.operations.report_file import SavedReport
    from mulligan.api.project_checkpoints import Checkpoints
    from mulligan.api.project_settings import Configuration
    from mulligan.api.project_tools import Tools
    from mulligan.api.sessions.session import Session
    from mulligan.application.apply.apply_preparation import Application
    from mulligan.application.checkpoints.project_sweep import SweepReport
    from mulligan.application.corrections.correction_result import Corrected
    from mulligan.application.plans.plan_resume import ResumePreview
    from mulligan.application.queries.listing import Listing
    from mulligan.application.queries.plan_queries import PlanLine, PlanStatus
    from mulligan.application.queries.progress_queries import PlanProgress
    from mulligan.application.rollback.rollback_service import Rollback
    from mulligan.application.runs.plan_executor import Execution
    from mulligan.application.sandboxes.doctor import Diagnosis
    from mulligan.domain.plans.event import Event
    from mulligan.domain.plans.plan import PlanDefinition, State
    from mulligan.domain.plans.step import ChildPlan
    from mulligan.domain.resources.resource import Resource
    from mulligan.domain.text.ids import PlanId
    from mulligan.domain.text.json_value import Json
    from mulligan.domain.trees.diff import Diff
    from mulligan.domain.views.history_tree import TreeNode
    from mulligan.domain.views.timeline import Timeline
    from mulligan.ports import Observer
    from mulligan.wiring.services import Services


class Project:
    """A folder with a project home, and all that can be done in it, by several threads at once."""

    def __init__(self, *, services: Services, observer: Observer) -> None:
        self._threads = ThreadServices(services)
        self._observer = observer

    @property
    def _services(self) -> Services:
        return self._threads.here

    @cached_property
    def config(self) -> Configuration:
        """The settings of the project."""
        from mulligan.api.project_settings import Configuration

        return Configuration(threads=self._threads)

    @cached_property
    def checkpoints(self) -> Checkpoints:
        """The checkpoints of the project."""
        from mulligan.api.project_checkpoints import Checkpoints

        return Checkpoints(threads=self._threads, observer=self._observer)

    @property
    def folder(self) -> Path:
        """The project folder."""
        return self._services.adapters.project

    @property
    def database(self) -> Path:
        """The file that plans and checkpoints are recorded in."""
        return self._services.adapters.database_path

    @property
    def tools(self) -> Tools:
        """The tools that plans of this project can use."""
        from mulligan.api.project_tools import Tools

        return Tools(threads=self._threads)

    def close(self) -> None:
        """Close the database, which is opened again when needed; no other thread may be using the project."""
        self._threads.close()

    def prepare(self) -> None:
        """Open the database, which makes it or brings it up to date."""
        with self._services.adapters.database.reading():
            pass

    def create(self, file: Path) -> PlanStatus:
        """Read, check and record a plan file; nothing runs."""
        return self.status(self._create(file))

    def execute(self, plan: str | Path) -> PlanStatus:
        """Run a plan file, or run on with a recorded plan, to its end or to the step that fails."""
        return self.run(plan)[0]

    def run(self, plan: str | Path) -> tuple[PlanStatus, Execution]:
        """As `execute`, with what stopped the plan, if something did."""
        from mulligan.api.operations.plan_files import names_a_file

        plan_id = self._create(Path(plan)) if names_a_file(plan) else self._plan_id(str(plan))
        return self._execute(plan_id, None)

    def run_command(
        self,
        words: Sequence[str],
        *,
        resource: Resource | None = None,
        folder: str = ".",
        name: str | None = None,
    ) -> tuple[PlanStatus, Execution]:
        """Run a command, taken literally, as a plan of one step; in a folder relative to the resource.

        Without a resource it works on the project folder; without a name the plan is called like the command.
        """
        from mulligan.domain.plans.command_plan import command_plan

        where = resource or self._services.adapters.default_resource
        definition = command_plan(words, resource=where, folder=folder, name=name)
        return self._execute(self._services.plans.create_to_run(definition), None)

    def resume(
        self, plan: str, *, mended: Path | None = None, take_over: bool = False
    ) -> tuple[PlanStatus, Execution]:
        """Go on with a plan that stopped, from its last good restore point.

        `mended` is a plan file whose completed steps are the recorded ones; `take_over` takes the plan from a
        process that hangs, which is ended.
        """
        plan_id = self._plan_id(plan)
        definition = self._read(mended) if mended is not None else None
        if take_over:
            self._services.claims.take_over(plan_id)
        return self._execute(plan_id, definition)

    def session(
        self,
        name: str | None = None,
        *,
        resources: Mapping[str, Resource] | None = None,
        description: str = "",
        config: Mapping[str, Json] | None = None,
        on_failure: str = "last_checkpoint",
        resume: str | None = None,
        take_over: bool = False,
    ) -> Session:
        """Make a plan whose steps are the caller's own code, inside `with project.session(...) as session`.

        `resources` are those of `mulligan.git()`, `directory()` and `sqlite()` by name, and without them the project
        folder; `config` and `on_failure` are as in a plan file. `resume` continues the
        session of that plan and allows no other argument but `take_over`, which kills a hung process that holds it.
        """
        from mulligan.api.sessions.session import Session
        from mulligan.api.sessions.session_plan import session_plan

        if (name is None) is (resume is None):
            raise UsageWrong(reason="a session has a name, or a plan to resume", hint="give one of the two")
        plan = self._plan_id(resume) if resume is not None else None
        if plan is None:
            default = (self._services.adapters.default_resource,)
            plan = session_plan(
                name or "", resources, default, self.folder, description, config or {}, on_failure
            )
        elif resources is not None or description or config or on_failure != "last_checkpoint":
            raise UsageWrong(reason="what is resumed is known already", hint="give `resume` without the rest")
        return Session(
            services=self._services.apart(None), observer=self._observer, plan=plan, take_over=take_over
        )

    def preview_resume(self, plan: str) -> tuple[PlanStatus, ResumePreview]:
        """Return where a stopped plan would continue, and what would be discarded; change nothing."""
        plan_id = self._plan_id(plan)
        preview = self._services.resumes.preview(plan_id, self._observer)
        return self._services.queries.status(plan_id, preview.resumed_from), preview

    def _execute(self, plan_id: PlanId, mended: PlanDefinition | None) -> tuple[PlanStatus, Execution]:
        execution = self._services.executor.execute(plan_id, mended, self._observer)
        return self._services.queries.status(plan_id, execution.resumed_from), execution

    def problems(self) -> Sequence[str]:
        """Return what is wrong with the rows of the project."""
        return self._services.adapters.database.problems()

    def status(self, plan: str) -> PlanStatus:
        """Return the status of a plan."""
        return self._services.queries.status(self._plan_id(plan), None)

    def newest_for(self, act: str) -> PlanId:
        """Return the newest plan that an act (`apply`, `unapply`, `resume`, `rollback`) makes sense for, or refuse."""
        return self._services.queries.newest_for(act)

    def plans(self, state: State | None = None, *, limit: int | None = None) -> Listing[PlanLine]:
        """The plans, oldest first; of more than `limit` the newest."""
        return self._services.queries.plans(state, limit)

    def log(self, plan: str, *, limit: int | None = None, after: int = 0) -> Listing[Event]:
        """Return the events of a plan after that sequence number, in order; at most the newest `limit`."""
        return self._services.queries.log(self._plan_id(plan), limit, after)

    def timeline(self, plan: str, *, limit: int | None = None) -> Timeline:
        """The log of a plan and its child plans, with what is live and what was left behind beside it."""
        return self._services.queries.timeline(self._plan_id(plan), limit)

    def progress(self, plan: str) -> PlanProgress:
        """Return the progress of a plan and its child plans; cheap enough to poll."""
        return self._services.progress.of(self._plan_id(plan))

    def changes(self) -> int:
        """A number that is another one after another process recorded something; cheap to ask for often."""
        return self._services.adapters.database.changes()

    def tree(self, plan: str, *, superseded: bool = False) -> TreeNode:
        """A plan's decisions and checkpoints as a tree; superseded ones on request."""
        return self._services.queries.tree(self._plan_id(plan), superseded=superseded)

    def diff(
        self, plan: str, *, old: str | None = None, new: str | None = None, binary: bool = False
    ) -> Diff:
        """Compare two checkpoints of a plan; by default its first live group and its newest."""
        return self._services.diffs.of_plan(self._plan_id(plan), old, new, binary=binary)

    def report(self, plan: str, *, words: Callable[[str], str] | None = None) -> str:
        """The whole story of a plan as one HTML page that needs nothing but itself, to be sent to someone.

        `words` puts the next steps that it names into the words of a front door.
        """
        return self.report_with_problems(plan, words or str)[0]

    def report_with_problems(self, plan: str, words: Callable[[str], str]) -> tuple[str, Sequence[str]]:
        """As `report`, with what keeps the page from being complete: a damaged store."""
        from mulligan.adapters.report_page.report_html import page

        report = self._services.reports.report(self._plan_id(plan), words)
        return page(report), report.problems

    def save_report(
        self, plan: str, file: Path, *, force: bool = False, words: Callable[[str], str] | None = None
    ) -> tuple[SavedReport, Sequence[str]]:
        """As `report_with_problems`, in a file: whole or not at all; only with `force` in place of another."""
        from mulligan.api.operations.report_file import save_page

        again = NextStep("save_report", plan=plan, file=str(file), force=True)
        return save_page(file, partial(self.report_with_problems, plan, words or str), again, force=force)

    def diff_of_correction(self, correction: str, *, plan: str | None = None, binary: bool = False) -> Diff:
        """Compare the attempt that a correction ended with the one that it began."""
        plan_id = None if plan is None else self._plan_id(plan)
        return self._services.diffs.of_correction(correction, plan_id, binary=binary)

    def correct(
        self,
        decision: str,
        *,
        guidance: str,
        mode: str = "revert",
        choose: str | None = None,
        mended: Path | None = None,
        execute: bool = True,
        dry_run: bool = False,
    ) -> tuple[PlanStatus, Corrected]:
        """Take a decision back with all that followed from it (`revert`), or `append` work to it, with the guidance.

        To revert, `choose` replaces what its `decision:` step chose, and `mended` is a plan file whose steps replace
        those from the restored one on. To append, the steps of the plan file `mended` run on the current state; without
        it the step that recorded the decision runs once more. Without `execute` the plan waits to be resumed.
        """
        from mulligan.application.corrections.append import AppendWish
        from mulligan.application.corrections.revert import Wish

        services = self._services
        if mode == "revert":
            revised = self._read(mended) if mended is not None else None
            wish = Wish(decision=decision, guidance=guidance, chosen=choose, mended=revised, execute=execute)
            act = services.corrections.preview if dry_run else services.corrections.revert
            corrected = act(wish, self._observer)
        elif mode != "append":
            raise UsageWrong(reason=f"the mode is {mode!r}", hint="give `revert` or `append`")
        elif choose is not None:
            leave_out, revert = NextStep("again", choose=...), NextStep("again", mode="revert")
            raise NothingToChoose(
                decision_id=decision,
                reason="stays as it is when work is appended to it",
                hint=Advice("leave ", leave_out, " out, or take the decision back with ", revert),
            )
        else:
            read = partial(self._read_appended, mended) if mended is not None else None
            work = AppendWish(decision=decision, guidance=guidance, read=read, execute=execute)
            add = services.appends.preview if dry_run else services.appends.append
            corrected = add(work, self._observer)
        resumed_from = corrected.execution.resumed_from if corrected.execution else None
        return services.queries.status(corrected.plan_id, resumed_from), corrected

    def _read_appended(
        self, file: Path, definition: PlanDefinition, outputs: Mapping[str, Json]
    ) -> ChildPlan:
        from mulligan.api.operations.plan_files import read_bytes
        from mulligan.planfile import read_appended

        return read_appended(
            read_bytes(file),
            file=str(file),
            definition=definition,
            outputs=outputs,
            declarations=self._services.adapters.toolbox.declarations(),
        )

    def rollback(self, plan: str, checkpoint: str, *, dry_run: bool = False) -> Rollback:
        """Bring a plan back, or forward, to one of its checkpoint groups."""
        rollbacks = self._services.rollbacks
        act = rollbacks.preview if dry_run else rollbacks.rollback
        return act(self._plan_id(plan), checkpoint, self._observer)

    def undo(self, plan: str = "latest", *, dry_run: bool = False) -> Rollback:
        """Roll a plan back to the state before its last completed step, or a later one that left a mess."""
        plan_id = self._plan_id(plan)
        return self.rollback(plan_id, self._services.rollbacks.step_back(plan_id), dry_run=dry_run)

    def resolve(self, plan: str, paths: Sequence[str] = ()) -> PlanStatus:
        """Mark conflicts of merged child plans as solved: those of these paths, or all."""
        plan_id = self._plan_id(plan)
        self._services.resolves.resolve(plan_id, paths, self._observer)
        return self.status(plan_id)

    def apply(
        self,
        plan: str,
        *,
        dry_run: bool = False,
        commit: bool = True,
        message: str | None = None,
        include: Sequence[str] = (),
    ) -> tuple[PlanStatus, Application]:
        """Merge a plan's sandboxes into the real resources, all or none; return the conflicts if there are any."""
        from mulligan.application.apply.plan_apply import ApplyWishes

        plan_id, applies = self._plan_id(plan), self._services.applies
        wishes = ApplyWishes(commit=commit, message=message, included=frozenset(include))
        act = applies.preview if dry_run else applies.apply
        done = act(plan_id, wishes, self._observer)
        return self.status(plan_id), done

    def unapply(self, plan: str, *, dry_run: bool = False) -> tuple[PlanStatus, Application]:
        """Take a plan's result out of the real resources again; what others did since stays."""
        plan_id, unapplies = self._plan_id(plan), self._services.unapplies
        act = unapplies.preview if dry_run else unapplies.unapply
        done = act(plan_id, self._observer)
        return self.status(plan_id), done

    def cancel(self, plan: str, reason: str | None = None) -> PlanStatus:
        """End a plan for good."""
        plan_id = self._plan_id(plan)
        self._services.plans.cancel(plan_id, reason, self._observer)
        return self.status(plan_id)

    def doctor(self) -> Diagnosis:
        """Look the project over, repair what is safe, and say what is left."""
        return self._services.doctor.look_over(self._observer)

    def gc(self, *, dry_run: bool = False) -> SweepReport:
        """Free everything that no plan refers to, while others run."""
        return self._services.sweeps.sweep(dry_run=dry_run, observer=self._observer)

    def _plan_id(self, word: str) -> PlanId:
        return self._services.queries.plan_id(word)

    def _create(self, file: Path) -> PlanId:
        return self._services.plans.create(self._read(file))

    def _read(self, file: Path) -> PlanDefinition:
        from mulligan.api.operations.plan_files import read_bytes
        from mulligan.planfile import read_plan_file  # here: only plan files need a YAML parser

        return read_plan_file(
            read_bytes(file),
            file=str(file),
            project=self.folder,
            declarations=self._services.adapters.toolbox.declarations(),
            default_resource=self._services.adapters.default_resource,
        )
