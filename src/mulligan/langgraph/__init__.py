"""LangGraph with files that go back too: `MulliganSaver`, a checkpointer over the database of a project.

`mulligan_saver` is what users make; it keeps states with `state_saver`, or with a saver that users have, and with
`files=` lets `file_keeper` tie them to the sandboxes of a session. `run_config` reads what LangGraph passes on.
The rest of mulligan imports nothing from here, and an installation may be without LangGraph.
"""

from mulligan.api.operations.extras import require_extra

require_extra("langgraph", "mulligan.langgraph")

from mulligan.langgraph.mulligan_saver import MulliganSaver  # noqa: E402 - what it imports is known to be there now

__all__ = ["MulliganSaver"]
