"""Confinement as users meet it: where the system has no means, what is refused, and what a failure says."""

import json
from pathlib import Path
from typing import Any

import pytest

from mulligan.api.project import Project
from mulligan.domain.resources.bounds import Bounds
from mulligan.errors import ConfinementImpossible
from tests.commands.program import ask, data_of
from tests.faults.projects import Watching, nothing, services_in
from tests.support.confined import written_by_coverage
from tests.support.homes import home_of

REASON = "this machine is of wood"


class NoMeans:
    """A system that cannot confine anything."""

    def lacking(self) -> str:
        return REASON

    def opens_project(self, path: str) -> bool:
        return False

    def opens_home(self, path: str) -> bool:
        return False

    def bounds(self, *_: object) -> Bounds:
        raise AssertionError("nothing can be confined here")

    def stopped(self, *_: object) -> str:
        raise AssertionError("nothing was stopped here")


def project_without_means(folder: Path) -> Project:
    services = services_in(folder)
    services.adapters.confinement = NoMeans()
    return Project(services=services, observer=Watching(nothing))


def a_plan(folder: Path, *commands: str, isolate: str = "auto", **more: Any) -> Path:
    steps = [
        {"name": f"s{n}", "tool": "shell", "args": {"command": command}} for n, command in enumerate(commands)
    ]
    config = {"sandbox.isolate": isolate, **more.pop("config", {})}
    file = folder / "plan.yaml"
    file.write_text(json.dumps({"name": "plan", "config": config, "steps": steps, **more}))
    return file


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder, home = tmp_path / "project", tmp_path / "home"
    folder.mkdir()
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    if measured := written_by_coverage():
        monkeypatch.setenv("MULLIGAN_SANDBOX_WRITABLE", ":".join(["~/.npm", *measured]))
    return folder


class TestWithoutMeans:
    def test_a_plan_runs_and_says_once_that_its_tools_are_not_confined(self, tmp_path: Path) -> None:
        fail = tmp_path / "outside"
        folder = tmp_path / "project"
        folder.mkdir()
        project = project_without_means(folder)
        stopped, _ = project.run(a_plan(folder, f"echo x > {tmp_path}/free", f"test -e {fail}"))
        fail.touch()
        status, execution = project.resume(stopped.plan_id)
        told = [text for text in (*status.messages, *execution.messages) if REASON in text]
        assert (tmp_path / "free").read_text() == "x\n"
        assert status.state.value == "complete"
        assert len(told) == 1
        assert told[0].startswith("tools can write outside their sandboxes: ")
        assert "set `sandbox.isolate` to `off`" in told[0]

    def test_it_says_nothing_where_isolation_is_off(self, tmp_path: Path) -> None:
        status, execution = project_without_means(tmp_path).run(a_plan(tmp_path, "true", isolate="off"))
        assert (status.state.value, status.messages, execution.messages) == ("complete", (), ())

    def test_isolation_that_is_required_is_refused_before_anything_runs(self, tmp_path: Path) -> None:
        project = project_without_means(tmp_path)
        with pytest.raises(ConfinementImpossible) as caught:
            project.run(a_plan(tmp_path, "true", isolate="required"))
        assert (caught.value.exit_code, caught.value.facts["reason"]) == (3, REASON)
        assert "`auto`" in caught.value.next_step
        assert list(project.plans()) == []

    def test_a_plan_that_was_begun_elsewhere_is_refused_too(self, tmp_path: Path) -> None:
        """The machine may have changed between two runs."""
        stopped = project_without_means(tmp_path).run(a_plan(tmp_path, "false"))[0]
        mended = a_plan(tmp_path, "true", isolate="required")
        with pytest.raises(ConfinementImpossible):
            project_without_means(tmp_path).resume(stopped.plan_id, corrected=mended)


class TestRefusals:
    @pytest.mark.parametrize("path", ["{project}", "{home}/store", "/", "~/.."])
    @pytest.mark.parametrize("isolate", ["auto", "required"])
    def test_a_writable_folder_that_holds_the_project_home(
        self, project: Path, path: str, isolate: str
    ) -> None:
        data_of(project, "init")
        config = {"sandbox.writable": [path.format(project=project, home=home_of(project))]}
        file = a_plan(project, "true", isolate=isolate, config=config)
        answer = ask(project, "plan", "execute", str(file))
        assert (answer["exit_code"], answer["error"]["kind"]) == (2, "setting_invalid")
        assert answer["error"]["key"] == "sandbox.writable"
        assert "project home" in answer["error"]["message"]
        assert data_of(project, "plan", "list")["plans"] == []

    def test_a_symlink_that_a_tool_puts_into_the_place_of_a_writable_folder(self, project: Path) -> None:
        cache = project.parent / "home" / "cache"
        (cache / "inner").mkdir(parents=True)
        data_of(project, "init")
        swap = f"rmdir {cache}/inner && ln -s {home_of(project)} {cache}/inner"
        listed = [str(cache), f"{cache}/inner", *written_by_coverage()]
        config = {"sandbox.writable": listed, "sandbox.at": "own-path"}
        file = a_plan(project, swap, f"echo x > {cache}/inner/mulligan.db", config=config)
        answer = ask(project, "plan", "execute", str(file))
        aim = str(home_of(project) / "mulligan.db")
        assert (answer["exit_code"], answer["error"]["stopped_write"]) == (1, aim)
        again = ask(project, "plan", "resume", answer["data"]["plan_id"])
        assert (again["exit_code"], again["error"]["kind"]) == (2, "setting_invalid")


IN_PLACE = {"resources": {"w": {"type": "fs-directory", "location": ".", "strategy": "in_place"}}}


class TestInPlace:
    @pytest.mark.parametrize("isolate", ["auto", "required"])
    def test_in_the_whole_project_folder_tools_do_not_write_the_project_home(
        self, project: Path, isolate: str
    ) -> None:
        data_of(project, "init")
        aim, home = project.parent / "home" / "new", home_of(project)
        file = a_plan(
            project, f"echo x > made; ! touch {aim} && ! touch {home}/x", isolate=isolate, **IN_PLACE
        )
        answer = ask(project, "plan", "execute", str(file))
        assert answer["exit_code"] == 0, answer
        assert answer["data"]["messages"] == []
        assert (project / "made").read_text() == "x\n"
        assert not aim.exists()

    def test_beside_the_project_home_tools_write_neither_that_nor_the_rest(self, project: Path) -> None:
        (project / "part").mkdir()
        place = {"resources": {"w": {"type": "fs-directory", "location": "part", "strategy": "in_place"}}}
        file = a_plan(
            project, "echo x > made; ! touch ../out && ! touch ../.mulligan/x", isolate="required", **place
        )
        answer = ask(project, "plan", "execute", str(file))
        assert (answer["exit_code"], answer["data"]["messages"]) == (0, []), answer
        assert (project / "part" / "made").read_text() == "x\n"


class TestFailures:
    def test_a_stopped_write_is_told_with_its_path_and_the_key(self, project: Path) -> None:
        aim = project.parent / "home" / "new"
        answer = ask(project, "plan", "execute", str(a_plan(project, f"echo x > {aim}")))
        error = answer["error"]
        assert (answer["exit_code"], error["kind"], error["stopped_write"]) == (1, "step_failed", str(aim))
        last = error["message"].splitlines()[-1]
        assert last.startswith(f"writing {aim} was stopped: ")
        assert last.endswith("to `sandbox.writable`")
        assert "`mulligan config set --add sandbox.writable VALUE`" in error["hint"]

    def test_a_listed_folder_that_is_missing_is_to_be_made(self, project: Path) -> None:
        cache = project.parent / "home" / ".npm"
        answer = ask(project, "plan", "execute", str(a_plan(project, "mkdir ~/.npm")))
        assert answer["error"]["stopped_write"] == str(cache)
        assert f"make {cache}, which `sandbox.writable` names" in answer["error"]["message"]

    @pytest.mark.parametrize(
        ("command", "isolate"),
        [
            ("echo '/nowhere/x: Permission denied' >&2; exit 126", "auto"),
            ("echo 'own: Permission denied' >&2; exit 1", "auto"),
            ("echo '/x: Permission denied' >&2; exit 1", "off"),
            ("echo 'no such luck' >&2; exit 1", "auto"),
        ],
    )
    def test_other_failures_are_told_as_they_are(self, project: Path, command: str, isolate: str) -> None:
        answer = ask(project, "plan", "execute", str(a_plan(project, command, isolate=isolate)))
        assert answer["exit_code"] == 1
        assert "stopped_write" not in answer["error"]
        assert "was stopped" not in answer["error"]["message"]
