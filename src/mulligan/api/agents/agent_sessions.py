"""The sessions of coding agents in a project, as hooks and the local server report on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mulligan.api.project_upkeep import ProjectUpkeep

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mulligan.domain.agents.agent_event import AgentEvent, HookAnswer


class AgentSessions(ProjectUpkeep):
    """The sessions of agents; `Project` adds the plans."""

    def agent_event(self, event: AgentEvent) -> HookAnswer:
        """Record an event that the hook of a coding agent reports; what the files are then is durable afterwards."""
        return self._services.agent_events.handle(event, self._observer)

    def agent_processes(self, agent: str, session: str) -> Sequence[int] | None:
        """Return the processes of commands of a session that are open; None: none is."""
        return self._services.agent_events.processes(agent, session)

    def end_agent_calls(self, agent: str, session: str) -> None:
        """Keep the present files as the end of the commands of a session that are open, if none of these runs."""
        self._services.agent_events.end_calls(agent, session, self._observer)
