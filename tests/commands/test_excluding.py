"""Caches and excluded paths through the program: what is shown, applied, recorded and refused."""

import os
import threading
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest

from mulligan.adapters.sandboxes.suitability import has_marker, is_system_folder
from mulligan.cli.main import run
from tests.commands.program import ask, data_of
from tests.commands.running import on_a_terminal, sandbox

CACHED = "echo two > a.txt; mkdir .ruff_cache pkg; echo c > .ruff_cache/0; echo p > pkg/p"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A plain folder, not yet a project, and a home that no setting comes from."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    made = tmp_path / "plain"
    made.mkdir()
    (made / "a.txt").write_text("one\n")
    return made


def run_cached(folder: Path, *options: str) -> dict[str, Any]:
    return data_of(folder, "run", "--name", "cached", *options, "--", "sh", "-c", CACHED)


# --- hidden ------------------------------------------------------------------------------------------------


def test_hidden_files_are_counted_and_shown_on_request(folder: Path) -> None:
    assert run_cached(folder)["execution"]["files_modified"] == 2
    answer = ask(folder, "plan", "diff", "cached")
    assert ([f["path"] for f in answer["data"]["files"]], answer["data"]["hidden"]) == (["a.txt", "pkg/p"], 1)
    assert "`--hidden`" in answer["messages"][0]
    assert ".ruff_cache" not in answer["data"]["patch"]
    everything = data_of(folder, "plan", "diff", "--hidden", "cached")
    assert (len(everything["files"]), everything["hidden"]) == (3, 0)
    between = data_of(folder, "checkpoint", "diff", "--hidden", "first", "latest")
    assert between["files"] == everything["files"]
    assert data_of(folder, "checkpoint", "diff", "first", "latest")["hidden"] == 1
    assert "`--hidden`" in ask(folder, "diff", "--stat", "cached")["messages"][0]
    assert data_of(folder, "log")["entries"][0]["files"] == 2


def test_lists_of_rollback_undo_and_correction_only_count_hidden_files(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_cached(folder)
    for words in (["rollback", "--dry-run", "cached", "first"], ["undo", "--dry-run"]):
        changes = data_of(folder, *words)["changes_reverted"]
        marked = {change["file"] for change in changes if change["hidden"]}
        assert (
            marked
            == {change["file"] for change in changes if change["file"].startswith(".ruff_cache")}
            != set()
        )
        with chdir(folder):
            assert run(words) == 0
        shown = capsys.readouterr().out
        assert "workspace  .ruff_cache" not in shown
        assert "a.txt" in shown
        assert f"{len(marked)} paths of caches not shown" in shown


def test_where_only_hidden_files_differ_nothing_else_does(folder: Path) -> None:
    data_of(folder, "run", "--name", "cached", "--", "sh", "-c", "mkdir .ruff_cache; touch .ruff_cache/0")
    answer = ask(folder, "plan", "diff", "cached")
    assert (answer["data"]["files"], answer["data"]["hidden"]) == ([], 1)
    assert "nothing else differs" in answer["messages"]
    code, shown = on_a_terminal(folder, "run", "--", "sh", "-c", "mkdir .ruff_cache; touch .ruff_cache/0")
    assert (code, "nothing differs (1 cache file not shown)" in shown) == (0, True)


def test_an_apply_leaves_caches_behind_and_counts_them(folder: Path) -> None:
    applied = run_cached(folder, "--apply")
    assert [(a["files"], a["hidden"]) for a in applied["applied"]] == [(2, 1)]
    assert not (folder / ".ruff_cache").exists()
    assert (folder / "pkg" / "p").read_text() == "p\n"


def test_the_report_counts_them(folder: Path) -> None:
    run_cached(folder)
    data_of(folder, "plan", "report", "cached", "--html", "page.html")
    page = (folder / "page.html").read_text()
    assert "1 cache file not shown" in page
    assert ">.ruff_cache/0<" not in page


def test_an_included_path_must_be_one_that_changed(folder: Path) -> None:
    run_cached(folder)
    refused = ask(folder, "plan", "apply", "--yes", "--include", ".mypy_cache", "cached")
    assert refused["error"]["kind"] == "usage_wrong"
    data_of(folder, "plan", "apply", "--yes", "--include", ".ruff_cache/0", "cached")
    assert (folder / ".ruff_cache" / "0").read_text() == "c\n"


def test_children_keep_their_caches_to_themselves(folder: Path) -> None:
    (folder / "plan.yaml").write_text(
        "name: family\n"
        "steps:\n"
        "  - name: both\n"
        "    subplans:\n"
        "      plans:\n"
        "        - {name: one, steps: [{name: s, tool: shell, args: {command: "
        "'mkdir __pycache__; echo 1 > __pycache__/x.pyc; echo 1 > one'}}]}\n"
        "        - {name: two, steps: [{name: s, tool: shell, args: {command: "
        "'mkdir __pycache__; echo 2 > __pycache__/x.pyc; echo 2 > two'}}]}\n"
    )
    done = data_of(folder, "plan", "execute", "plan.yaml")
    place = sandbox(done)
    assert ((place / "one").read_text(), (place / "two").read_text()) == ("1\n", "2\n")
    assert not (place / "__pycache__").exists()


# --- excluded ----------------------------------------------------------------------------------------------


def test_an_unapply_writes_through_no_symlink_and_needs_no_folder(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "outside" / "in").mkdir(parents=True)
    (tmp_path / "outside" / "in" / "x.log").write_text("precious")
    (folder / ".mulliganignore").write_text("*.log\n")
    (folder / "mulligan.toml").write_text('[sandbox]\nhide = ["d"]\n')
    change = f"echo two > a.txt; ln -s {tmp_path}/outside d"
    data_of(folder, "run", "--apply", "--name", "linked", "--", "sh", "-c", change)
    for name in ("d/in", "logs"):
        (folder / name).mkdir(parents=True)
        (folder / name / "x.log").write_text("mine")
    data_of(folder, "plan", "unapply", "--yes", "linked")
    assert (folder / "a.txt").read_text() == "one\n"
    assert (tmp_path / "outside" / "in" / "x.log").read_text() == "precious"
    assert [(folder / name / "x.log").read_text() for name in ("d/in", "logs")] == ["mine", "mine"]


def test_an_undo_names_what_may_be_an_excluded_file_and_brings_it_back(folder: Path) -> None:
    (folder / ".mulliganignore").write_text("*.log\n")
    (folder / "data.log").write_text("precious")
    data_of(folder, "run", "--in-place", "--", "mv", "data.log", "data.txt")
    for words in (("undo", "--dry-run"), ("undo", "--yes")):
        (message,) = ask(folder, *words)["messages"]
        assert "data.txt" in message
        assert "`mulligan redo`" in message
    answer = ask(folder, "redo", "--yes")
    assert (answer["exit_code"], answer["messages"]) == (0, [])
    assert (folder / "data.txt").read_text() == "precious"


# --- files that move ---------------------------------------------------------------------------------------


def test_an_apply_goes_around_files_that_others_write(folder: Path) -> None:
    (folder / "busy").write_bytes(b"")
    stop = threading.Event()

    def write() -> None:
        with (folder / "busy").open("ab", buffering=0) as file:
            while not stop.is_set():
                file.write(os.urandom(64))

    data_of(folder, "run", "--name", "beside", "--", "sh", "-c", "echo two > a.txt")
    writer = threading.Thread(target=write)
    writer.start()
    try:
        data_of(folder, "plan", "apply", "--yes", "beside")
        assert (folder / "a.txt").read_text() == "two\n"
        data_of(folder, "plan", "unapply", "--yes", "beside")
        assert (folder / "a.txt").read_text() == "one\n"
    finally:
        stop.set()
        writer.join()
    assert (folder / "busy").stat().st_size > 0


# --- settings ----------------------------------------------------------------------------------------------


def test_a_list_is_added_to_where_it_applies(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MULLIGAN_SANDBOX_WRITABLE", raising=False)  # set while coverage is measured
    data_of(folder, "init")
    before = data_of(folder, "config", "get", "sandbox.writable")["value"]
    added = data_of(folder, "config", "set", "--add", "sandbox.writable", "/srv:~/.agent")
    assert added["value"] == [*before, "/srv", "~/.agent"]
    assert added["origin"].startswith("project file")
    again = data_of(folder, "config", "set", "sandbox.writable", "/srv", "--add")
    assert again["value"] == [*before, "~/.agent", "/srv"]
    removed = data_of(folder, "config", "set", "--remove", "sandbox.writable", "~/.agent:/srv")
    assert removed["value"] == before
    refused = ask(folder, "config", "set", "--remove", "sandbox.writable", "~/.agent")
    assert (refused["exit_code"], refused["error"]["kind"]) == (2, "setting_invalid")


def test_the_users_own_file_can_be_changed_without_a_project(folder: Path, tmp_path: Path) -> None:
    added = data_of(folder, "config", "set", "--global", "--add", "sandbox.exclude", "*.log")
    assert added["value"] == ["*.log"]
    file = tmp_path / "home" / ".config" / "mulligan" / "config.toml"
    assert file.read_text().strip() == '"sandbox.exclude" = ["*.log"]'
    assert ask(folder, "config", "set", "sandbox.exclude", "x")["error"]["kind"] == "project_not_found"
    data_of(folder, "init")
    assert data_of(folder, "config", "set", "--add", "sandbox.exclude", "b/")["value"] == ["*.log", "b/"]
    answer = ask(folder, "config", "set", "--global", "sandbox.exclude", "c/")
    assert (answer["data"]["value"], "project file" in answer["messages"][0]) == (["*.log", "b/"], True)
    assert data_of(folder, "config", "unset", "sandbox.exclude")["value"] == ["c/"]
    gone = data_of(folder, "config", "unset", "--global", "sandbox.exclude")
    assert (gone["was_set"], gone["value"]) == (True, [])


@pytest.mark.parametrize("words", [["--add", "--remove"], ["--add"]])
def test_only_lists_are_added_to_or_removed_from_and_one_at_a_time(folder: Path, words: list[str]) -> None:
    data_of(folder, "init")
    key = "sandbox.exclude" if len(words) > 1 else "sandbox.strategy"
    refused = ask(folder, "config", "set", *words, key, "auto")
    assert (refused["exit_code"], refused["error"]["kind"]) == (2, "usage_wrong")


# --- refusals ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        *[
            "/etc",
            "/etc/nginx",
            "/usr",
            "/usr/lib/x",
            "/usr/src",
            "/bin",
            "/lib64",
            "/boot",
            "/proc/1",
            "/sys",
        ],
        *["/dev", "/dev/shm", "/run", "/run/user", "/var", "/var/lib", "/var/tmp", "/opt", "/home", "/root"],
    ],
)
def test_folders_of_the_system_are_known(path: str) -> None:
    assert is_system_folder(Path(path))


@pytest.mark.parametrize(
    "path",
    [
        *[
            "/usr/src/app",
            "/usr/local/src/app",
            "/dev/shm/x",
            "/run/user/1000/x",
            "/var/www",
            "/var/www/site",
        ],
        *[
            "/var/tmp/x",
            "/var/lib/jenkins/workspace/job",
            "/opt/app",
            "/home/me/app",
            "/srv",
            "/work",
            "/tmp",
        ],
        *["/etcetera", "/usrlocal"],
    ],
)
def test_folders_that_people_work_in_are_not_the_systems(path: str) -> None:
    assert not is_system_folder(Path(path))


def test_a_command_in_a_folder_of_the_system_is_refused_and_makes_nothing(folder: Path) -> None:
    refused = ask(folder, "run", "--resource", "/etc", "--", "true")
    assert (refused["exit_code"], refused["error"]["kind"]) == (125, "resource_unsuitable")
    assert not (folder / ".mulligan").exists()


def test_a_link_to_a_folder_of_the_system_is_refused(folder: Path) -> None:
    (folder / "link").symlink_to("/usr/share")
    refused = ask(folder, "run", "--resource", "link", "--", "true")
    assert refused["error"]["kind"] == "resource_unsuitable"


def test_an_empty_git_folder_marks_no_checkout(folder: Path) -> None:
    (folder / ".git").mkdir()
    assert not has_marker(folder, ".git")
    done = data_of(folder, "run", "--apply", "--", "sh", "-c", "echo two > a.txt")
    assert [each["type"] for each in done["applied"]] == ["fs-directory"]
    (folder / ".git" / "HEAD").touch()
    assert has_marker(folder, ".git")
    (folder / "file").touch()
    assert has_marker(folder, "file")
    assert not has_marker(folder, "nothing")
