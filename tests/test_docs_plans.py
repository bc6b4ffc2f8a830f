"""The plans on the reference pages run, every key of a plan file is told, and files of settings are as shown."""

import re
from pathlib import Path

import pytest

from mulligan.adapters.tools.process.command_runner import Launchers
from mulligan.adapters.tools.toolbox import LocalToolbox
from mulligan.domain.resources.resource import Resource, ResourceType
from mulligan.errors import PlanFileInvalid
from mulligan.planfile import read_plan_file
from tests.support.homes import home_of
from tests.support.page_examples import REFERENCE, ExampleProject

_PLAN = re.compile(r"^```yaml\n(?P<plan>name: (?P<name>[^\n]+)\n.*?)^```", re.MULTILINE | re.DOTALL)
_FENCE = re.compile(r"^```(?P<language>\w+)\n(?P<text>.*?)^```", re.MULTILINE | re.DOTALL)
PLANS = {
    f"{page.name}: {found['name']}": found["plan"]
    for page in sorted(REFERENCE.glob("*.md"))
    for found in _PLAN.finditer(page.read_text(encoding="utf-8"))
}
# What plans find besides the files that every example finds.
FOLDERS = ("texts", "images", "app/var")

# For every mapping whose keys are known the section that tells them; the reader names them when one is not.
PLACES = {
    "Keys of a plan": "name: p\nsteps: [{checkpoint: c}]\nODD: 1\n",
    "Resources": "name: p\nresources: {r: {type: fs-directory, location: ., ODD: 1}}\nsteps: [{checkpoint: c}]\n",
    "rollback_policy": "name: p\nrollback_policy: {ODD: 1}\nsteps: [{checkpoint: c}]\n",
    "Steps": "name: p\nsteps: [{checkpoint: c, ODD: 1}]\n",
    "Keys": "name: p\nsteps: [{subplans: {plans: [], ODD: 1}}]\n",
    "Keys, of a child": "name: p\nsteps: [{subplans: {plans: [{name: c, steps: [], ODD: 1}]}}]\n",
    "Steps, a decision": "name: p\nsteps: [{decision: {question: q, chosen: c, ODD: 1}}]\n",
}


def _page(name: str) -> str:
    return (REFERENCE / name).read_text(encoding="utf-8")


def _fence(page: str, language: str, word: str) -> str:
    fences = _FENCE.finditer(_page(page))
    found = [each["text"] for each in fences if each["language"] == language and word in each["text"]]
    assert found, f"{page} has no {language} with {word!r} in it"
    return found[0]


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_the_plans_on_the_pages_run(plan: str, example_project: ExampleProject) -> None:
    project = example_project
    for folder in FOLDERS:
        (project.folder / folder).mkdir(parents=True)
    (project.folder / "steps.py").write_text(_fence("tools.md", "python", "def summarize"))
    (project.folder / "plan.yaml").write_text(plan)
    printed = project.succeed("mulligan plan execute plan.yaml")
    assert ": complete\n" in printed


@pytest.mark.parametrize("page", ["plan-file.md", "tools.md", "sandbox.md", "subplans.md"])
def test_these_pages_have_plans(page: str) -> None:
    assert any(name.startswith(page) for name in PLANS)


@pytest.mark.parametrize("place", PLACES)
def test_every_key_of_a_plan_file_has_its_row(place: str, tmp_path: Path) -> None:
    page = _page("subplans.md" if place.startswith("Keys") and place != "Keys of a plan" else "plan-file.md")
    section = page.partition(f"\n## {place.partition(',')[0]}\n")[2].partition("\n## ")[0]
    told = set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE))
    known = _known_keys(PLACES[place], tmp_path)
    assert len(known) > 2
    assert known - told == set()


def _known_keys(text: str, folder: Path) -> set[str]:
    workspace = Resource(
        name="workspace",
        type=ResourceType.FS_DIRECTORY,
        location=".",
        strategy=None,
        from_revision=None,
        create=False,
    )
    tools = LocalToolbox(launchers=Launchers(python="python3", environment={}), scratch=folder).declarations()
    with pytest.raises(PlanFileInvalid) as refusal:
        read_plan_file(
            text.encode(), file="f", project=folder, declarations=tools, default_resource=workspace
        )
    listed = re.search(r"\(known: ([^)]+)\)", str(refusal.value.facts["reason"]))
    assert listed, refusal.value.text
    return set(listed[1].split(", "))


def test_a_file_of_settings_is_taken_as_it_is_shown(example_project: ExampleProject) -> None:
    (home_of(example_project.folder) / "config.toml").write_text(
        _fence("configuration.md", "toml", "auto-create-on")
    )
    printed = example_project.succeed("mulligan config list")
    assert re.search(r"auto-create-on +project file.* before_step,on_tool_write,on_error", printed)
    assert re.search(r"max-checkpoints-per-plan +project file.* 100", printed)
