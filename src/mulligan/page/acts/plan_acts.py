"""Acts that go on with a plan, end it, or decide about its result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mulligan.api.document import Reply
from mulligan.api.replies import (
    acceptance_reply,
    application_reply,
    checkpoints_reply,
    correction_reply,
    execution_reply,
    tried_reply,
)
from mulligan.domain.text.plural import counted
from mulligan.domain.trees.text_merge import has_markers
from mulligan.errors import ConflictChanged, MarkersLeft, UsageWrong
from mulligan.page.acts.act_outcomes import ActOutcome, Touched, of_application, of_return, plans_named

if TYPE_CHECKING:
    from mulligan.api.project import Project
    from mulligan.page.acts import act_arguments as wishes


def resume(project: Project, wish: wishes.Resume, *, dry_run: bool) -> ActOutcome:
    """Go on with a plan that stopped."""
    if not dry_run:
        status, execution = project.resume(wish.plan, start=wish.start, take_over=wish.take_over)
        says = f"{status.handle}: {status.state}"
        return ActOutcome(reply=execution_reply(status, execution), says=says, plan=status.handle)
    if wish.take_over:
        status = project.status(wish.plan)
        says = f"The process that works on {status.handle} is ended, and the plan goes on from its last checkpoint."
        return ActOutcome(reply=Reply(data=status), says=says, plan=status.handle)
    status, preview = project.preview_resume(wish.plan)
    to_do = [step.shown for step in status.steps if step.status != "done"]
    start = preview.resumed_from
    place = f" from {start.checkpoint_id}" if start is not None else ""
    where = f" from {wish.start}" if wish.start else place
    return ActOutcome(
        reply=Reply(data=status, messages=(*status.messages, *preview.messages)),
        says=f"{status.handle} goes on{where}: {counted(len(to_do), 'step')} to do.",
        touches=tuple(Touched(action="run", where="step", name=name) for name in to_do),
        plan=status.handle,
    )


def correct(project: Project, wish: wishes.Correct, *, dry_run: bool) -> ActOutcome:
    """Take a decision back with all that followed from it, or append work to it."""
    status, done = project.correct(
        wish.decision,
        guidance=wish.guidance or None,
        mode=wish.mode,
        choose=wish.choose or None,
        execute=wish.execute,
        dry_run=dry_run,
    )
    verb = "would take back" if dry_run else "took back"
    taken = f"{verb} {counted(done.impact.decisions_discarded, 'decision')} and "
    taken += f"{counted(done.impact.tool_calls_undone, 'tool call')}"
    added = done.appended.steps if done.appended is not None else ()
    steps = tuple(Touched(action="run", where="step", name=name) for name in added)
    return ActOutcome(
        reply=correction_reply(status, done),
        says=f"{status.handle}: the correction {taken}; attempt {done.correction.attempt} begins.",
        touches=(*of_return(done.changes_reverted), *steps),
        hidden=sum(change.hidden for change in done.changes_reverted),
        plan=status.handle,
        notes=tuple(done.superseded),
    )


def resolve(project: Project, wish: wishes.Resolve, *, dry_run: bool) -> ActOutcome:
    """Mark conflicts of merged child plans as solved."""
    status = project.status(wish.plan)
    if not dry_run:
        status = project.resolve(wish.plan, wish.paths)
        left = counted(len(status.conflicts), "conflict")
        says = (
            f"{left} left in {status.handle}."
            if status.conflicts
            else f"No conflict is left in {status.handle}."
        )
        return ActOutcome(reply=Reply(data=status), says=says, plan=status.handle)
    known = [str(conflict["path"]) for conflict in status.conflicts]
    paths = [path for path in known if path in wish.paths or not wish.paths]
    return ActOutcome(
        reply=Reply(data=status),
        says=f"{counted(len(paths), 'conflict')} of {status.handle}: solved as the files are in the sandbox now.",
        touches=tuple(Touched(action="solve", where="conflict", name=path) for path in paths),
        plan=status.handle,
    )


def resolve_with(project: Project, wish: wishes.ResolveWith, *, dry_run: bool) -> ActOutcome:
    """Write what a file in conflict is to become, and mark it as solved."""
    if wish.remove == (wish.content is not None):
        raise UsageWrong(reason="a file gets a content, or is removed", hint="give one of both")
    content = wish.content.encode("utf-8", "surrogateescape") if wish.content is not None else None
    if not dry_run:
        status = project.resolve_with(wish.plan, wish.path, content, seen=wish.seen)
        left = counted(len(status.conflicts), "conflict") if status.conflicts else "No conflict is"
        says = f"{wish.path} is solved. {left} left in {status.handle}."
        return ActOutcome(reply=Reply(data=status), says=says, plan=status.handle)
    found = project.conflict_file(wish.plan, wish.path)
    if wish.seen not in (None, found.seen):
        raise ConflictChanged(plan_id=found.plan_id, path=found.path)
    if content is not None and has_markers(content):
        raise MarkersLeft(plan_id=found.plan_id, paths=found.path)
    action = "removed" if wish.remove else "changed"
    return ActOutcome(
        reply=Reply(data=project.status(wish.plan)),
        says=f"{found.path} is {action} in the sandbox of {found.handle}, and marked as solved.",
        touches=(Touched(action=action, where=found.resource, name=found.path),),
        plan=found.handle,
    )


def accept(project: Project, wish: wishes.Accept, *, dry_run: bool) -> ActOutcome:
    """Make a plan that stopped complete as it is."""
    if not dry_run:
        status, accepted = project.accept(wish.plan, at=wish.at)
        reply = acceptance_reply(status, accepted)
        return ActOutcome(reply=reply, says=f"{status.handle} is complete.", plan=status.handle)
    status = project.status(wish.plan)
    missing = [step.shown for step in status.steps if step.status != "done"]
    where = f"as it was at {wish.at}" if wish.at else "as it is"
    return ActOutcome(
        reply=Reply(data=status),
        says=f"{status.handle} becomes complete {where}, and can be applied.",
        touches=tuple(Touched(action="not run", where="step", name=name) for name in missing),
        plan=status.handle,
    )


def answer(project: Project, wish: wishes.AnswerQuestion, *, dry_run: bool) -> ActOutcome:
    """Answer the question that a plan waits with."""
    if not dry_run:
        status, execution = project.answer(wish.plan, wish.choice, rationale=wish.rationale or None)
        says = f"{status.handle} got its answer: {wish.choice}"
        return ActOutcome(reply=execution_reply(status, execution), says=says, plan=status.handle)
    status = project.status(wish.plan)
    asked = str((status.waiting or {}).get("question") or "the question that it waits with")
    return ActOutcome(
        reply=Reply(data=status),
        says=f"{status.handle} gets the answer “{wish.choice}” to: {asked} Then it runs on.",
        plan=status.handle,
    )


def apply(project: Project, wish: wishes.Apply, *, dry_run: bool) -> ActOutcome:
    """Merge the result of a plan into the real files, all at once or not at all."""
    status, done = project.apply(
        wish.plan,
        dry_run=dry_run,
        commit=wish.commit,
        message=wish.message or None,
        include=wish.include,
        onto_branch=wish.onto_branch,
        agreed=None if dry_run else wish.agreed,
    )
    files = counted(len(done.files), "real file")
    verb = "would be changed" if dry_run else "changed"
    return ActOutcome(
        reply=application_reply(status, done),
        says=f"{status.handle}: {files} {verb}."
        if done.error is None
        else f"{status.handle} cannot be applied.",
        touches=of_application(done),
        hidden=sum(each.hidden for each in done.applied),
        plan=status.handle,
        result=done.result_id,
    )


def unapply(project: Project, wish: wishes.Unapply, *, dry_run: bool) -> ActOutcome:
    """Take the result of a plan out of the real files."""
    status, done = project.unapply(wish.plan, dry_run=dry_run, onto_branch=wish.onto_branch)
    files = counted(len(done.files), "real file")
    verb = "would be changed" if dry_run else "changed"
    return ActOutcome(
        reply=application_reply(status, done),
        says=f"The result of {status.handle} is taken out: {files} {verb}.",
        touches=of_application(done),
        plan=status.handle,
    )


def cancel(project: Project, wish: wishes.Cancel, *, dry_run: bool) -> ActOutcome:
    """End a plan for good."""
    status = project.status(wish.plan) if dry_run else project.cancel(wish.plan, wish.reason or None)
    says = f"{status.handle} {'would be' if dry_run else 'is'} cancelled for good; its checkpoints stay."
    return ActOutcome(
        reply=Reply(data=status),
        says=says,
        touches=plans_named("cancel", [status.handle]),
        plan=status.handle,
        notes=tuple(f"sandbox: {each.path}" for each in status.sandboxes),
    )


def pick_variant(project: Project, wish: wishes.PickVariant, *, dry_run: bool) -> ActOutcome:
    """Take over the result of a variant, to be applied."""
    if not dry_run:
        tried = project.pick_variant(wish.variant, rationale=wish.rationale or None)
        says = f"{tried.handle} has the result of {tried.picked or wish.variant}."
        reply = tried_reply(tried, project.status(tried.handle))
        return ActOutcome(reply=reply, says=says, plan=tried.handle)
    tried, found = project.variant(wish.variant)
    files = counted(found.files or 0, "file")
    return ActOutcome(
        reply=tried_reply(tried),
        says=f"{tried.handle} takes over {files} of variant {found.variant}; another one may be picked later.",
        touches=plans_named("pick", [found.handle]),
        plan=tried.handle,
    )


def label(project: Project, wish: wishes.Label, *, dry_run: bool) -> ActOutcome:
    """Take a checkpoint with a name."""
    status = project.status(wish.plan)
    if dry_run:
        says = f"A checkpoint of {status.handle} as it is now gets the name “{wish.label}”."
        return ActOutcome(reply=Reply(data=status), says=says, plan=status.handle)
    views, messages = project.checkpoints.take(wish.plan, wish.label)
    says = f"{status.handle}@{views[0].number} has the name “{wish.label}”."
    return ActOutcome(reply=checkpoints_reply(views, messages), says=says, plan=status.handle)
