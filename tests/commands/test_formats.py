"""Whatever only reads tells the same in every format: for people, for pipes, and as a document."""

import json
import re
from contextlib import chdir
from pathlib import Path

import pytest
import yaml

from mulligan.cli.main import run
from tests.commands.program import data_of

PLAN = """
name: tour
steps:
  - {name: write, tool: write_file, args: {path: a.txt, content: "new\\n"}, checkpoint: written}
  - {name: choose, decision: {question: Which?, chosen: this, alternatives: [that]}}
  - {name: mark, checkpoint: chosen}
"""
READING = {
    "checkpoint list": ["your label 'written'", "chosen", "at the start", "at the end"],
    "checkpoint list --all --limit 2": ["chosen", "at the end"],
    "checkpoint show written": ["written", "time", "steps done: 1"],
    "checkpoint show written --verbose": ["written", "state hash", "metadata"],
    "checkpoint diff first written": ["+++ b/a.txt", "-old", "+new"],
    "plan list": ["tour", "complete", "3/3"],
    "plan log": ["recorded as tour", "decision Which? -> this", "@3 your label 'written'"],
    "plan tree": ["decision in step choose: Which? -> this", "checkpoint your label 'chosen' (tour@7)"],
    "plan diff": ["+++ b/a.txt", "-old", "+new"],
    "plan status": ["tour: complete", "write", "choose", "mark", "sandbox of workspace"],
    "config list": ["sandbox.strategy", "auto", "default"],
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "a.txt").write_text("old\n")
    (folder / "plan.yaml").write_text(PLAN)
    data_of(folder, "plan", "execute", "plan.yaml")
    return folder


@pytest.mark.parametrize("line", READING)
def test_every_format_tells_the_same(
    project: Path, line: str, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")  # so that rich breaks no line
    printed: dict[str, str] = {}
    with chdir(project):
        for format in ("rich", "plain", "json", "yaml"):
            assert run([*line.split(), "--format", format]) == 0
            printed[format] = capfdbinary.readouterr().out.decode()
    for word in READING[line]:
        assert word in printed["plain"]
        assert word in re.sub(r"\x1b\[[\d;]*m", "", printed["rich"])
    as_json, as_yaml = json.loads(printed["json"]), yaml.safe_load(printed["yaml"])
    assert as_json.pop("timing").keys() == as_yaml.pop("timing").keys()
    assert as_json == as_yaml
    assert as_json["data"]
    assert "\x1b" not in printed["plain"]


@pytest.mark.parametrize(("words", "key"), [([], "help"), (["--version"], "version")])
def test_the_program_alone_answers_with_a_document(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], words: list[str], key: str
) -> None:
    data = data_of(tmp_path, *words)
    capfdbinary.readouterr()
    assert run(words) == 0
    shown = capfdbinary.readouterr().out.decode()
    assert data[key].strip() in shown
