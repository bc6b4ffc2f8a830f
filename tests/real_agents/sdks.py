"""The programs of docs/how-to/agent-sdks.md with the real SDKs: a turn is taken back with its files and its words."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.real_agents.model_protocols import Call, Turn
from tests.real_agents.scripted_model import ScriptedModel
from tests.support.page_examples import ROOT, examples_of

PAGE = ROOT / "docs" / "how-to" / "agent-sdks.md"
PYTHON = os.environ["MULLIGAN_TEST_SDKS"]  # of an environment that has mulligan and both SDKs
TOOLS = {"claude_turns.py": "Bash", "openai_turns.py": "shell"}


@pytest.mark.parametrize("name", TOOLS)
def test_a_turn_that_fails_is_taken_back(tmp_path: Path, model: ScriptedModel, name: str) -> None:
    folder = tmp_path / "app"
    folder.mkdir()
    (folder / "check.sh").write_text("test ! -e bad.txt\n")
    program = next(each for each in examples_of(PAGE) if each.file == name)
    (tmp_path / name).write_text(program.text)

    def writes(file: str) -> list[Turn]:
        more = {"description": "write"} if name.startswith("claude") else {}
        call = Call(TOOLS[name], {"command": f"echo written > {file}; echo found: $(ls)", **more})
        return [Turn(calls=(call,)), Turn(text=f"{file} is there.")]

    prompts = {"make one": "one.txt", "make bad": "bad.txt", "make two": "two.txt"}
    model.plays(**{prompt: writes(file) for prompt, file in prompts.items()})
    model.requests.clear()
    command = [PYTHON, str(tmp_path / name), *prompts]
    done = subprocess.run(
        command, cwd=folder, env=environment(tmp_path, model), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert [line.partition(" (")[0] for line in done.stdout.splitlines()] == ["taken back: make bad"]
    last = next(each for each in reversed(model.requests) if "make two" in each)
    assert "one.txt is there" in last, "the conversation of the turn that stays was lost"
    assert "bad" not in last, "the next turn knows of the one that was taken back"
    mulligan = [str(Path(PYTHON).with_name("mulligan")), "apply", "--yes"]
    applied = subprocess.run(
        mulligan, cwd=folder, env=environment(tmp_path, model), capture_output=True, text=True, check=False
    )
    assert applied.returncode == 0, applied.stderr
    assert sorted(file.name for file in folder.glob("*.txt")) == ["one.txt", "two.txt"]


def environment(place: Path, model: ScriptedModel) -> dict[str, str]:
    """What the SDKs are pointed to the scripted model with."""
    home = place / "home"
    home.mkdir(exist_ok=True)
    words = {
        "HOME": str(home),
        "ANTHROPIC_BASE_URL": model.url,
        "ANTHROPIC_API_KEY": "sk-ant-scripted",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "IS_SANDBOX": "1",
        "OPENAI_BASE_URL": f"{model.url}/v1",
        "OPENAI_API_KEY": "sk-scripted",
        "OPENAI_AGENTS_DISABLE_TRACING": "1",
        "MULLIGAN_HOME": str(place / "homes"),
    }
    return {"PATH": os.environ["PATH"], **words}
