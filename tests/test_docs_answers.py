"""What the reference says of answers is what the program answers: every command, every field, every fact."""

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

import mulligan
from mulligan.cli.main import run
from mulligan.domain.agents.agent_event import AgentEvent, EventKind
from mulligan.domain.plans.event import EventType
from tests.commands.program import ask
from tests.reference_pages import commands
from tests.support.answer_shapes import Field, differences, never_seen, sections, shapes, shapes_of_commands
from tests.support.homes import home_of
from tests.support.page_examples import PROJECT
from tests.support.queue_world import rows_of
from tests.support.shared_database import new_address

# Fields that nothing in this version gives a value.
# What only a plan has at which another process works, or another machine: tests/shared/test_two_hosts.py.
ALWAYS_NULL = {f"a-plan: holder{field}" for field in ("", ".host", ".pid", ".since", ".lease_seconds")}
ALWAYS_NULL |= {"a-plan: sandboxes.host"}

FILES = {
    **PROJECT,
    "labelled.yaml": """\
name: labelled
steps:
  - {name: one, tool: write_file, args: {path: labelled, content: one}, checkpoint: halfway}
  - {name: two, tool: write_file, args: {path: labelled, content: two}}
""",
    "several.yaml": """\
name: several
resources: {texts: {type: fs-directory, location: texts}, images: {type: fs-directory, location: images}}
config: {max_checkpoints_per_plan: 4}
steps:
  - {tool: write_file, args: {path: a.txt, content: changed}}
  - {tool: shell, resource: images, args: {command: mkdir new; mv old renamed; echo oh > b.txt; ln -s b c; sleep 9 &}}
  - {tool: python, args: {function: "helper:help"}}
""",
    "texts/helper.py": "def help(context):\n    context.log('some words')\n",
    "images/old": "".join(f"line {number}\n" for number in range(50)),
    "failing.yaml": """\
name: failing
steps:
  - {name: good, tool: write_file, args: {path: good, content: good}}
  - {name: bad, tool: shell, args: {command: "echo mess > mess; false"}}
""",
    "checkout/file": "one\n",
    "versioned.yaml": """\
name: versioned
resources: {app: {type: git-checkout, location: checkout}}
steps:
  - {tool: write_file, args: {path: file, content: changed}}
  - {tool: shell, args: {command: "mkdir empty"}}
""",
    **{
        f"{name}.yaml": f"""\
name: {name}
resources: {{texts: {{type: fs-directory, location: texts}}}}
steps:
  - {{tool: write_file, args: {{path: met, content: {name}}}}}
"""
        for name in ("meeting", "later")
    },
    "outside.yaml": """\
name: outside
steps:
  - {tool: publish, args: {page: news}}
""",
    "keeping.yaml": """\
name: keeping
rollback_policy: {on_failure: keep}
steps:
  - {name: bad, tool: shell, args: {command: "echo mess > mess; false"}}
""",
    "asking.yaml": """\
name: asking
steps:
  - {name: which, decision: {question: Which?, alternatives: [this, that]}}
""",
    "clash.yaml": """\
name: clash
resources: {texts: {type: fs-directory, location: texts}}
steps:
  - name: parts
    subplans:
      plans:
        - {name: mine, steps: [{tool: shell, args: {command: "printf '\\\\0mine' > image"}}]}
        - {name: yours, steps: [{tool: shell, args: {command: "printf '\\\\0yours' > image"}}]}
""",
    ".qwen/settings.json": "{}",
    ".gemini/settings.json": "not JSON",
    "mended.yaml": """\
name: failing
steps:
  - {name: good, tool: write_file, args: {path: good, content: good}}
  - {name: bad, tool: shell, args: {command: "true"}}
""",
}
TOOLS = """\
import mulligan


def take_back(context, arguments, result):
    pass


@mulligan.tool(side_effects=["external"], undo=take_back, timeout=60)
def publish(context, page: str):
    "Publish a page."
"""
# Every command at least once, one after the other in one project; those that must fail with their exit code.
RUNS = """
hook claude-code
completion bash
serve --detach
serve --status
serve --stop
projects
projects prune --dry-run
project export ../saved.mulligan --force
database upgrade
project import ../saved.mulligan ../imported
projects
help plan apply
agent install codex qwen-code --scope project --dry-run
agent install codex qwen-code --scope project --yes
agent install gemini-cli --scope project --yes              # 3
agent doctor codex
agent doctor goose                                          # 1
agent list
agent uninstall codex qwen-code --scope project --yes
pause
unpause
tool list
tool trust --yes
tool show publish
plan execute outside.yaml
plan rollback --yes outside first
plan log outside
plan cancel outside
plan create upgrade.yaml
plan execute upgrade-api
bisect upgrade-api --bad draft -- sh -c "! grep -q 2.0 VERSION"
plan status
plan status nothing                                         # 3
plan fork upgrade-api draft --name other
plan tree other
plan list
plan log other
plan rm --yes other
plan rollback upgrade-api draft                             # 3
plan rollback --dry-run upgrade-api draft
plan rollback --yes upgrade-api draft
plan resume --dry-run upgrade-api
plan resume upgrade-api
plan resume upgrade-api                                     # 3
plan tree --show-superseded
plan diff
bisect upgrade-api -- grep -q v1 api.txt
bisect upgrade-api -- false                                 # 3
try -n 2 --name ways --check "grep -q v2 api.txt" -- sed -i s/v1/v2/ api.txt
try show
try pick 2
plan log ways
try diff 1 2
try --from ways@1 --name odd -n 1 -- false                    # 1
plan rm --yes ways odd
plan correct --mode revert --guidance "as it is" {decision}   # 3
plan correct --mode append --guidance more {decision}       # 3
plan correct --mode append --guidance more --dry-run {decision}
plan correct --mode revert --guidance "use ply" --choose ply --dry-run {decision}
plan correct --mode revert --guidance "use ply" --choose ply --yes {decision}
plan correct --mode revert --guidance again --yes {decision}   # 3
plan diff --correction {correction}
plan report --html report.html
plan report --html report.html                              # 3
plan tree
list draft
list --recursive draft
show draft api.txt
show draft .
restore --dry-run --from draft api.txt
restore --yes --from draft api.txt
restore --yes --from latest api.txt
undo --yes
restore --yes --delete @1 nothing                            # 3
restore --sandbox --yes --from first api.txt
plan execute several.yaml
plan diff several
list several@-1 images
show several@-1 images/c
plan log several
checkpoint list several
checkpoint show latest
checkpoint create several --label all
plan execute failing.yaml                                   # 1
plan status failing
-c sandbox.checkpoint.auto-create-on=[] plan execute keeping.yaml   # 1
plan resume --dry-run keeping
plan resume keeping                                         # 1
plan accept failing --at @4
run --on failing -- true
plan log failing
plan rollback --yes failing @3
plan resume failing --plan mended.yaml
plan execute asking.yaml                                    # 4
plan list --waiting
plan answer asking other                                    # 3
plan answer asking that
plan log failing
plan execute clash.yaml                                     # 4
plan status mine
plan resume clash                                           # 4
plan resolve clash other                                    # 3
plan resolve clash
plan resume clash
plan cancel mine                                            # 3
plan log clash
plan execute versioned.yaml
plan list
plan list --state errored
plan cancel failing --reason enough
plan log failing
plan rollback --yes failing first                           # 3
plan execute versioned.yaml
plan apply --dry-run latest
plan apply --yes latest
plan status latest
plan unapply --yes latest
plan log latest
plan execute versioned.yaml
plan apply --yes latest
undo --yes latest
redo --yes
plan unapply --yes latest
plan execute meeting.yaml
plan execute later.yaml
plan apply --yes later
plan apply --yes meeting                                    # 4
plan status meeting
plan log meeting
plan log upgrade-api
checkpoint create upgrade-api --label "tests pass"
checkpoint show draft
checkpoint diff draft "tests pass"
checkpoint diff {checkpoint} draft
checkpoint list upgrade-api --all
checkpoint list upgrade-api --limit 1
checkpoint restore draft --to restored
checkpoint restore draft --to restored                      # 3
checkpoint verify
checkpoint prune upgrade-api --keep 3 --dry-run
checkpoint prune upgrade-api --keep 3
checkpoint delete "tests pass"                              # 3
checkpoint delete "before release"
plan correct --mode append --guidance more --yes {decision}
plan log upgrade-api
gc --dry-run
gc
doctor
forget --dry-run texts/a.txt
forget --yes texts/a.txt
forget --yes texts                                          # 3
plan log several
plan rm --dry-run several
plan rm --yes several meeting
config list
config get max_checkpoints_per_plan
config set sandbox.strategie auto                           # 2
config set sandbox.strategy copy                            # 2
config set sandbox.cleanup manual
config unset sandbox.cleanup
config set --add sandbox.exclude *.log
config set --remove sandbox.exclude *.log
config set --global --add sandbox.strategy auto             # 2
config unset --global sandbox.hide
run --name quick -- sh -c "echo more >> api.txt"
undo                                                        # 3
undo --yes
redo --yes
redo --yes                                                  # 3
undo --dry-run quick
log
log quick
log --limit 1
run --name real --in-place -- sh -c "echo more >> api.txt"
undo --yes real
redo --yes
diff 1
undo 99999                                                  # 3
run -- sh -c "exit 3"                                       # 3
run -- no-such-program                                      # 127
show quick --output
show quick --output --step nothing                          # 3
shell                                                       # 125
-c sandbox.checkpoint.auto-create-on=[] plan execute labelled.yaml
undo --yes labelled
run --name merged --apply -- sh -c "echo merged > merged.txt"
undo --dry-run merged
run --in-place -- sh -c "echo other > merged.txt"
undo --yes merged                                           # 4
undo --yes
undo --yes merged
plan execute texts/helper.py                                # 2
plan frobnicate                                             # 2
-c no=1 gc                                                  # 2
"""


class _Answers:
    """All answers, and what of the reference they showed."""

    def __init__(self, folder: Path) -> None:
        self.known: dict[str, Field] = shapes()
        self.seen: set[int] = set()
        self.run: set[str] = set()
        self.events: list[dict[str, Any]] = []
        self.errors: list[dict[str, Any]] = []
        self.problems: list[str] = []
        self.checkpoint = self.decision = self.correction = ""  # the newest that was shown
        self._folder = folder
        self._data = shapes_of_commands()

    def ask(self, line: str, code: int, folder: Path | None = None) -> None:
        shown = {"checkpoint": self.checkpoint, "decision": self.decision, "correction": self.correction}
        answer = ask(folder or self._folder, *shlex.split(line.format(**shown)))
        assert answer["exit_code"] == code, (line, answer)
        self._hold_against(line, answer, ["the-envelope"])
        if "error" in answer:
            self.errors.append(answer["error"])
        if answer["data"] is not None:
            self.run.add(answer["command"])
            self.checkpoint = answer["data"].get("checkpoint_id", self.checkpoint)
            nodes = answer["data"].get("tree", {}).get("children", [])
            self.decision = next((n["id"] for n in nodes[::-1] if n["type"] == "decision"), self.decision)
            self.correction = (answer["data"].get("correction") or {}).get("correction_id", self.correction)
            self._hold_against(line, answer["data"], self._data.get(answer["command"], []))
            self.events += answer["data"].get("events", []) if answer["command"] == "plan log" else []

    def _hold_against(self, line: str, value: Any, allowed: list[str]) -> None:
        problems = [f"json.md tells no shape for `{line}`"]
        for anchor in allowed:
            shape, seen = self.known[anchor], set[int]()
            found = list(differences(value, shape, self.known, seen))
            if not found:
                self.seen |= seen
                return
            problems += [f"{line} as {anchor}: {each}" for each in found]
        self.problems += problems[1:] or problems


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> _Answers:
    folder = tmp_path_factory.mktemp("project")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    for words in (
        "init -q",
        "config user.name me",
        "config user.email me@here",
        "add -A",
        "commit -qm start",
    ):
        subprocess.run(["git", *words.split()], cwd=folder / "checkout", check=True)
    answers = _Answers(folder)
    shutil.rmtree(folder.with_name("imported"), ignore_errors=True)
    folder.with_name("imported").mkdir()
    answers.ask("init", 0)
    (home_of(folder) / "tools.py").write_text(TOOLS)
    for line in RUNS.strip().splitlines():
        words, _, code = line.partition("#")
        answers.ask(words, int(code or 0))
    _ask_shared(answers, tmp_path_factory.mktemp("shared"))
    number, left = _converse(folder)
    answers.ask(f"log {number}", 0)
    answers.ask(f"undo --only {number}.1 --dry-run", 0)
    answers.ask(f"undo --only {number}.1 --yes --end-processes", 0)
    left.wait()
    _damage(folder)
    answers.ask("checkpoint verify", 1)
    answers.ask("doctor", 1)
    return answers


def _ask_shared(answers: _Answers, folder: Path) -> None:
    """Ask what only a shared project answers; a worker is a row there."""
    address = new_address()
    (folder / "plan.yaml").write_text("name: queued\nsteps: [{name: a, run: 'true'}]\n")
    answers.ask(f"init --database '{address}'", 0, folder)
    answers.ask("plan submit plan.yaml", 0, folder)
    answers.ask("worker limit default 2", 0, folder)
    line = "'W', 'build-7', 1, '[\"default\"]', 4, '2026-01-01T00:00:00+00:00', 0"
    rows_of(address, f"INSERT INTO workers VALUES ({line})")
    answers.ask("worker list", 0, folder)


def _converse(folder: Path) -> tuple[int, "subprocess.Popen[bytes]"]:
    """Let an agent answer a prompt with one call; return the number of the entry, and what the call left running."""
    about = {"agent": "claude-code", "session": "a-long-id-of-a-session", "folder": str(folder)}
    call = {**about, "call": "c1", "tool": "Bash", "summary": "echo", "subagent": "a1"}
    project = mulligan.open(folder)
    project.agent_event(AgentEvent(kind=EventKind.PROMPT, text="more", prompt="p1", **about))
    project.agent_event(AgentEvent(kind=EventKind.BEFORE_CALL, **call))
    (folder / "of-an-agent").write_text("more")
    left = subprocess.Popen(["sleep", "600"], cwd=folder, env={**os.environ, "SESSION": about["session"]})
    project.agent_event(AgentEvent(kind=EventKind.AFTER_CALL, **call))
    return project.timeline(limit=1)[0].number, left


def _damage(folder: Path) -> None:
    for pack in (home_of(folder) / "store" / "packs").glob("*"):
        data = bytearray(pack.read_bytes())
        data[len(data) // 4] ^= 0xFF
        pack.chmod(0o600)
        pack.write_bytes(data)


def test_every_command_is_told_and_was_asked(answers: _Answers) -> None:
    """A new command gets a row and a shape in `json.md`, and a line in RUNS."""
    assert sorted(shapes_of_commands()) == sorted(commands())
    assert sorted({*answers.run, "mcp", "shell", "ui", "worker"}) == sorted(commands()), (
        "which is refused where a document is asked for"
    )


def test_answers_have_the_fields_that_are_told_and_no_others(answers: _Answers) -> None:
    assert answers.problems == []


def test_every_field_that_is_told_was_there(answers: _Answers) -> None:
    assert set(never_seen(answers.known, answers.seen)) == ALWAYS_NULL


def test_events_have_the_data_that_is_told(answers: _Answers) -> None:
    rows = re.findall(r"^\| `(\w+)` \| [^|]*\| ([^|]*) \|$", sections()["a-log"], re.MULTILINE)
    told = {type: set(re.findall(r"`(\w+)`", data)) for type, data in rows if type in set(EventType)}
    assert sorted(told) == sorted(EventType)
    found: dict[str, set[str]] = {}
    for event in answers.events:
        found.setdefault(event["type"], set()).update(event["data"])
    assert found == told


def test_errors_have_no_facts_but_those_that_are_told(answers: _Answers) -> None:
    rows = re.findall(r"^\| `(\w+)` \| \d+ \| [^|]+ \| ([^|]*) \|$", sections()["errors"], re.MULTILINE)
    told = {kind: set(re.findall(r"`(\w+)`", facts)) for kind, facts in rows}
    assert len(answers.errors) > 5
    for error in answers.errors:
        assert set(error) - told[error["kind"]] == {"kind", "message", "hint"}, error


def test_yaml_is_the_same_document(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    documents: list[dict[str, Any]] = []
    for format in ("json", "yaml"):
        assert run(["init", str(tmp_path), "--format", format]) == 0
        documents.append(yaml.safe_load(capfdbinary.readouterr().out))  # JSON is YAML too
    as_json, as_yaml = documents
    assert as_json.pop("timing").keys() == as_yaml.pop("timing").keys()
    assert as_json["data"].pop("new") != as_yaml["data"].pop("new")
    assert as_json == as_yaml
