"""Plans on branches of remote repositories: they start from the branch, and an apply is one commit that is pushed."""

import shutil
from pathlib import Path

import pytest

import mulligan
from mulligan.boundaries import watch
from mulligan.errors import UsageWrong
from tests.remotes.remote_world import RemoteWorld
from tests.support.git_world import run_git


def test_an_apply_pushes_one_commit(world: RemoteWorld) -> None:
    sandbox = world.executed("git log --format=%s > log.txt", "rm log.txt; echo four >> notes.txt")
    assert run_git(sandbox, "branch", "--show-current").strip() == "main"
    before = world.tip()
    dry = world.data("apply", "--dry-run", "edit")
    assert [each["files"] for each in dry["applied"]] == [1]
    assert world.tip() == before
    done = world.data("apply", "--yes", "edit")
    assert (done["state"], done["applied"][0]["commit"]) == ("applied", world.tip())
    assert run_git(world.server, "rev-parse", "main~").strip() == before
    assert world.commits() == ["edit", "of others"]
    assert world.text() == "one\ntwo\nthree\nfour\n"
    assert not sandbox.exists()


def test_what_others_pushed_since_is_merged(world: RemoteWorld) -> None:
    world.executed("echo four >> notes.txt")
    world.push({"notes.txt": "zero\none\ntwo\nthree\n", "theirs.txt": "theirs\n"})
    world.data("apply", "--yes", "edit")
    assert world.text() == "zero\none\ntwo\nthree\nfour\n"
    assert world.text("theirs.txt") == "theirs\n"
    assert world.commits() == ["edit", "of others", "of others"]


def test_the_same_lines_are_a_conflict(world: RemoteWorld) -> None:
    world.executed("sed -i s/two/mine/ notes.txt")
    tip = world.push({"notes.txt": "one\ntheirs\nthree\n"})
    refused = world.ask("apply", "--yes", "edit")
    assert (refused["exit_code"], refused["error"]["kind"]) == (4, "apply_conflicted")
    assert world.tip() == tip
    world.push({"notes.txt": "one\ntwo\nthree\n"})
    world.data("apply", "--yes", "edit")
    assert world.text() == "one\nmine\nthree\n"


@pytest.mark.parametrize("moment", ["apply.ready", "ref.push"])
def test_a_branch_that_moves_meanwhile_is_a_conflict(world: RemoteWorld, moment: str) -> None:
    world.executed("echo four >> notes.txt")
    pushed: list[str] = []

    def push(when: str, name: str) -> None:
        if (when, name) == ("before", moment) and not pushed:
            pushed.append(world.push({"theirs.txt": "theirs\n"}))

    watch(push)
    try:
        refused = world.ask("apply", "--yes", "edit")
    finally:
        watch(None)
    assert pushed
    assert (refused["exit_code"], refused["error"]["kind"]) == (4, "remote_moved")
    assert refused["error"]["branch"] == "main"
    assert [world.tip()] == pushed
    assert world.data("status", "edit")["state"] == "complete"
    world.data("apply", "--yes", "edit")
    assert world.commits() == ["edit", "of others", "of others"]


def test_an_undo_pushes_a_commit_that_reverts_it_and_a_redo_another(world: RemoteWorld) -> None:
    world.executed("echo four >> notes.txt")
    world.data("apply", "--yes", "edit")
    world.push({"theirs.txt": "theirs\n"})
    world.data("undo", "--yes")
    assert world.text() == "one\ntwo\nthree\n"
    assert world.text("theirs.txt") == "theirs\n"
    assert world.commits()[0] == 'Revert "edit"'
    world.data("redo", "--yes")
    assert world.text() == "one\ntwo\nthree\nfour\n"
    assert len(world.commits()) == 5, "nothing that was pushed is taken out of the branch"
    world.data("unapply", "--yes", "edit")
    assert world.text() == "one\ntwo\nthree\n"


def test_a_server_that_refuses_the_push_is_named_and_everything_is_as_before(world: RemoteWorld) -> None:
    (world.project / "here").mkdir()
    (world.project / "here" / "a.txt").write_text("a\n")
    here = {"type": "fs-directory", "location": "here"}
    world.write(
        [
            {"run": "echo four >> notes.txt", "resource": "site"},
            {"run": "echo b > a.txt", "resource": "here"},
        ],
        site=world.resource(),
        here=here,
    )
    world.data("plan", "execute", "plan.yaml")
    world.hook("pre-receive", "echo this branch is protected >&2; exit 1")
    tip = world.tip()
    refused = world.ask("apply", "--yes", "edit")
    assert (refused["exit_code"], refused["error"]["kind"]) == (3, "remote_refused")
    assert "protected" in refused["error"]["reason"]
    assert (world.project / "here" / "a.txt").read_text() == "a\n"
    assert world.tip() == tip
    world.hook("pre-receive", "exit 0")
    world.data("apply", "--yes", "edit")
    assert (world.project / "here" / "a.txt").read_text() == "b\n"
    assert world.text() == "one\ntwo\nthree\nfour\n"


def test_a_server_that_is_away_is_named(world: RemoteWorld) -> None:
    world.executed("echo four >> notes.txt")
    away = world.server.rename(world.root / "away.git")
    refused = world.ask("apply", "--yes", "edit")
    assert (refused["exit_code"], refused["error"]["kind"]) == (1, "remote_unreachable")
    assert refused["error"]["url"] == str(world.server)
    world.plan("true")
    assert world.ask("plan", "execute", "plan.yaml")["error"]["kind"] == "remote_unreachable"
    away.rename(world.server)
    world.data("apply", "--yes", "edit")
    assert world.commits()[0] == "edit"


def test_a_branch_that_is_not_there_is_refused_before_anything_is_recorded(world: RemoteWorld) -> None:
    world.plan("true", site=world.resource("release"))
    refused = world.ask("plan", "execute", "plan.yaml")
    assert (refused["exit_code"], refused["error"]["kind"]) == (3, "resource_unsuitable")
    assert world.data("list")["plans"] == []
    world.push({"notes.txt": "of the release\n"}, branch="release")
    world.executed("echo more >> notes.txt", site=world.resource("refs/heads/release"))
    world.data("apply", "--yes", "edit")
    assert world.text(branch="release") == "of the release\nmore\n"
    assert world.commits() == ["of others"]


def test_a_clone_that_is_deleted_is_made_again(world: RemoteWorld) -> None:
    world.plan("echo four >> notes.txt", f"test -e {world.root}/go && git log --format=%s > log.txt")
    assert world.ask("plan", "execute", "plan.yaml")["exit_code"] == 1
    [clone] = world.clones()
    shutil.rmtree(clone)
    (world.root / "go").touch()
    assert world.data("resume", "edit")["state"] == "complete"
    [clone] = world.clones()
    assert (world.sandbox() / "log.txt").read_text() == "of others\n"
    shutil.rmtree(clone)
    world.data("apply", "--yes", "edit")
    assert world.text() == "one\ntwo\nthree\nfour\n"
    assert all(each["repaired"] for each in world.data("doctor")["findings"])


def test_a_rollback_and_children_work_as_in_a_checkout(world: RemoteWorld) -> None:
    kids = [{"name": f"k{n}", "steps": [{"run": f"echo {n} > kid-{n}.txt"}]} for n in (1, 2)]
    world.write(
        [
            {"run": "echo four >> notes.txt; git commit -qam mine"},
            {"subplans": {"mode": "parallel", "plans": kids}},
        ]
    )
    world.data("plan", "execute", "plan.yaml")
    sandbox = world.sandbox()
    assert {each.name for each in sandbox.iterdir()} >= {"kid-1.txt", "kid-2.txt"}
    world.data("plan", "rollback", "--yes", "edit", "@2")
    assert run_git(sandbox, "log", "--format=%s").splitlines() == ["of others"]
    world.data("resume", "edit")
    world.data("apply", "--yes", "--message", "all of it", "edit")
    assert world.commits() == ["all of it", "of others"]
    assert (world.text("kid-1.txt"), world.text("kid-2.txt")) == ("1\n", "2\n")


def test_an_apply_without_a_commit_is_refused(world: RemoteWorld) -> None:
    world.executed("echo four >> notes.txt")
    refused = world.ask("apply", "--yes", "--no-commit", "edit")
    assert (refused["exit_code"], refused["error"]["kind"]) == (2, "usage_wrong")
    assert world.commits() == ["of others"]


def test_nothing_to_apply_pushes_nothing(world: RemoteWorld) -> None:
    world.executed("true")
    tip = world.tip()
    assert world.data("apply", "--yes", "edit")["state"] == "applied"
    assert world.tip() == tip


def test_a_session_works_on_one(world: RemoteWorld) -> None:
    project = mulligan.open(world.project)
    site = mulligan.git_remote(str(world.server), "main")
    with project.session("tidy", resources={"site": site}) as session, session.step("edit"):
        (Path(session.path("site")) / "notes.txt").write_text("of a session\n")
    world.data("apply", "--yes", "tidy")
    assert world.text() == "of a session\n"


@pytest.mark.parametrize(
    ("url", "ref"),
    [
        ("https://me:secret@host/x.git", "main"),
        ("ext::sh -c true", "main"),
        ("-x", "main"),
        ("relative/path", "main"),
        ("https:///x.git", "main"),
        ("/x.git", "refs/tags/v1"),
        ("/x.git", "a..b"),
        ("/x.git", ""),
        ("/" + "x" * 250, "main"),
    ],
)
def test_addresses_and_branches_that_cannot_be_are_refused(url: str, ref: str) -> None:
    with pytest.raises(UsageWrong) as refused:
        mulligan.git_remote(url, ref)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    "url", ["https://host/x.git", "me@host:x/y.git", "ssh://me@host:22/x", "git://host/x", "file:///x.git"]
)
def test_what_git_can_clone_is_taken(url: str) -> None:
    assert mulligan.git_remote(url, "refs/heads/a/b") == mulligan.git_remote(url, "a/b")
