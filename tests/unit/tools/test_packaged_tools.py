"""Tools that installed packages name in the entry point group `mulligan.tools`."""

import pytest

from mulligan.adapters.tools.user_tools.entry_points import PackagedTools, installed_tools
from mulligan.errors import ToolsInvalid, ToolsUntrusted
from tests.support.recording_host import RecordingHost, a_request
from tests.unit.tools.project_homes import GREET, HEAD

SITE = HEAD + "@mulligan.tool\ndef publish(context, title: str): ...\n"


def package(home, name, text):
    place = home.folder / "packages"
    place.mkdir(exist_ok=True)
    (place / f"{name}.py").write_text(text)
    return str(place)


def test_packages_give_modules_or_single_tools(home, root):
    place = package(home, "greeters", GREET + "@mulligan.tool\ndef wave(context): return 'waves'\n")
    whole = home.box(PackagedTools("greeters", "greeters"), PYTHONPATH=place)
    assert [t.declaration.name for t in whole.own.all()[0]] == ["greet", "wave"]
    one = home.box(PackagedTools("greeters", "greeters:wave"), PYTHONPATH=place)
    assert [t.origin for t in one.own.all()[0]] == ["package greeters"]
    assert one.tool("wave").call(a_request(root, {}), RecordingHost()).output == "waves"
    assert "greet" not in one.declarations()
    assert list(one.declarations())[-1] == "wave"


def test_a_package_is_used_whether_or_not_the_tools_file_is_trusted(home):
    place = package(home, "greeters", GREET)
    home.file.write_text(SITE)
    box = home.box(PackagedTools("greeters", "greeters"), PYTHONPATH=place)
    assert box.tool("greet").declaration.name == "greet"
    with pytest.raises(ToolsUntrusted):
        box.tool("publish")


@pytest.mark.processes_measured
def test_a_package_that_is_broken_or_takes_a_name_does_not_hinder_the_others(home):
    place = package(home, "greeters", GREET)
    package(home, "broken", "1 / 0\n")
    package(home, "taker", HEAD + "@mulligan.tool\ndef shell(context): ...\n")
    points = [PackagedTools(name, name) for name in ("broken", "greeters", "taker")]
    box = home.box(*points, PYTHONPATH=place)
    tools, problems = box.own.all()
    assert [tool.declaration.name for tool in tools] == ["greet"]
    assert problems == [
        "package broken: broken: ZeroDivisionError: division by zero",
        "package taker: 'shell' is the name of a built-in tool",
    ]
    assert box.tool("greet")


def test_a_package_that_ends_its_process_spoils_only_itself(home):
    place = package(home, "greeters", GREET)
    package(home, "leaver", "import os; os._exit(4)\n")
    box = home.box(PackagedTools("leaver", "leaver"), PackagedTools("greeters", "greeters"), PYTHONPATH=place)
    tools, problems = box.own.all()
    assert [tool.declaration.name for tool in tools] == ["greet"]
    ended = "cannot be loaded: the function ended its process (status 4)"
    assert problems == [f"package leaver: leaver: {ended}"]


def test_a_package_may_name_a_tool_and_its_module(home):
    place = package(home, "greeters", GREET)
    points = [PackagedTools("greeters", "greeters"), PackagedTools("greeters", "greeters:greet")]
    assert home.box(*points, PYTHONPATH=place).tool("greet").declaration.name == "greet"


def test_a_name_of_two_sources_is_refused_by_name(home):
    place = package(home, "greeters", GREET)
    package(home, "hosts", GREET)
    home.trusted(SITE)
    points = [PackagedTools("greeters", "greeters"), PackagedTools("hosts", "hosts")]
    box = home.box(*points, PYTHONPATH=place)
    reason = "the tool 'greet' is declared more than once: by package greeters and by package hosts"
    with pytest.raises(ToolsInvalid, match=reason):
        box.tool("greet")
    tools, problems = box.own.all()
    assert [tool.declaration.name for tool in tools] == ["publish"]
    assert problems == [reason]


def test_entry_points_are_listed_without_running_their_code(tmp_path, monkeypatch):
    named = tmp_path / "greeters-1.0.dist-info"
    named.mkdir()
    (named / "METADATA").write_text("Metadata-Version: 2.1\nName: greeters\nVersion: 1.0\n")
    (named / "entry_points.txt").write_text("[mulligan.tools]\nwave = greeters:wave\ngreet = greeters\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert installed_tools() == [
        PackagedTools("greeters", "greeters"),
        PackagedTools("greeters", "greeters:wave"),
    ]
