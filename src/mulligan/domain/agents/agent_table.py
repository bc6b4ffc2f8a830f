"""The coding agents that mulligan knows: their events and tools, and what their hooks can answer.

Recorded with Claude Code 2.1.325, Codex CLI 0.166.0, Gemini CLI 0.61.0, opencode 1.18.33, Copilot CLI 1.0.102 and
Qwen Code 0.24.4. Cursor and Goose are from their documentation.
"""

from collections.abc import Mapping

from msgspec import Struct

from mulligan.domain.agents.agent_event import EventKind


class Agent(Struct, frozen=True, kw_only=True):
    """An agent as its hooks present it."""

    name: str  # as users type it
    title: str  # as its maker spells it
    programs: tuple[str, ...]  # in PATH
    events: Mapping[str, EventKind]  # its own names of those events that mulligan takes part in
    failures: frozenset[str] = frozenset()  # those among them that report a failed call
    readers: frozenset[str]  # tools that never write
    editors: frozenset[str]  # tools that write the paths which they name
    patchers: frozenset[str] = frozenset()  # tools that take a patch, with the paths in its headers
    context: frozenset[EventKind] = frozenset()  # events whose answer can carry text to the model
    blocks: frozenset[EventKind] = frozenset({EventKind.BEFORE_CALL, EventKind.PROMPT})
    shows_messages: bool = True  # the answer can carry text to the user
    names_events: bool = True  # the payload says which event it is
    project_variable: str | None = None  # has the folder that it was started in, wherever it works now
    command_marks: tuple[
        str, ...
    ] = ()  # variables of its commands, where none of these has the id of the session
    from_documentation: bool = False  # never run here


_CLAUDE_EVENTS = {
    "SessionStart": EventKind.SESSION_START,
    "UserPromptSubmit": EventKind.PROMPT,
    "PreToolUse": EventKind.BEFORE_CALL,
    "PostToolUse": EventKind.AFTER_CALL,
    "PostToolUseFailure": EventKind.AFTER_CALL,
    "Stop": EventKind.STOP,
    "SubagentStop": EventKind.SUBAGENT_STOP,
    "SessionEnd": EventKind.SESSION_END,
}
_FAILURE = frozenset({"PostToolUseFailure"})
_TALKS = frozenset({EventKind.SESSION_START, EventKind.PROMPT})
_GEMINI_READERS = frozenset(
    {
        *("read_file", "read_many_files", "list_directory", "glob", "search_file_content", "grep_search"),
        *("google_web_search", "web_search", "web_fetch", "todo_write", "write_todos", "ask_user"),
    }
)

_AGENTS = (
    Agent(
        name="claude-code",
        title="Claude Code",
        programs=("claude",),
        events=_CLAUDE_EVENTS,
        failures=_FAILURE,
        readers=frozenset(
            {
                *(
                    "Read",
                    "Grep",
                    "Glob",
                    "LS",
                    "NotebookRead",
                    "WebFetch",
                    "WebSearch",
                    "TodoWrite",
                    "ToolSearch",
                ),
                *("BashOutput", "TaskOutput", "AskUserQuestion", "EnterPlanMode", "ExitPlanMode"),
            }
        ),
        editors=frozenset({"Edit", "MultiEdit", "Write", "NotebookEdit"}),
        context=_TALKS,
        project_variable="CLAUDE_PROJECT_DIR",
    ),
    Agent(
        name="codex",
        title="Codex CLI",
        programs=("codex",),
        events={
            **{name: kind for name, kind in _CLAUDE_EVENTS.items() if name not in _FAILURE},
            "Interrupt": EventKind.INTERRUPT,
        },
        readers=frozenset({"update_plan", "view_image", "web_search"}),
        editors=frozenset(),
        patchers=frozenset({"apply_patch"}),
        context=_TALKS,
    ),
    Agent(
        name="gemini-cli",
        title="Gemini CLI",
        programs=("gemini",),
        events={
            "SessionStart": EventKind.SESSION_START,
            "BeforeAgent": EventKind.PROMPT,
            "BeforeTool": EventKind.BEFORE_CALL,
            "AfterTool": EventKind.AFTER_CALL,
            "AfterAgent": EventKind.STOP,
            "SessionEnd": EventKind.SESSION_END,
        },
        readers=_GEMINI_READERS,
        editors=frozenset({"write_file", "replace"}),
        context=_TALKS,
        command_marks=(
            "GEMINI_CLI=1",
            "GIT_CONFIG_GLOBAL=/dev/null",
        ),  # its servers of tools have the first alone
    ),
    Agent(
        name="opencode",
        title="opencode",
        programs=("opencode",),
        events={
            "session.created": EventKind.SESSION_START,
            "chat.message": EventKind.PROMPT,
            "tool.execute.before": EventKind.BEFORE_CALL,
            "tool.execute.after": EventKind.AFTER_CALL,
            "session.idle": EventKind.STOP,
            "session.updated": EventKind.WENT_BACK,
        },
        readers=frozenset(
            {
                "read",
                "grep",
                "glob",
                "list",
                "webfetch",
                "websearch",
                "todoread",
                "todowrite",
                "question",
                "skill",
            }
        ),
        editors=frozenset({"edit", "write", "multiedit"}),
        patchers=frozenset({"apply_patch", "patch"}),
        blocks=frozenset({EventKind.BEFORE_CALL}),
    ),
    Agent(
        name="copilot-cli",
        title="Copilot CLI",
        programs=("copilot",),
        events={
            "sessionStart": EventKind.SESSION_START,
            "userPromptSubmitted": EventKind.PROMPT,
            "preToolUse": EventKind.BEFORE_CALL,
            "postToolUse": EventKind.AFTER_CALL,
            "postToolUseFailure": EventKind.AFTER_CALL,
            "agentStop": EventKind.STOP,
            "subagentStop": EventKind.SUBAGENT_STOP,
            "sessionEnd": EventKind.SESSION_END,
        },
        failures=frozenset({"postToolUseFailure"}),
        readers=frozenset({"view", "grep", "glob", "web_fetch", "web_search", "ask_user", "report_intent"}),
        editors=frozenset({"create", "edit"}),
        blocks=frozenset({EventKind.BEFORE_CALL}),
        shows_messages=False,
        names_events=False,
    ),
    Agent(
        name="qwen-code",
        title="Qwen Code",
        programs=("qwen",),
        events=_CLAUDE_EVENTS,
        failures=_FAILURE,
        readers=_GEMINI_READERS,
        editors=frozenset({"write_file", "edit", "replace"}),
        context=_TALKS,
    ),
    Agent(
        name="cursor",
        title="Cursor",
        programs=("cursor", "cursor-agent"),
        events={
            "sessionStart": EventKind.SESSION_START,
            "beforeSubmitPrompt": EventKind.PROMPT,
            "preToolUse": EventKind.BEFORE_CALL,
            "postToolUse": EventKind.AFTER_CALL,
            "postToolUseFailure": EventKind.AFTER_CALL,
            "stop": EventKind.STOP,
            "subagentStop": EventKind.SUBAGENT_STOP,
            "sessionEnd": EventKind.SESSION_END,
        },
        failures=frozenset({"postToolUseFailure"}),
        readers=frozenset({"Read", "Grep", "Glob", "LS", "WebFetch", "WebSearch", "TodoWrite"}),
        editors=frozenset({"Write", "Edit", "StrReplace", "Delete"}),
        context=frozenset({EventKind.SESSION_START}),
        shows_messages=False,
        from_documentation=True,
    ),
    Agent(
        name="goose",
        title="Goose",
        programs=("goose",),
        events={name: kind for name, kind in _CLAUDE_EVENTS.items() if name != "SubagentStop"},
        failures=_FAILURE,
        readers=frozenset({"developer__tree", "developer__read_image"}),
        editors=frozenset({"developer__write", "developer__edit", "developer__text_editor"}),
        blocks=frozenset({EventKind.BEFORE_CALL}),
        shows_messages=False,
        from_documentation=True,
    ),
)

AGENTS: Mapping[str, Agent] = {agent.name: agent for agent in _AGENTS}
