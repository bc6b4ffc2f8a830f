"""Plans over git checkouts, through the program: the user's repository is not touched, whatever the steps do."""

import json
import os
from pathlib import Path

import pytest

from tests.commands.program import ask, data_of
from tests.support.git_checkouts import configured, linked_worktree, plain, submodules
from tests.support.git_world import GIT_ENVIRONMENT, repository_picture, run_git, unlike

# All that an agent may do to a repository; `|| true` where the state of the checkout may forbid it.
HOSTILE = [
    "git stash -u; git stash list",
    "git stash pop || git stash drop || true",
    "git add -A; git -c commit.gpgSign=false commit -q -m agent; git commit -q --amend -m again --allow-empty",
    "git branch -f other HEAD~1; git branch -D other || true; git tag -f v1 HEAD~0; git tag -d v1",
    "git config user.email agent@example.com; git config --unset-all core.bare || true; git config core.bare false",
    "git worktree add -q ../another HEAD; git worktree list",
    # At the real path, what is there of a project home in the checkout cannot be removed.
    "git checkout -q -b topic; git reset -q --hard HEAD~1; git clean -qfdx || test -d .mulligan",
    "git update-ref -d refs/heads/main; git symbolic-ref HEAD refs/heads/nowhere",
    "printf '#!/bin/sh\\nexit 1\\n' > .git/hooks/pre-commit; chmod 755 .git/hooks/pre-commit; rm -f .git/info/exclude",
    "git reflog expire --expire=now --all; git gc -q --prune=now; git pack-refs --all --prune",
    "git fsck || true; rm -rf .git/refs .git/index",
]


@pytest.fixture(autouse=True)
def _own_git(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", GIT_ENVIRONMENT["GIT_CONFIG_GLOBAL"])
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


def plan_file(folder: Path, *commands: str, **more: object) -> str:
    steps = [{"name": f"s{n}", "tool": "shell", "args": {"command": c}} for n, c in enumerate(commands)]
    path = folder / "plan.yaml"
    path.write_text(json.dumps({"name": "agent", "steps": steps, **more}))
    return str(path)


@pytest.mark.parametrize("name", [":!kept", ":(top)", "::"])
def test_names_that_git_reads_as_pathspecs_are_names(tmp_path: Path, name: str) -> None:
    top = plain(tmp_path / "user")
    (top / name).write_text("one\n")
    run_git(top, "add", "-A")
    run_git(top, "commit", "-qm", "odd names")
    (top / ".gitignore").write_text(f"{name}.log\n")
    data_of(top, "run", "--", "sh", "-c", f"echo two >> '{name}'; echo x > '{name}.log'")
    patch = data_of(top, "diff")
    assert [each["path"] for each in patch["files"]] == [name, f"{name}.log"]
    data_of(top, "apply", "--yes")
    assert run_git(top, "show", "--format=", "--name-only", "-z", "HEAD") == f"{name}\0"
    assert (top / name).read_text() == "one\ntwo\n"
    data_of(top, "undo", "--yes")
    data_of(top, "restore", "--yes", "@3", "--", name)
    assert (top / name).read_text() == "one\ntwo\n"


def test_a_list_of_lenders_that_a_step_wrote_counts_for_nothing(tmp_path: Path) -> None:
    """Neither the real folder is shown to the next step, nor another repository's list changed."""
    top, other = plain(tmp_path / "user"), tmp_path / "other"
    run_git(tmp_path, "clone", "-q", "--shared", str(top), str(other))
    (top / "secret").write_text("secret")
    theirs = other / ".git" / "objects" / "info"
    before = repository_picture(other)
    data_of(
        top, "run", "--name", "a", "--", "sh", "-c", f"echo {top} >> .git/objects/info/alternates; rm secret"
    )
    look = (
        "cat .git/objects/info/alternates | while read d; do test ! -e $d/secret || exit 9; done; git log -1"
    )
    move = f"mv .git/objects/info aside && ln -s {theirs} .git/objects/info"
    data_of(top, "run", "--on", "a", "--", "sh", "-c", f"{{ {look}; }} && {move}")
    data_of(top, "run", "--on", "a", "--", "true")
    assert unlike(repository_picture(other), before) == {}
    assert (theirs / "alternates").read_text() == f"{top}/.git/objects\n"


@pytest.mark.parametrize("at", ["real-path", "own-path"])
@pytest.mark.parametrize("made", [plain, linked_worktree, submodules, configured])
def test_the_users_repository_is_untouched_by_execute_rollback_and_cancel(
    tmp_path: Path, made, at: str
) -> None:
    top = made(tmp_path / "user")
    data_of(top, "init")
    run_git(top, "status")
    before = repository_picture(top)
    status = run_git(top, "status", "--porcelain=v2", "--branch", GIT_OPTIONAL_LOCKS="0")
    config = {"sandbox.cleanup": "on_terminal", "sandbox.at": at}
    plan = data_of(top, "plan", "execute", plan_file(tmp_path, *HOSTILE, config=config))
    assert plan["state"] == "complete"
    assert unlike(repository_picture(top), before) == {}
    (sandbox,) = plan["sandboxes"]
    assert (sandbox["strategy"], Path(sandbox["path"]).is_dir()) == ("git_worktree", True)
    for target in ("first", "latest"):
        data_of(top, "plan", "rollback", "--yes", plan["plan_id"], target)
        assert run_git(top, "status", "--porcelain=v2", "--branch", GIT_OPTIONAL_LOCKS="0") == status
        assert unlike(repository_picture(top), before) == {}
    there = Path(sandbox["path"])
    assert run_git(there, "status", "--porcelain=v2", "--branch") == status
    pins = run_git(top, "for-each-ref", "refs/mulligan", "--format=%(refname)").split()
    assert pins
    assert all(pin.startswith(f"refs/mulligan/{plan['plan_id']}/") for pin in pins)
    data_of(top, "plan", "cancel", plan["plan_id"])
    assert not there.exists()
    assert not Path(sandbox["git_dir"]).exists()
    assert unlike(repository_picture(top, pins=True), before) == {}


def test_each_checkpoint_is_a_commit_that_git_tools_read(tmp_path: Path) -> None:
    top = plain(tmp_path / "user")
    plan = data_of(
        top,
        "plan",
        "execute",
        plan_file(tmp_path, "echo one > one", "git add one; git commit -qm one; echo two > two"),
    )
    bare = Path(plan["sandboxes"][0]["git_dir"])
    assert plan["sandboxes"][0]["branch"] == "main"
    found = data_of(top, "checkpoint", "list", plan["plan_id"])["checkpoints"]
    for before, entry in zip([None, *found], found, strict=False):
        commit = run_git(bare, "rev-parse", f"refs/checkpoints/{entry['checkpoint_id']}").strip()
        assert commit == entry["sandbox_ref"]
        parent = run_git(bare, "log", "-1", "--format=%P", commit).strip()
        assert parent == (before["sandbox_ref"] if before else "")
    log = run_git(bare, "log", "--format=%an", found[-1]["sandbox_ref"]).split()
    assert log == ["mulligan"] * len(found)
    changed = run_git(bare, "diff", "--name-only", found[0]["sandbox_ref"], found[-1]["sandbox_ref"]).split()
    assert changed == ["one", "two"]


def test_rolling_back_and_forward_brings_commits_and_refs(tmp_path: Path) -> None:
    top = plain(tmp_path / "user")
    steps = (
        "git add -A; git commit -q -m agent",
        "git tag made; git checkout -q --detach",
        "git branch -D other",
    )
    plan = data_of(top, "plan", "execute", plan_file(tmp_path, *steps))
    there, plan_id = Path(plan["sandboxes"][0]["path"]), plan["plan_id"]
    after = run_git(there, "for-each-ref") + run_git(there, "status")
    back = data_of(top, "plan", "rollback", "--yes", plan_id, "first")
    assert run_git(there, "log", "--format=%s") == "first\n"
    assert run_git(there, "tag") == "v1\n"
    assert (".git/HEAD", "restored") in {(c["file"], c["action"]) for c in back["changes_reverted"]}
    forward = back["post_rollback_state"]["pre_rollback_checkpoint"]
    data_of(top, "plan", "rollback", "--yes", plan_id, forward)
    assert run_git(there, "for-each-ref") + run_git(there, "status") == after


def test_settings_and_from_reach_the_sandbox(tmp_path: Path) -> None:
    top = plain(tmp_path / "user")
    config = {"sandbox.include-ignored": False}
    plan = data_of(top, "plan", "execute", plan_file(tmp_path, "ls -a", config=config))
    assert not (Path(plan["sandboxes"][0]["path"]) / "noise.log").exists()
    resources = {"app": {"type": "git-checkout", "location": ".", "from": "v1"}}
    plan = data_of(top, "plan", "execute", plan_file(tmp_path, "git status --porcelain", resources=resources))
    assert run_git(Path(plan["sandboxes"][0]["path"]), "status", "--porcelain") == ""
    resources["app"]["from"] = "nowhere"
    refused = ask(top, "plan", "execute", plan_file(tmp_path, "true", resources=resources))
    assert (refused["exit_code"], refused["error"]["kind"]) == (3, "resource_unsuitable")


def test_exports_have_no_git_directory_and_pruned_commits_go(tmp_path: Path) -> None:
    top = plain(tmp_path / "user")
    plan = data_of(top, "plan", "execute", plan_file(tmp_path, *(f"echo {n} > n" for n in range(6))))
    data_of(top, "checkpoint", "restore", plan["last_checkpoint_id"], "--to", str(tmp_path / "out"))
    assert (tmp_path / "out" / "n").read_text() == "5\n"
    assert not (tmp_path / "out" / ".git").exists()
    data_of(top, "checkpoint", "prune", plan["plan_id"], "--keep", "3")
    bare = Path(plan["sandboxes"][0]["git_dir"])
    kept = data_of(top, "checkpoint", "list", plan["plan_id"])["checkpoints"]
    listed = run_git(bare, "for-each-ref", "--format=%(objectname)", "refs/checkpoints").split()
    assert sorted(listed) == sorted(entry["sandbox_ref"] for entry in kept)
    assert run_git(bare, "fsck", "--no-dangling") == ""
