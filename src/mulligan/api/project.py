"""A project in the hands of a caller: everything the commands do, as methods with typed answers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from mulligan import errors
from mulligan.api.agents.agent_sessions import AgentSessions
from mulligan.api.timeline.folder_timeline import FolderTimeline
from mulligan.api.trials.project_trials import ProjectTrials
from mulligan.errors import NextStep

if TYPE_CHECKING:
    from mulligan.api.local_server.kept_watches import KeptWatches
    from mulligan.api.operations.report_file import SavedReport
    from mulligan.api.project_checkpoints import Checkpoints
    from mulligan.api.project_settings import Configuration
    from mulligan.api.project_tools import Tools
    from mulligan.api.sessions.session import Session
    from mulligan.application.apply.apply_preparation import Application
    from mulligan.application.bisection.bisect_service import Bisection, Trial
    from mulligan.application.corrections.correction_result import Corrected
    from mulligan.application.paths.path_purge import Purge
    from mulligan.application.paths.path_restore import PathRestores
    from mulligan.application.plans.acceptance import Acceptance
    from mulligan.application.plans.plan_removal import PlanRemoval
    from mulligan.application.plans.plan_resume import ResumePreview
    from mulligan.application.queries.listing import Listing
    from mulligan.application.queries.plan_queries import PlanLine, PlanStatus
    from mulligan.application.queries.progress_queries import PlanProgress
    from mulligan.application.queries.step_outputs import StepOutput
    from mulligan.application.queries.tree_queries import StoredPath, TreeListing
    from mulligan.application.rollback.rollback_service import Rollback
    from mulligan.application.runs.plan_executor import Execution
    from mulligan.application.subplans.conflict_editor import ConflictFile
    from mulligan.application.timeline.timeline_queries import Outcome
    from mulligan.application.timeline.timeline_service import Undone
    from mulligan.domain.plans.event import Event
    from mulligan.domain.plans.plan import PlanDefinition, State
    from mulligan.domain.resources.resource import Resource
    from mulligan.domain.text.ids import PlanId
    from mulligan.domain.text.json_value import Json
    from mulligan.domain.trees.diff import Diff
    from mulligan.domain.views.history_tree import TreeNode
    from mulligan.domain.views.plan_history import PlanHistory
    from mulligan.ports import Streams


class Project(ProjectTrials, AgentSessions, FolderTimeline):
    """A folder with a project home, and all that can be done in it, by several threads at once."""

    @cached_property
    def config(self) -> Configuration:
        """The settings of the project."""
        from mulligan.api.project_settings import project_settings

        return project_settings(self._threads)

    @cached_property
    def checkpoints(self) -> Checkpoints:
        """The checkpoints of the project."""
        from mulligan.api.project_checkpoints import Checkpoints

        return Checkpoints(threads=self._threads, observer=self._observer)

    @cached_property
    def watches(self) -> KeptWatches:
        """The watches that a thread keeps open between two operations."""
        from mulligan.api.local_server.kept_watches import KeptWatches

        return KeptWatches(threads=self._threads)

    @property
    def tools(self) -> Tools:
        """The tools that plans of this project can use."""
        from mulligan.api.project_tools import Tools

        return Tools(threads=self._threads)

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
        in_place: bool = False,
        folder: str = ".",
        name: str | None = None,
        keep: bool = False,
        on: str | None = None,
        streams: Streams | None = None,
    ) -> tuple[PlanStatus, Execution]:
        """Run a command, taken literally, as a plan of one step; in a folder relative to the resource.

        Without a resource it works on the project folder; `in_place` is on the real thing itself. Without a name the
        plan is called like the program. With `keep` the plan is complete whatever the command's exit status. `on` names
        a plan that is complete: the command is its next step, on its first resource, and `resource`, `in_place` and
        `name` may not be given. Without streams the command has no input, and the observer gets what it prints.
        """
        from mulligan.domain.plans.command_plan import command_plan
        from mulligan.domain.resources.resource import Strategy

        services = self._services
        if on is not None:
            if resource is not None or in_place or name is not None:
                raise errors.UsageWrong(
                    reason="the plan that goes on has resource and name", hint="omit them"
                )
            plan_id = self._plan_id(on)
            execution = services.extensions.extend(
                plan_id, words, folder=folder, keep=keep, observer=self._observer, streams=streams
            )
            return services.queries.status(plan_id, execution.resumed_from), execution
        where = resource or services.adapters.default_resource
        if in_place:
            where = replace(where, strategy=Strategy.IN_PLACE)
        definition = command_plan(words, resource=where, folder=folder, name=name, keep=keep)
        return self._execute(services.plans.create_to_run(definition), None, streams=streams)

    def resume(
        self, plan: str, *, corrected: Path | None = None, take_over: bool = False, start: str | None = None
    ) -> tuple[PlanStatus, Execution]:
        """Go on with a plan that stopped, from its last good restore point, or from what was edited there since.

        `corrected` is a plan file whose completed steps are the recorded ones; `take_over` takes the plan from a
        process that hangs, which is ended; `start` is a checkpoint to go to first.
        """
        plan_id = self._plan_id(plan)
        definition = self._read(corrected) if corrected is not None else None
        if take_over:
            self._services.claims.take_over(plan_id)
        return self._execute(plan_id, definition, start)

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

        `resources` are those of `mulligan.git()`, `directory()` and `sqlite()` by name, else the project folder;
        `config`, `on_failure` are as in a plan file. `resume` continues one, with `take_over` also from a hung process.
        """
        from mulligan.api.sessions.session import Session
        from mulligan.api.sessions.session_plan import SessionWish, wanted_plan

        wish = SessionWish(
            resources=resources, description=description, config=config or {}, on_failure=on_failure
        )
        plan = wanted_plan(self._services, name, resume, wish)
        return Session(
            services=self._services.apart(None), observer=self._observer, plan=plan, take_over=take_over
        )

    def fork(self, plan: str, *, at: str | None = None, name: str | None = None) -> PlanStatus:
        """Make a plan that starts from a checkpoint group of another, `at` one or where a resume would go on."""
        return self.status(self._services.plan_forks.fork(self._plan_id(plan), at, name, self._observer))

    def preview_resume(self, plan: str) -> tuple[PlanStatus, ResumePreview]:
        """Return where a stopped plan would continue, and what would be discarded; change nothing."""
        preview = self._services.resumes.preview(plan_id := self._plan_id(plan), self._observer)
        return self._services.queries.status(plan_id, preview.resumed_from), preview

    def _execute(
        self,
        plan_id: PlanId,
        corrected: PlanDefinition | None,
        start: str | None = None,
        streams: Streams | None = None,
    ) -> tuple[PlanStatus, Execution]:
        execution = self._services.executor.execute(plan_id, corrected, self._observer, start, streams)
        return self._services.queries.status(plan_id, execution.resumed_from), execution

    def status(self, plan: str) -> PlanStatus:
        """Return the status of a plan."""
        return self._services.queries.status(self._plan_id(plan), None)

    def outputs(self, plan: str, step: str | None = None) -> Sequence[StepOutput]:
        """Return all that was recorded of what the steps of a plan printed, or one step by its name or index."""
        return self._services.outputs.of(self._plan_id(plan), step)

    def first_place(self, plan: str) -> tuple[Resource, Path | None]:
        """Return the first resource of a plan, and the folder of its sandbox, if it has one."""
        first, path = self._services.queries.first_place(self._plan_id(plan))
        return first, None if path is None else Path(path).resolve()

    def handles(self, ids: Collection[str]) -> dict[str, str]:
        """Return the word by which people call each of these ids: a handle, or a number such as `tune@3`."""
        return self._services.queries.handles(ids)

    def newest_for(self, act: str) -> PlanId:
        """Return the newest plan that an act (`apply`, `resume`, `rollback` and so on) makes sense for, or refuse."""
        return self._services.queries.newest_for(act)

    def plans(
        self, state: State | None = None, *, limit: int | None = None, waiting: bool = False
    ) -> Listing[PlanLine]:
        """The plans, oldest first; of more than `limit` the newest; with `waiting` those that wait for someone."""
        return self._services.queries.plans(state, limit, waiting=waiting)

    def log(self, plan: str, *, limit: int | None = None, after: int = 0) -> Listing[Event]:
        """Return the events of a plan after that sequence number, in order; at most the newest `limit`."""
        return self._services.queries.log(self._plan_id(plan), limit, after)

    def history(self, plan: str, *, limit: int | None = None) -> PlanHistory:
        """The log of a plan and its child plans, with what is live and what was left behind beside it."""
        return self._services.queries.history(self._plan_id(plan), limit)

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
        self,
        plan: str,
        *,
        old: str | None = None,
        new: str | None = None,
        binary: bool = False,
        hidden: bool = False,
        paths: Sequence[str] = (),
        folder: Path | None = None,
    ) -> Diff:
        """Compare two checkpoints of a plan; by default its first live group and its newest.

        What `sandbox.hide` matched when the plan began is counted, and shown with `hidden`. With `paths` only what
        these match, as git matches paths: seen from `folder`, or from the top of the resource.
        """
        from mulligan.application.queries.checkpoint_diff import DiffWish

        wish = DiffWish(binary=binary, hidden=hidden, paths=paths, folder=folder)
        return self._services.diffs.of_plan(self._plan_id(plan), old, new, wish)

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

    def diff_of_correction(
        self,
        correction: str,
        *,
        plan: str | None = None,
        binary: bool = False,
        hidden: bool = False,
        paths: Sequence[str] = (),
        folder: Path | None = None,
    ) -> Diff:
        """Compare the attempt that a correction ended with the one that it began; `paths` are as in `diff`."""
        from mulligan.application.queries.checkpoint_diff import DiffWish

        plan_id = None if plan is None else self._plan_id(plan)
        wish = DiffWish(binary=binary, hidden=hidden, paths=paths, folder=folder)
        return self._services.diffs.of_correction(correction, plan_id, wish)

    def correct(
        self,
        decision: str,
        *,
        guidance: str | None = None,
        mode: str = "revert",
        choose: str | None = None,
        corrected: Path | None = None,
        execute: bool = True,
        dry_run: bool = False,
    ) -> tuple[PlanStatus, Corrected]:
        """Take a decision back with all that followed from it (`revert`), or `append` work to it, with the guidance.

        To revert, `choose` replaces what its `decision:` step chose, and is the guidance unless that is given;
        `corrected` is a plan file whose steps replace those from the restored one on. To append, its steps run on the
        current state, or the step that recorded the decision once more. Without `execute` the plan waits to be resumed.
        """
        from mulligan.api.operations.decision_correction import DecisionCorrection

        correction = DecisionCorrection(
            decision=decision,
            guidance=guidance,
            mode=mode,
            choose=choose,
            corrected=corrected,
            execute=execute,
        )
        done = correction.perform(self._services, self._read, self._observer, dry_run=dry_run)
        resumed_from = done.execution.resumed_from if done.execution else None
        return self._services.queries.status(done.plan_id, resumed_from), done

    def rollback(self, plan: str, checkpoint: str, *, dry_run: bool = False) -> Rollback:
        """Bring a plan back, or forward, to one of its checkpoint groups."""
        rollbacks = self._services.rollbacks
        act = rollbacks.preview if dry_run else rollbacks.rollback
        return act(self._plan_id(plan), checkpoint, self._observer)

    def undo(
        self,
        what: str | int | None = None,
        *,
        dry_run: bool = False,
        onto_branch: bool = False,
        keep_commits: bool = False,
        only: Sequence[str] = (),
        end_processes: bool = False,
    ) -> Undone:
        """Take back what was done last and still counts, over all plans; what others changed since stays.

        `what` names a plan, to stay within it, or an entry of the timeline by its number. An apply to a checkout that
        is on another branch now needs `onto_branch`. With `keep_commits` only files change of what was done in place.
        `only` names sessions, prompts (`3`) and calls (`3.2`) of agents instead: what they did goes, and what others
        did at the same time and since stays. `end_processes` ends what calls of agents left running, first.
        """
        end, left = end_processes and not dry_run, self._services.left_processes
        if only:
            if what is not None or onto_branch:
                raise errors.UsageWrong(reason="`only` names what to undo", hint="leave the others out")
            running = left.of_words(only, end=end)
            done = self._services.only_undos.undo(
                only, self._observer, dry_run=dry_run, keep_commits=keep_commits
            )
            return replace(done, processes=tuple(running))
        number = what if isinstance(what, int) else self.entry_to_undo(what, settle=not dry_run)
        running = left.of_entry(number, end=end)
        done = self._services.turns.undo(
            number, self._observer, dry_run=dry_run, onto_branch=onto_branch, keep_commits=keep_commits
        )
        return replace(done, processes=tuple(running))

    def redo(self, number: int | None = None, *, dry_run: bool = False, onto_branch: bool = False) -> Undone:
        """Bring back what was undone last; a number makes sure that it is that entry. `onto_branch` as in `undo`."""
        latest = self.entry_to_redo(settle=not dry_run)
        if number not in (None, latest):
            raise errors.NothingToRedo(
                reason=f"entry {number} is not what was undone last, which is {latest}"
            )
        return self._services.turns.redo(latest, self._observer, dry_run=dry_run, onto_branch=onto_branch)

    def entry_to_redo(self, *, settle: bool = False) -> int:
        """Return the number of the entry that a redo brings back; refuse if there is none. `settle` as in the next."""
        return self._services.turns.to_redo(self._observer, settle=settle)

    def entry_to_undo(self, word: str | None = None, *, settle: bool = False) -> int:
        """Return the number of the entry that an undo takes back; refuse if there is none.

        The word names a plan, to stay within it, or an entry by its number. With `settle` a newer command whose process
        died is settled first; where that takes it back, there is nothing else to undo.
        """
        turns = self._services.turns
        if word is None:
            return turns.to_undo(None, self._observer, settle=settle)
        number = self.entry_number(word)
        if number is not None:
            return number
        return turns.to_undo(self._plan_id(word), self._observer, settle=settle)

    def diff_of_entry(
        self,
        number: int,
        *,
        binary: bool = False,
        hidden: bool = False,
        paths: Sequence[str] = (),
        folder: Path | None = None,
    ) -> Diff:
        """Compare what was there before and after an entry of the timeline; `paths` are as in `diff`."""
        from mulligan.application.queries.checkpoint_diff import DiffWish

        wish = DiffWish(binary=binary, hidden=hidden, paths=paths, folder=folder)
        return self._services.diffs.of_plan(*self._services.timeline.sides(number), wish)

    def bisect(
        self,
        words: Sequence[str],
        *,
        plan: str | None = None,
        good: str | None = None,
        bad: str | None = None,
        folder: Path | None = None,
        tried: Callable[[Trial], None] | None = None,
        printed: Callable[[bytes], None] | None = None,
    ) -> Bisection:
        """Find the first group at which a command fails, between `good` (else the first) and `bad` (the newest).

        It runs in a scratch copy of the plan's resources: in `folder`, as far as the plan has that. `tried` is called
        after each trial, `printed` with what the command prints. Without a plan the newest with two groups is meant.
        """
        from mulligan.api.operations.bisect_words import BisectWords, bisect

        wanted = BisectWords(words=words, plan=plan, good=good, bad=bad, folder=folder)
        return bisect(self._services, wanted, (tried, printed), self._observer)

    def accept(self, plan: str, *, at: str | None = None) -> tuple[PlanStatus, Acceptance]:
        """Make a plan that stopped complete as it is (where it began: as its failed step left it), or `at` a group."""
        accepted = self._services.acceptances.accept(plan_id := self._plan_id(plan), at, self._observer)
        return self.status(plan_id), accepted

    def answer(self, plan: str, choice: str, *, rationale: str | None = None) -> tuple[PlanStatus, Execution]:
        """Answer the question that a plan waits with, and run the plan on."""
        plan_id = self._plan_id(plan)
        execution = self._services.answers.answer(plan_id, choice, rationale, self._observer)
        return self._services.queries.status(plan_id, execution.resumed_from), execution

    def resolve(self, plan: str, paths: Sequence[str] = ()) -> PlanStatus:
        """Mark conflicts of merged child plans as solved: those of these paths, or all."""
        self._services.resolves.resolve(plan_id := self._plan_id(plan), paths, None, self._observer)
        return self.status(plan_id)

    def resolve_with(
        self, plan: str, path: str, content: bytes | None, *, seen: str | None = None
    ) -> PlanStatus:
        """Write what a file in conflict is to become into the sandbox (None: remove it), and mark it as solved.

        `seen` is that of the `conflict_file` which was edited: nothing is changed where the sandbox has another.
        """
        from mulligan.application.subplans.conflict_editor import NewContent

        new = NewContent(content=content, seen=seen)
        self._services.resolves.resolve(plan_id := self._plan_id(plan), [path], new, self._observer)
        return self.status(plan_id)

    def conflict_file(self, plan: str, path: str) -> ConflictFile:
        """Return the sides of a file in conflict, and what the sandbox has there now."""
        return self._services.editor.show(self._plan_id(plan), path)

    def apply(
        self,
        plan: str,
        *,
        dry_run: bool = False,
        commit: bool | None = None,
        message: str | None = None,
        include: Sequence[str] = (),
        onto_branch: bool = False,
        agreed: str | None = None,
    ) -> tuple[PlanStatus, Application]:
        """Merge a plan's sandboxes into the real resources, all or none; return the conflicts if there are any.

        A git checkout gets a commit as `commit` says, or the setting `apply.commit`; a message asks for one. Refused is
        one on another branch than the plan's, unless with `onto_branch`, and a result not `agreed` to (`result_id`).
        """
        from mulligan.application.apply.plan_apply import ApplyWishes

        plan_id, applies, included = self._plan_id(plan), self._services.applies, frozenset(include)
        wishes = ApplyWishes(
            commit=commit, message=message, included=included, onto_branch=onto_branch, agreed=agreed
        )
        done = (applies.preview if dry_run else applies.apply)(plan_id, wishes, self._observer)
        return self.status(plan_id), done

    def unapply(
        self, plan: str, *, dry_run: bool = False, onto_branch: bool = False
    ) -> tuple[PlanStatus, Application]:
        """Take a plan's result out of the real resources; what others did since stays; `onto_branch` as in `undo`."""
        plan_id, unapplies = self._plan_id(plan), self._services.unapplies
        act = unapplies.preview if dry_run else unapplies.unapply
        done = act(plan_id, self._observer, onto_branch=onto_branch)
        return self.status(plan_id), done

    def cancel(self, plan: str, reason: str | None = None) -> PlanStatus:
        """End a plan for good."""
        self._services.plans.cancel(plan_id := self._plan_id(plan), reason, self._observer)
        return self.status(plan_id)

    def list_tree(self, checkpoint: str, path: str | Path = ".", *, recursive: bool = False) -> TreeListing:
        """Return what a checkpoint holds at a path of the project folder; a folder's entries, or all below it."""
        from mulligan.api.project_paths import path_in_project

        inside = path_in_project(self.folder, path)
        return self._services.tree_queries.listing(checkpoint, inside, recursive=recursive)

    def stored_path(self, checkpoint: str, path: str | Path) -> StoredPath:
        """Return the file or symlink that a checkpoint holds at a path, without its bytes; refuse a folder."""
        from mulligan.api.project_paths import path_in_project

        return self._services.tree_queries.find(checkpoint, path_in_project(self.folder, path))

    def read_path(self, checkpoint: str, path: str | Path) -> bytes:
        """Return the bytes of a file as a checkpoint holds it; of a symlink its target."""
        pieces: list[bytes] = []
        self.copy_path(checkpoint, path, pieces.append)
        return b"".join(pieces)

    def copy_path(self, checkpoint: str, path: str | Path, write: Callable[[bytes], object]) -> StoredPath:
        """As `read_path`, for large files: hand the bytes piece by piece to `write`."""
        from mulligan.api.project_paths import path_in_project

        return self._services.tree_queries.copy(checkpoint, path_in_project(self.folder, path), write)

    def restore_paths(
        self,
        paths: Sequence[str | Path] = (),
        *,
        checkpoint: str | None = None,
        entry: int | None = None,
        sandbox: bool = False,
        plan: str | None = None,
        delete: bool = False,
        dry_run: bool = False,
    ) -> PathRestores:
        """Bring single paths of the project folder back from a checkpoint, all or none; what was there is kept.

        With `entry` they come from right after that entry of the timeline, and no paths mean all that it changed.
        Without either each comes from the newest checkpoint that would change it. They go into the real folder, or with
        `sandbox` into that of the plan. Only with `delete` is something removed that the checkpoint does not have.
        """
        from mulligan.api.project_paths import restore_wish

        if not paths and entry is None:
            hint = "name the paths, or an entry of the timeline; `.` is everything"
            raise errors.UsageWrong(reason="no path is named", hint=hint)
        if checkpoint is not None and entry is not None:
            raise errors.UsageWrong(reason="checkpoint and entry are named", hint="leave one out")
        source = self._services.timeline.outcome(entry) if entry is not None else checkpoint
        named = self._plan_id(plan) if sandbox and plan is not None else None
        owner = (named or self._owner(source)) if sandbox else None
        wish = restore_wish(self.folder, paths, source, delete=delete, sandbox=owner)
        restores = self._services.path_restores
        act = restores.preview if dry_run else restores.restore
        return act(wish, self._observer)

    def _owner(self, source: str | Outcome | None) -> PlanId:
        if isinstance(source, str):
            return self._services.checkpoint_queries.find(source).group.plan_id
        return source.plan_id if source else self.newest_for("rollback")

    def remove_plan(self, plan: str, *more: str, dry_run: bool = False) -> PlanRemoval:
        """Forget plans with their checkpoints, sandboxes, pins and child plans; real files stay as they are."""
        plan_ids = tuple(dict.fromkeys(map(self._plan_id, (plan, *more))))
        removals = self._services.plan_removals
        act = removals.preview if dry_run else removals.remove
        return act(plan_ids, self._observer)

    def forget(self, paths: Sequence[str | Path], *, dry_run: bool = False) -> Purge:
        """Purge paths of the project folder, such as a secret, from all checkpoints and from the store.

        Files of the real folder and of sandboxes stay; what still holds the bytes is part of the answer.
        """
        from mulligan.api.project_paths import paths_in_project

        purges, inside = self._services.path_purges, paths_in_project(self.folder, paths)
        return purges.preview(inside) if dry_run else purges.purge(inside, self._observer)

    def _plan_id(self, word: str) -> PlanId:
        return self._services.queries.plan_id(word)

    def _create(self, file: Path) -> PlanId:
        return self._services.plans.create(self._read(file))

    def _read(self, file: Path) -> PlanDefinition:
        from mulligan.api.operations.plan_files import read_definition

        return read_definition(self._services, file)
