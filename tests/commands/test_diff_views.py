"""Parts of a difference: how much, which paths, only some of them; and long answers in a pager."""

import io
import os
import signal
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from mulligan.cli.main import run
from mulligan.cli.terminal.pager import pager_command
from tests.commands.program import ask, data_of
from tests.support.terminal import on_a_terminal

CHANGES = (
    "seq 7 > src/a.py; seq 50 > x.md; printf 'a\\0b' > bin; mkdir new; git mv -f k l 2>/dev/null || mv k l"
)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "src").mkdir()
    (folder / "src" / "a.py").write_text("1\n2\n3\n")
    (folder / "k").write_text("kept\n" * 20)
    data_of(folder, "run", "--name", "edit", "--", "sh", "-c", CHANGES)
    return folder


def said(folder: Path, *words: str) -> tuple[int, str]:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, "utf-8", write_through=True)
    handler = signal.getsignal(signal.SIGTERM)
    try:
        with chdir(folder), redirect_stdout(stream), redirect_stderr(stream):
            code = run(words)
    finally:
        signal.signal(signal.SIGTERM, handler)
    return code, raw.getvalue().decode()


def test_stat_shows_how_much_of_each_path_differs(project: Path) -> None:
    code, shown = said(project, "diff", "--stat")
    assert code == 0
    assert shown == (
        "bin            | Bin\n"
        "k => l (100 %) |   0\n"
        "src/a.py       |   4 ++++\n"
        f"x.md           |  50 {'+' * 40}\n"
        "new/           | folder added\n"
        "4 files differ: 54 lines inserted, 0 deleted\n"
    )
    assert said(project, "checkpoint", "diff", "--stat", "edit@1", "edit@-1") == (code, shown)


def test_name_only_shows_the_paths(project: Path) -> None:
    assert said(project, "diff", "--name-only", "edit", "--", "src", "*.md")[1] == "src/a.py\nx.md\n"


def test_documents_have_the_same_whatever_is_shown(project: Path) -> None:
    whole = data_of(project, "diff")
    assert data_of(project, "diff", "--stat") == data_of(project, "diff", "--name-only") == whole


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["--", "src"], ["src/a.py"]),
        (["--", "."], ["bin", "l", "src/a.py", "x.md"]),
        (["edit", "--from", "@1", "--", ":!src"], ["bin", "l", "x.md"]),
        (["--", "nothing"], []),
    ],
)
def test_paths_choose_what_is_compared(project: Path, words: list[str], found: list[str]) -> None:
    assert [file["path"] for file in data_of(project, "diff", *words)["files"]] == found
    if "--from" not in words:
        between = data_of(project, "checkpoint", "diff", "first", "latest", *words)
        assert [file["path"] for file in between["files"]] == found


def test_paths_are_seen_from_where_the_user_is(project: Path) -> None:
    (file,) = data_of(project / "src", "diff", "--", "a.py")["files"]
    assert file["path"] == "src/a.py"
    assert data_of(project / "src", "diff", "--", "../x.md")["patch"].startswith("diff --git a/x.md b/x.md\n")


def test_what_does_not_go_together_is_refused(project: Path) -> None:
    assert ask(project, "diff", "--stat", "--name-only")["error"]["kind"] == "usage_wrong"
    assert ask(project, "diff", "--", "../..")["error"]["kind"] == "usage_wrong"


# --- the pager ---------------------------------------------------------------------------------------------


def paged(folder: Path, *words: str, **variables: str) -> str:
    environ = {"PAGER": "sed s/^/paged:/", "LINES": "9", **variables}
    code, shown = on_a_terminal(folder, *words, environ=environ)
    assert code == 0
    return shown.decode()


@pytest.mark.processes_measured
def test_a_long_answer_on_a_terminal_goes_through_the_pager(project: Path) -> None:
    assert "paged:" in paged(project, "diff")
    assert "paged:" in paged(project, "log", "edit")
    assert "paged:" not in paged(project, "list"), "a short one does not"
    assert "paged:" not in paged(project, "diff", "--no-pager")
    assert "paged:" not in paged(project, "status"), "only what may be long"
    assert "+50" in paged(project, "diff", MULLIGAN_CORE_PAGER="cat")
    assert "mine:" in paged(project, "diff", "-c", "core.pager=sed s/^/mine:/")


def test_a_pager_that_cannot_be_run_costs_no_answer(project: Path) -> None:
    assert "+50" in paged(project, "diff", PAGER="no-such-pager")


def test_a_pipe_has_no_pager(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAGER", "sed s/^/paged:/")
    assert "paged:" not in said(project, "diff")[1]


def test_which_pager_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    less = tmp_path / "less"
    less.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert pager_command(None, os.environ | {"PAGER": "more"}) == "more"
    assert pager_command("less -S", {"PAGER": "more"}) == "less -S"
    assert pager_command(None, {}) == "less"
    assert pager_command("", {"PAGER": "more"}) is None
    assert pager_command("cat", {}) is None
    less.unlink()
    assert pager_command(None, {}) is None
