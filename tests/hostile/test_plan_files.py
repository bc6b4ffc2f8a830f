"""Plan files that mean harm: each is refused at its place, in bounded time and memory, and nothing is recorded."""

import os
from pathlib import Path

import pytest

from tests.hostile.program import refused, say

# ruff: noqa: E501  one harm a line
STEPS = "steps: [{name: s, tool: shell, args: {command: 'true'}}]\n"
LAUGHS = "\n".join(
    ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    + [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 10)]
)
DEEP = "{a: " * 50_000
FILES: dict[str, str | bytes] = {
    "nothing": "",
    "nested without end": f"name: p\nmetadata: {DEEP}",
    "lists without end": f"name: p\nsteps: {'[' * 100_000}",
    "too large": b"#" * (1 << 20) + b"\nname: p\n",
    "a billion laughs": f"{LAUGHS}\nname: p\n{STEPS}",
    "an alias of itself": f"name: &n [*n]\n{STEPS}",
    "a tag that builds objects": f"name: !!python/object/apply:os.system ['touch pwned']\n{STEPS}",
    "a key twice": f"name: p\nname: q\n{STEPS}",
    "merge keys": f"name: p\n<<: {{name: q}}\n{STEPS}",
    "NUL": b"name: p\0\n" + STEPS.encode(),
    "an escaped NUL": f'name: "p\\0"\n{STEPS}',
    "an escape sequence": b"name: \x1b[31mred\n" + STEPS.encode(),
    "an escaped escape sequence": f'name: "\\e[31mred"\n{STEPS}',
    "text that turns around": f'name: "p\\u202eq"\n{STEPS}',
    "half a character": f'name: "\\ud800"\n{STEPS}',
    "not UTF-8": b"name: \xff\n" + STEPS.encode(),
    "UTF-16": f"name: p\n{STEPS}".encode("utf-16"),
    "UTF-32": f"name: p\n{STEPS}".encode("utf-32"),
    "two documents": f"name: p\n{STEPS}---\nname: q\n",
    "a list": "[name, p]",
    "a name that is a list": f"name: [p]\n{STEPS}",
    "a name that is a number too long to be one": f"name: p\nvariables: {{n: {'9' * 10_000}}}\nsteps: {'9' * 10_000}\n",
    "steps that are text": "name: p\nsteps: all of them\n",
    "retries without end": "name: p\nsteps: [{name: s, tool: shell, retries: 1.0e+400, args: {command: 'true'}}]\n",
    "retries by the billion": f"name: p\nsteps: [{{name: s, tool: shell, retries: {'9' * 5000}, args: {{command: x}}}}]\n",
    "a timeout that is no number": "name: p\nsteps: [{name: s, tool: shell, timeout: .nan, args: {command: 'true'}}]\n",
    "an endless timeout": "name: p\nsteps: [{name: s, tool: shell, timeout: .inf, args: {command: 'true'}}]\n",
    "a setting that is nonsense": f"name: p\nconfig: {{checkpoint.limit: -9}}\n{STEPS}",
    "a name that is too long": f"name: {'n' * 100_000}\n{STEPS}",
    "a name of spaces": f"name: '   '\n{STEPS}",
    "a resource that climbs out by name": f"name: p\nresources: {{../../x: {{type: fs-directory, location: code}}}}\n{STEPS}",
    "a resource above": f"name: p\nresources: {{r: {{type: fs-directory, location: ../..}}}}\n{STEPS}",
    "a resource at the root": f"name: p\nresources: {{r: {{type: fs-directory, location: /}}}}\n{STEPS}",
    "a resource with NUL": f'name: p\nresources: {{r: {{type: fs-directory, location: "a\\0b"}}}}\n{STEPS}',
    "a resource in the home": f"name: p\nresources: {{r: {{type: fs-directory, location: .mulligan}}}}\n{STEPS}",
    "a resource that a link leads to": f"name: p\nresources: {{r: {{type: fs-directory, location: way-out}}}}\n{STEPS}",
    "a database that a link leads to": f"name: p\nresources: {{r: {{type: sqlite, location: way-out/x.db, create: true}}}}\n{STEPS}",
    "a revision that is an option": "name: p\nresources: {r: {type: git-checkout, location: code, from: --help}}\n" + STEPS,
    "a tool that is a path": "name: p\nsteps: [{name: s, tool: ../../bin/sh, args: {}}]\n",
    "a checkpoint label that speaks": 'name: p\nsteps: [{name: s, checkpoint: "\\e]0;title\\a"}]\n',
}  # fmt: skip


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("outside") / "project"
    (folder / "code").mkdir(parents=True)
    (folder / "way-out").symlink_to(folder.parent)
    assert say(folder, "init").code == 0
    return folder


@pytest.mark.parametrize("what", FILES)
def test_it_is_refused(project: Path, what: str) -> None:
    text = FILES[what]
    (project / "plan.yaml").write_bytes(
        text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    )
    outside = sorted(os.listdir(project.parent))
    error = refused(project, ("plan", "execute", "plan.yaml"), 2, 3)
    assert len(error["message"]) < 2000, "a message is for people"
    assert say(project, "plan", "list").document["data"]["plans"] == []
    assert sorted(os.listdir(project.parent)) == outside
    assert not (project / "pwned").exists()


def test_a_byte_order_mark_is_no_harm(project: Path) -> None:
    (project / "bom.yaml").write_bytes(b"\xef\xbb\xbf" + f"name: bom\n{STEPS}".encode())
    assert say(project, "--project", ".", "plan", "create", "bom.yaml").code == 0
    assert say(project, "plan", "cancel", "bom").code == 0


@pytest.mark.parametrize("what", ["a folder", "a device", "a link to itself", "nothing there"])
def test_what_is_no_file_is_refused(project: Path, what: str) -> None:
    file = project / "odd.yaml"
    make = {
        "a folder": file.mkdir,
        "a device": lambda: file.symlink_to("/dev/zero"),
        "a link to itself": lambda: file.symlink_to(file),
        "nothing there": lambda: None,
    }
    make[what]()
    try:
        refused(project, ("plan", "create", "odd.yaml"), 1, 2)
    finally:
        file.rmdir() if file.is_dir() else file.unlink(missing_ok=True)
