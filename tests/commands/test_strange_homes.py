"""What comes with a checkout or an archive of a stranger decides nothing: no settings, no commands, no home."""

import json
import subprocess
import tarfile
from pathlib import Path

import pytest

from tests.commands.program import ask, data_of
from tests.support.git_world import run_git
from tests.support.homes import home_of

EARLIER = Path(__file__).parents[1] / "migrations" / "earlier_project.tar.gz"
SETTINGS = """[core]
pager = "touch pwned; cat"
[sandbox]
isolate = "off"
writable = ["/"]
"""
TAKEN = {"core.pager", "sandbox.isolate", "sandbox.writable"}


@pytest.fixture(autouse=True)
def homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MULLIGAN_HOME", str(tmp_path / "homes"))
    monkeypatch.delenv(
        "MULLIGAN_SANDBOX_WRITABLE", raising=False
    )  # a setting of the run that measures coverage
    return tmp_path / "homes"


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    folder = tmp_path / "clone"
    (folder / ".mulligan").mkdir(parents=True)
    run_git(folder, "init", "-q", "-b", "main")
    (folder / ".mulligan" / "config.toml").write_text(SETTINGS)
    return folder


def committed(folder: Path) -> Path:
    run_git(folder, "add", "-Af")
    run_git(folder, "commit", "-qm", "one")
    return folder


def defaults(folder: Path) -> bool:
    """Return whether a project has none of the settings of the stranger."""
    found = {each["key"]: each["origin"] for each in data_of(folder, "config", "list")["settings"]}
    return {found[key] for key in TAKEN} == {"default"}


class TestACheckout:
    def test_with_settings_is_no_project(self, clone: Path) -> None:
        committed(clone)
        assert ask(clone, "config", "list")["error"]["kind"] == "project_not_found"
        data_of(clone, "run", "--name", "a", "--", "true")
        assert defaults(clone)
        assert run_git(clone, "status", "--porcelain") == ""

    def test_with_a_whole_home_is_refused_and_left_alone(self, clone: Path) -> None:
        (clone / ".mulligan" / "mulligan.db").write_text("rows")
        committed(clone)
        for words in (("plan", "list"), ("run", "--", "true"), ("config", "get", "sandbox.isolate")):
            error = ask(clone, *words)["error"]
            assert error["kind"] == "project_unusable"
            assert "init" in error["hint"]
            assert "--fresh" in error["hint"]
        data_of(clone, "init", "--fresh")
        assert defaults(clone)
        assert ask(clone, "doctor")["error"]["kind"] == "project_unwell"
        assert run_git(clone, "status", "--porcelain") == "", "its files stay"

    @pytest.mark.parametrize("home", [".evil", "{folder}/.evil", "/proc/self/cwd/.evil"])
    def test_with_a_link_to_a_home_inside_is_refused(self, clone: Path, home: str) -> None:
        (clone / ".evil").mkdir()
        (clone / ".evil" / "config.toml").write_text(SETTINGS)
        identity = {"device": 1, "inode": 1, "filesystem": 1}
        record = {"folder": "/nowhere", "identity": identity}
        (clone / ".evil" / "project.json").write_text(json.dumps(record))
        link = {**record, "home": home.format(folder=clone)}
        (clone / ".mulligan" / "home.json").write_text(json.dumps(link))
        committed(clone)
        for words in (("plan", "list"), ("run", "--", "true"), ("config", "list")):
            error = ask(clone, *words)["error"]
            assert error["kind"] == "project_unusable"
            assert "--fresh" in error["hint"]
        data_of(clone, "init", "--fresh")
        assert defaults(clone)

    @pytest.mark.parametrize("of_a_moved_project", [True, False])
    def test_with_a_link_to_a_home_beside_it_is_refused(
        self, clone: Path, tmp_path: Path, of_a_moved_project: bool
    ) -> None:
        home = tmp_path / "elsewhere"
        home.mkdir()
        (home / "config.toml").write_text(SETTINGS)
        folder = "/nowhere" if of_a_moved_project else str(clone)
        stat = clone.stat()
        identity = {"device": stat.st_dev, "inode": stat.st_ino, "filesystem": 1, "born": 1}
        record = {"folder": folder, "identity": identity}
        (home / "project.json").write_text(json.dumps(record))
        (clone / ".mulligan" / "home.json").write_text(json.dumps({**record, "home": str(home)}))
        committed(clone)
        for words in (("plan", "list"), ("run", "--", "true"), ("config", "list")):
            error = ask(clone, *words)["error"]
            assert error["kind"] == "project_uncertain"
            assert "--fresh" in error["hint"]
        assert sorted(path.name for path in home.iterdir()) == ["config.toml", "project.json"]
        data_of(clone, "init", "--fresh")
        assert defaults(clone)


def test_a_home_of_ones_own_is_known_in_its_folder_whatever_the_folder_of_homes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    data_of(folder, "run", "--name", "kept", "--", "true")
    home = home_of(folder)
    monkeypatch.setenv("MULLIGAN_HOME", str(tmp_path / "others"))
    assert [plan["handle"] for plan in data_of(folder, "plan", "list")["plans"]] == ["kept"]
    folder = folder.rename(tmp_path / "moved")
    assert ask(folder, "plan", "list")["error"]["kind"] == "project_uncertain", "it may have come with a copy"
    data_of(folder, "init", "--home", str(home))
    assert [plan["handle"] for plan in data_of(folder, "plan", "list")["plans"]] == ["kept"]


def test_settings_of_an_adopted_home_that_only_users_decide_are_dropped_and_named(tmp_path: Path) -> None:
    with tarfile.open(EARLIER) as archive:
        archive.extractall(tmp_path, filter="tar")
    folder = tmp_path / "earlier"
    (folder / ".mulligan" / "config.toml").write_text(SETTINGS + "[retry]\n")
    answer = ask(folder, "plan", "list")
    assert answer["exit_code"] == 0
    said = " ".join(answer["messages"])
    assert all(f"config set {key}" in said for key in TAKEN)
    assert defaults(folder)
    assert ask(folder, "plan", "list")["messages"] == []


def test_settings_of_an_archive_that_only_users_decide_are_dropped_and_named(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    data_of(tmp_path / "one", "init")
    (home_of(tmp_path / "one") / "config.toml").write_text(SETTINGS)
    data_of(tmp_path / "one", "project", "export", str(tmp_path / "saved"))
    answer = ask(tmp_path / "two", "project", "import", str(tmp_path / "saved"))
    said = " ".join(answer["messages"])
    assert all(f"config set {key}" in said for key in TAKEN)
    assert defaults(tmp_path / "two")


def test_a_symlink_to_the_home_of_another_project_is_not_moved_into_place(tmp_path: Path) -> None:
    mine, stranger = tmp_path / "mine", tmp_path / "stranger"
    for folder in (mine, stranger):
        folder.mkdir()
    data_of(mine, "run", "--name", "q", "--", "touch", "made")
    (stranger / ".mulligan").symlink_to(home_of(mine))
    error = ask(stranger, "list")["error"]
    assert error["kind"] == "project_unusable"
    (command,) = error["hint"].split("`")[1::2]
    subprocess.run(["sh", "-c", command], check=True)
    assert ask(stranger, "list")["error"]["kind"] == "project_not_found"
    assert data_of(mine, "status", "q")["state"] == "complete"
