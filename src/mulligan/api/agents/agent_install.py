"""Operations on the hooks of coding agents: write them into an agent's configuration, and take them out again."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from mulligan.adapters.agents.agent_files import AgentFile
from mulligan.adapters.agents.install_records import InstallRecord, InstallRecords, digest
from mulligan.api.agents.agent_places import (
    base_folder,
    is_found,
    named_agents,
    own_command,
    own_program,
    records_of,
    scope_named,
    scope_root,
    version_of,
)
from mulligan.api.operations.extras import has_extra, installing
from mulligan.domain.agents.agent_table import AGENTS, Agent
from mulligan.domain.agents.hook_entries import HookOptions, Place, Scope, knows_on_failure, places_of
from mulligan.domain.agents.hook_text import is_left_over, with_hooks, without_hooks
from mulligan.domain.agents.plugin_files import MARK
from mulligan.domain.agents.server_entries import (
    ServerPlace,
    server_place_of,
    with_server,
    without_server,
)
from mulligan.domain.text.json_edit import JsonTextInvalid
from mulligan.domain.trees.git_patch import Version, patch_of
from mulligan.errors import AgentFileUnusable, AgentMissing

if TYPE_CHECKING:
    from mulligan.wiring.surroundings import Surroundings

_CANNOT_BLOCK = (
    "this Claude Code cannot block where a hook cannot be started; mulligan blocks where its own work fails"
)


class FileChange(Struct, frozen=True, kw_only=True):
    """One file of an agent that was changed, or would be."""

    path: str
    action: str  # created, changed, removed, unchanged
    patch: str  # as git shows it; empty where nothing changes
    copy: str | None  # of what was there before


class AgentChange(Struct, frozen=True, kw_only=True):
    """The hooks of one agent that were written or taken out, or would be."""

    agent: str
    scope: Scope
    from_documentation: bool  # the hooks were never tried with this agent
    files: Sequence[FileChange]


class AgentChanges(Struct, frozen=True, kw_only=True):
    """The answer of install and uninstall."""

    agents: Sequence[AgentChange]
    strict: bool
    everywhere: bool
    dry_run: bool
    messages: Sequence[str] = ()

    @property
    def is_empty(self) -> bool:
        """Return whether every file is as it should be already."""
        return all(file.action == "unchanged" for each in self.agents for file in each.files)


class _Edit(Struct, frozen=True, kw_only=True):
    """A file as it is and as it is to be; None: not there."""

    agent: Agent
    file: AgentFile
    now: bytes | None
    wanted: bytes | None
    original: bytes | None  # what uninstall is to bring back
    folders: list[Path]  # that are ours to remove with the file
    installs: bool  # otherwise our hooks go


class _Content(Struct, frozen=True, kw_only=True):
    """Our part of a file: hooks, the server of tools, or both."""

    agent: Agent
    place: Place
    hooks: bool
    server: ServerPlace | None

    @property
    def is_json(self) -> bool:
        """Return whether the file is JSON."""
        return self.hooks or self.server is None or bool(self.server.keys)

    def put_in(self, text: str, options: HookOptions) -> str:
        """Return a file with our part."""
        if self.hooks:
            text = with_hooks(text, self.agent, self.place, options)
        if self.server is not None:
            text = with_server(text, self.agent, self.server, options.server)
        return text

    def taken_from(self, text: str, original: str | None) -> str:
        """Return a file without our part; what the original has of it stays."""
        if self.server is not None:
            text = without_server(text, self.server, original)
        return without_hooks(text, self.agent, self.place, original) if self.hooks else text


def install(
    around: Surroundings,
    names: Sequence[str],
    *,
    every: bool,
    scope: str,
    strict: bool,
    everywhere: bool,
    dry_run: bool,
) -> AgentChanges:
    """Write hooks into the configuration of these agents, or of every one that is found."""
    agents = found_agents(around) if every else named_agents(names)
    place = scope_named(scope)
    root = scope_root(around, place)
    messages: list[str] = []
    records = records_of(around)
    with nullcontext() if dry_run else records.alone():
        planned: list[tuple[Agent, list[_Edit]]] = []
        for agent in agents:  # all are read and checked before one is written
            options = _options(around, agent, strict=strict, everywhere=everywhere)
            if strict and agent.name == "claude-code" and not knows_on_failure(options.version):
                messages.append(_CANNOT_BLOCK)
            if not options.server and server_place_of(agent, place) is not None:
                messages.append(_without_tools(agent))
            planned.append((agent, list(_install_edits(around, records, agent, place, root, options))))
        changes = [
            _change(agent, place, [_done(records, edit, dry_run=dry_run) for edit in edits])
            for agent, edits in planned
        ]
    return AgentChanges(
        agents=changes, strict=strict, everywhere=everywhere, dry_run=dry_run, messages=messages
    )


def uninstall(
    around: Surroundings, names: Sequence[str], *, every: bool, scope: str, dry_run: bool
) -> AgentChanges:
    """Take our hooks out of the configuration of these agents, or of all."""
    agents = named_agents(list(AGENTS) if every else names)
    place = scope_named(scope)
    root = scope_root(around, place)
    records = records_of(around)
    with nullcontext() if dry_run else records.alone():
        planned = [(agent, list(_uninstall_edits(around, records, agent, place, root))) for agent in agents]
        changes = [
            _change(agent, place, [_done(records, edit, dry_run=dry_run) for edit in edits])
            for agent, edits in planned
            if edits or not every
        ]
    return AgentChanges(agents=changes, strict=False, everywhere=False, dry_run=dry_run)


def _without_tools(agent: Agent) -> str:
    return (
        f"{agent.title} gets the hooks, but no tools: these need the extra mulligan[mcp]; "
        f"`{installing('mcp')}`, then install again"
    )


def found_agents(around: Surroundings) -> list[Agent]:
    """Return the agents that are on this machine."""
    found = [agent for agent in AGENTS.values() if is_found(around, agent)]
    if not found:
        raise AgentMissing(known=", ".join(AGENTS))
    return found


def _options(around: Surroundings, agent: Agent, *, strict: bool, everywhere: bool) -> HookOptions:
    version = version_of(around, agent) if strict and agent.name == "claude-code" else None
    server = (*own_command(), "mcp") if has_extra("mcp") else ()
    return HookOptions(
        program=own_program(), strict=strict, everywhere=everywhere, version=version, server=server
    )


def _files(
    around: Surroundings, agent: Agent, scope: Scope, root: Path
) -> Iterator[tuple[_Content, AgentFile]]:
    """Return the files of an agent, with what of ours is in each."""
    server, places = server_place_of(agent, scope), list(places_of(agent, scope))
    alone = server is not None and server.place not in places
    for place in [*places, server.place] if server is not None and alone else places:
        of_server = server if server is not None and server.place == place else None
        content = _Content(agent=agent, place=place, hooks=place in places, server=of_server)
        file = AgentFile(base_folder(around, place, root) / place.name)
        if scope is Scope.PROJECT and not file.is_inside(root):
            raise AgentFileUnusable(
                file=str(file.path),
                line=1,
                reason="leads out of the project through a symlink",
                hint="write into the configuration of the user instead: without --scope project",
            )
        yield content, file


def _install_edits(
    around: Surroundings,
    records: InstallRecords,
    agent: Agent,
    scope: Scope,
    root: Path,
    options: HookOptions,
) -> Iterator[_Edit]:
    for content, file in _files(around, agent, scope, root):
        place, now = content.place, file.read()
        record = records.of(file.path)
        untouched = record is not None and now is not None and digest(now) == record.written
        text = _text(file, now)
        if place.own and now is not None and MARK not in text:
            raise AgentFileUnusable(
                file=str(file.path), line=1, reason="is not ours", hint="rename that file, then try again"
            )
        with _naming(file):
            if untouched and record is not None and _is_whole(records, record):
                original = records.original(record)
            else:
                known = records.original(record) if record is not None else None
                cleared = content.taken_from(text, None if known is None else _text(file, known))
                original = None if now is None or place.own else cleared.encode()
            base = "" if original is None else _text(file, original)
            wanted = content.put_in(text, options)
            if wanted != text:  # written again from what was there before, so that nothing adds up
                wanted = content.put_in(base, options)
        if wanted == text and record is None and not content.hooks and not options.server:
            continue  # it has nothing of ours, and gets nothing
        yield _Edit(
            agent=agent,
            file=file,
            now=now,
            wanted=wanted.encode(),
            original=original,
            folders=[*_made_folders(record), *file.missing_folders()],
            installs=True,
        )


def _uninstall_edits(
    around: Surroundings, records: InstallRecords, agent: Agent, scope: Scope, root: Path
) -> Iterator[_Edit]:
    for content, file in reversed(list(_files(around, agent, scope, root))):
        place, now, record = content.place, file.read(), records.of(file.path)
        if now is None and record is None:
            continue
        original = records.original(record) if record is not None else None
        restorable = record is not None and _is_whole(records, record)
        if now is None:
            wanted = None
        elif restorable and record is not None and digest(now) == record.written:
            wanted = original
        else:
            text = _text(file, now)
            if place.own and MARK not in text:
                continue
            with _naming(file):
                left = content.taken_from(text, None if original is None else _text(file, original))
                made = place.own or (record is not None and record.original is None)
                over = place.own or (is_left_over(left, agent) if content.is_json else not left.strip())
                wanted = None if made and over else left.encode()
        if wanted == now and record is None:
            continue
        yield _Edit(
            agent=agent,
            file=file,
            now=now,
            wanted=wanted,
            original=original,
            folders=_made_folders(record),
            installs=False,
        )


def _is_whole(records: InstallRecords, record: InstallRecord) -> bool:
    """Return whether the record still has what was there before."""
    return record.original is None or records.original(record) is not None


def _made_folders(record: InstallRecord | None) -> list[Path]:
    return [] if record is None else [Path(folder) for folder in record.folders]


def _done(records: InstallRecords, edit: _Edit, *, dry_run: bool) -> FileChange:
    """Write one file, unless it is only to be shown."""
    path = edit.file.path
    copy = None
    if not dry_run:
        if edit.wanted is not None and edit.installs and edit.wanted != edit.now:
            copy = records.keep(edit.agent.name, path, edit.original, edit.wanted, edit.folders)
        if edit.wanted is None:
            edit.file.remove(edit.now, edit.folders)
        elif edit.wanted != edit.now:
            edit.file.write(edit.wanted, edit.now)
        if not edit.installs:
            records.forget(path)
    return FileChange(path=str(path), action=_action(edit), patch=_patch(edit), copy=copy and str(copy))


def _action(edit: _Edit) -> str:
    if edit.wanted == edit.now:
        return "unchanged"
    return "created" if edit.now is None else "removed" if edit.wanted is None else "changed"


def _patch(edit: _Edit) -> str:
    name = os.fsencode(edit.file.path).lstrip(b"/")
    old, new = (None if data is None else Version(name, b"100644", data) for data in (edit.now, edit.wanted))
    if edit.wanted == edit.now:
        return ""
    return patch_of(old, new, 0, literal=False).text.decode("utf-8", "replace")


def _change(agent: Agent, scope: Scope, files: Sequence[FileChange]) -> AgentChange:
    return AgentChange(
        agent=agent.name, scope=scope, from_documentation=agent.from_documentation, files=files
    )


def _text(file: AgentFile, data: bytes | None) -> str:
    try:
        return (data or b"").decode()
    except UnicodeDecodeError as error:
        line = (data or b"").count(b"\n", 0, error.start) + 1
        raise AgentFileUnusable(file=str(file.path), line=line, reason="is not UTF-8 text") from error


@contextmanager
def _naming(file: AgentFile) -> Generator[None]:
    """Name the file in which something is wrong."""
    try:
        yield
    except JsonTextInvalid as error:
        raise AgentFileUnusable(file=str(file.path), line=error.line, reason=error.reason) from error
