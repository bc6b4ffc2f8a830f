"""Facts of a plan at a glance: its state, its resources, and its steps."""

from collections.abc import Iterator

from mulligan.adapters.report_page.markup import Content, Markup, element, joined, several_lines
from mulligan.adapters.report_page.page_words import chip, coded, duration, moment
from mulligan.domain.plans.step import StepRecord, StepStatus
from mulligan.domain.resources.remote_branch import branch_at
from mulligan.domain.resources.resource import Resource
from mulligan.domain.text.inert_text import without_escapes
from mulligan.domain.text.plural import counted
from mulligan.domain.views.report import PlanReport

_BAR = 100  # units of the longest


def figures(part: PlanReport) -> Markup:
    """The plan in numbers."""
    counts = part.counts
    done = sum(step.status is StepStatus.DONE for step in part.steps)
    tiles = [
        (f"{done}/{len(part.steps)}", "steps done"),
        (counts.tool_calls, "tool calls"),
        (counts.decisions, "decisions"),
        (counts.checkpoints, "checkpoints"),
        (counts.files_modified, "files changed"),
        (counts.child_plans, "child plans"),
    ]
    pairs = (element("div", element("dt", name), element("dd", str(value))) for value, name in tiles if value)
    return element("dl", pairs, class_="figures")


def facts(part: PlanReport) -> Markup:
    """The plan in words."""
    rows = (joined(element("dt", name), element("dd", value)) for name, value in _rows(part))
    return element("dl", rows, class_="facts")


def _rows(part: PlanReport) -> Iterator[tuple[str, Content]]:
    plan = part.plan
    yield "Plan", element("code", plan.handle, class_="id")
    if part.parent_name is not None:
        yield "Child of", part.parent_name
    if part.plan.definition.fork is not None:
        yield "Forked from", part.plan.definition.fork.word
    yield "State", [chip(plan.state.value), f" in phase {plan.phase.value}"]
    if plan.attempt > 1:
        yield "Attempt", str(plan.attempt)
    yield "Recorded", moment(plan.created_at)
    yield "Last changed", moment(plan.updated_at)
    located = (
        element("li", element("strong", r.name), f", {r.type.value} at ", element("code", _place(r)))
        for r in plan.definition.resources
    )
    yield "Works on", element("ul", located)
    if plan.definition.variables:
        pairs = (element("li", element("code", f"{k} = {v}")) for k, v in plan.definition.variables.items())
        yield "Variables", element("ul", pairs)
    if part.corrections:
        told = (element("li", f"attempt {c.attempt}: {c.guidance}") for c in part.corrections)
        yield "Corrections", element("ul", told)


def standing(part: PlanReport) -> Markup | None:
    """Return why the plan stopped, with further notes; None if there is nothing to say."""
    parts: list[Markup] = []
    if part.error is not None:
        step = f"Step {part.error.step} failed. " if part.error.step else ""
        message = several_lines(without_escapes(part.error.message))
        said = element("p", element("strong", f"Stopped. {step}"), message)
        hint = element("p", "Next: ", coded(part.error.hint))
        parts.append(element("div", said, hint, class_="callout bad"))
    if part.plan.conflicts:
        listed = [element("li", f"{c.resource}: {c.path} ({c.reason})") for c in part.plan.conflicts]
        head = element("p", element("strong", counted(len(listed), "conflict")))
        parts.append(element("div", head, element("ul", listed), class_="callout warn"))
    if part.messages:
        parts.append(element("div", [element("p", coded(text)) for text in part.messages], class_="callout"))
    return joined(parts) if parts else None


def steps(part: PlanReport) -> Markup:
    """Return the current steps of the plan, each with its duration beside the others."""
    longest = max((step.duration_ms or 0 for step in part.steps), default=0)
    return element("ol", [_step(step, longest) for step in part.steps], class_="steps")


def _step(step: StepRecord, longest: int) -> Markup:
    return element(
        "li",
        element("span", str(step.index), class_="number"),
        element("span", step.name, class_="name"),
        chip(step.status.value),
        _bar(step.duration_ms, longest),
        element("span", duration(step.duration_ms), class_="took"),
        class_=step.status.value,
    )


def _bar(milliseconds: int | None, longest: int) -> Markup | None:
    """Return a bar for the duration of a step; the number is beside it."""
    if not milliseconds or not longest:
        return element("span", class_="bar")
    width = str(max(1, milliseconds * _BAR // longest))
    bar = element("rect", width=width, height="4")
    return element(
        "svg", bar, class_="bar", viewBox=f"0 0 {_BAR} 4", preserveAspectRatio="none", aria_hidden="true"
    )


def _place(resource: Resource) -> str:
    """Return where a resource is, in words for people."""
    return branch_at(resource.location).shown if resource.type.traits.is_remote else resource.location
