"""The bounds of a plan's tools, and which complaint is about a write that they stopped."""

import errno
import os
import signal
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from mulligan.adapters.tools.launcher import landlock
from mulligan.adapters.tools.launcher.landlock import lacking, restrict, why_not
from mulligan.adapters.tools.launcher.privileges import promise_no_new_privileges
from mulligan.adapters.tools.process.command_runner import Launchers
from mulligan.adapters.tools.process.confinement import LandlockConfinement
from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.resources.bounds import Bounds
from mulligan.domain.resources.resource import ResourceType, Sandbox, Strategy
from mulligan.domain.text.ids import PlanId
from mulligan.errors import SystemFailed
from tests.support.confined import written_by_coverage
from tests.support.ordinary_user import as_ordinary_user
from tests.support.recording_host import PLAN, a_request


@pytest.fixture
def base(tmp_path):
    for folder in ("project/.mulligan/sandboxes", "project/src", "tmp", "user/.cache", "elsewhere"):
        (tmp_path / folder).mkdir(parents=True)
    return tmp_path


def a_confinement(base: Path, *temporary: str, database: str = "project/.mulligan/mulligan.db"):
    project = base / "project"
    return LandlockConfinement(
        kept=(project / ".mulligan", base / database),
        project=project,
        scratch=project / ".mulligan" / "scratch",
        temporary=[base / name for name in temporary or ("tmp",)],
        user=base / "user",
    )


def drawn(*writable: Path) -> Bounds:
    """Bounds without a sandbox."""
    paths = tuple(map(str, writable))
    return Bounds(writable=paths, sandboxes=(), missing=(), temporary=None)


def a_sandbox(path: Path, kind: ResourceType = ResourceType.FS_DIRECTORY) -> Sandbox:
    return Sandbox(
        plan_id=PLAN,
        resource="r",
        type=kind,
        strategy=Strategy.FILESYSTEM_COPY,
        location=str(path),
        path=str(path),
        base=Snapshot(roots=()),
        excluded=(),
        branch=None,
        git_dir=None,
    )


class TestBounds:
    def test_are_sandboxes_temporary_folders_devices_and_what_is_listed(self, base):
        (base / "user" / "file").touch()
        (base / "link").symlink_to(base / "elsewhere")
        sandbox = base / "project" / ".mulligan" / "sandboxes" / "one"
        sandbox.mkdir()
        listed = ["~/.cache", "~/file", "~/nowhere", str(base / "link"), "~/.cache"]
        bounds = a_confinement(base).bounds(PLAN, [a_sandbox(sandbox)], listed, None)
        devices = [w for w in bounds.writable if w.startswith("/dev/") and not w.startswith(str(base))]
        assert {"/dev/null", "/dev/urandom", "/dev/tty"} <= set(devices)
        assert [each for each in bounds.writable if each not in devices] == [
            str(sandbox),
            str(base / "tmp"),
            str(base / "user" / ".cache"),
            str(base / "user" / "file"),
            str(base / "elsewhere"),
        ]
        assert bounds.missing == (str(base / "user" / "nowhere"),)
        assert bounds.temporary is None

    def test_of_a_database_are_the_folder_it_stands_in(self, base):
        folder = base / "project" / ".mulligan" / "sandboxes" / "data"
        folder.mkdir()
        bounds = a_confinement(base).bounds(
            PLAN, [a_sandbox(folder / "app.db", ResourceType.SQLITE)], [], None
        )
        assert bounds.writable[0] == str(folder)

    def test_of_a_database_in_another_sandbox_do_not_follow_where_a_tool_leads(self, base):
        folder = base / "project" / ".mulligan" / "sandboxes" / "app"
        folder.mkdir()
        (folder / "var").symlink_to(base / "elsewhere")
        sandboxes = [a_sandbox(folder / "var" / "app.db", ResourceType.SQLITE), a_sandbox(folder)]
        bounds = a_confinement(base).bounds(PLAN, sandboxes, [], None)
        assert str(folder) in bounds.writable
        assert str(base / "elsewhere") not in bounds.writable

    @pytest.mark.parametrize("folder", [".", "project", "project/.mulligan"])
    def test_leave_out_a_temporary_folder_that_holds_the_project(self, base, folder):
        bounds = a_confinement(base, folder, "tmp").bounds(PLAN, [], [], None)
        own = base / "project" / ".mulligan" / "scratch" / PLAN / "tmp"
        assert bounds.temporary == str(own)
        assert own.stat().st_mode & 0o777 == 0o700
        assert {str(own), str(base / "tmp")} <= set(bounds.writable)
        assert str(base / folder) not in bounds.writable

    def test_leave_out_a_temporary_folder_that_holds_the_database(self, base):
        bounds = a_confinement(base, "tmp", database="tmp/deep/m.db").bounds(PLAN, [], [], None)
        assert str(base / "tmp") not in bounds.writable

    def test_give_a_folder_of_its_own_where_the_machine_has_none(self, base):
        bounds = a_confinement(base, "nowhere").bounds(PLAN, [], [], None)
        assert bounds.temporary is not None

    def test_fail_by_name_where_no_temporary_folder_can_be_made(self, base):
        (base / "project" / ".mulligan" / "scratch").write_text("in the way")
        with pytest.raises(SystemFailed) as caught:
            a_confinement(base, "project").bounds(PLAN, [], [], None)
        assert "scratch" in str(caught.value.facts["path"])

    @pytest.mark.parametrize(
        ("path", "opens"),
        [
            ("/", True),
            ("~/..", True),
            ("{base}/project", True),
            ("{base}/project/.mulligan", True),
            ("{base}/project/.mulligan/store", True),
            ("{base}/link", True),
            ("{base}/var", True),
            ("{base}/project/src", False),
            ("{base}/project/.mulligan2", False),
            ("~", False),
            ("~/.cache", False),
        ],
    )
    def test_never_hold_the_project_home(self, base, path, opens):
        (base / "link").symlink_to(base / "project")
        found = a_confinement(base, database="var/m.db").opens_home(path.format(base=base))
        assert found is opens


class TestStoppedWrites:
    """The complaints are what the programs named print."""

    @pytest.mark.parametrize(
        "complaint",
        [
            "/bin/sh: 1: cannot create {aim}: Permission denied",
            "bash: line 1: {aim}: Permission denied",
            "cp: cannot create regular file '{aim}': Permission denied",
            "mv: cannot move 'own' to '{aim}': Permission denied",
            "touch: cannot touch ‘{aim}’: Permission denied",
            "mkdir: can't create directory '{aim}': Permission denied",
            "/usr/bin/ld: cannot open output file {aim}: Permission denied\ncollect2: error: ld returned 1",
            "fatal: could not open '{aim}' for writing: Permission denied",
            "error: could not lock config file {aim}: Permission denied\n",
            "Traceback …\nPermissionError: [Errno 13] Permission denied: '{aim}'",
            "ERROR: Could not install packages due to an OSError: [Errno 13] Permission denied: '{aim}'\nCheck it.\n",
            "Error: EACCES: permission denied, mkdir '{aim}'\n    at Object.mkdirSync (node:fs:1349:26)",
            "npm error code EACCES\nnpm error syscall mkdir\nnpm error path {aim}\nnpm error errno -13\nnpm error\n",
            "open {aim}: permission denied",
            "x: Permission denied\nsh: cannot create {aim}: Permission denied\ncat: y: No such file",
            "sh: 1: cannot create ../outside/new: Permission denied",
            "sh: 1: cannot create link/new: Permission denied",
        ],
    )
    def test_are_told_with_their_path(self, base, complaint):
        sandbox, outside = base / "sandbox", base / "outside"
        sandbox.mkdir()
        outside.mkdir()
        (sandbox / "link").symlink_to(outside)
        bounds = drawn(sandbox)
        aim = str(outside / "new")
        assert a_confinement(base).stopped(complaint.format(aim=aim), sandbox, bounds) == aim

    @pytest.mark.parametrize(
        "complaint",
        [
            "",
            "it failed",
            "sh: 1: cannot create {sandbox}/closed/new: Permission denied",
            "PermissionError: [Errno 13] Permission denied: '{sandbox}'",
            "cat: {aim}: No such file or directory",
            "Permission denied (publickey).",
            "Permission denied, please try again.",
        ],
    )
    def test_are_not_made_of_other_complaints(self, base, complaint):
        bounds = drawn(base / "sandbox")
        text = complaint.format(sandbox=base / "sandbox", aim=base / "new")
        assert a_confinement(base).stopped(text, base / "sandbox", bounds) is None

    def test_are_none_where_the_user_may_not_write_either(self, tmp_path):
        def check(folder: Path) -> None:
            bounds = drawn()
            confinement = LandlockConfinement(
                kept=[], project=folder, scratch=folder, temporary=[], user=folder
            )
            denied = "sh: 1: cannot create {}: Permission denied"
            assert confinement.stopped(denied.format("/usr/new"), folder, bounds) is None
            aim = folder / "deep" / "new"
            assert confinement.stopped(denied.format(aim), folder, bounds) == str(aim)

        as_ordinary_user(tmp_path, check)


class TestLandlock:
    def test_is_there(self):
        """These tests run on kernels that have it; elsewhere all that confines would be untested."""
        assert lacking() is None

    @pytest.mark.parametrize(
        ("version", "number", "told"),
        [
            (0, errno.ENOSYS, "no Landlock"),
            (0, errno.EOPNOTSUPP, "switched off"),
            (0, errno.EPERM, "Operation not permitted"),
            (1, 0, "too old (version 1"),
        ],
    )
    def test_says_why_it_cannot_be_used(self, version, number, told):
        assert told in str(why_not(version, number))

    def test_can_be_used_from_the_version_that_lets_files_be_moved(self):
        assert why_not(2, 0) is None

    def test_is_not_looked_for_on_other_systems(self, monkeypatch):
        monkeypatch.setattr(sys, "platform", "darwin")
        assert "darwin" in str(lacking())

    def test_that_the_kernel_does_not_answer_for_is_not_used(self, monkeypatch):
        def refuse() -> int:
            raise OSError(errno.EOPNOTSUPP, "not supported")

        monkeypatch.setattr(landlock, "version", refuse)
        assert "switched off" in str(lacking())

    def test_refuses_more_than_the_kernel_can_hold(self, tmp_path):
        """Runs inside runs inside runs: the kernel counts to sixteen."""

        def check(folder: Path) -> None:
            writable = [os.fsencode(path) for path in (str(folder), "/nowhere", *written_by_coverage())]
            promise_no_new_privileges()
            for _ in range(16):
                restrict((), writable)
            (folder / "inside").touch()
            with pytest.raises(PermissionError):
                (folder.parent / "outside").touch()
            with pytest.raises(OSError, match="too long") as caught:
                restrict((), writable)
            assert caught.value.errno == errno.E2BIG

        as_ordinary_user(tmp_path, check)


class TestProcesses:
    def test_are_not_started_under_a_launcher_that_dies(self):
        bounds = drawn()
        with pytest.raises(SystemFailed, match="could not be confined: the launcher was killed"):
            Launchers(python="/bin/false", environment={}, how="tree").start(PLAN, (), bounds, None)

    def test_are_not_left_behind_by_an_interrupt_while_they_are_confined(self, tmp_path):
        program = tmp_path / "silent"
        program.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid\nexec cat\n")
        program.chmod(0o755)
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.5)
            with pytest.raises(KeyboardInterrupt):
                Launchers(python=str(program), environment={"PATH": os.defpath}, how="tree").start(
                    PLAN, (), drawn(), None
                )
        finally:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
        assert not Path("/proc", (tmp_path / "pid").read_text().strip()).exists()

    @pytest.mark.processes_measured
    def test_are_not_started_where_the_bounds_cannot_be_drawn(self, tmp_path):
        """A tool that cannot be confined is not run unconfined."""
        (tmp_path / "file").touch()
        bounds = drawn(tmp_path / "file" / "below")
        launchers = Launchers(python=sys.executable, environment=dict(os.environ), how="tree")
        with pytest.raises(SystemFailed) as caught:
            launchers.start(PLAN, (), bounds, None)
        assert "could not be confined: Not a directory (writes, with Landlock)" in caught.value.text
        assert "sandbox.isolate" in caught.value.next_step

    def test_are_started_anew_when_the_bounds_change(self, tmp_path, toolbox, host):
        root, outside = tmp_path / "sandbox", tmp_path / "outside"
        root.mkdir()
        outside.mkdir()
        (root / "module.py").write_text("def write(context, path):\n    open(path, 'w').close()\n")
        narrow = drawn(root, Path("/dev/null"))
        wide = drawn(root, Path("/dev/null"), outside)
        shell, python = {"command": f"touch {outside}/new || exit 3"}, toolbox.tool("python")
        kwargs = {"function": "module:write", "kwargs": {"path": str(outside / "new")}}
        for bounds, works in ((narrow, False), (wide, True), (narrow, False), (None, True)):
            for tool, args in ((toolbox.tool("shell"), shell), (python, kwargs)):
                if works:
                    tool.call(a_request(root, args, bounds=bounds), host)
                    (outside / "new").unlink()
                else:
                    with pytest.raises(Exception, match="Permission denied"):
                        tool.call(a_request(root, args, bounds=bounds), host)

    @pytest.mark.processes_measured
    def test_below_others_that_are_confined_count_as_linking_all_the_time(self, tmp_path, toolbox, host):
        """Only the outer launcher can notice links; the inner one says so."""
        code = (
            f"import os, sys; sys.path[:0] = {sys.path!r}\n"
            "from pathlib import Path\n"
            "from mulligan.adapters.tools.process.tool_output import Recorded\n"
            "from mulligan.adapters.tools.process.command_runner import Command, Launchers\n"
            "from mulligan.domain.resources.bounds import Bounds\n"
            "from tests.support.recording_host import RecordingHost, a_request\n"
            "linked = []\n"
            "made = Launchers(\n"
            "    python=sys.executable, environment=dict(os.environ), how='tree', linked=lambda: linked.append(1)\n"
            ")\n"
            f"writable = ({str(tmp_path)!r}, *{written_by_coverage()})\n"
            "bounds = Bounds(writable=writable, sandboxes=(), missing=(), temporary=None)\n"
            "command = Command(argv=('true',), folder=Path('.'), environment=dict(os.environ),\n"
            "    bounds=bounds, appearance=None)\n"
            "request = a_request(Path('.'), {}, timeout=None)\n"
            "made.run('shell', request, command, Recorded('shell', lambda _: None), RecordingHost())\n"
            "print(len(linked)); made.forget(None)\n"
        )
        (tmp_path / "inner.py").write_text(code)
        bounds = drawn(tmp_path, Path("/dev/null"), *map(Path, written_by_coverage()))
        request = a_request(tmp_path, {"argv": [sys.executable, "inner.py"]}, bounds=bounds)
        assert int(str(toolbox.tool("shell").call(request, host).output)) > 0

    def test_know_their_temporary_folder(self, tmp_path, toolbox, host):
        own = tmp_path / "own"
        own.mkdir()
        bounds = replace(drawn(own), temporary=str(own))
        request = a_request(tmp_path, {"command": "mktemp"}, bounds=bounds, plan_id=PlanId("p"))
        assert str(toolbox.tool("shell").call(request, host).output).startswith(f"{own}/")
