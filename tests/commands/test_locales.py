"""Terminals of all kinds: narrow, without colours, without UTF-8, or none. Nothing crashes, and nothing is torn."""

import io
import json
import re
import signal
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
import yaml

from mulligan.cli.main import run
from tests.commands.program import words_in
from tests.commands.running import on_a_terminal

NAME = "pläne 日本"
PLAN = f"""
name: "{NAME}"
steps:
  - {{name: größe, tool: write_file, args: {{path: "né/日本.txt", content: "zwölf\\n"}}, checkpoint: "vor é"}}
  - {{name: wähle, decision: {{question: "Wäs?", chosen: "日本"}}}}
"""
LOOKS = (
    "plan status",
    "plan list",
    "plan log",
    "plan tree",
    "plan diff",
    "plan rollback --dry-run latest first",
    "plan apply --dry-run latest",
    "checkpoint list",
    "checkpoint show latest",
    "checkpoint diff first latest",
    "checkpoint verify",
    "checkpoint prune latest --keep 2 --dry-run",
    "config list",
    "config get sandbox.writable",
    "tool list",
    "tool show shell",
    "doctor",
    "gc --dry-run",
    "completion bash",
    "plan status größe",
    "nönsense",
    "plan --help",
)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wörk-日本")
    (folder / "plän.yaml").write_text(PLAN)
    assert said(folder, "plan execute plän.yaml", encoding="utf-8")[0] == 0
    return folder


def said(folder: Path, line: str, *, encoding: str) -> tuple[int, bytes, bytes]:
    """Run a command with streams of that encoding, strict as PYTHONIOENCODING makes stdout; gives what it wrote."""
    out, err = io.BytesIO(), io.BytesIO()
    stdout = io.TextIOWrapper(out, encoding, "strict", write_through=True)
    stderr = io.TextIOWrapper(err, encoding, "backslashreplace", write_through=True)
    handler = signal.getsignal(signal.SIGTERM)
    try:
        with chdir(folder), redirect_stdout(stdout), redirect_stderr(stderr):
            code = run(line.split())
    finally:
        signal.signal(signal.SIGTERM, handler)
    return code, out.getvalue(), err.getvalue()


@pytest.mark.parametrize("format", ["rich", "plain", "json", "yaml"])
def test_where_nothing_but_ascii_can_be_written_all_is_spelled(project: Path, format: str) -> None:
    for look in LOOKS:
        usual = said(project, f"--format {format} {look}", encoding="utf-8")
        code, out, err = said(project, f"--format {format} {look}", encoding="ascii")
        assert code == usual[0], (look, err)
        assert b"Traceback" not in err, look
        assert b"internal_error" not in out, look
        if look not in ("plan diff", "checkpoint diff first latest"):  # a patch is bytes
            assert out.isascii(), look
            assert err.isascii(), look


def test_documents_say_the_same_in_every_locale(project: Path) -> None:
    for encoding in ("utf-8", "ascii", "latin-1"):
        out = said(project, "plan status --format yaml", encoding=encoding)[1]
        assert yaml.safe_load(out.decode(encoding))["data"]["name"] == NAME
        out = said(project, "plan status --format json", encoding=encoding)[1]
        assert json.loads(out)["data"]["name"] == NAME


def test_no_word_is_torn_on_narrow_terminals(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for look in LOOKS:
        if "log" in look or "tree" in look or "help" in look or "diff" in look:
            continue  # no tables
        plain = said(project, f"--format plain {look}", encoding="utf-8")[1].decode()
        for columns in ("40", "60"):
            monkeypatch.setenv("COLUMNS", columns)
            drawn = said(project, f"--format rich {look}", encoding="utf-8")[1].decode()
            assert words_in(drawn) == words_in(plain), (look, columns)


@pytest.mark.processes_measured
def test_a_terminal_without_colours_gets_none(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    code, shown = on_a_terminal(project, "plan", "diff")
    assert code == 0
    assert "+zwölf" in shown
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]m", shown)
    monkeypatch.delenv("NO_COLOR")
    assert "\x1b[32m+zwölf" in on_a_terminal(project, "plan", "diff")[1]
