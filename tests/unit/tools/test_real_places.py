"""Mounts that show sandboxes in the places of the real resources: planned, made, refused, and found again."""

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mulligan.adapters.tools.launcher.launcher import children_of, is_zombie
from mulligan.adapters.tools.launcher.namespace import Unseen
from mulligan.adapters.tools.process import mount_table, real_places, survivors
from mulligan.adapters.tools.process.command_runner import Launchers
from mulligan.adapters.tools.process.launcher_client import PROGRAMS
from mulligan.adapters.tools.process.mount_table import other_ways_to
from mulligan.adapters.tools.process.real_places import MountedPlaces
from mulligan.adapters.tools.process.ways_back import ways_back
from mulligan.adapters.tools.toolbox import LocalToolbox
from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.resources.appearance import Appearance, Mount
from mulligan.domain.resources.resource import ResourceType, Sandbox, Strategy
from mulligan.domain.text.ids import PlanId
from mulligan.errors import RealPathImpossible, SystemFailed
from tests.support.patience import wait_until
from tests.support.recording_host import PLAN, RecordingHost, a_request
from tests.unit.tools.daemons import is_gone_or_zombie

NOTHING = Appearance(places=(), mounts=())


def a_sandbox(path: Path, location: Path, plan_id: PlanId = PLAN) -> Sandbox:
    return Sandbox(
        plan_id=plan_id,
        resource="workspace",
        type=ResourceType.FS_DIRECTORY,
        strategy=Strategy.FILESYSTEM_COPY,
        location=str(location),
        path=str(path),
        base=Snapshot(()),
        excluded=(),
        branch=None,
        git_dir=None,
    )


@pytest.fixture
def launchers() -> Iterator[Launchers]:
    made = Launchers(python=sys.executable, environment=dict(os.environ))
    yield made
    made.forget(None)


class Project:
    """A real folder with a project home, and a sandbox of the folder in it."""

    def __init__(self, folder: Path, home: Path, launchers: Launchers) -> None:
        self.real, self.own = folder / "real", home / "sandboxes" / PLAN / "workspace"
        for each in (self.real, self.own):
            each.mkdir(parents=True)
        (self.real / "f").write_text("real\n")
        (self.own / "f").write_text("own\n")
        self.sandbox = a_sandbox(self.own, self.real)
        self.launchers = launchers
        self.places = MountedPlaces(
            find_launchers=lambda: launchers,
            home=home,
            sandbox_home=home / "sandboxes",
            scratch=home / "scratch",
        )

    def run(self, command: str, appearance: Appearance) -> str:
        toolbox = LocalToolbox(launchers=self.launchers, scratch=self.own.parent / "scratch")
        request = a_request(self.own, {"command": command}, appearance=appearance)
        return str(toolbox.tool("shell").call(request, RecordingHost()).output)


@pytest.fixture(params=["outside", "inside"])
def project(tmp_path: Path, launchers: Launchers, request: pytest.FixtureRequest) -> Project:
    """The project home lies beside the real folder, or in it."""
    home = tmp_path / "home" if request.param == "outside" else tmp_path / "real" / ".mulligan"
    return Project(tmp_path, home, launchers)


def stay(real: str, own: str, home: str, plan_id: str, command: str) -> None:
    """Run a command at the real path, in a process of its own that is going to be killed."""
    launchers, place = Launchers(python=sys.executable, environment=dict(os.environ)), Path(home)
    places = MountedPlaces(
        find_launchers=lambda: launchers,
        home=place,
        sandbox_home=place / "sandboxes",
        scratch=place / "scratch",
    )
    appearance = places.show([a_sandbox(Path(own), Path(real), PlanId(plan_id))], [])
    toolbox = LocalToolbox(launchers=launchers, scratch=place / "scratch")
    request = a_request(
        Path(own), {"command": command}, plan_id=PlanId(plan_id), timeout=None, appearance=appearance
    )
    toolbox.tool("shell").call(request, RecordingHost())


class TestFolders:
    def test_are_seen_at_both_paths(self, project: Project) -> None:
        appearance = project.places.show([project.sandbox], [])
        assert project.run("pwd; cat f", appearance) == f"{project.real}\nown"
        assert project.run(f"cat {project.real}/f {project.own}/f", appearance) == "own\nown"
        assert appearance.seen(project.own / "a") == project.real / "a"
        assert appearance.seen(project.real.parent) == project.real.parent

    @pytest.mark.processes_measured
    def test_keep_the_times_of_the_sandbox(self, project: Project) -> None:
        before = project.own.stat().st_mtime_ns
        project.places.show([project.sandbox], [])
        assert project.own.stat().st_mtime_ns == before

    def test_of_lenders_are_seen_at_their_second_places_only_if_they_are_hidden(
        self, project: Project, tmp_path: Path
    ) -> None:
        objects, free = project.real / "git" / "objects", tmp_path / "free" / "objects"
        for folder in (objects, free):
            (folder / "info").mkdir(parents=True)
            (folder / "info" / "alternates").write_text("../elsewhere\n")
            (folder / "pack").mkdir()
        (objects.parent / "lfs").mkdir()
        (objects.parent / "lfs" / "large").write_text("large\n")
        home = project.places.home / "lenders"
        second = [home / name / "objects" for name in ("a", "b")]
        for place in second:
            place.mkdir(parents=True)
        lenders = [(str(objects), str(second[0])), (str(free), str(second[1]))]
        appearance = project.places.show([project.sandbox], lenders)
        shown = project.run(
            f"ls {second[0]}; cat {second[0]}/info/alternates {second[0]}/../lfs/large", appearance
        )
        assert shown == "info\npack\nlarge"
        hidden = "" if project.own.is_relative_to(tmp_path / "home") else " 2>&1 || true"
        assert "info" not in project.run(f"ls {second[1]}{hidden}", appearance)
        refused = project.run(f"touch {second[0]}/new 2>&1 || true", appearance)
        assert "Read-only file system" in refused

    def test_that_are_gone_cannot_be_hidden(self, project: Project) -> None:
        gone = a_sandbox(project.own, project.real / "gone")
        with pytest.raises(RealPathImpossible) as caught:
            project.places.show([gone], [])
        assert "there is no folder" in caught.value.facts["reason"]

    def test_that_hold_this_program_need_a_copy_of_it(self, project: Project) -> None:
        sandbox = a_sandbox(project.own, Path(PROGRAMS).parent)
        with pytest.raises(RealPathImpossible) as caught:
            project.places.plan([sandbox], [])
        assert "include-ignored" in caught.value.next_step


def test_a_project_home_of_another_name_in_the_real_folder_is_in_the_way(
    tmp_path: Path, launchers: Launchers
) -> None:
    project = Project(tmp_path, tmp_path / "real" / "state", launchers)
    with pytest.raises(RealPathImpossible) as caught:
        project.places.show([project.sandbox], [])
    assert "the project home" in caught.value.facts["reason"]


def test_a_home_that_cannot_be_written_is_an_error_of_the_system(
    tmp_path: Path, launchers: Launchers
) -> None:
    project = Project(tmp_path, tmp_path / "real" / ".mulligan", launchers)
    (project.places.scratch).write_text("in the way")
    with pytest.raises(SystemFailed):
        project.places.show([project.sandbox], [])


class TestRefusals:
    @pytest.mark.processes_measured
    def test_of_the_system_are_named(self, launchers: Launchers, tmp_path: Path) -> None:
        missing = Appearance(places=(), mounts=(Mount("clone", str(tmp_path / "gone"), str(tmp_path)),))
        refused = launchers.try_to_appear(PLAN, missing)
        assert refused is not None
        assert (refused.part, refused.number) == (str(tmp_path / "gone"), errno.ENOENT)
        with pytest.raises(SystemFailed) as caught:
            launchers.start(PLAN, (), None, missing)
        assert caught.value.facts["path"] == str(tmp_path / "gone")
        assert "`own-path`" in caught.value.next_step

    def test_of_a_launcher_that_dies(self) -> None:
        refused = Launchers(python="/bin/false", environment={}).try_to_appear(PLAN, NOTHING)
        assert refused is not None
        assert refused.part == "a launcher"

    def test_are_those_of_a_user_who_interrupts(self, launchers: Launchers, tmp_path: Path) -> None:
        program = tmp_path / "silent"
        program.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid\nexec cat\n")
        program.chmod(0o755)
        silent = Launchers(python=str(program), environment={"PATH": os.defpath})
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.5)
            with pytest.raises(KeyboardInterrupt):
                silent.try_to_appear(PLAN, NOTHING)
        finally:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
        assert not Path("/proc", (tmp_path / "pid").read_text().strip()).exists()

    @pytest.mark.parametrize(
        ("number", "words"),
        [
            (errno.ENOSYS, "Linux 5.12"),
            (errno.ENOSPC, "max_user_namespaces"),
            (errno.EPERM, "refuses a user namespace: Operation not permitted"),
        ],
    )
    def test_say_what_is_refused(
        self, launchers: Launchers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, words: str
    ) -> None:
        project = Project(tmp_path, tmp_path / "home", launchers)
        refused = Unseen("a user namespace", number)
        monkeypatch.setattr(Launchers, "try_to_appear", lambda *_: refused)
        assert words in str(project.places.lacking())
        with pytest.raises(RealPathImpossible) as caught:
            project.places.show([project.sandbox], [])
        assert words in caught.value.facts["reason"]

    def test_are_those_of_other_systems(
        self, launchers: Launchers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        project = Project(tmp_path, tmp_path / "home", launchers)
        monkeypatch.setattr(real_places.sys, "platform", "darwin")
        assert "darwin" in str(project.places.lacking())
        with pytest.raises(RealPathImpossible):
            project.places.show([project.sandbox], [])


class TestLaunchers:
    def test_that_tried_run_the_first_command(self, project: Project) -> None:
        before = set(children_of(os.getpid()))
        appearance = project.places.show([project.sandbox], [])
        (tried,) = set(children_of(os.getpid())) - before
        assert project.run("true", appearance) == ""
        assert set(children_of(os.getpid())) - before == {tried}

    def test_that_were_killed_meanwhile_are_replaced(self, project: Project) -> None:
        before = set(children_of(os.getpid()))
        appearance = project.places.show([project.sandbox], [])
        (guardian,) = set(children_of(os.getpid())) - before
        (launcher,) = children_of(guardian)
        os.kill(launcher, signal.SIGKILL)
        wait_until(lambda: not children_of(guardian), "the launcher is gone")
        assert project.run("cat f", appearance) == "own"

    def test_of_another_appearance_are_not_used(self, project: Project) -> None:
        appearance = project.places.show([project.sandbox], [])
        assert project.run(f"cat {project.real}/f", NOTHING) == "real"
        assert project.run(f"cat {project.real}/f", appearance) == "own"
        assert project.run(f"cat {project.real}/f", NOTHING) == "real"


class TestSurvivors:
    @pytest.mark.parametrize("wiped", ["env -i", ""])
    def test_in_a_namespace_are_found_whatever_they_wipe(
        self, project: Project, wiped: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(survivors.control_groups, "members", lambda _: [])  # where none could be made
        note = project.own / "pid"
        words = [
            *(
                sys.executable,
                "-c",
                "import sys; from tests.unit.tools.test_real_places import stay; stay(*sys.argv[1:])",
            ),
            *map(str, (project.real, project.own, project.places.home)),
            *(PLAN, f"setsid {wiped} /bin/sh -c 'echo $$ > pid; cd /; exec sleep 300' & sleep 300"),
        ]
        here = Path(__file__).parents[3]
        runner = subprocess.Popen(words, env=os.environ | {"PYTHONPATH": f"{here / 'src'}:{here}"})
        wait_until(lambda: note.exists() and note.read_text().strip(), "it has started")
        left = int(note.read_text())
        (guardian,) = children_of(runner.pid)
        (launcher,) = children_of(guardian)
        for pid in (guardian, launcher):
            os.kill(pid, signal.SIGSTOP)
        runner.kill()
        runner.wait()
        for pid in (guardian, launcher):
            os.kill(pid, signal.SIGKILL)
        assert not is_zombie(left)
        ended = survivors.end_left_of(PLAN, [project.sandbox])
        assert any(f"process {left} " in text for text in ended)
        assert is_gone_or_zombie(left)

    def test_are_not_those_of_other_namespaces(self, project: Project) -> None:
        """Whatever a damaged row says of a sandbox: a path that leads everyone to it shows nothing."""
        words = ["unshare", "-m"] if os.getuid() == 0 else ["unshare", "-U", "-r", "-m"]
        with subprocess.Popen([*words, "sleep", "300"]) as other:
            mine = os.readlink("/proc/self/ns/mnt")
            try:
                wait_until(
                    lambda: os.readlink(f"/proc/{other.pid}/ns/mnt") != mine, "it has mounts of its own"
                )
                for path in (str(project.own), str(project.real)):  # not "/": other tests run there
                    assert survivors.end_left_of(PLAN, [a_sandbox(Path(path), Path(path))]) == ()
                assert other.poll() is None
            finally:
                other.kill()


class TestOtherWays:
    @pytest.fixture
    def table(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
        def write(*rows: str) -> None:
            file = tmp_path / "mountinfo"
            file.write_text("".join(f"1 1 {row} rw - ext4 /dev/x rw\n" for row in rows))
            monkeypatch.setattr(mount_table, "_TABLE", str(file))

        return write

    def test_are_mounts_of_the_folder_of_one_around_it_and_of_one_in_it(
        self, tmp_path: Path, table: Callable[..., None], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(mount_table, "_is_same", lambda *_: True)
        rows = [
            "8:1 / /",
            "8:1 /home/ann /mnt/ann",
            "8:1 /home/ann/site /mnt/my\\040site",
            "8:1 /home/ann/site/src /mnt/src",
            "8:1 /home/ann/site/src /home/ann/site/again",
            "8:1 /home/bob /mnt/bob",
            "8:2 / /home/ann/other",
        ]
        table(*rows)
        assert other_ways_to("/home/ann/site") == [
            ("/mnt/ann/site", ""),
            ("/mnt/my site", ""),
            ("/mnt/src", "src"),
        ]

    def test_are_none_where_something_else_is_mounted_on_top(
        self, tmp_path: Path, table: Callable[..., None]
    ) -> None:
        for name in ("real", "other"):
            (tmp_path / name).mkdir()
        table("8:1 / /", f"8:1 {tmp_path}/real {tmp_path}/other", f"8:1 {tmp_path}/real {tmp_path}/gone")
        assert other_ways_to(str(tmp_path / "real")) == []

    def test_are_none_where_the_table_cannot_be_read(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(mount_table, "_TABLE", "/nowhere")
        assert other_ways_to("/") == []


class TestWaysBack:
    def found(self, own: Path, real: Path, **environment: str) -> list[str]:
        return list(ways_back(a_sandbox(own, real), environment))

    def test_are_named_by_kind(self, tmp_path: Path) -> None:
        own, real = tmp_path / "own", tmp_path / "real"
        site = own / "env" / "lib" / "python3.12" / "site-packages"
        for folder in (site, own / "env" / "bin", own / "a" / "b" / "c"):
            folder.mkdir(parents=True)
        (own / "env" / "pyvenv.cfg").touch()
        (site / "lib.pth").write_text(f"{real}/src\n")
        (site / "__editable___lib_finder.py").write_text(f"MAPPING = {{'lib': '{real}/src/lib'}}\n")
        (site / "harmless.pth").write_text("import os\n")
        for number in range(5):
            (own / "env" / "bin" / f"tool{number}").write_text(f"#!{real}/env/bin/python\n")
        (own / "env" / "bin" / "sh").write_text("#!/bin/sh\n")
        (own / "env" / "bin" / "python").symlink_to("/usr/bin/python3")
        (own / "link").symlink_to(real / "data")
        (own / "relative").symlink_to("env")
        (own / "a" / "b" / "deep").symlink_to(real)
        (own / "a" / "b" / "c" / "deeper").symlink_to(real)
        for name, git_dir in {
            "tree": f"{real}/.git/worktrees/tree",
            "module": "../.git/modules/module",
        }.items():
            (own / name).mkdir()
            (own / name / ".git").write_text(f"gitdir: {git_dir}\n")
        path, packages = f"/bin:{real}/env/bin", "env/lib/python3.12/site-packages"
        assert self.found(own, real, PATH=path, VIRTUAL_ENV=f"{real}/env", PYTHONPATH="") == [
            f"editable installs: {packages}/lib.pth, {packages}/__editable___lib_finder.py",
            "shebangs: env/bin/tool0, env/bin/tool1, env/bin/tool2 and 2 more",
            "absolute symlinks: link, a/b/deep",
            "git worktrees of repositories outside: tree",
            "environment variables: PATH, VIRTUAL_ENV",
        ]

    def test_are_none_in_a_sandbox_without_any(self, tmp_path: Path) -> None:
        (tmp_path / "own" / ".git").mkdir(parents=True)
        (tmp_path / "own" / ".git" / "link").symlink_to(tmp_path / "real")
        assert self.found(tmp_path / "own", tmp_path / "real") == []
