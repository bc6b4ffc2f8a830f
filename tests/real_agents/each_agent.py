"""What holds for every agent: one command takes back whatever it did to answer a prompt, byte for byte."""

import json
import sqlite3
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.real_agents.agent_programs import PROGRAMS, AgentProgram
from tests.real_agents.conftest import Opened
from tests.real_agents.measured import Measured
from tests.real_agents.model_protocols import Call
from tests.real_agents.packages import version_of
from tests.real_agents.workplace import until

_SERVERS = ("mcpServers", "mcp", "mcp_servers")
_OURS = ("hooks", *_SERVERS)
DROPS = "import sqlite3; sqlite3.connect('app.db').executescript('DROP TABLE t')"
pytestmark = pytest.mark.parametrize("name", list(PROGRAMS))


def _work(agent: AgentProgram, folder: Path) -> list[Call]:
    file = folder / "a.txt"
    looks = [agent.read(file)] if agent.read is not None else []
    return [
        agent.shell("echo made > made.txt; chmod 700 b.txt; sed -i s/deep/deeper/ sub/deep"),
        *looks,
        agent.edit(file, "one", "two"),
        agent.edit(file, "this is not there", "three"),  # fails
        agent.write(folder / "new.txt", "new\n"),
    ]


def _shell(command: str) -> Callable[[AgentProgram, Path], list[Call]]:
    return lambda agent, _: [agent.shell(command)]


def _remove_all(agent: AgentProgram, folder: Path) -> list[Call]:
    script = folder / "ignored" / "clear.sh"  # agents run it, and refuse some forms of `rm -rf`
    return [agent.shell(f"echo 'rm -rf *' > {script}"), agent.shell(f"sh {script}")]


# By the prompt: what the agent does, and how it shows that it did.
DAMAGES: Mapping[str, tuple[Callable[[AgentProgram, Path], Sequence[Call]], Callable[[Path], bool]]] = {
    "Work a little": (
        _work,
        lambda folder: _text(folder / "a.txt") == "two\n" and (folder / "new.txt").exists(),
    ),
    "Clean the folder": (_shell("git clean -fdx"), lambda folder: not (folder / ".env").exists()),
    "Remove all files": (_remove_all, lambda folder: not (folder / "a.txt").exists()),
    "Go back to the commit": (
        _shell("git reset --hard"),
        lambda folder: not (folder / "staged.txt").exists() and _text(folder / "b.txt") == "bee\n",
    ),
    "Drop the table": (_shell(f'"{sys.executable}" -c "{DROPS}"'), lambda folder: _tables(folder) == []),
    "Commit it": (
        _shell(
            "git add -A; git commit -qm all; git checkout -q -b other; git commit -q --allow-empty -m more"
        ),
        lambda folder: (folder / ".git" / "refs" / "heads" / "other").exists(),
    ),
    "Hide what is not committed": (
        _shell("rm -r .env ignored empty; mv private sub; chmod 600 run.sh; ln -sfn nowhere link"),
        lambda folder: not (folder / "empty").exists(),
    ),
}


def _text(file: Path) -> str:
    return file.read_text() if file.exists() else ""


def _tables(folder: Path) -> list[str]:
    with closing(sqlite3.connect(folder / "app.db")) as database:
        return [name for (name,) in database.execute("SELECT name FROM sqlite_master")]


@pytest.mark.parametrize("served", [True, False], ids=["with the server", "without it"])
def test_one_undo_takes_back_all_that_a_prompt_led_to(
    name: str, served: bool, at_work: Opened, measured: Measured
) -> None:
    with at_work(name, served=served) as place:
        before = place.seen()
        for prompt, (calls, happened) in DAMAGES.items():
            printed = place.prompt(f"{prompt}\nas I said before", *calls(place.agent, place.folder))
            assert happened(place.folder), (prompt, printed)
            # The hook that ends the prompt may outlive its agent: opencode does not wait for it.
            until(lambda: place.log()[0]["status"] == "done", f"{prompt} is answered")
            newest = place.log()[0]
            assert (newest["kind"], newest["title"]) == ("prompt", prompt)
            place.mulligan("undo", "--yes")
            assert place.seen() == before, prompt
        assert place.mulligan("serve", "--status")["running"] is served
        (listed,) = [each for each in place.mulligan("agent", "list")["agents"] if each["agent"] == name]
        assert [each["scope"] for each in listed["installed"]] == ["user"]
        assert (listed["last_event"] is None, listed["problem"]) == (False, None)
        place.mulligan("agent", "doctor", name)
        if served:
            measured.keep(f"{name} driven", {"version": version_of(name), "prompts": len(DAMAGES)})


def test_hooks_go_on_after_the_agent_removed_all_that_git_does_not_know(name: str, at_work: Opened) -> None:
    with at_work(name) as place:
        before = place.seen()
        after = [place.agent.shell("git clean -ffdx"), place.agent.shell("echo later > later.txt")]
        place.prompt("Clean thoroughly", *after)
        cleaned = place.seen()
        place.prompt("Go on", place.agent.shell("echo on > on.txt"))
        assert [entry["title"] for entry in place.log()] == ["Go on", "Clean thoroughly"]
        place.mulligan("undo", "--yes")
        assert place.seen() == cleaned
        place.mulligan("undo", "--yes")
        assert place.seen() == before


def test_uninstall_leaves_every_file_as_it_was(name: str, at_work: Opened) -> None:
    with at_work(name) as place:
        place.mulligan("agent", "uninstall", name, "--yes")
        home = place.scene.home
        own = {path: path.read_bytes() for path in _configuration(home)}
        installed = place.mulligan("agent", "install", name, "--yes")
        files = [Path(file["path"]) for file in installed["agents"][0]["files"]]
        assert files
        ours = {file: file.read_bytes() for file in files}
        place.prompt("Work a little", place.agent.shell("echo made > made.txt"))
        assert place.log()[0]["title"] == "Work a little"
        met = {file: file.read_bytes() for file in files}
        place.mulligan("agent", "uninstall", name, "--yes")
        for file in files:
            if met[file] == ours[file]:
                assert (file.read_bytes() if file.exists() else None) == own.get(file), file
            else:  # the agent wrote it again: what it wrote stays, and our entries go
                left, wrote = _settings(file.read_bytes(), file), _settings(met[file], file)
                assert "mulligan" not in json.dumps({key: left.get(key) for key in _OURS})
                assert _others(left) == _others(wrote)
        place.prompt("Work more", place.agent.shell("echo more > more.txt"))
        assert [entry["title"] for entry in place.log()] == ["Work a little"]


def _settings(data: bytes, file: Path) -> dict[str, Any]:
    return tomllib.loads(data.decode()) if file.suffix == ".toml" else json.loads(data)


def _others(settings: dict[str, Any]) -> dict[str, Any]:
    """Return what is not an entry of ours."""
    servers = {
        name: server
        for key in _SERVERS
        for name, server in settings.get(key, {}).items()
        if name != "mulligan"
    }
    return {key: value for key, value in settings.items() if key not in _OURS} | {"servers": servers}


def _configuration(home: Path) -> list[Path]:
    """Return the files of the home folder but those of mulligan and git."""
    return [path for path in home.rglob("*") if path.is_file() and "mulligan/" not in str(path)]
