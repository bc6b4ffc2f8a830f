"""The sandbox at the real path as users meet it: what steps see there, where it cannot be had, and who else sees it."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from mulligan.api.project import Project
from mulligan.domain.resources.appearance import Appearance
from mulligan.errors import RealPathImpossible
from tests.commands.program import ask, data_of
from tests.faults.projects import Watching, nothing, services_in
from tests.support.confined import written_by_coverage
from tests.support.git_world import run_git
from tests.support.homes import home_of
from tests.support.users import ROOT_ALONE, USERS, User

REASON = "this machine is of wood"
WAY_BACK = "shebangs: .venv/bin/pip"


class NoMeans:
    """A system that can show nothing at another path."""

    def __init__(self) -> None:
        self.looks = 0

    def lacking(self) -> str:
        return REASON

    def show(self, *_: object) -> Appearance:
        self.looks += 1
        raise RealPathImpossible(reason=REASON)

    def ways_back(self, *_: object) -> Sequence[str]:
        return [WAY_BACK]


def project_without_means(folder: Path) -> Project:
    services = services_in(folder)
    services.adapters.real_places = NoMeans()
    return Project(services=services, observer=Watching(nothing))


def a_plan(folder: Path, *commands: str, at: str = "auto", **more: Any) -> Path:
    steps = [{"name": f"s{n}", "tool": "shell", "args": {"command": each}} for n, each in enumerate(commands)]
    config = {"sandbox.at": at, **more.pop("config", {})}
    file = folder / "plan.yaml"
    file.write_text(json.dumps({"name": "plan", "config": config, "steps": steps, **more}))
    return file


def told_by(*messages: Sequence[str]) -> list[str]:
    return [text for each in messages for text in each if REASON in text or WAY_BACK in text]


class TestWithoutMeans:
    def test_a_plan_says_once_that_its_steps_are_elsewhere_and_what_leads_back(self, tmp_path: Path) -> None:
        project = project_without_means(tmp_path)
        stopped, _ = project.run(a_plan(tmp_path, "pwd", f"test -e {tmp_path}/go"))
        (tmp_path / "go").touch()
        status, execution = project.resume(stopped.plan_id)
        own, back = told_by(status.messages, execution.messages)
        assert status.state.value == "complete"
        assert own.startswith("steps see the sandboxes at their own paths, not at the real ones: ")
        assert "set `sandbox.at` to `own-path`" in own
        assert back == f"this leads steps back to the real folder: {WAY_BACK}"

    def test_it_says_so_too_where_the_plan_began_at_the_real_path(self, tmp_path: Path) -> None:
        """The machine may have changed between two runs."""
        data_of(tmp_path, "init")
        began = ask(tmp_path, "plan", "execute", str(a_plan(tmp_path, f"test -e {tmp_path}/later")))
        assert told_by(began["data"]["messages"]) == []
        project = project_without_means(tmp_path)
        (tmp_path / "later").touch()
        mended = a_plan(tmp_path, "true", "true")
        _, execution = project.resume(began["data"]["plan_id"], corrected=mended)
        assert len(told_by(execution.messages)) == 2

    @pytest.mark.parametrize("way", ["own-path", "in place", "no processes", "child"])
    def test_nothing_is_said_where_it_makes_no_difference(self, tmp_path: Path, way: str) -> None:
        project = project_without_means(tmp_path)
        if way == "own-path":
            file = a_plan(tmp_path, "true", at="own-path")
        elif way == "in place":
            file = a_plan(tmp_path, "true", config={"sandbox.strategy": "in_place"})
        else:
            written = {"name": "w", "tool": "write_file", "args": {"path": "f", "content": "x"}}
            child = {"name": "c", "steps": [written]}
            steps = [{"name": "s", "subplans": {"plans": [child]}}] if way == "child" else [written]
            file = a_plan(tmp_path, steps=steps)
        status, execution = project.run(file)
        assert status.state.value == ("applied" if way == "in place" else "complete")
        assert told_by(status.messages, execution.messages) == []

    def test_child_plans_do_not_repeat_it(self, tmp_path: Path) -> None:
        project = project_without_means(tmp_path)
        child = {"name": "c", "steps": [{"name": "w", "tool": "shell", "args": {"command": "true"}}]}
        steps = [{"name": "s", "subplans": {"plans": [child, child | {"name": "d"}]}}]
        status, execution = project.run(a_plan(tmp_path, steps=steps))
        assert len(told_by(status.messages, execution.messages)) == 2

    def test_a_real_path_that_is_required_is_refused_before_anything_runs(self, tmp_path: Path) -> None:
        project = project_without_means(tmp_path)
        with pytest.raises(RealPathImpossible) as caught:
            project.run(a_plan(tmp_path, "true", at="real-path"))
        assert (caught.value.exit_code, caught.value.facts["reason"]) == (3, REASON)
        assert "`auto`" in caught.value.next_step
        assert list(project.plans()) == []

    def test_but_not_of_a_plan_in_place(self, tmp_path: Path) -> None:
        config = {"sandbox.strategy": "in_place"}
        status, _ = project_without_means(tmp_path).run(
            a_plan(tmp_path, "true", at="real-path", config=config)
        )
        assert status.state.value == "applied"

    def test_a_plan_that_needs_it_stops_where_its_own_sandboxes_cannot_be_shown(self, tmp_path: Path) -> None:
        services = services_in(tmp_path)
        means = NoMeans()
        means.lacking = lambda: None  # the system can, but not for these
        services.adapters.real_places = means
        project = Project(services=services, observer=Watching(nothing))
        status, execution = project.run(a_plan(tmp_path, "true", at="real-path"))
        assert execution.error is not None
        assert (execution.error.kind, status.state.value) == ("real_path_impossible", "errored")

    def test_the_doctor_says_so(self, tmp_path: Path) -> None:
        assert project_without_means(tmp_path).doctor().system[1:2] == (
            f"steps see sandboxes at their own paths, not at the real ones: {REASON}",
        )


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder on disk that every user can reach, and that is no temporary folder of the tools."""
    with TemporaryDirectory(dir="/var/tmp") as name:
        Path(name).chmod(0o755)
        yield Path(name)


class Site:
    """A project of one user's."""

    def __init__(self, place: Path, user: str) -> None:
        self.user = User(user, place)
        self.folder = place / "project"
        self.folder.mkdir()
        writable = ":".join(["~/.cache", str(place / "notes"), *written_by_coverage()])
        self.user.environment["MULLIGAN_SANDBOX_WRITABLE"] = writable
        self.notes = place / "notes"
        self.notes.mkdir()
        self.user.owns(place)

    def write(self, path: str, text: str) -> None:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def execute(self, *commands: str, **more: Any) -> dict[str, Any]:
        a_plan(self.folder, *commands, **more)
        self.user.owns(self.folder)
        return self.user.ask(self.folder, "plan", "execute", "plan.yaml")

    def done(self, *commands: str, **more: Any) -> Path:
        """Run a plan that should succeed; gives its sandbox."""
        answer = self.execute(*commands, **more)
        assert answer["exit_code"] == 0, str(answer["error"])
        assert answer["data"]["messages"] == [], answer
        return Path(answer["data"]["sandboxes"][0]["path"])


@pytest.fixture
def site(place: Path, request: pytest.FixtureRequest) -> Site:
    return Site(place, request.param)


@pytest.mark.parametrize("site", USERS, indirect=True)
class TestAnyUser:
    @pytest.mark.parametrize("isolate", ["auto", "off"])
    def test_works_at_the_real_path_as_who_they_are(self, site: Site, isolate: str) -> None:
        site.write("a", "real\n")
        found = f"id -u > {site.notes}/id; pwd > {site.notes}/pwd; stat -c %u a > {site.notes}/owner"
        config = {"sandbox.isolate": isolate}
        sandbox = site.done(found, f"echo new > {site.folder}/a; rm {site.folder}/plan.yaml", config=config)
        user = str(site.user.identity.get("user", os.getuid()))
        assert [(site.notes / name).read_text().strip() for name in ("id", "pwd", "owner")] == [
            *(user, str(site.folder)),
            user,
        ]
        assert (sandbox / "a").read_text() == "new\n"
        assert (site.folder / "a").read_text() == "real\n"
        assert (site.folder / "plan.yaml").exists()
        assert not (sandbox / "plan.yaml").exists()

    def test_has_no_right_to_take_the_sandbox_away(self, site: Site) -> None:
        site.write("a", "real\n")
        away = f"! umount {site.folder} && ! umount -l {site.folder}"
        nested = f"! unshare -U -r -m umount -l {site.folder}"
        sandbox = site.done(away, nested, f"echo new > {site.folder}/a")
        assert (sandbox / "a").read_text() == "new\n"
        assert (site.folder / "a").read_text() == "real\n"

    def test_commits_at_the_real_path(self, site: Site) -> None:
        site.write("a", "one\n")
        git = ["git", "-c", "user.name=U", "-c", "user.email=u@h", "-c", "safe.directory=*"]
        for words in (["init", "-q", "."], ["add", "a"], ["commit", "-qm", "first"]):
            subprocess.run([*git, *words], cwd=site.folder, check=True)
        commit = "git -c user.name=U -c user.email=u@h commit -qam second"
        sandbox = site.done(f"echo two >> a && {commit} && git fsck --full && git log --format=%s > log")
        assert (sandbox / "log").read_text() == "second\nfirst\n"

    def test_is_not_seen_by_anyone_else(self, site: Site) -> None:
        site.done("true")
        assert str(site.folder) not in Path("/proc/self/mountinfo").read_text()


@pytest.mark.parametrize("site", ROOT_ALONE, indirect=True)
class TestOtherWays:
    @pytest.mark.processes_measured
    def test_to_the_real_folder_lead_to_the_sandbox_too(self, site: Site, place: Path) -> None:
        for path in ("part/a", "left-out/a", "left-out-file"):
            site.write(path, "real\n")
        site.write(".gitignore", "left-out*\n")
        run_git(site.folder, "init", "-q")
        no = f"! echo no > {place}/folder/a; echo no > {place}/file; test -z $(ls {place}/folder)$(cat {place}/file)"
        a_plan(
            site.folder,
            f"echo 1 > {place}/whole/part/b; echo 2 > {place}/piece/c; ls {place}/whole; {no}",
            config={"sandbox.isolate": "off", "sandbox.include-ignored": False},
        )
        for name in ("whole", "piece", "folder"):
            (place / name).mkdir()
        (place / "file").touch()
        bound = {"whole": "", "piece": "part", "folder": "left-out", "file": "left-out-file"}
        mounts = "; ".join(f"mount --bind {site.folder}/{of} {place}/{name}" for name, of in bound.items())
        program = f"{sys.executable} -m mulligan plan execute plan.yaml"
        words = ["unshare", "-m", "sh", "-c", f"{mounts}; {program}"]
        ran = subprocess.run(
            words, cwd=site.folder, env=site.user.environment, capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, ran.stderr
        (sandbox,) = (home_of(site.folder) / "sandboxes").glob("*/workspace")
        assert [(sandbox / "part" / name).read_text() for name in ("b", "c")] == ["1\n", "2\n"]
        assert os.listdir(site.folder / "part") == ["a"]
        assert [(site.folder / path).read_text() for path in ("left-out/a", "left-out-file")] == [
            "real\n"
        ] * 2


class TestMulliganInAStep:
    """It sees a sandbox in the place of the project: neither this nor the real one is its business."""

    @pytest.mark.processes_measured
    def test_is_refused_and_makes_no_second_project(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("MULLIGAN_HOME", str(tmp_path / "homes"))
        (tmp_path / "a b").mkdir()
        folder = tmp_path / "a b" / "project"
        folder.mkdir()
        (folder / "sub").mkdir()
        data_of(folder, "init")
        home = home_of(folder)
        homes = sorted(os.listdir(home.parent))
        program = f"MULLIGAN_HOME={home.parent} {sys.executable} -m mulligan --format json"
        lines = [
            "status",
            "init",
            "init --fresh",
            f"init --home {home}",
            "run -- touch c",
            "-C sub plan list",
        ]
        lines = [line.replace("-C sub ", f"--project '{folder}/sub' ") for line in lines]
        script = "; ".join(f"{program} {line} > said{n} 2>&1" for n, line in enumerate(lines))
        script += f"; {program} projects > homes; {program} projects prune --yes > pruned; true"
        config = {"sandbox.isolate": "off"}
        data = data_of(folder, "plan", "execute", str(a_plan(folder, script, config=config)))
        sandbox = Path(data["sandboxes"][0]["path"])
        for number, line in enumerate(lines):
            said = json.loads((sandbox / f"said{number}").read_text())
            assert said["error"]["kind"] == "project_in_sandbox", line
        (own,) = [
            h
            for h in json.loads((sandbox / "homes").read_text())["data"]["projects"]
            if h["home"] == str(home)
        ]
        assert own["state"] == "in_use"
        pruned = json.loads((sandbox / "pruned").read_text())["data"]
        assert str(home) not in {*pruned["busy"], *(h["home"] for h in pruned["removed"])}
        assert sorted(os.listdir(home.parent)) == homes
        assert home_of(folder) == home
        shutil.rmtree(folder / ".mulligan")
        assert [p["name"] for p in data_of(folder, "plan", "list")["plans"]] == ["plan"]

    def test_makes_no_project_elsewhere_and_says_that_a_step_asks(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("MULLIGAN_HOME", str(tmp_path / "homes"))
        for name in ("project", "other"):
            (tmp_path / name).mkdir()
        command = f"cd {tmp_path}/other && {sys.executable} -m mulligan --format json run -- true; true"
        data = data_of(tmp_path / "project", "run", "--", "sh", "-c", command)
        error = json.loads(data["stdout"])["error"]
        assert (error["kind"], error["hint"]) == (
            "project_unusable",
            "run mulligan outside of the plan's steps",
        )
        assert not list((tmp_path / "other").iterdir())


class TestResources:
    @pytest.mark.processes_measured
    def test_lie_at_their_real_paths_each(self, tmp_path: Path) -> None:
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "f").write_text(f"{name}\n")
        with closing(sqlite3.connect(tmp_path / "alone.db")) as database:
            database.execute("CREATE TABLE t (a)")
        resources = {
            "one": {"type": "fs-directory", "location": "one"},
            "two": {"type": "fs-directory", "location": "two"},
            "alone": {"type": "sqlite", "location": "alone.db"},
            "new": {"type": "sqlite", "location": "new.db", "create": True},
        }
        swap = f"mv {tmp_path}/one/f x; cp {tmp_path}/two/f {tmp_path}/one/f; mv x {tmp_path}/two/f"
        ask_ = {
            "name": "sql",
            "tool": "sql",
            "resource": "alone",
            "args": {"statements": ["INSERT INTO t VALUES (1)"]},
        }
        where = {
            "name": "where",
            "tool": "shell",
            "resource": "alone",
            "args": {"command": f'test "$(readlink {tmp_path}/alone.db)" = "$PWD/alone.db"; touch beside'},
        }
        steps = [{"name": "swap", "tool": "shell", "args": {"command": swap}}, ask_, where]
        plan = {"name": "p", "resources": resources, "steps": steps, "config": {"sandbox.at": "real-path"}}
        (tmp_path / "plan.yaml").write_text(json.dumps(plan))
        data_of(tmp_path, "init")
        answer = ask(tmp_path, "plan", "execute", "plan.yaml")
        assert answer["exit_code"] == 0, str(answer["error"])
        paths = {each["resource"]: Path(each["path"]) for each in answer["data"]["sandboxes"]}
        assert [(paths[name] / "f").read_text() for name in ("one", "two")] == ["two\n", "one\n"]
        with closing(sqlite3.connect(paths["alone"])) as database:
            assert database.execute("SELECT a FROM t").fetchall() == [(1,)]
        assert sorted(os.listdir(tmp_path)) == [".mulligan", "alone.db", "one", "plan.yaml", "two"]
        assert (tmp_path / "one" / "f").read_text() == "one\n"

    def test_that_are_gone_are_seen_at_their_own_paths(self, tmp_path: Path) -> None:
        (tmp_path / "part").mkdir()
        resources = {"part": {"type": "fs-directory", "location": "part"}}
        data_of(tmp_path, "init")
        file = a_plan(tmp_path, f"test -e {tmp_path}/go", resources=resources)
        stopped = ask(tmp_path, "plan", "execute", str(file))
        shutil.rmtree(tmp_path / "part")
        (tmp_path / "go").touch()
        answer = ask(tmp_path, "plan", "resume", stopped["data"]["plan_id"])
        assert answer["exit_code"] == 0, str(answer["error"])
        assert any(f"there is no folder {tmp_path}/part" in text for text in answer["messages"])

    def test_from_a_symlinked_project_lie_where_the_symlink_leads(self, tmp_path: Path) -> None:
        (tmp_path / "real").mkdir()
        (tmp_path / "link").symlink_to("real")
        folder = tmp_path / "link"
        (folder / "a").write_text("one\n")
        file = a_plan(folder, f"echo new > {tmp_path}/link/a && cat {tmp_path}/real/a > seen")
        data_of(folder, "init")
        answer = ask(folder, "plan", "execute", str(file))
        sandbox = Path(answer["data"]["sandboxes"][0]["path"])
        assert (sandbox / "seen").read_text() == "new\n"
        assert (folder / "a").read_text() == "one\n"


class TestAStoppedWrite:
    """Where sandboxes are at their own paths, the real folder is out of bounds, and stays so."""

    @pytest.fixture
    def project(self, place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.setenv("TMPDIR", "/var/tmp")
        monkeypatch.setenv("HOME", str(place))
        monkeypatch.setenv("MULLIGAN_SANDBOX_WRITABLE", ":".join(["~/.npm", *written_by_coverage()]))
        folder = place / "project"
        folder.mkdir()
        data_of(folder, "init")
        return folder

    def error_of(self, folder: Path, aim: Path) -> dict[str, Any]:
        file = a_plan(folder, f"echo x > {aim}; test -e nothing", at="own-path")
        answer = ask(folder, "plan", "execute", str(file))
        assert answer["error"]["stopped_write"] == str(aim)
        return answer["error"]

    def test_into_the_real_folder_is_never_to_be_allowed(self, project: Path) -> None:
        error = self.error_of(project, project / "new")
        assert "sandbox.writable" not in error["message"] + error["hint"]
        assert "sandbox.at" in error["hint"]

    def test_beside_the_real_folder_is_not_answered_with_a_folder_around_both(self, project: Path) -> None:
        error = self.error_of(project, project.parent / "new")
        assert "add it to `sandbox.writable`" in error["message"]

    def test_elsewhere_is_answered_as_ever(self, project: Path) -> None:
        (project.parent / "other").mkdir()
        error = self.error_of(project, project.parent / "other" / "new")
        assert "add it, or a folder around it, to `sandbox.writable`" in error["message"]
