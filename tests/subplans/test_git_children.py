"""Child plans over git checkouts: files are merged, what each did with git stays its own."""

import os
import subprocess
from pathlib import Path

import pytest

from mulligan.domain.plans.plan import State
from mulligan.errors import NotBuiltYet
from tests.subplans.families import Family, children, shell

GIT = {"GIT_CONFIG_GLOBAL": "/dev/null", "HOME": "/nonexistent", "PATH": os.environ["PATH"]}
ME = ("-c", "user.name=me", "-c", "user.email=me@example.org")


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ("git", *ME, *words), cwd=folder, env=GIT, check=True, capture_output=True, text=True
    )
    return done.stdout


@pytest.fixture
def checkout(family: Family) -> Family:
    git(family.real, "init", "-q", "-b", "main")
    (family.real / ".gitignore").write_text("ignored\n")
    git(family.real, "add", "-A")
    git(family.real, "commit", "-q", "-m", "start")
    (family.real / "untracked").write_text("untracked\n")
    return family


def resources(**more: object) -> dict[str, object]:
    return {"d": {"type": "git-checkout", "location": "d", **more}}


def test_many_children_at_once(checkout: Family) -> None:
    before = git(checkout.real, "for-each-ref")
    commit = "git -c user.name=c -c user.email=c@example.org commit -q -m"
    parts = {
        name: [
            shell(
                f"echo {name} > {name}; sed -i 's/^line {line}$/{name}/' text; echo {name} >> ignored-{name}"
            ),
            shell(f"git add -A && {commit} by-{name} && git branch of-{name} && git status --porcelain"),
        ]
        for line, name in ((1, "a"), (4, "b"), (7, "c"), (9, "d"))
    }
    plan = checkout.write(
        shell("git status --porcelain > seen", "look"), children(parts), resources=resources()
    )

    status, execution = checkout.project().run(plan)

    assert status.state is State.COMPLETE
    top = checkout.sandbox()
    assert {"a", "b", "c", "d", "ignored-a"} <= set(os.listdir(top))
    assert (top / "text").read_text().splitlines()[::3] == ["a", "b", "c"]
    assert git(top, "log", "--format=%s").split() == ["start"]
    assert git(top, "branch", "--format=%(refname:short)").split() == ["main"]
    assert " M text" in git(top, "status", "--porcelain").splitlines()
    assert git(checkout.sandbox("a"), "log", "--format=%s").split() == ["by-a", "start"]
    assert any("a: d: only files are merged" in m and "refs/heads/of-a" in m for m in execution.messages)
    assert git(checkout.real, "status", "--porcelain") == "?? untracked\n"
    checkout.project().rollback("p", "first")
    checkout.project().cancel("p")
    checkout.project().gc()
    pins = {line.split()[-1] for line in git(checkout.real, "for-each-ref").splitlines()}
    own = {line.split()[-1] for line in before.splitlines()}
    assert all(status.plan_id in ref for ref in pins - own)  # of the children none is left


def test_a_plan_that_works_in_place_on_a_checkout_has_no_children(checkout: Family) -> None:
    plan = checkout.write(children({"a": [shell("true")]}), resources=resources(strategy="in_place"))
    with pytest.raises(NotBuiltYet, match="works in place on a git checkout"):
        checkout.project().execute(plan)
    assert list(checkout.project().plans()) == []
