"""Each thing that happens to a plan, in words."""

from collections.abc import Container, Mapping
from typing import cast

from msgspec import Struct

from mulligan.adapters.report_page.change_blocks import files, summary, sums
from mulligan.adapters.report_page.markup import Content, Markup, element, joined
from mulligan.adapters.report_page.page_words import chip, clock, duration, shown_text
from mulligan.domain.checkpoints.checkpoint import GroupOutline
from mulligan.domain.plans.decision import Decision, DecisionType
from mulligan.domain.plans.event import EventType
from mulligan.domain.plans.tool import CallStatus
from mulligan.domain.text.ids import GroupId
from mulligan.domain.text.inert_text import without_escapes
from mulligan.domain.text.json_value import JsonObject
from mulligan.domain.text.plural import counted
from mulligan.domain.views.excerpt import Excerpt, excerpt
from mulligan.domain.views.report import Changes
from mulligan.domain.views.story import Happening, ShownCall

GROUP, CHILD = "g-", "p-"  # how anchors begin
_SHORT = 12  # lines of an output that is shown without asking
_WORDS = (60, 20)  # first and last lines of a message


class Drawn(Struct, frozen=True):
    """A happening as an item of the story."""

    kind: str  # a word that the style sheet knows
    content: Markup
    anchor: str | None = None


class Scene(Struct, frozen=True):
    """The records that the events of a plan can refer to."""

    changes: Mapping[GroupId, Changes]
    anchors: Container[str]  # that the page has

    def reference(self, anchor: str, text: str, **attributes: str) -> Markup:
        """Return a link to something on the page; just its name if it is not on the page."""
        known = anchor in self.anchors
        return element("a" if known else "span", text, href=f"#{anchor}" if known else None, **attributes)


def told(happening: Happening, scene: Scene) -> Drawn:
    """A happening in words."""
    match happening.about:
        case ShownCall():
            return Drawn("call", _call(happening.about))
        case Decision():
            return Drawn("decision", _decision(happening.about))
        case GroupOutline():
            return _checkpoint(happening, happening.about, scene)
        case None:
            kind, words = _told(happening, scene)
            return Drawn(kind, joined(words))


def _call(shown: ShownCall) -> Markup:
    call = shown.call
    failed = call.status is not CallStatus.DONE
    about = element(
        "p",
        element("span", call.tool, class_="tool"),
        element("span", f"on {call.resource}", class_="resource"),
        chip(call.status.value) if failed else None,
        element("span", duration(call.duration_ms), class_="took"),
        clock(call.started_at),
        class_="about",
    )
    error = _error(call.error) if call.error else None
    return joined(about, _arguments(shown.arguments), error, _output(shown.output, opened=failed))


def _arguments(arguments: tuple[tuple[str, Excerpt], ...]) -> Markup | None:
    if not arguments:
        return None
    pairs = ((element("dt", name), element("dd", shown_text(value, "code"))) for name, value in arguments)
    return element("dl", pairs, class_="arguments")


def _output(output: Excerpt | None, *, opened: bool) -> Markup | None:
    if output is None:
        return None
    lines = output.lines + output.lines_left_out
    summary = element("summary", f"Output, {counted(lines, 'line')}")
    return element(
        "details", summary, shown_text(output, "output"), open=opened or lines <= _SHORT, class_="printed"
    )


def _decision(decision: Decision) -> Markup:
    choice = decision.choice
    guided = decision.type is DecisionType.USER_INTERVENTION
    others = [element("span", word, class_="alternative") for word in choice.alternatives]
    about = clock(decision.created_at), _gone(superseded=decision.superseded)
    return joined(
        element("p", element("span", choice.question, class_="question"), *about, class_="about"),
        _keyed("guidance" if guided else "chosen", element("strong", choice.chosen)),
        _keyed("instead of" if guided else "not chosen", others) if others else None,
        _keyed("because", choice.rationale) if choice.rationale else None,
    )


def _keyed(key: str, content: Content) -> Markup:
    return element("p", element("span", key, class_="key"), content)


def _gone(*, superseded: bool) -> Markup | None:
    return chip("superseded", "gone") if superseded else None


def _checkpoint(happening: Happening, group: GroupOutline, scene: Scene) -> Drawn:
    head = joined(
        element("span", "Checkpoint", class_="word"),
        element("strong", f"“{group.label}”") if group.label else None,
        element("code", group.type.value),
        _group(group.group_id, group.number, scene),
        _gone(superseded=group.superseded),
        clock(happening.at),
    )
    body, changes = None, scene.changes.get(group.group_id)
    if changes is not None:
        told = element(
            "summary", "Changes since the checkpoint before: ", summary(changes), " ", sums(changes)
        )
        body = element("details", told, files(changes), class_="changes")
    return Drawn("checkpoint", joined(element("p", head, class_="about"), body), f"{GROUP}{group.group_id}")


def _sentence(happening: Happening, *content: Content) -> Markup:
    return element("p", element("span", *content), clock(happening.at), class_="about")


def _number(data: JsonObject, name: str) -> int:
    return cast("int", data.get(name, 0))


def _words(text: str) -> Markup:
    first, last = _WORDS
    return shown_text(excerpt(without_escapes(text), first=first, last=last), "words")


def _error(text: str) -> Markup:
    return element("div", _words(text), class_="error")


def _told(happening: Happening, scene: Scene) -> tuple[str, Content]:
    """Return the kind and the words of an event that has no record of its own, or none that is shown."""
    data = happening.data

    def sentence(*content: Content) -> Markup:
        return _sentence(happening, *content)

    match happening.type:
        case EventType.PLAN_CREATED:
            fork = cast("JsonObject | None", data.get("forked_from"))
            start = f", forked from {fork['handle']}@{fork['number']}" if fork else ""
            return "state", sentence(f"The plan was recorded{start}")
        case EventType.PLAN_STATE:
            reason = f": {data['reason']}" if data.get("reason") else ""
            conflicts = cast("list[JsonObject]", data.get("conflicts") or [])
            listed = [element("li", f"{c['resource']}: {c['path']} ({c['reason']})") for c in conflicts]
            is_now = sentence("The plan is ", chip(str(data["state"])), reason)
            return "state", [is_now, element("ul", listed) if listed else None]
        case EventType.PLAN_MENDED:
            return "turn", sentence(
                f"Continued with an edited plan file, from step {_number(data, 'from_step')}"
            )
        case EventType.STEP_ADDED:
            return "turn", sentence(f"Continued with another step: {data['step']}")
        case EventType.STEP_FAILED:
            return "failure", [sentence("The step failed"), _error(str(data["error"]))]
        case EventType.TOOL_UNDONE:
            undone = f"{data['tool']} in step {data['step']}"
            error = data["error"]
            return "note", sentence(f"The undo of {undone} failed: {error}" if error else f"Undone: {undone}")
        case EventType.RESOLVED:
            paths, left = ", ".join(cast("list[str]", data["paths"])), _number(data, "left")
            return "turn", sentence(f"Conflicts solved: {paths}{f'; {left} left' if left else ''}")
        case EventType.SUBPLAN_SPAWNED:
            verb = "went on" if data.get("again") else "started"
            return "child", sentence("Child plan ", _child(data, scene), f" {verb}")
        case EventType.SUBPLAN_MERGED:
            done = "picked" if data.get("picked") else "merged"
            merged = f" was {done}: {counted(_number(data, 'paths'), 'path')}"
            conflicts = _number(data, "conflicts")
            found = joined(", ", chip(counted(conflicts, "conflict"), "warn")) if conflicts else None
            return "child", sentence("Child plan ", _child(data, scene), merged, found)
        case EventType.CHECKPOINT:  # only the log knows it
            number = f" @{data['number']}" if data.get("number") else ""
            label = f" “{data['label']}”" if data.get("label") else ""
            kind = element("code", str(data["checkpoint_type"]))
            return "checkpoint", sentence(f"Checkpoint{number}{label} ", kind, " ", chip("pruned", "gone"))
        case EventType.PRUNED:
            groups = cast("list[str]", data["groups"])
            return "note", sentence(f"{counted(len(groups), 'older checkpoint')} pruned")
        case EventType.ROLLBACK:
            return "turn", sentence(element("strong", "Rolled back"), _where_to(data, scene))
        case EventType.CORRECTION:
            return "turn", [
                _corrected(happening, scene),
                element("blockquote", _words(str(data["guidance"]))),
            ]
        case EventType.RETURNED:
            went = element("strong", "Went back")
            return "turn", sentence(went, f" ({data['reason']})", _where_to(data, scene))
        case EventType.APPLIED:
            return "turn", _of_resources(happening, "Applied to the real resources")
        case EventType.UNAPPLIED:
            return "turn", _of_resources(happening, "Taken out of the real resources again")
        case EventType.PATHS_RESTORED:
            restored = f"{counted(int(str(data['paths'])), 'path')} restored from @{data['number']}"
            return "note", sentence(f"{restored} into the {data['place']}")
        case EventType.FORGOTTEN:
            return "note", sentence(f"Paths purged from {counted(int(str(data['groups'])), 'checkpoint')}")
        case EventType.LOG:
            return "log", [sentence("The tool says"), _words(str(data["message"]))]
        case EventType.MESSAGE:
            of_step = f" of step {data['step']}" if data.get("step") else ""
            return "note", [sentence(f"Note{of_step}"), _words(str(data["message"]))]
        case EventType.STEP_STARTED | EventType.STEP_DONE | EventType.TOOL_CALLED | EventType.DECISION:
            named = data.get("tool") or data.get("question") or data.get("step") or ""
            return "note", sentence(f"{happening.type.value.replace('_', ' ')} {named}")


def _child(data: JsonObject, scene: Scene) -> Markup:
    return scene.reference(f"{CHILD}{data['plan_id']}", str(data["name"]))


def _group(group_id: str, number: object, scene: Scene) -> Markup:
    """Draw a group by its number; events of an earlier version do not have it."""
    return scene.reference(f"{GROUP}{group_id}", f"@{number}" if number else "an earlier one", class_="id")


def _where_to(data: JsonObject, scene: Scene) -> Markup:
    paths = counted(_number(data, "paths"), "path")
    group = _group(str(data["group_id"]), data.get("number"), scene)
    return joined(" to checkpoint ", group, f" at step {_number(data, 'step_index')}; {paths} restored")


def _corrected(happening: Happening, scene: Scene) -> Markup:
    data = happening.data
    return _sentence(
        happening,
        element("strong", "Corrected"),
        f" ({data['mode']}, attempt {data['attempt']})",
        _where_to(data, scene) if data.get("group_id") else None,
        f", by child plan {data['child']}" if data.get("child") else "",
        f"; chosen instead: {data['chosen']}" if data.get("chosen") else "",
    )


def _of_resources(happening: Happening, what: str) -> Markup:
    told: list[Content] = []
    for each in cast("list[JsonObject]", happening.data["resources"]):
        commit = joined(", commit ", element("code", str(each["commit"]))) if each.get("commit") else None
        told.append(element("li", f"{each['resource']}: {counted(_number(each, 'files'), 'file')}", commit))
    return joined(_sentence(happening, element("strong", what)), element("ul", told) if told else None)
