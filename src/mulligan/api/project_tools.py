"""The tools of a project, for callers."""

from msgspec import Struct

from mulligan.adapters.tools.project_toolbox import ProjectToolbox
from mulligan.adapters.tools.user_tools.tool_discovery import FileStanding
from mulligan.adapters.tools.user_tools.user_tool import OwnTool
from mulligan.domain.plans.tool import Argument, ToolDeclaration, tool_unknown
from mulligan.errors import NotFound
from mulligan.wiring.thread_services import ThreadServices

BUILT_IN = "built in"


class ToolView(Struct, frozen=True, kw_only=True):
    """One tool: what it takes and what it declares."""

    name: str
    summary: str
    origin: str  # built in, tools.py, or package NAME
    arguments: tuple[Argument, ...]
    resource_types: tuple[str, ...]
    writes: bool
    read_only: bool
    checkpointable: bool
    idempotent: bool
    side_effects: tuple[str, ...]
    timeout: float | None
    undo: bool
    doc: str


class ToolList(Struct, frozen=True, kw_only=True):
    """All tools that plans can use now."""

    tools: tuple[ToolView, ...]
    tools_file: FileStanding
    problems: tuple[str, ...]  # with sources that could not be loaded, and names that are taken


class Trusted(Struct, frozen=True, kw_only=True):
    """A tools.py that may run from now on."""

    path: str
    sha256: str
    tools: tuple[ToolView, ...]


class Tools:
    """The tools of a project."""

    def __init__(self, *, threads: ThreadServices) -> None:
        self._threads = threads

    @property
    def _toolbox(self) -> ProjectToolbox:
        return self._threads.here.adapters.toolbox

    def list(self) -> ToolList:
        """Every tool there is; a tools.py that is not trusted is named, and not loaded."""
        own, problems = self._toolbox.own.all()
        views = [*self._built_in(), *map(_own_view, own)]
        standing = self._toolbox.own.standing()
        return ToolList(tools=tuple(views), tools_file=standing, problems=tuple(problems))

    def show(self, name: str) -> ToolView:
        """One tool, or ToolUnknown."""
        for view in self._built_in():
            if view.name == name:
                return view
        found = self._toolbox.own.find(name)
        if found is None:
            raise tool_unknown(name, self._toolbox.declarations())
        return _own_view(found)

    def standing(self) -> FileStanding:
        """Return the state of the tools.py; refuse where there is none that could be trusted."""
        standing = self._toolbox.own.look()
        if standing.status == "missing":
            raise NotFound(
                reason=f"there is no {standing.path}", hint="put functions with `@mulligan.tool` there"
            )
        return standing

    def trust(self, sha256: str | None = None) -> Trusted:
        """Let the tools.py run: the content with that hash, or the one it has now."""
        standing = self.standing()
        wanted = sha256 or standing.sha256 or ""
        tools = self._toolbox.own.trust(wanted)
        return Trusted(path=standing.path, sha256=wanted, tools=tuple(map(_own_view, tools)))

    def _built_in(self) -> "list[ToolView]":
        return [_view(d, BUILT_IN, d.summary) for d in self._toolbox.built_in.declarations().values()]


def _own_view(tool: OwnTool) -> ToolView:
    return _view(tool.declaration, tool.origin, tool.doc)


def _view(declared: ToolDeclaration, origin: str, doc: str) -> ToolView:
    return ToolView(
        name=declared.name,
        summary=declared.summary,
        origin=origin,
        arguments=declared.arguments,
        resource_types=tuple(sorted(declared.resource_types)),
        writes=declared.writes,
        read_only=declared.read_only,
        checkpointable=declared.checkpointable,
        idempotent=declared.idempotent,
        side_effects=declared.side_effects,
        timeout=declared.timeout,
        undo=declared.undoable,
        doc=doc,
    )
