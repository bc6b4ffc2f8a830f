"""The acts: what changes something, with its words for people and the functions that do it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import asdict, fields

from mulligan.errors import NextStep
from mulligan.page.acts import act_arguments as wishes
from mulligan.page.acts import folder_acts, plan_acts

if TYPE_CHECKING:
    from mulligan.errors.next_step import Verb
    from mulligan.page.acts.act_outcomes import ActOutcome

_CUT = 200  # characters of a text in the command line that is shown


class Act(Struct, frozen=True, kw_only=True):
    """An act."""

    name: str  # in addresses
    verb: Verb  # of the operation that it calls
    title: str
    button: str
    about: str
    arguments: type[wishes.ActArguments]
    perform: Callable[..., ActOutcome]
    asked: tuple[str, ...] = ()  # arguments that people fill in; the others come from the link that led there
    destroys: bool = False  # nothing brings it back

    def command(self, wish: wishes.ActArguments) -> NextStep:
        """Return the operation, for the words of the command line that does the same."""
        usual = {field.name: field.default for field in fields(self.arguments)}
        facts = {name: value for name, value in asdict(wish).items() if value != usual[name]}
        if isinstance(wish, wishes.RestorePaths) and wish.entry is not None:
            facts["checkpoint"] = str(facts.pop("entry"))
        facts.pop("agreed", None)  # who types the command sees what it means
        if isinstance(wish, wishes.ResolveWith):  # what is typed is in a file there
            facts.pop("seen", None)
            facts |= {"content": ...} if wish.content is not None else {}
        cut = {n: f"{v[:_CUT]}…" if isinstance(v, str) and len(v) > _CUT else v for n, v in facts.items()}
        return NextStep(self.verb, **cut)


_ACTS = (
    Act(
        name="undo",
        verb="undo",
        title="Undo",
        button="Undo",
        about="Take back what was done last and still counts; what others changed since stays.",
        arguments=wishes.Undo,
        perform=folder_acts.undo,
        asked=("keep_commits", "end_processes", "onto_branch"),
    ),
    Act(
        name="redo",
        verb="redo",
        title="Redo",
        button="Redo",
        about="Bring back what was undone last.",
        arguments=wishes.Redo,
        perform=folder_acts.redo,
        asked=("onto_branch",),
    ),
    Act(
        name="rollback",
        verb="rollback",
        title="Roll back",
        button="Roll back",
        about="Bring a plan back, or forward, to a checkpoint: files, state, decisions.",
        arguments=wishes.Rollback,
        perform=folder_acts.rollback,
    ),
    Act(
        name="restore",
        verb="restore_paths",
        title="Restore paths",
        button="Restore",
        about="Bring single paths of the folder back; what was there is kept in a checkpoint.",
        arguments=wishes.RestorePaths,
        perform=folder_acts.restore_paths,
        asked=("sandbox", "delete"),
    ),
    Act(
        name="resume",
        verb="resume",
        title="Resume",
        button="Resume",
        about="Go on with a plan that stopped, from its last good checkpoint.",
        arguments=wishes.Resume,
        perform=plan_acts.resume,
        asked=("start", "take_over"),
    ),
    Act(
        name="correct",
        verb="correct",
        title="Correct a decision",
        button="Correct",
        about="Take a decision back with all that followed from it, or append work to it, and run on.",
        arguments=wishes.Correct,
        perform=plan_acts.correct,
        asked=("mode", "choose", "guidance", "execute"),
    ),
    Act(
        name="resolve",
        verb="resolve",
        title="Resolve conflicts",
        button="Mark as solved",
        about="Mark conflicts of merged child plans as solved, as their files are in the sandbox now.",
        arguments=wishes.Resolve,
        perform=plan_acts.resolve,
    ),
    Act(
        name="edit",
        verb="resolve_with",
        title="Edit a file in conflict",
        button="Save and mark as solved",
        about="Write what a file in conflict is to become into the sandbox, and mark it as solved.",
        arguments=wishes.ResolveWith,
        perform=plan_acts.resolve_with,
    ),
    Act(
        name="accept",
        verb="accept",
        title="Accept",
        button="Accept as it is",
        about="Make a plan that stopped complete as it is, so that it can be applied.",
        arguments=wishes.Accept,
        perform=plan_acts.accept,
        asked=("at",),
    ),
    Act(
        name="answer",
        verb="answer",
        title="Answer the question",
        button="Answer and run on",
        about="Record the decision that the plan waits for, and run on.",
        arguments=wishes.AnswerQuestion,
        perform=plan_acts.answer,
        asked=("choice", "rationale"),
    ),
    Act(
        name="apply",
        verb="apply",
        title="Apply",
        button="Apply to the real files",
        about="Merge the result into the real files, all at once or not at all. It can be taken back.",
        arguments=wishes.Apply,
        perform=plan_acts.apply,
        asked=("message", "onto_branch"),
    ),
    Act(
        name="unapply",
        verb="unapply",
        title="Unapply",
        button="Take it out of the real files",
        about="Take the result out of the real files; what others did since stays.",
        arguments=wishes.Unapply,
        perform=plan_acts.unapply,
        asked=("onto_branch",),
    ),
    Act(
        name="cancel",
        verb="cancel",
        title="Cancel",
        button="Cancel for good",
        about="End a plan for good. Its checkpoints stay.",
        arguments=wishes.Cancel,
        perform=plan_acts.cancel,
        asked=("reason",),
        destroys=True,
    ),
    Act(
        name="pick",
        verb="pick_variant",
        title="Pick a variant",
        button="Pick",
        about="Take over the result of a variant, to be applied.",
        arguments=wishes.PickVariant,
        perform=plan_acts.pick_variant,
        asked=("rationale",),
    ),
    Act(
        name="label",
        verb="checkpoints.create",
        title="Label",
        button="Take a checkpoint with this name",
        about="Take a checkpoint of a plan as it is now, with a name to go back to.",
        arguments=wishes.Label,
        perform=plan_acts.label,
        asked=("label",),
    ),
    Act(
        name="remove",
        verb="remove_plan",
        title="Forget a plan",
        button="Forget it",
        about="Forget a plan with its checkpoints and sandboxes; real files stay as they are.",
        arguments=wishes.RemovePlan,
        perform=folder_acts.remove_plan,
        destroys=True,
    ),
    Act(
        name="gc",
        verb="gc",
        title="Free disk space",
        button="Free it",
        about="Free what no checkpoint refers to, and what killed processes left behind.",
        arguments=wishes.CollectGarbage,
        perform=folder_acts.collect,
    ),
    Act(
        name="doctor",
        verb="doctor",
        title="Look the project over",
        button="Check and repair",
        about="Check database, store, sandboxes and leftovers, and repair what is safe.",
        arguments=wishes.LookOver,
        perform=folder_acts.look_over,
    ),
)

ACTS = {act.name: act for act in _ACTS}
BY_VERB = {act.verb: act for act in _ACTS}
