"""The homes of all projects: listed, pruned, limited, exported, imported, moved; on other filesystems."""

import fcntl
import io
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import zstandard

import mulligan
from mulligan.errors import ProjectBusy, TargetExists
from tests.commands.program import ask, data_of
from tests.commands.timelines import killed
from tests.support.git_world import run_git
from tests.support.homes import home_of
from tests.support.ordinary_user import as_ordinary_user

# Made by the version before homes were outside of project folders.
COMMIT = "git -c user.name=you -c user.email=you@example.org commit"
EARLIER = Path(__file__).parents[1] / "migrations" / "earlier_project.tar.gz"


@pytest.fixture(autouse=True)
def homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "all homes"
    monkeypatch.setenv("MULLIGAN_HOME", str(folder))
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("one\n")
    data_of(folder, "run", "--name", "first", "--", "sh", "-c", "echo two >> a.txt")
    return folder


@pytest.fixture
def earlier(tmp_path: Path) -> Path:
    with tarfile.open(EARLIER) as archive:
        archive.extractall(tmp_path, filter="tar")
    return tmp_path / "earlier"


def states(folder: Path) -> dict[str, str]:
    return {Path(each["folder"]).name: each["state"] for each in data_of(folder, "projects")["projects"]}


class TestListing:
    def test_homes_have_folder_size_and_last_use(self, project: Path, homes: Path) -> None:
        data = data_of(project, "projects")
        (found,) = data["projects"]
        assert (found["folder"], found["home"], found["state"]) == (
            str(project),
            str(home_of(project)),
            "in_use",
        )
        assert data["size_bytes"] == found["size_bytes"] > 1000
        assert (data["folder"], data["limit_bytes"]) == (str(homes), 0)
        assert found["last_used"].startswith("20")
        assert mulligan.projects().size_bytes == data["size_bytes"]

    def test_holes_in_files_of_a_sandbox_take_no_room(self, project: Path) -> None:
        before = data_of(project, "projects")["size_bytes"]
        with (project / "holes").open("wb") as file:
            file.truncate(10**9)
        data_of(project, "run", "--name", "large", "--", "true")
        assert data_of(project, "projects")["size_bytes"] - before < 10**8

    def test_a_folder_that_is_gone_moved_or_replaced_is_told(self, project: Path, tmp_path: Path) -> None:
        for name in ("gone", "other", "replaced", "cleaned"):
            (tmp_path / name).mkdir()
            data_of(tmp_path / name, "init")
        (tmp_path / "gone").rename(tmp_path / "project" / "elsewhere")
        shutil.rmtree(tmp_path / "other")
        (tmp_path / "other").write_text("not a folder")
        data_of(tmp_path / "replaced", "init", "--fresh")
        shutil.rmtree(tmp_path / "cleaned" / ".mulligan")
        found = data_of(project, "projects")["projects"]
        told = sorted((Path(each["folder"]).name, each["state"]) for each in found)
        assert told == [
            ("cleaned", "in_use"),
            ("gone", "folder_gone"),
            ("other", "folder_gone"),
            ("project", "in_use"),
            ("replaced", "in_use"),
            ("replaced", "replaced"),
        ]

    def test_no_home_is_no_error(self, tmp_path: Path) -> None:
        assert data_of(tmp_path, "projects")["projects"] == []
        assert data_of(tmp_path, "projects", "prune")["removed"] == []

    def test_options_of_prune_are_refused_without_it(self, tmp_path: Path) -> None:
        assert ask(tmp_path, "projects", "--yes")["error"]["kind"] == "usage_wrong"


class TestPruning:
    def test_only_what_no_folder_needs_goes(self, project: Path, tmp_path: Path, homes: Path) -> None:
        top = tmp_path / "top"
        top.mkdir()
        run_git(top, "init", "-q", "-b", "main")
        (top / "file").write_text("x")
        run_git(top, "add", ".")
        run_git(top, "commit", "-qm", "one")
        data_of(top, "run", "--", "true")
        old = home_of(top)
        data_of(top, "init", "--fresh")
        assert run_git(top, "for-each-ref", "refs/mulligan") != ""
        assert ask(project, "projects", "prune")["error"]["kind"] == "confirmation_missing"
        told = data_of(project, "projects", "prune", "--dry-run")
        assert old.is_dir()
        done = data_of(project, "projects", "prune", "--yes")
        assert {**told, "dry_run": False} == done
        assert [each["home"] for each in done["removed"]] == [str(old)]
        assert not old.exists()
        assert run_git(top, "for-each-ref", "refs/mulligan") == "", "its pins went with it"
        assert states(project) == {"project": "in_use", "top": "in_use"}
        assert mulligan.prune_projects(dry_run=True).removed == []

    def test_a_home_in_which_a_plan_runs_stays(self, project: Path) -> None:
        home = home_of(project)
        shutil.rmtree(project)
        (lock,) = (home / "locks").glob("*.lock")
        with lock.open("r+") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            done = data_of(project.parent, "projects", "prune", "--yes")
            assert (done["removed"], done["busy"]) == ([], [str(home)])
        assert home.is_dir()

    def test_what_killed_processes_left_goes_too(self, project: Path, tmp_path: Path, homes: Path) -> None:
        (homes / ".removed-0123").mkdir()
        (homes / ".removed-0123" / "file").touch()
        (homes / "empty-01234567").mkdir()
        shutil.copytree(home_of(project), homes / "x-01234567.part")
        (homes / "x-01234567.part" / ".mulligan-part").touch()
        (tmp_path / "gone").mkdir()
        data_of(tmp_path / "gone", "init")
        shutil.rmtree(tmp_path / "gone")
        data_of(project, "projects", "prune", "--yes")
        assert {path.name for path in homes.iterdir()} == {
            home_of(project).name, "by-folder", "moves.lock",
        }  # fmt: skip

    def test_doctor_names_homes_without_a_folder(self, project: Path, tmp_path: Path) -> None:
        (tmp_path / "gone").mkdir()
        data_of(tmp_path / "gone", "init")
        home = home_of(tmp_path / "gone")
        shutil.rmtree(tmp_path / "gone")
        answer = ask(project, "doctor")
        assert answer["exit_code"] == 0
        (left,) = answer["data"]["left_alone"]
        assert str(home) in left
        assert "mulligan projects prune" in left

    def test_doctor_names_files_that_nothing_uses(self, project: Path) -> None:
        (project / ".mulligan" / "tools.py").write_text("import mulligan\n")
        (project / ".mulligan" / "store").mkdir()
        answer = ask(project, "doctor")
        assert [finding["what"] for finding in answer["data"]["findings"]] == [
            f"{project / '.mulligan' / name} is not used" for name in ("store", "tools.py")
        ]
        assert (project / ".mulligan" / "store").exists(), "no home was ever moved out of this folder"


class TestTheDiskLimit:
    def test_refuses_new_plans_and_nothing_else(self, project: Path) -> None:
        small = ("-c", "core.disk-limit=1KB")
        assert ask(project, *small, "run", "--", "true")["error"]["kind"] == "disk_limit_exceeded"
        (project / "p.yaml").write_text("name: p\nsteps: [{name: s, tool: shell, args: {command: 'true'}}]\n")
        assert ask(project, *small, "plan", "execute", "p.yaml")["error"]["kind"] == "disk_limit_exceeded"
        assert len(data_of(project, *small, "plan", "list")["plans"]) == 1
        data_of(project, *small, "plan", "apply", "--yes", "first")
        answer = ask(project, *small, "gc")
        assert (answer["exit_code"], answer["status"]) == (0, "ok")
        assert "core.disk-limit" in answer["messages"][0]
        assert ask(project, *small, "doctor")["error"]["kind"] == "project_unwell"
        assert data_of(project, *small, "projects")["limit_bytes"] == 1000
        data_of(project, "-c", "core.disk-limit=50GB", "run", "--", "true")

    @pytest.mark.parametrize("value", ["much", "-1", "1 ZB", "[]"])
    def test_that_is_not_a_size_is_refused(self, project: Path, value: str) -> None:
        assert (
            ask(project, "-c", f"core.disk-limit={value}", "projects")["error"]["kind"] == "setting_invalid"
        )

    @pytest.mark.parametrize(
        ("value", "size"), [("7", 7), ("20GB", 20 * 10**9), ("1.5 tb", 15 * 10**11), ("3k", 3000)]
    )
    def test_is_a_number_of_bytes_with_a_unit_or_without(self, project: Path, value: str, size: int) -> None:
        assert (
            data_of(project, "-c", f"core.disk-limit={value}", "config", "get", "core.disk-limit")["value"]
            == size
        )


class TestOneFile:
    def test_holds_plans_checkpoints_and_sandboxes(self, project: Path, tmp_path: Path) -> None:
        home = home_of(project)
        (home / "tools.py").write_text("import mulligan\n")
        sandbox = next(home.glob("sandboxes/*/workspace"))
        (sandbox / "closed").write_text("closed\n")
        (sandbox / "closed").chmod(0)
        (sandbox / "same").hardlink_to(sandbox / "a.txt")
        (sandbox / "link").symlink_to("/nowhere")
        os.mkfifo(sandbox / "pipe")
        os.utime(sandbox / "a.txt", ns=(0, 1234567890123456789))
        (sandbox / "folder").mkdir()
        for name in ("a.txt", "folder"):
            os.setxattr(sandbox / name, "user.odd name=é", b"\0\xff\n")
        (sandbox / "folder").chmod(0o500)
        data = data_of(project, "project", "export", str(tmp_path / "saved"))
        assert data["size_bytes"] == (tmp_path / "saved").stat().st_size
        assert [path.name for path in tmp_path.iterdir() if "saved" in path.name] == ["saved"]
        other = tmp_path / "other"
        other.mkdir()
        (other / "a.txt").write_text("one\n")
        came = data_of(tmp_path, "project", "import", "saved", "other")
        assert (came["project"], came["home"]) == (str(other), str(home_of(other)))
        assert (came["plans"], came["damaged"]) == (1, 0)
        copy = home_of(other) / sandbox.relative_to(home)
        assert (copy / "a.txt").stat().st_mtime_ns == 1234567890123456789
        assert (copy / "same").samefile(copy / "a.txt")
        for name in ("a.txt", "folder"):
            assert os.getxattr(copy / name, "user.odd name=é") == b"\0\xff\n"
        assert os.readlink(copy / "link") == "/nowhere"
        assert (copy / "pipe").is_fifo()
        assert [(copy / name).lstat().st_mode & 0o777 for name in ("closed", "folder")] == [0, 0o500]
        assert (home_of(other) / "tools.py").is_file()
        (copy / "closed").chmod(0o600)
        data_of(other, "plan", "apply", "--yes", "first")
        assert (other / "a.txt").read_text() == "one\ntwo\n"
        assert (project / "a.txt").read_text() == "one\n"

    def test_pins_what_sandboxes_borrow_of_a_clone(self, tmp_path: Path) -> None:
        top, clone = tmp_path / "top", tmp_path / "clone"
        top.mkdir()
        run_git(top, "init", "-q", "-b", "main")
        (top / "a.txt").write_text("one\n")
        run_git(top, "add", ".")
        run_git(top, "commit", "-qm", "one")
        plan = data_of(top, "run", "--name", "first", "--", "sh", "-c", "echo two >> a.txt")
        data_of(top, "project", "export", str(tmp_path / "saved"))
        run_git(tmp_path, "clone", "-q", str(top), str(clone))
        data_of(tmp_path, "project", "import", "saved", "clone")
        pins = run_git(clone, "for-each-ref", "refs/mulligan")
        assert pins == run_git(top, "for-each-ref", "refs/mulligan") != ""
        # The user forgets the commit that the plan began with.
        run_git(clone, "checkout", "-q", "--orphan", "other")
        run_git(clone, "commit", "-qm", "another")
        run_git(clone, "branch", "-D", "main")
        run_git(clone, "remote", "remove", "origin")
        run_git(clone, "reflog", "expire", "--expire=now", "--all")
        run_git(clone, "gc", "-q", "--prune=now")
        sandbox = next(home_of(clone).glob("sandboxes/*/*/.git")).parent
        run_git(sandbox, "fsck", "--connectivity-only")
        assert data_of(clone, "checkpoint", "verify")["damaged"] == []
        data_of(clone, "rm", "--yes", plan["handle"])
        assert run_git(clone, "for-each-ref", "refs/mulligan") == "", "they are its own"

    def test_pins_what_checkpoints_of_plans_in_place_name_of_a_clone(self, tmp_path: Path) -> None:
        top, clone = tmp_path / "top", tmp_path / "clone"
        top.mkdir()
        run_git(top, "init", "-q", "-b", "main")
        (top / "a.txt").write_text("one\n")
        run_git(top, "add", ".")
        run_git(top, "commit", "-qm", "one")
        data_of(
            top, "run", "--in-place", "--name", "real", "--", "sh", "-c", f"echo 2 > a.txt; {COMMIT} -qam two"
        )
        data_of(top, "project", "export", str(tmp_path / "saved"))
        run_git(tmp_path, "clone", "-q", str(top), str(clone))
        data_of(tmp_path, "project", "import", "saved", "clone")
        pins = run_git(clone, "for-each-ref", "refs/mulligan")
        assert pins == run_git(top, "for-each-ref", "refs/mulligan") != ""
        data_of(clone, "undo", "--yes")
        assert (clone / "a.txt").read_text() == "one\n"
        assert run_git(clone, "log", "--format=%s").split() == ["one"]
        data_of(clone, "cancel", "real")
        data_of(clone, "rm", "--yes", "real")
        assert run_git(clone, "for-each-ref", "refs/mulligan") == "", "they are its own"

    def test_is_not_written_over_another_or_while_a_plan_runs(self, project: Path, tmp_path: Path) -> None:
        opened = mulligan.open(project)
        opened.export(tmp_path / "saved")
        with pytest.raises(TargetExists):
            opened.export(tmp_path / "saved")
        opened.export(tmp_path / "saved", force=True)
        (lock,) = (home_of(project) / "locks").glob("*.lock")
        with lock.open("r+") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            with pytest.raises(ProjectBusy):
                opened.export(tmp_path / "busy")
        assert not (tmp_path / "busy").exists()
        assert ask(project, "project", "export", "/nowhere/file")["error"]["kind"] == "system_failed"

    def test_goes_only_into_a_folder_without_a_project(self, project: Path, tmp_path: Path) -> None:
        data_of(project, "project", "export", str(tmp_path / "saved"))
        answer = ask(project, "project", "import", str(tmp_path / "saved"))
        assert answer["error"]["kind"] == "project_unusable"
        (tmp_path / "new").mkdir()
        opened = mulligan.import_project(tmp_path / "saved", tmp_path / "new", home=tmp_path / "its home")
        assert opened.home == tmp_path / "its home"
        assert [line.name for line in opened.plans()] == ["first"]
        opened.close()

    def test_of_a_git_checkout_needs_a_clone(self, tmp_path: Path) -> None:
        original = tmp_path / "original"
        original.mkdir()
        run_git(original, "init", "-q")
        (original / "a.txt").write_text("one\n")
        run_git(original, "add", "a.txt")
        run_git(original, "commit", "-qm", "one")
        for _ in range(2):
            data_of(
                original, "run", "--name", "more", "--", "sh", "-c", f"echo two >> a.txt; {COMMIT} -qam two"
            )
        data_of(original, "project", "export", "../saved")
        run_git(tmp_path, "clone", "-q", "original", "clone")
        shutil.rmtree(original)
        (tmp_path / "empty").mkdir()
        came = ask(tmp_path, "project", "import", "saved", "empty")
        assert came["status"] == "warn"
        (message,) = came["messages"]
        assert "`git clone`" in message
        findings = ask(tmp_path / "empty", "doctor")["data"]["findings"]
        assert all("git clone" in each["remedy"] for each in findings if "not a git checkout" in each["what"])
        assert ask(tmp_path, "project", "import", "saved", "clone")["messages"] == []

    def test_with_an_apply_that_was_cut_off_says_what_it_lacks(self, tmp_path: Path) -> None:
        original, came = tmp_path / "original", tmp_path / "came"
        original.mkdir()
        came.mkdir()
        run_git(original, "init", "-q")
        run_git(original, "config", "user.name", "You")
        run_git(original, "config", "user.email", "you@example.org")
        (original / "a.txt").write_text("one\n")
        run_git(original, "add", "a.txt")
        run_git(original, "commit", "-qm", "one")
        data_of(original, "run", "--name", "more", "--", "sh", "-c", "echo two > a.txt")
        killed(original, "before:apply.settle:1:SIGKILL", "apply", "--yes", "more")
        data_of(original, "project", "export", "../saved")
        data_of(tmp_path, "project", "import", "saved", "came")
        error = ask(came, "rm", "--yes", "more")["error"]
        assert "there is no .git in it" in error["message"]
        hint = "put the git directory back, from a backup or a clone, then try again"
        assert error["hint"].startswith(hint)
        shutil.copytree(original / ".git", came / ".git")
        assert data_of(came, "rm", "--yes", "more")["removed"][0]["handle"] == "more"

    @pytest.mark.parametrize("damage", ["cut off", "flipped", "nonsense", "empty", "missing"])
    def test_that_is_damaged_makes_nothing(
        self, project: Path, tmp_path: Path, homes: Path, damage: str
    ) -> None:
        file = tmp_path / "saved"
        data_of(project, "project", "export", str(file))
        data = file.read_bytes()
        half = len(data) // 2
        changed = {
            "cut off": data[:half],
            "flipped": data[:half] + bytes([data[half] ^ 0xFF]) + data[half + 1 :],
            "nonsense": b"nonsense" * 100,
            "empty": b"",
            "missing": b"",
        }
        file.write_bytes(changed[damage])
        if damage == "missing":
            file.unlink()
        before = {path.name for path in homes.iterdir()}
        (tmp_path / "new").mkdir()
        answer = ask(tmp_path / "new", "project", "import", str(file))
        assert (answer["exit_code"], answer["error"]["kind"]) == (
            1, "system_failed" if damage == "missing" else "archive_damaged",
        )  # fmt: skip
        assert {path.name for path in homes.iterdir()} == before
        assert not (tmp_path / "new" / ".mulligan").exists()

    @pytest.mark.parametrize(
        ("member", "kind"),
        [
            ({"name": "home/../../out"}, "file"),
            ({"name": "/out"}, "file"),
            ({"name": "other/out"}, "file"),
            ({"name": "home/leads/out"}, "through"),
            ({"name": "home/device", "type": tarfile.CHRTYPE}, "device"),
            ({"name": "home/hard", "type": tarfile.LNKTYPE, "linkname": "../../secret"}, "link"),
        ],
    )
    def test_of_a_stranger_leads_nowhere(self, tmp_path: Path, member: dict[str, Any], kind: str) -> None:
        (tmp_path / "outside").mkdir()
        identity = {"device": 1, "inode": 1, "filesystem": 1}
        manifest = {"format": 1, "record": {"folder": "/x", "identity": identity}, "home": "/y", "files": 2}
        raw = io.BytesIO()
        with tarfile.open(fileobj=raw, mode="w") as archive:
            text = json.dumps(manifest).encode()
            head = tarfile.TarInfo("mulligan-project.json")
            head.size = len(text)
            archive.addfile(head, io.BytesIO(text))
            link = tarfile.TarInfo("home/leads")
            link.type, link.linkname = tarfile.SYMTYPE, str(tmp_path / "outside")
            archive.addfile(link)
            added = tarfile.TarInfo(member["name"])
            added.type = member.get("type", tarfile.REGTYPE)
            added.linkname = member.get("linkname", "")
            archive.addfile(added)
        (tmp_path / "saved").write_bytes(zstandard.compress(raw.getvalue()))
        (tmp_path / "new").mkdir()
        assert ask(tmp_path / "new", "project", "import", "../saved")["error"]["kind"] == "archive_damaged", (
            kind
        )
        assert list((tmp_path / "outside").iterdir()) == []

    def test_of_another_format_or_without_a_word_is_refused(self, tmp_path: Path) -> None:
        for name, text in (("mulligan-project.json", b'{"format": 9'), ("other", b"{}")):
            raw = io.BytesIO()
            with tarfile.open(fileobj=raw, mode="w") as archive:
                head = tarfile.TarInfo(name)
                head.size = len(text)
                archive.addfile(head, io.BytesIO(text))
            (tmp_path / "saved").write_bytes(zstandard.compress(raw.getvalue()))
            (tmp_path / name).mkdir()
            answer = ask(tmp_path / name, "project", "import", "../saved")
            assert answer["error"]["kind"] == "archive_damaged"


class TestAProjectOfAnEarlierVersion:
    def test_is_moved_by_the_first_command_and_everything_continues(self, earlier: Path) -> None:
        names = {line["name"]: line["state"] for line in data_of(earlier, "plan", "list")["plans"]}
        assert names == {"tree": "complete", "failed": "errored", "place": "complete"}
        assert sorted(path.name for path in (earlier / ".mulligan").iterdir()) == [".gitignore", "home.json"]
        home = home_of(earlier)
        status = data_of(earlier, "plan", "status", "tree")
        (sandbox,) = status["sandboxes"]
        assert Path(sandbox["path"]).is_relative_to(home)
        run_git(Path(sandbox["path"]), "fsck", "--connectivity-only")
        data_of(earlier, "undo", "--yes", "place")
        assert not (earlier / "site" / "other").exists()
        data_of(earlier, "plan", "cancel", "place")
        data_of(earlier, "plan", "rollback", "--yes", "tree", "first")
        assert (Path(sandbox["path"]) / "a.txt").read_text() == "one\n"
        data_of(earlier, "plan", "resume", "tree")
        data_of(earlier, "plan", "apply", "--yes", "tree")
        assert (earlier / "a.txt").read_text() == "one\ntwo\n"
        data_of(earlier, "plan", "unapply", "--yes", "tree")
        data_of(earlier, "plan", "cancel", "tree")
        assert ask(earlier, "plan", "resume", "failed")["exit_code"] == 1
        assert data_of(earlier, "doctor")["findings"] == []
        data_of(earlier, "-c", "sandbox.cleanup=on_terminal", "gc")
        data_of(earlier, "plan", "cancel", "failed")
        data_of(earlier, "-c", "sandbox.cleanup=on_terminal", "gc")
        assert run_git(earlier, "for-each-ref", "refs/mulligan") == "", "pins are found and dropped"

    def test_can_be_moved_after_that(self, earlier: Path) -> None:
        data_of(earlier, "plan", "list")
        moved = earlier.rename(earlier.with_name("moved"))
        data_of(moved, "plan", "cancel", "place")
        data_of(moved, "plan", "rollback", "--yes", "tree", "first")
        (sandbox,) = data_of(moved, "plan", "status", "tree")["sandboxes"]
        run_git(Path(sandbox["path"]), "fsck", "--connectivity-only")
        data_of(moved, "plan", "resume", "tree")
        data_of(moved, "plan", "apply", "--yes", "tree")
        assert (moved / "a.txt").read_text() == "one\ntwo\n"

    def test_that_is_a_copy_is_refused(self, earlier: Path) -> None:
        data_of(earlier, "plan", "list")
        copy = earlier.with_name("copy")
        with tarfile.open(EARLIER) as archive:
            archive.extractall(earlier.parent / "again", filter="tar")
        (earlier.parent / "again" / "earlier").rename(copy)
        # As if it had been copied from where the first one is now, which its rows then name.
        with closing(sqlite3.connect(copy / ".mulligan" / "mulligan.db")) as rows, rows:
            for column in ("path", "location"):
                change = f"UPDATE sandboxes SET {column} = replace({column}, '/tmp/earlier', ?)"
                rows.execute(change, (str(earlier),))
        answer = ask(copy, "plan", "list")
        assert answer["error"]["kind"] == "project_copied"
        assert (copy / ".mulligan" / "mulligan.db").is_file(), "nothing was changed"
        data_of(copy, "init", "--fresh")
        assert data_of(copy, "plan", "list")["plans"] == []
        assert len(data_of(earlier, "plan", "list")["plans"]) == 3

    def test_completion_and_settings_read_it_without_moving_it(self, earlier: Path) -> None:
        from mulligan.api.completion_source import known_words
        from mulligan.wiring.surroundings import look_around

        with known_words(look_around({}), str(earlier)) as words:
            assert words is not None
        assert (earlier / ".mulligan" / "mulligan.db").is_file()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A folder on another filesystem than the projects of these tests."""
    for place in ("/dev/shm", "/var/tmp", "/tmp"):
        if Path(place).is_dir() and Path(place).stat().st_dev != tmp_path.stat().st_dev:
            with tempfile.TemporaryDirectory(dir=place) as name:
                yield Path(name)
            return
    pytest.skip("there is no second filesystem")


class TestAHomeOnAnotherFilesystem:
    @pytest.fixture(autouse=True)
    def elsewhere(self, disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("MULLIGAN_HOME", str(disk / "homes"))

    def test_files_are_applied_and_taken_back_with_nothing_left_in_the_folder(self, project: Path) -> None:
        assert home_of(project).stat().st_dev != project.stat().st_dev
        data_of(project, "plan", "apply", "--yes", "first")
        assert (project / "a.txt").read_text() == "one\ntwo\n"
        data_of(project, "plan", "unapply", "--yes", "first")
        assert (project / "a.txt").read_text() == "one\n"
        data_of(project, "run", "--in-place", "--name", "place", "--", "sh", "-c", "echo x > new; rm a.txt")
        data_of(project, "undo", "--yes", "place")
        assert sorted(path.name for path in project.iterdir()) == [".mulligan", "a.txt"]
        assert sorted(path.name for path in (project / ".mulligan").iterdir()) == [".gitignore", "home.json"]

    def test_what_a_killed_restore_left_is_recovered(self, project: Path) -> None:
        fault = {**os.environ, "MULLIGAN_FAULT": "after:restore.place:1:SIGKILL"}
        words = ["plan", "apply", "--yes", "first", "--format", "json"]
        command = [str(Path(sys.executable).with_name("mulligan")), *words]
        assert (
            subprocess.run(command, cwd=project, env=fault, check=False, capture_output=True).returncode == -9
        )
        assert (project / ".mulligan" / "asides").is_dir()
        data_of(project, "plan", "apply", "--yes", "first")
        assert (project / "a.txt").read_text() == "one\ntwo\n"
        assert not (project / ".mulligan" / "asides").exists()

    @pytest.mark.parametrize(
        "killed", ["home.link", "home.move", "home.index", "home.record", "home.follow", "leftover.remove"]
    )
    def test_a_project_of_an_earlier_version_is_moved_there(self, earlier: Path, killed: str) -> None:
        fault = {**os.environ, "MULLIGAN_FAULT": f"before:{killed}:1:SIGKILL"}
        command = [str(Path(sys.executable).with_name("mulligan")), "plan", "list"]
        assert (
            subprocess.run(command, cwd=earlier, env=fault, check=False, capture_output=True).returncode == -9
        )
        assert len(data_of(earlier, "plan", "list")["plans"]) == 3
        data_of(earlier, "gc")
        data_of(earlier, "doctor")
        assert sorted(path.name for path in (earlier / ".mulligan").iterdir()) == [".gitignore", "home.json"]
        assert home_of(earlier).stat().st_dev != earlier.stat().st_dev
        data_of(earlier, "plan", "cancel", "place")
        data_of(earlier, "plan", "rollback", "--yes", "tree", "first")


def test_a_command_that_fails_makes_no_project(tmp_path: Path, homes: Path) -> None:
    (tmp_path / "plan.yaml").write_text("name: p\nstepz: []\n")
    for words in (
        ("plan", "execute", "plan.yaml"),
        ("plan", "create", "plan.yaml"),
        ("-c", "sandbox.isolate=maybe", "run", "--", "true"),
        ("run", "--resource", "missing", "--", "true"),
        ("plan", "status"),
        ("plan", "execute", "nothing"),
    ):
        assert ask(tmp_path, *words)["exit_code"] in ((125,) if "run" in words else (2, 3)), words
    assert sorted(path.name for path in tmp_path.iterdir()) == ["plan.yaml"]


def test_a_folder_for_homes_that_may_not_be_written_is_refused_by_name(tmp_path: Path) -> None:
    def check(folder: Path) -> None:
        (folder / "closed").mkdir(mode=0o500)
        (folder / "project").mkdir()
        os.environ["HOME"] = str(folder)
        os.environ["MULLIGAN_HOME"] = str(folder / "closed" / "homes")
        for words in (("init",), ("run", "--", "true")):
            error = ask(folder / "project", *words)["error"]
            assert error["kind"] == "project_unusable", error
            assert error["path"].startswith(str(folder / "closed"))
            assert "MULLIGAN_HOME" in error["hint"]
        assert list((folder / "project").iterdir()) == []

    as_ordinary_user(tmp_path, check)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another user")
def test_another_user_cannot_use_a_project(project: Path, tmp_path: Path) -> None:
    before = {path: path.lstat().st_mtime_ns for path in home_of(project).rglob("*")}

    def check(_: Path) -> None:
        for words in (("plan", "list"), ("run", "--", "true"), ("init",), ("init", "--fresh")):
            assert ask(project, *words)["exit_code"] in ((125,) if "run" in words else (1, 3)), words
        assert ask(project, "plan", "list")["error"]["kind"] == "project_foreign"

    as_ordinary_user(tmp_path, check)
    assert {path: path.lstat().st_mtime_ns for path in home_of(project).rglob("*")} == before
