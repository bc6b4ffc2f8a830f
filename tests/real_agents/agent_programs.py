"""How each agent is configured and called, so that it asks the scripted model, and which tools it offers."""

import json
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.real_agents.model_protocols import Call
from tests.real_agents.packages import folder_of

KEY = "sk-scripted"
CODEX_MODEL = "gpt-5.5"  # one that it offers its tool for patches to
_ARCHITECTURE = {"x86_64": "x64", "aarch64": "arm64"}


@dataclass(frozen=True, kw_only=True)
class Scene:
    """Where an agent is to work."""

    packages: Path
    home: Path
    folder: Path
    model: str  # URL of the scripted model


@dataclass(frozen=True, kw_only=True)
class AgentProgram:
    """An agent that is installed here."""

    name: str
    command: Callable[[Scene], list[str]]  # without a prompt
    prompted: Callable[[str], list[str]]  # what follows it, to answer one prompt and end
    variables: Callable[[Scene], Mapping[str, str]]
    configure: Callable[[Scene], None]  # writes files into its home
    shell: Callable[[str], Call]
    edit: Callable[[Path, str, str], Call]  # replaces a text in a file
    write: Callable[[Path, str], Call]
    read: Callable[[Path], Call] | None  # without which it may refuse to edit a file
    ours: Callable[[str, Mapping[str, object]], Call]  # a tool of `mulligan mcp`, as the agent names it
    continued: Callable[
        [str], list[str]
    ]  # in place of `prompted`: it goes on with the newest session of the folder
    forked: Callable[[str], list[str]] | None = None  # the same as a session of its own


def _module(scene: Scene, agent: str, *names: str) -> str:
    return str(folder_of(scene.packages, agent).joinpath("node_modules", *names))


def _write_json(file: Path, content: object) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content, indent=2) + "\n")


def _nothing(_: Scene) -> None:
    """Configure nothing: the agent needs no file."""


# --- Claude Code ---------------------------------------------------------------------------------------------------


def _configure_claude(scene: Scene) -> None:
    known = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
    _write_json(
        scene.home / ".claude.json",
        {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
            "bypassPermissionsModeAccepted": True,
            "projects": {str(scene.folder): known},
        },
    )
    _write_json(
        scene.home / ".claude" / "settings.json",
        {
            "skipDangerousModePermissionPrompt": True,
            # It offers another mode at any moment, and takes the next key for the answer.
            "permissions": {"defaultMode": "bypassPermissions", "disableAutoMode": "disable"},
        },
    )


CLAUDE_CODE = AgentProgram(
    name="claude-code",
    command=lambda scene: [_module(scene, "claude-code", ".bin", "claude"), "--dangerously-skip-permissions"],
    prompted=lambda prompt: ["-p", prompt],
    variables=lambda scene: {
        "ANTHROPIC_BASE_URL": scene.model,
        "ANTHROPIC_API_KEY": KEY,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_AUTOUPDATER": "1",
        "IS_SANDBOX": "1",  # it refuses to skip questions as root elsewhere
    },
    configure=_configure_claude,
    shell=lambda command: Call("Bash", {"command": command, "description": "Work"}),
    edit=lambda path, old, new: Call("Edit", {"file_path": str(path), "old_string": old, "new_string": new}),
    write=lambda path, text: Call("Write", {"file_path": str(path), "content": text}),
    read=lambda path: Call("Read", {"file_path": str(path)}),
    ours=lambda tool, given: Call(f"mcp__mulligan__{tool}", given),
    continued=lambda prompt: ["--continue", "-p", prompt],
    forked=lambda prompt: ["--continue", "--fork-session", "-p", prompt],
)


# --- Codex CLI -----------------------------------------------------------------------------------------------------


_CODEX_ASKS_NOTHING = (
    "--skip-git-repo-check",
    "--dangerously-bypass-approvals-and-sandbox",
    "--dangerously-bypass-hook-trust",
)


def _configure_codex(scene: Scene) -> None:
    file = scene.home / ".codex" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"""\
model = "{CODEX_MODEL}"
model_provider = "scripted"
check_for_update_on_startup = false

[model_providers.scripted]
name = "scripted"
base_url = "{scene.model}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"

[analytics]
enabled = false

# It knows of newer models, and offers them at any moment in a window of their own, which takes what is typed.
[notice.model_migrations]
"{CODEX_MODEL}" = "gpt-6-sol"

[tui.model_availability_nux]
"gpt-6.1-sol" = 1
""")


def _patch(path: Path, old: str, new: str) -> Call:
    return Call("apply_patch", f"*** Begin Patch\n*** Update File: {path}\n@@\n-{old}\n+{new}\n*** End Patch")


def _added(path: Path, text: str) -> Call:
    lines = "".join(f"+{line}\n" for line in text.splitlines())
    return Call("apply_patch", f"*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch")


CODEX = AgentProgram(
    name="codex",
    command=lambda scene: [_module(scene, "codex", ".bin", "codex")],
    prompted=lambda prompt: ["exec", *_CODEX_ASKS_NOTHING, prompt],
    variables=lambda _: {"SCRIPTED_KEY": KEY},
    configure=_configure_codex,
    # Without it, a command that runs for ten seconds is left to itself, and ends with the agent.
    shell=lambda command: Call("exec_command", {"cmd": command, "yield_time_ms": 30_000}),
    edit=_patch,
    write=_added,
    read=None,
    ours=lambda tool, given: Call(tool, given, "mcp__mulligan"),
    continued=lambda prompt: ["exec", "resume", "--last", *_CODEX_ASKS_NOTHING, prompt],
)


# --- Gemini CLI ----------------------------------------------------------------------------------------------------


def _configure_gemini(scene: Scene) -> None:
    _write_json(
        scene.home / ".gemini" / "settings.json",
        {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "privacy": {"usageStatisticsEnabled": False},
            "general": {"disableAutoUpdate": True, "enableAutoUpdate": False},
        },
    )


GEMINI_CLI = AgentProgram(
    name="gemini-cli",
    command=lambda scene: [_module(scene, "gemini-cli", ".bin", "gemini"), "--yolo"],
    prompted=lambda prompt: ["-p", prompt],
    variables=lambda scene: {
        "GEMINI_API_KEY": KEY,
        "GOOGLE_GEMINI_BASE_URL": scene.model,
        "GEMINI_CLI_NO_RELAUNCH": "true",
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
    },
    configure=_configure_gemini,
    shell=lambda command: Call("run_shell_command", {"command": command, "description": "Work"}),
    edit=lambda path, old, new: Call(
        "replace",
        {"file_path": str(path), "instruction": "Replace it.", "old_string": old, "new_string": new},
    ),
    write=lambda path, text: Call("write_file", {"file_path": str(path), "content": text}),
    read=lambda path: Call("read_file", {"file_path": str(path)}),
    ours=lambda tool, given: Call(f"mcp_mulligan_{tool}", given),
    continued=lambda prompt: ["--resume", "latest", "-p", prompt],
)


# --- opencode ------------------------------------------------------------------------------------------------------


def _configure_opencode(scene: Scene) -> None:
    _write_json(
        scene.home / ".config" / "opencode" / "opencode.json",
        {
            "model": "scripted/scripted",
            "small_model": "scripted/scripted",
            "autoupdate": False,
            "share": "disabled",
            "permission": {"edit": "allow", "bash": "allow", "external_directory": "allow"},
            "provider": {
                "scripted": {
                    "npm": "@ai-sdk/openai-compatible",
                    "options": {"baseURL": f"{scene.model}/v1", "apiKey": KEY},
                    "models": {"scripted": {"name": "scripted", "tool_call": True}},
                }
            },
        },
    )


OPENCODE = AgentProgram(
    name="opencode",
    command=lambda scene: [_module(scene, "opencode", ".bin", "opencode")],
    prompted=lambda prompt: ["run", prompt],
    variables=lambda _: {
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "npm_config_offline": "true",  # it installs packages for plugins, and waits for a network
    },
    configure=_configure_opencode,
    shell=lambda command: Call("bash", {"command": command, "description": "Work"}),
    edit=lambda path, old, new: Call("edit", {"filePath": str(path), "oldString": old, "newString": new}),
    write=lambda path, text: Call("write", {"filePath": str(path), "content": text}),
    read=lambda path: Call("read", {"filePath": str(path)}),
    ours=lambda tool, given: Call(f"mulligan_{tool}", given),
    continued=lambda prompt: ["run", "--continue", prompt],
    forked=lambda prompt: ["run", "--continue", "--fork", prompt],
)


# --- Copilot CLI ---------------------------------------------------------------------------------------------------


_COPILOT_ASKS_NOTHING = ("--allow-all-tools", "--allow-all-paths")


def _copilot(scene: Scene) -> list[str]:
    architecture = _ARCHITECTURE[platform.machine()]
    return [_module(scene, "copilot-cli", "@github", f"copilot-linux-{architecture}", "copilot")]


COPILOT_CLI = AgentProgram(
    name="copilot-cli",
    command=_copilot,
    prompted=lambda prompt: [*_COPILOT_ASKS_NOTHING, "-p", prompt],
    variables=lambda scene: {
        "COPILOT_PROVIDER_BASE_URL": f"{scene.model}/v1",
        "COPILOT_PROVIDER_API_KEY": KEY,
        "COPILOT_MODEL": "gpt-4.1",
        "COPILOT_AUTO_UPDATE": "false",
        "COPILOT_ALLOW_ALL": "true",
    },
    configure=_nothing,
    shell=lambda command: Call("bash", {"command": command, "description": "Work"}),
    edit=lambda path, old, new: Call("edit", {"path": str(path), "old_str": old, "new_str": new}),
    write=lambda path, text: Call("create", {"path": str(path), "file_text": text}),
    read=lambda path: Call("view", {"path": str(path)}),
    ours=lambda tool, given: Call(f"mulligan-{tool}", given),
    continued=lambda prompt: [*_COPILOT_ASKS_NOTHING, "--continue", "-p", prompt],
)


# --- Qwen Code -----------------------------------------------------------------------------------------------------


def _qwen(scene: Scene) -> list[str]:
    node = _module(scene, "qwen-code", ".bin", "node")
    return [node, _module(scene, "qwen-code", "@qwen-code", "qwen-code", "cli.js"), "--yolo"]


def _configure_qwen(scene: Scene) -> None:
    _write_json(
        scene.home / ".qwen" / "settings.json",
        {
            "security": {"auth": {"selectedType": "openai"}},
            "privacy": {"usageStatisticsEnabled": False},
            "general": {"disableAutoUpdate": True, "enableAutoUpdate": False},
        },
    )


QWEN_CODE = AgentProgram(
    name="qwen-code",
    command=_qwen,
    prompted=lambda prompt: ["-p", prompt],
    variables=lambda scene: {
        "OPENAI_API_KEY": KEY,
        "OPENAI_BASE_URL": f"{scene.model}/v1",
        "OPENAI_MODEL": "scripted",
    },
    configure=_configure_qwen,
    shell=lambda command: Call("run_shell_command", {"command": command, "is_background": False}),
    edit=lambda path, old, new: Call("edit", {"file_path": str(path), "old_string": old, "new_string": new}),
    write=lambda path, text: Call("write_file", {"file_path": str(path), "content": text}),
    read=lambda path: Call("read_file", {"file_path": str(path)}),
    ours=lambda tool, given: Call(f"mcp__mulligan__{tool}", given),
    continued=lambda prompt: ["--continue", "-p", prompt],
)

PROGRAMS: Mapping[str, AgentProgram] = {
    each.name: each for each in (CLAUDE_CODE, CODEX, GEMINI_CLI, OPENCODE, COPILOT_CLI, QWEN_CODE)
}


def environment_of(agent: AgentProgram, scene: Scene, programs: Sequence[Path]) -> dict[str, str]:
    """Return all variables that an agent gets: nothing of this machine but its programs, and no way to a network."""
    path = [*map(str, programs), os.environ.get("PATH", os.defpath)]
    nowhere = "http://127.0.0.1:9"
    return {
        "PATH": os.pathsep.join(path),
        "HOME": str(scene.home),
        "LC_ALL": "C.UTF-8",
        "TERM": "xterm-256color",
        "SHELL": "/bin/bash",
        "HTTPS_PROXY": nowhere,
        "HTTP_PROXY": nowhere,
        "NO_PROXY": "127.0.0.1,localhost",
        "no_proxy": "127.0.0.1,localhost",
        "GIT_CONFIG_NOSYSTEM": "1",
        **agent.variables(scene),
    }
