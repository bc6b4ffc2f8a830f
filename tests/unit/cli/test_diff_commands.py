"""Comparing checkpoints through the program, in a process of its own."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.forked_program import run_program
from tests.support.homes import home_of

PLAN = """
name: work
steps:
  - name: edit
    tool: shell
    args:
      command: |
        sed -i s/15/fifteen/ numbers
        printf 'caf\\351\\nc\\n' > latin
        printf 'a\\000c' > binary
        mv moved "moved there"
        mkdir -p made/empty
        chmod 600 numbers
  - {name: keep, checkpoint: middle}
  - {name: more, tool: write_file, args: {path: "esc", content: "\\e[31mred\\tend\\n"}}
"""
TWO = """
name: two
resources:
  left: {type: fs-directory, location: left}
  right: {type: fs-directory, location: right}
steps:
  - {name: l, tool: write_file, args: {path: file, content: "new\\n"}}
  - {name: r, tool: write_file, resource: right, args: {path: file, content: "new\\n"}}
  - {name: keep, checkpoint: middle}
"""
PRIVATE_GIT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CEILING_DIRECTORIES": "/",
}


def _run(project: Path, *words: str) -> "subprocess.CompletedProcess[bytes]":
    return run_program(words, folder=project, environment=os.environ)


def _json(project: Path, *words: str, code: int = 0) -> Any:
    done = _run(project, *words, "--format", "json")
    document = json.loads(done.stdout)
    assert (done.returncode, document["exit_code"]) == (code, code), document
    return document


def _fill(folder: Path) -> None:
    (folder / "numbers").write_text("".join(f"{n}\n" for n in range(1, 31)))
    (folder / "latin").write_bytes(b"caf\xe9\nb\n")
    (folder / "binary").write_bytes(b"a\0b")
    (folder / "moved").write_text("moved\n" * 20)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with three plans: one over one folder, one over two, and one that never ran."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "left").mkdir()
    (folder / "right").mkdir()
    (folder / "right" / "file").write_text("old\n")
    for name, text in (("two", TWO), ("work", PLAN)):
        if name == "work":
            _fill(folder)
        (folder / f"{name}.yaml").write_text(text)
        done = _run(folder, "plan", "execute", f"{name}.yaml")
        assert done.returncode == 0, done.stderr
    return folder


def test_what_a_plan_changed(project: Path) -> None:
    document = _json(project, "plan", "diff", "work")
    data = document["data"]
    files = {f["path"]: f for f in data["files"]}
    told = {path: (f["status"], f["insertions"], f["deletions"]) for path, f in files.items()}
    assert told == {
        "binary": ("modified", None, None),
        "esc": ("added", 1, 0),
        "latin": ("modified", 1, 1),
        "moved there": ("renamed", 0, 0),
        "numbers": ("modified", 1, 1),
    }
    assert files["moved there"]["old_path"] == "moved"
    assert {f["resource"] for f in data["files"]} == {"workspace"}
    assert [path for path, f in files.items() if f["binary"]] == ["binary"]
    assert files["numbers"]["not_in_patch"] == ["mode 0644 to 0600"]
    assert [(f["path"], f["status"], f["not_in_patch"]) for f in data["folders"]] == [
        ("made", "added", []),
        ("made/empty", "added", ["empty folder"]),
    ]
    assert " caf\\xe9\n-b\n+c\n" in data["patch"]
    assert "Binary files a/binary and b/binary differ\n" in data["patch"]
    (message,) = document["messages"]
    for word in ("binary (content)", "numbers (mode 0644 to 0600)", "made/empty (empty folder)"):
        assert word in message
    assert (data["old"]["checkpoint_type"], data["new"]["checkpoint_type"]) == ("pre_execute", "post_execute")


def test_the_plain_answer_goes_straight_to_git(project: Path, tmp_path: Path) -> None:
    _fill(tmp_path)
    done = _run(project, "plan", "diff", "work", "--binary")
    assert (done.returncode, done.stdout[:10]) == (0, b"diff --git")
    environment = {**os.environ, **PRIVATE_GIT}
    subprocess.run(["git", "apply"], cwd=tmp_path, input=done.stdout, env=environment, check=True)
    assert (tmp_path / "latin").read_bytes() == b"caf\xe9\nc\n"
    assert (tmp_path / "binary").read_bytes() == b"a\0c"
    assert (tmp_path / "moved there").read_text() == "moved\n" * 20
    assert (tmp_path / "esc").read_bytes() == b"\x1b[31mred\tend\n"
    assert b"made/empty (empty folder)" in done.stderr


@pytest.mark.parametrize("format", ["rich", "plain"])
def test_on_a_terminal_what_stands_in_files_cannot_speak(project: Path, format: str) -> None:
    ours, theirs = pty.openpty()
    command = [
        sys.executable,
        "-m",
        "mulligan",
        "plan",
        "diff",
        "work",
        "--from",
        "middle",
        "--format",
        format,
    ]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    environment.pop("NO_COLOR", None)
    subprocess.run(command, cwd=project, stdout=theirs, stderr=theirs, env=environment, check=True)
    os.close(theirs)
    shown = os.read(ours, 100_000)
    os.close(ours)
    assert b"\x1b[31mred" not in shown
    assert b"+\\x1b[31mred" in shown
    assert (b"\x1b[32m+\\x1b" in shown) == (format == "rich"), "what was added is green"
    assert (b"1 file differs" in shown) == (format == "rich")


def test_any_two_checkpoints(project: Path) -> None:
    between = _json(project, "checkpoint", "diff", "middle", "latest")["data"]
    assert [f["path"] for f in between["files"]] == ["esc"], "a label is the newest plan's before any other's"
    assert between["old"]["label"] == "middle"
    back = _json(project, "checkpoint", "diff", "latest", "middle")["data"]
    assert [(f["path"], f["status"]) for f in back["files"]] == [("esc", "deleted")]
    from_middle = _json(project, "plan", "diff", "work", "--from", "middle")["data"]
    assert from_middle == between
    to_middle = _json(project, "plan", "diff", "--to", "middle")["data"]["files"]
    assert "esc" not in {f["path"] for f in to_middle}


def test_nothing_differs(project: Path) -> None:
    done = _run(project, "checkpoint", "diff", "latest", "latest")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"note: nothing differs\n")
    document = _json(project, "checkpoint", "diff", "latest", "latest")
    assert (document["data"]["files"], document["data"]["patch"]) == ([], "")


def test_groups_are_compared_in_all_their_resources(project: Path, tmp_path: Path) -> None:
    data = _json(project, "plan", "diff", "two")["data"]
    assert [(f["resource"], f["path"], f["status"]) for f in data["files"]] == [
        ("left", "file", "added"),
        ("right", "file", "modified"),
    ]
    assert "+++ b/left/file\n" in data["patch"]
    assert "+++ b/right/file\n" in data["patch"]
    first = data["old"]["group_id"]
    _run(project, "checkpoint", "restore", first, "--to", str(tmp_path / "out"))
    environment = {**os.environ, **PRIVATE_GIT}
    apply = ["git", "apply"]
    subprocess.run(apply, cwd=tmp_path / "out", input=data["patch"].encode(), env=environment, check=True)
    assert (tmp_path / "out" / "left" / "file").read_text() == "new\n"


def test_a_checkpoint_is_compared_with_the_one_of_its_resource(project: Path) -> None:
    listed = _json(project, "checkpoint", "list", "two")["data"]["checkpoints"]
    left, right = listed[:2]
    last = listed[-1]["group_id"]
    one = _json(project, "checkpoint", "diff", left["checkpoint_id"], last)["data"]
    assert [(f["resource"], f["path"]) for f in one["files"]] == [("left", "file")]
    assert "+++ b/file\n" in one["patch"], "one resource needs no folder of its own"
    assert (one["old"]["checkpoint_id"], one["new"]["checkpoint_id"]) == (left["checkpoint_id"], None)
    unlike = _json(project, "checkpoint", "diff", left["checkpoint_id"], right["checkpoint_id"], code=3)
    assert unlike["error"]["kind"] == "checkpoints_unlike"
    assert (unlike["error"]["old_resource"], unlike["error"]["new_resource"]) == ("left", "right")


def test_checkpoints_of_two_plans(project: Path) -> None:
    other = _json(project, "checkpoint", "list", "two")["data"]["checkpoints"][0]["group_id"]
    unlike = _json(project, "checkpoint", "diff", other, "latest", code=3)
    assert unlike["error"]["kind"] == "checkpoints_unlike"
    foreign = _json(project, "plan", "diff", "work", "--from", other, code=3)["error"]
    assert (foreign["kind"], "checkpoint diff" in foreign["hint"]) == ("checkpoint_foreign", True)


def test_refusals(project: Path) -> None:
    unknown = _json(project, "checkpoint", "diff", "nowhere", "latest", code=3)["error"]
    assert (unknown["kind"], unknown["wanted"]) == ("checkpoint_not_found", "nowhere")
    prefix = _json(project, "checkpoint", "list", "work")["data"]["checkpoints"][0]["group_id"][:6]
    ambiguous = _json(project, "plan", "diff", "work", "--to", prefix, code=3)["error"]
    assert ambiguous["kind"] == "ambiguous"
    assert _json(project, "plan", "diff", "no-such-plan", code=3)["error"]["kind"] == "plan_not_found"
    none = _json(project, "plan", "diff", "work", "--correction", "x", code=3)["error"]
    assert (none["kind"], none["wanted"]) == ("correction_not_found", "x")
    both = _json(project, "plan", "diff", "--correction", "x", "--from", "first", code=2)["error"]
    assert (both["kind"], "--from" in both["message"]) == ("usage_wrong", True)
    assert _json(project, "checkpoint", "diff", "latest", code=2)["error"]["kind"] == "usage_wrong"


def test_a_plan_that_never_ran_and_a_damaged_store(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x\n")
    (tmp_path / "plan.yaml").write_text(
        "name: p\nsteps: [{name: s, tool: write_file, args: {path: file, content: y}}]\n"
    )
    _run(tmp_path, "plan", "create", "plan.yaml")
    none = _json(tmp_path, "plan", "diff", code=3)["error"]
    assert (none["kind"], "plan execute" in none["hint"]) == ("checkpoint_not_found", True)
    _run(tmp_path, "plan", "execute", "p")
    assert _json(tmp_path, "plan", "diff")["data"]["files"][0]["path"] == "file"
    for pack in (home_of(tmp_path) / "store" / "packs").iterdir():
        pack.unlink()
    assert _json(tmp_path, "plan", "diff", code=1)["error"]["kind"] == "snapshot_damaged"


def test_plans_that_share_a_resource_can_be_compared(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "more").mkdir()
    data, more = (f"{{type: fs-directory, location: {name}}}" for name in ("data", "more"))
    write = "{name: w, tool: write_file, resource: data, args: {path: f, content: %s}}"
    steps = f"[{write}, {{name: c, checkpoint: %s}}]"
    for name, label, resources in (
        ("one", "twice", f"{{data: {data}}}"),
        ("two", "twice", f"{{data: {data}}}"),
        ("three", "once", f"{{more: {more}, data: {data}}}"),
    ):
        text = f"name: {name}\nresources: {resources}\nsteps: {steps % (name, label)}\n"
        (tmp_path / "plan.yaml").write_text(text)
        assert _run(tmp_path, "plan", "execute", "plan.yaml").returncode == 0
    one = _json(tmp_path, "plan", "diff", "one", "--to", "twice")["data"]["new"]["group_id"]
    document = _json(tmp_path, "checkpoint", "diff", one, "once")
    assert [(f["resource"], f["path"]) for f in document["data"]["files"]] == [("data", "f")]
    assert "-one\n\\ No newline at end of file\n+three\n" in document["data"]["patch"]
    assert document["messages"] == ["only once has more: not compared"]
    assert document["data"]["old"]["plan_id"] != document["data"]["new"]["plan_id"]
    ambiguous = _json(tmp_path, "checkpoint", "diff", "twice", "latest", code=3)["error"]
    assert ambiguous["kind"] == "ambiguous"
