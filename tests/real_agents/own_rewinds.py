"""What the agents' own ways back bring back of one prompt, beside mulligan; each row is looked at, none is assumed."""

import json
import re
import sqlite3
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Generator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from tests.real_agents.claude_terminal import claude
from tests.real_agents.conftest import BUILD, Opened
from tests.real_agents.each_agent import DROPS
from tests.real_agents.measured import Measured
from tests.real_agents.model_protocols import Call, Turn
from tests.real_agents.workplace import PATIENCE, Workplace, until
from tests.support.git_world import run_git

PROMPT = "change everything"


def _is(name: str, text: str) -> Callable[[Path], bool]:
    return lambda folder: (folder / name).exists() and (folder / name).read_text() == text


def _rows(folder: Path) -> bool:
    with closing(sqlite3.connect(folder / "app.db")) as database:
        named = [name for (name,) in database.execute("SELECT name FROM sqlite_master")]
        return named == ["t"] and database.execute("SELECT count(*) FROM t").fetchone() == (3,)


# By the row: what the shell does (None: a tool of the agent does it), and whether all is as it was.
ROWS: Mapping[str, tuple[str | None, Callable[[Path], bool]]] = {
    "edit by the agent's tool": (None, _is("a.txt", "one\n")),
    "new file by the agent's tool": (None, lambda folder: not (folder / "new.txt").exists()),
    "edit by a shell command": ("sed -i s/deep/deeper/ sub/deep", _is("sub/deep", "deep\n")),
    "delete by a shell command": ("rm untracked", _is("untracked", "not committed\n")),
    "new file by a shell command": (
        "echo made > made.txt",
        lambda folder: not (folder / "made.txt").exists(),
    ),
    "ignored file": ("rm ignored/data", lambda folder: (folder / "ignored" / "data").exists()),
    "`.env`": ("echo SECRET=2 > .env", _is(".env", "SECRET=1\n")),
    "database": (f'"{sys.executable}" -c "{DROPS}"', _rows),
    "commit": (
        "git commit -qam all",
        lambda folder: run_git(folder, "rev-list", "--count", "HEAD").strip() == "1",
    ),
    "empty folder": ("rmdir empty", lambda folder: (folder / "empty").is_dir()),
    "mode": ("chmod 644 run.sh", lambda folder: (folder / "run.sh").stat().st_mode & 0o777 == 0o755),
}


def _changes(place: Workplace) -> list[Call]:
    file = place.folder / "a.txt"
    looks = [place.agent.read(file)] if place.agent.read is not None else []
    edits = [place.agent.edit(file, "one", "two"), place.agent.write(place.folder / "new.txt", "new\n")]
    return [*looks, *edits, *(place.agent.shell(command) for command, _ in ROWS.values() if command)]


def _back(place: Workplace) -> dict[str, bool]:
    return {row: is_back(place.folder) for row, (_, is_back) in ROWS.items()}


def test_mulligan_brings_all_of_it_back(at_work: Opened, measured: Measured) -> None:
    with at_work("claude-code") as place:
        place.prompt(PROMPT, *_changes(place))
        assert not any(_back(place).values()), "each row must have happened"
        place.mulligan("undo", "--yes")
        measured.keep("rewind mulligan", _back(place))
        assert all(_back(place).values())


def test_claude_code_goes_back(at_work: Opened, measured: Measured) -> None:
    with at_work("claude-code") as place, claude(place) as agent:
        agent.say(PROMPT, *_changes(place))
        assert not any(_back(place).values()), "each row must have happened"
        agent.rewind_to(PROMPT)
        until(lambda: _back(place)["edit by the agent's tool"], "its rewind is done", 20)
        measured.keep("rewind claude-code", _back(place))


def test_opencode_goes_back(at_work: Opened, measured: Measured) -> None:
    with at_work("opencode") as place:
        place.prompt(PROMPT, *_changes(place))
        assert not any(_back(place).values()), "each row must have happened"
        with _opencode_server(place) as ask:
            _revert(ask)
        measured.keep("rewind opencode", _back(place))


def test_all_files_follow_a_revert_in_opencode_where_that_is_wanted(at_work: Opened) -> None:
    with at_work("opencode") as place:
        place.mulligan("config", "set", "agent.follow-conversation", "true")
        place.prompt(PROMPT, *_changes(place))
        assert not any(_back(place).values()), "each row must have happened"
        with _opencode_server(place) as ask:
            _revert(ask)
            until(lambda: all(_back(place).values()), "all files follow", shown=lambda: str(_back(place)))


def _revert(ask: Callable[..., Any]) -> None:
    (session,) = [each["id"] for each in ask("/session")]
    messages = [each["info"] for each in ask(f"/session/{session}/message")]
    prompt = next(each["id"] for each in messages if each["role"] == "user")
    ask(f"/session/{session}/revert", {"messageID": prompt})


@contextmanager
def _opencode_server(place: Workplace) -> Generator[Callable[..., Any]]:
    command = place.command("serve", "--port", "0", "--hostname", "127.0.0.1", "--print-logs")
    with subprocess.Popen(
        command,
        cwd=place.folder,
        env=place.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as server:
        assert server.stdout is not None
        found = (re.search(r"listening on (http://[\d.:]+)", line) for line in server.stdout)
        address = next(match[1] for match in found if match)

        def ask(path: str, body: object = None) -> Any:
            data = None if body is None else json.dumps(body).encode()
            request = urllib.request.Request(address + path, data, {"content-type": "application/json"})
            direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
            with direct.open(request, timeout=60) as answer:
                return json.loads(answer.read())

        try:
            yield ask
        finally:
            server.kill()


def test_stepback_goes_back(at_work: Opened, measured: Measured) -> None:
    program = str(BUILD / "stepback" / "bin" / "stepback")
    with at_work("claude-code") as place:
        place.model.turns[PROMPT] = [
            *(Turn(calls=(each,)) for each in _changes(place)),
            Turn(text="All done."),
        ]
        watched = [program, "run", "--", *place.command(*place.agent.prompted(PROMPT))]
        said = [_run(place, watched)]
        assert not any(_back(place).values()), said
        said += [_run(place, [program, "list"]), _run(place, [program, "rewind", "1", "--yes"])]
        print(*said, sep="\n")
        measured.keep("rewind stepback", _back(place))


def _run(place: Workplace, command: list[str]) -> str:
    done = subprocess.run(
        command,
        cwd=place.folder,
        env={**place.environment, "COLUMNS": "120"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    return done.stdout
