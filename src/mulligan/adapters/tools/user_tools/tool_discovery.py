"""All tools of the user's own: found when they are first needed, and loaded only where that may be.

Their code never runs in this process: a worker loads it and returns the declarations.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn, cast

from msgspec import Struct

from mulligan.adapters.tools.user_tools.entry_points import PackagedTools
from mulligan.adapters.tools.user_tools.tools_file import (
    CHANGED,
    NAME,
    NOT_YET,
    ToolsFile,
    TrustRecord,
    read_tools_file,
)
from mulligan.adapters.tools.user_tools.user_tool import OwnTool, Source
from mulligan.adapters.tools.worker.worker_calls import WorkerCalls
from mulligan.domain.text.ids import CallId, PlanId
from mulligan.domain.text.json_value import JsonObject
from mulligan.errors import MulliganError, ToolFailed, ToolsInvalid, ToolsUnsafe, ToolsUntrusted
from mulligan.ports import ToolRequest

NOBODY = PlanId("none")  # the owner of processes that only report declarations
PATIENCE = 60.0  # seconds for the tools to be loaded


class FileStanding(Struct, frozen=True, kw_only=True):
    """The state of the project's tools.py: missing, untrusted, trusted, or broken."""

    path: str
    status: str  # missing, untrusted, changed, trusted, unsafe
    sha256: str | None = None
    size_bytes: int | None = None
    problem: str | None = None  # why it is not used, to be read after the path


class OwnTools(Struct, eq=False, kw_only=True, dict=True):
    """The tools of the project's tools.py and of installed packages."""

    path: Path  # of the tools.py
    record: TrustRecord
    calls: WorkerCalls
    reserved: Collection[str]  # names of built-in tools
    installed: Callable[[], Sequence[PackagedTools]]

    def find(self, name: str) -> OwnTool | None:
        """The tool of that name; ToolsUntrusted where only a tools.py that may not be loaded could have it."""
        packaged = self._packaged[0].get(name, ())
        try:
            found = [*(tool for tool in self._of_file if tool.declaration.name == name), *packaged]
        except (ToolsUntrusted, ToolsUnsafe) as refusal:
            if packaged:
                found = list(packaged)
            else:
                raise type(refusal)(**refusal.facts, need=f"the tool {name!r} is not built in") from None
        if len(found) > 1:
            raise ToolsInvalid(source=found[0].origin, reason=_twice(name, found))
        return found[0] if found else None

    def all(self) -> tuple[list[OwnTool], list[str]]:
        """Every tool that can be used now, and what is wrong with the others; nothing untrusted is loaded."""
        packaged, found_wrong = self._packaged
        problems = list(found_wrong)
        of_file: Sequence[OwnTool] = ()
        try:
            of_file = self._of_file
        except (ToolsUntrusted, ToolsUnsafe):
            pass  # its state says why
        except MulliganError as exc:
            problems.append(exc.text)
        by_name: dict[str, list[OwnTool]] = {}
        for tool in (*of_file, *(t for tools in packaged.values() for t in tools)):
            by_name.setdefault(tool.declaration.name, []).append(tool)
        problems += [_twice(name, found) for name, found in by_name.items() if len(found) > 1]
        return [found[0] for found in by_name.values() if len(found) == 1], problems

    def standing(self) -> FileStanding:
        """Return the state of the tools.py without loading it."""
        try:
            return self.look()
        except ToolsUnsafe as exc:
            problem = f"is not used: {exc.facts['reason']}"
            return FileStanding(path=str(self.path), status="unsafe", problem=problem)

    def look(self) -> FileStanding:
        """The same, but ToolsUnsafe for one that others could have written."""
        path = str(self.path)
        file = read_tools_file(self.path)
        if file is None:
            return FileStanding(path=path, status="missing")
        reason = self.record.reason_against(file)
        known = {None: "trusted", NOT_YET: "untrusted", CHANGED: "changed"}
        size = len(file.content)
        return FileStanding(
            path=path, status=known[reason], sha256=file.sha256, size_bytes=size, problem=reason
        )

    def trust(self, sha256: str) -> Sequence[OwnTool]:
        """Record that the tools.py may run, if it still has the content the user looked at; return its tools."""
        file = read_tools_file(self.path)
        if file is None or file.sha256 != sha256:
            reason, need = "is not what you looked at", "somebody changed it meanwhile"
            raise ToolsUntrusted(path=str(self.path), reason=reason, need=need)
        facts = self._load(file)
        tools = self._made(facts, file)
        self.record.trust(file, facts)
        self._of_file = tools
        return tools

    @cached_property
    def _of_file(self) -> Sequence[OwnTool]:
        """The tools of the tools.py. What it is now stays what it is: as long as this process lives."""
        file = read_tools_file(self.path)
        if file is None:
            return ()
        if reason := self.record.reason_against(file):
            raise ToolsUntrusted(path=str(self.path), reason=reason)
        facts = self.record.declared(file)
        if facts is None:
            facts = self._load(file)
            self.record.trust(file, facts)
        return self._made(facts, file)

    def _made(self, facts: Sequence[JsonObject], file: ToolsFile) -> Sequence[OwnTool]:
        source = Source(NAME, {"path": str(file.path), "text": file.text})
        tools = [OwnTool(fact, source, self.calls) for fact in facts]
        for tool in tools:
            if tool.declaration.name in self.reserved:
                raise ToolsInvalid(source=str(file.path), reason=_taken(tool))
        return tools

    def _load(self, file: ToolsFile) -> list[JsonObject]:
        answer = self._declare([{"path": str(file.path), "text": file.text}])[0]
        if "problem" in answer:
            raise ToolsInvalid(source=str(file.path), reason=str(answer["problem"]))
        return cast("list[JsonObject]", answer["tools"])

    @cached_property
    def _packaged(self) -> tuple[Mapping[str, tuple[OwnTool, ...]], Sequence[str]]:
        """The tools of packages, and what is wrong with those that cannot be used."""
        points = self.installed()
        if not points:
            return {}, ()
        found: dict[str, tuple[OwnTool, ...]] = {}
        problems: list[str] = []
        sources = [Source(f"package {p.package}", {"entry_point": p.value}) for p in points]
        for source, answer in zip(sources, self._declare([s.content for s in sources]), strict=True):
            if "problem" in answer:
                problems.append(f"{source.origin}: {source.content['entry_point']}: {answer['problem']}")
                continue
            for facts in cast("list[JsonObject]", answer["tools"]):
                tool = OwnTool(facts, source, self.calls)
                others = found.get(tool.declaration.name, ())
                if tool.declaration.name in self.reserved:
                    problems.append(f"{source.origin}: {_taken(tool)}")
                elif not any(tool.is_same_as(other) for other in others):
                    found[tool.declaration.name] = (*others, tool)
        return found, problems

    def _declare(self, sources: Sequence[JsonObject]) -> Sequence[JsonObject]:
        """Return what each source declares, or why it cannot be loaded; one that ends its process affects no other."""
        try:
            return self._ask(sources)
        except ToolFailed as exc:
            if len(sources) == 1:
                return [{"problem": f"cannot be loaded: {exc.text.partition(': ')[2]}"}]
            return [self._declare([source])[0] for source in sources]

    def _ask(self, sources: Sequence[JsonObject]) -> Sequence[JsonObject]:
        request = ToolRequest(
            call_id=CallId("declare"),
            plan_id=NOBODY,
            step_name="",
            args={},
            root=self.path.parent.parent,
            script_root=None,
            sandboxes={},
            variables={},
            outputs={},
            memory={},
            guidance="",
            environment={},
            large_values={},
            timeout=PATIENCE,
            bounds=None,
            appearance=None,  # it belongs to no plan, and the user trusts what is loaded
        )
        try:
            result = self.calls.call(NAME, {"declare": [*sources]}, request, _Loading())
        finally:
            self.calls.workers.forget(NOBODY)
        return cast("list[JsonObject]", result.output)


class _Loading:
    """The host of code that is only being loaded: it may ask for nothing, and its output is dropped."""

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise ToolFailed(tool=NAME, reason="no step runs while tools are loaded")

    record_decision = checkpoint = spawn = log = _refuse

    def output(self, data: bytes) -> None:
        pass

    def save_memory(self, memory: JsonObject) -> None:
        pass

    def while_waiting(self, now: float, learn: Callable[[], None]) -> float | None:
        return None


def _taken(tool: OwnTool) -> str:
    return f"{tool.declaration.name!r} is the name of a built-in tool"


def _twice(name: str, found: Sequence[OwnTool]) -> str:
    return f"the tool {name!r} is declared more than once: by {' and by '.join(t.origin for t in found)}"
