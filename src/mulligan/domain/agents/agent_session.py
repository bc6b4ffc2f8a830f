"""Sessions of coding agents as they are recorded: each is a plan, and its events refer to checkpoint groups."""

from datetime import datetime

from msgspec import Struct

from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.text.ids import CallId, GroupId, PlanId
from mulligan.domain.text.inert_text import harmless
from mulligan.domain.text.names import LONGEST_NAME, name_problem

UNSEEN_PROMPT = "(a prompt that no hook reported)"


class AgentSession(Struct, frozen=True, kw_only=True):
    """A session of an agent, and the plan that holds what was done in it."""

    agent: str
    session: str  # the agent's own id
    plan_id: PlanId
    parent_session: str | None  # the one that it was forked from
    entry: int | None  # the prompt that is being answered, as an entry of the timeline
    prompt: str | None  # the agent's own id of that
    started_at: datetime
    ended_at: datetime | None = None


OWN_GROUP = "group:"  # before the trigger of a group, as the kind of a moment that no hook reported


class AgentMoment(Struct, frozen=True, kw_only=True):
    """An event that a hook reported, with the group that holds the files of that moment.

    Groups that mulligan takes of real resources on its own are moments too: `group:post_undo`.
    """

    number: int  # over all agents, from 1
    plan_id: PlanId
    kind: str  # of the event, or OWN_GROUP and a trigger
    entry: int | None
    call_id: CallId | None
    group_id: GroupId
    created_at: datetime


class KnownMoment(Struct, frozen=True, kw_only=True):
    """A moment with the contents that a real folder or file had then."""

    number: int
    kind: str
    plan_id: PlanId
    snapshot: Snapshot


class PlacedMoment(Struct, frozen=True, kw_only=True):
    """A moment with the contents of one real folder or file, and the time and group that hold them."""

    number: int
    kind: str
    plan_id: PlanId
    group_id: GroupId
    resource: str
    path: str  # as rows have it: equal ones are the same place
    snapshot: Snapshot
    created_at: datetime


def prompt_title(text: str | None) -> str:
    """Return the first line of a prompt as the name of a step."""
    lines = (line.strip() for line in (text or "").splitlines())
    first = next((line for line in lines if line), UNSEEN_PROMPT)
    title = harmless(first)[:LONGEST_NAME].strip()
    return UNSEEN_PROMPT if name_problem(title) else title
