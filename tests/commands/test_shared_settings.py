"""Settings of the project folder, which are shared with it: `mulligan.toml`."""

from pathlib import Path

import pytest

from tests.commands.program import ask, data_of


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "mulligan.toml").write_text("[plan]\nmax-parallel = 3\n")
    data_of(tmp_path, "init")
    return tmp_path


def test_they_are_weaker_than_the_projects_own(project: Path) -> None:
    found = data_of(project, "config", "get", "plan.max-parallel")
    assert (found["value"], found["origin"]) == (3, f"shared file {project / 'mulligan.toml'}")
    data_of(project, "config", "set", "plan.max-parallel", "5")
    assert data_of(project, "config", "get", "plan.max-parallel")["value"] == 5


@pytest.mark.parametrize(
    "line",
    [
        "core.format = 'json'",
        "sandbox.isolate = 'off'",
        "sandbox.strategy = 'in_place'",
        "sandbox.writable = ['/srv']",
    ],
)
def test_what_is_for_each_user_to_decide_is_refused(project: Path, line: str) -> None:
    (project / "mulligan.toml").write_text(f"{line}\n")
    answer = ask(project, "config", "list")
    assert (answer["exit_code"], answer["error"]["kind"]) == (2, "setting_invalid")
    assert answer["error"]["key"] == line.split(" ", maxsplit=1)[0]


def test_a_file_that_cannot_be_read_is_named(project: Path) -> None:
    (project / "mulligan.toml").write_text("nonsense = = 1")
    answer = ask(project, "config", "list")
    assert (answer["exit_code"], answer["error"]["kind"]) == (2, "settings_file_invalid")
