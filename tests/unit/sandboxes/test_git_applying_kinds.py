"""Applying to git checkouts of every make: filters, modes, links, flags of the index, repositories inside."""

import os
from pathlib import Path

import pytest

from mulligan.errors import CheckoutUnready, NextStep, NotBuiltYet
from tests.support.applying_world import Checkout, lines, write
from tests.support.git_checkouts import CHECKOUTS
from tests.support.git_world import run_git
from tests.support.snapshot_world import Watcher

SAME, PLANNED = lines(), lines("9 plan")
REFUSED = {
    "detached",
    "merge half done",
    "rebase half done",
    "submodules",
    "inner repository",
    "worktree inside",
}


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout.made(
        tmp_path, {"text": SAME, "run": "#!/bin/sh\n", "word.up": "WORD\n", "dos": "one\ntwo\n"}
    )


def _state(top: Path) -> tuple[str, str]:
    return run_git(top, "diff", "--cached", "--no-renames"), run_git(top, "diff", "--no-renames")


@pytest.mark.parametrize("name", sorted(CHECKOUTS))
def test_what_was_staged_and_what_was_not_stays_so(name: str, tmp_path: Path) -> None:
    top = CHECKOUTS[name](tmp_path)
    checkout = Checkout(tmp_path, top)
    sandbox = checkout.start()
    plan = {
        "by the plan": "new\n",
        "deep/er/new": "new\n",
        "sub/file5": None if (top / "sub/file5").exists() else "x\n",
    }
    plan = {path: text for path, text in plan.items() if name != "without anything" or text}
    if name in REFUSED - {"detached", "merge half done", "rebase half done"}:
        plan = {path: text for path, text in plan.items() if path != "sub/file5"}
    write(sandbox, plan)
    if name in {"detached", "merge half done", "rebase half done"}:
        with pytest.raises(CheckoutUnready):
            checkout.apply(plan)
        return
    before = _state(top)
    applied = checkout.apply(plan)
    assert applied.composed.commit == run_git(top, "rev-parse", "HEAD").strip()
    if "sub/file5: " not in "".join(applied.composed.uncommitted):
        assert _state(top) == before
    assert run_git(top, "show", "HEAD:by the plan") == "new\n"
    assert "by the plan" not in run_git(top, "status", "--porcelain")


def test_filters_and_line_ends_are_those_of_the_user(checkout: Checkout) -> None:
    top = checkout.top
    run_git(top, "config", "filter.upper.clean", "tr a-z A-Z")
    run_git(top, "config", "filter.upper.smudge", "tr A-Z a-z")
    run_git(top, "config", "core.autocrlf", "true")
    write(top, {".gitattributes": "*.up filter=upper\n"})
    run_git(top, "add", "-A")
    run_git(top, "commit", "-q", "-m", "attributes")
    write(top, {"word.up": "mine\nword\nx\ny\nz\nlast\n", "dos": b"one\r\nmine\r\nx\r\ny\r\nz\r\nlast\r\n"})
    run_git(top, "commit", "-q", "-am", "longer")
    write(
        top,
        {"word.up": "not committed\nword\nx\ny\nz\nlast\n", "dos": b"not\r\nmine\r\nx\r\ny\r\nz\r\nlast\r\n"},
    )
    sandbox = checkout.start()
    run_git(top, "config", "core.safecrlf", "true")
    plan = {
        "word.up": "not committed\nword\nx\ny\nz\nplan\n",
        "dos": b"not\r\nmine\r\nx\r\ny\r\nz\r\nplan\r\n",
        "new.up": "new\n",
        "new dos": b"a\r\nb\r\n",
        "odd\nname.up": "odd\n",
        '"quoted.up': "quoted\n",
        "sub/.gitattributes": b"*.up -filter\r\n",
        "sub/raw.up": "raw\n",
    }
    write(sandbox, plan)
    applied = checkout.apply(plan)
    assert applied.head("word.up") == "MINE\nWORD\nX\nY\nZ\nPLAN\n"
    assert applied.head("new.up") == "NEW\n"
    assert applied.head("odd\nname.up") == "ODD\n"
    assert applied.head('"quoted.up') == "QUOTED\n"
    assert applied.head("sub/raw.up") == "raw\n"
    assert applied.head("dos") == "one\nmine\nx\ny\nz\nplan\n"
    assert applied.head("new dos") == "a\nb\n"
    assert applied.status() == [" M dos", " M word.up"]
    assert (top / "dos").read_bytes() == plan["dos"]


def test_modes_links_and_large_files(checkout: Checkout) -> None:
    top = checkout.top
    sandbox = checkout.start()
    large = os.urandom(9 << 20)
    for there in (sandbox, checkout.base / "expected"):
        there.mkdir(exist_ok=True)
        (there / "link").symlink_to("text")
        (there / "large").write_bytes(large)
    (sandbox / "run").chmod(0o755)
    (sandbox / "text").chmod(0o600)
    order = checkout.apply_order({}, "modes")
    files = order.theirs.roots[0]
    composed = checkout.in_place.compose(checkout.apply_order({}, "modes", files=files))
    checkout.in_place.restore(order.real, composed.snapshot, Watcher())
    listed = run_git(top, "ls-tree", "-r", "HEAD").splitlines()
    assert [line.split()[0] for line in listed if line.endswith(("\tlink", "\trun", "\ttext"))] == [
        "120000",
        "100755",
        "100644",
    ]
    assert run_git(top, "cat-file", "-s", "HEAD:large").strip() == str(len(large))
    assert run_git(top, "status", "--porcelain") == ""
    assert composed.uncommitted == ("text: git does not keep mode 0644 to 0600",)


def test_a_mode_and_lines_of_the_user_stay_uncommitted(checkout: Checkout) -> None:
    (checkout.top / "text").chmod(0o755)
    sandbox = checkout.start()
    write(sandbox, {"text": PLANNED})
    (sandbox / "text").chmod(0o755)
    order = checkout.apply_order({}, "lines")
    composed = checkout.in_place.compose(checkout.apply_order({}, "lines", files=order.theirs.roots[0]))
    checkout.in_place.restore(order.real, composed.snapshot, Watcher())
    assert run_git(checkout.top, "ls-tree", "HEAD", "text").startswith("100644")
    assert run_git(checkout.top, "show", "HEAD:text") == PLANNED
    assert run_git(checkout.top, "diff", "--summary").strip() == "mode change 100644 => 100755 text"


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_flags_of_the_index_stay(flag: str, checkout: Checkout) -> None:
    write(checkout.top, {"text": lines("2 mine")})
    run_git(checkout.top, "update-index", flag, "text")
    flagged = run_git(checkout.top, "ls-files", "-v", "text")
    write(checkout.start(), {"text": lines("2 mine", "9 plan")})
    applied = checkout.apply({"text": lines("2 mine", "9 plan")})
    assert run_git(checkout.top, "ls-files", "-v", "text") == flagged
    assert (applied.head("text"), applied.index("text")) == (PLANNED, PLANNED)
    assert applied.status() == []


def test_binary_files_are_whole(checkout: Checkout) -> None:
    write(checkout.top, {"picture": b"\0one\n", "mine": b"\0one\n"})
    run_git(checkout.top, "add", "-A")
    run_git(checkout.top, "commit", "-q", "-m", "pictures")
    write(checkout.top, {"mine": b"\0mine\n"})
    sandbox = checkout.start()
    plan = {"picture": b"\0plan\n", "mine": b"\0mine, and the plan's\n"}
    write(sandbox, plan)
    applied = checkout.apply(plan)
    assert applied.head("picture") == "\0plan\n"
    assert applied.head("mine") == "\0one\n"
    assert applied.composed.uncommitted == ("mine: it builds on what you have not committed there",)


def test_repositories_inside_cannot_be_committed_to(checkout: Checkout) -> None:
    inner = checkout.top / "inner"
    run_git(checkout.base, "init", "-q", str(inner))
    write(inner, {"file": "inner\n"})
    sandbox = checkout.start()
    write(sandbox, {"inner/file": "plan\n", "text": PLANNED})
    plan = {"inner/file": "plan\n", "text": PLANNED}
    with pytest.raises(CheckoutUnready, match="inner/file") as refused:
        checkout.apply(plan)
    assert NextStep("again", commit=False) in refused.value.next_step.steps
    assert (inner / "file").read_text() == "inner\n"
    assert checkout.apply(plan, None).status() == [" M text", "?? inner/"]
    assert (inner / "file").read_text() == "plan\n"


def test_a_repository_that_the_plan_made_is_refused(checkout: Checkout) -> None:
    sandbox = checkout.start()
    run_git(checkout.base, "init", "-q", str(sandbox / "made"))
    write(sandbox, {"made/file": "plan\n"})
    order = checkout.apply_order({"made/file": "plan\n"}, "x")
    with pytest.raises(CheckoutUnready, match="made/file"):
        checkout.in_place.compose(order)


def test_submodules_are_refused_even_when_they_are_not_checked_out(tmp_path: Path) -> None:
    top = CHECKOUTS["submodules"](tmp_path)
    run_git(top, "submodule", "deinit", "-f", "lib/inner")
    checkout = Checkout(tmp_path, top)
    write(checkout.start(), {"lib/inner/file": "plan\n"})
    with pytest.raises(CheckoutUnready, match="lib/inner/file"):
        checkout.apply({"lib/inner/file": "plan\n"})


def test_a_git_directory_is_not_applied(checkout: Checkout) -> None:
    write(checkout.start(), {"text": PLANNED})
    with pytest.raises(NotBuiltYet, match=r"\.git/hooks/pre-commit"):
        checkout.apply({"text": PLANNED}, included=frozenset({".git/hooks/pre-commit"}))


def test_what_was_made_in_the_sandbox_is_named(checkout: Checkout) -> None:
    for name in ("old", "topic"):
        run_git(checkout.top, "branch", name)
    run_git(checkout.top, "tag", "v1")
    sandbox = checkout.start()
    write(sandbox, {"text": PLANNED})
    run_git(sandbox, "commit", "-q", "-am", "by the plan")
    run_git(sandbox, "branch", "-D", "old")
    run_git(sandbox, "branch", "new")
    run_git(sandbox, "tag", "v2")
    write(sandbox, {"text": lines("9 stashed")})
    run_git(sandbox, "stash", "-q")
    run_git(sandbox, "switch", "-q", "topic")
    write(sandbox, {"text": PLANNED, ".git/hooks/pre-commit": "#!/bin/sh\ntouch ran\n"})
    run_git(sandbox, "config", "user.email", "other@example.com")
    run_git(sandbox, "pack-refs", "--all")
    applied = checkout.apply({"text": PLANNED})
    tip = run_git(sandbox, "rev-parse", "main").strip()
    told = "\n".join(applied.composed.notes)
    assert (
        f"commits on branch main of the sandbox, now {tip[:12]}, are not carried over ({tip[:7]} by the plan)"
        in told
    )
    assert f"branch new ({tip[:12]}) was made in the sandbox and is not carried over" in told
    assert "branch old was deleted in the sandbox only" in told
    assert f"tag v2 ({tip[:12]}) was made" in told
    assert "1 stash(es)" in told
    assert "the sandbox has topic checked out" in told
    assert ".git/hooks/pre-commit was changed in the sandbox" in told
    assert ".git/config was changed in the sandbox" in told
    assert "branch topic" not in told
    assert "v1" not in told
    assert not (checkout.top / "ran").exists()
    assert run_git(checkout.top, "branch", "--format=%(refname:short)").split() == ["main", "old", "topic"]


def test_a_detached_head_in_the_sandbox_is_named(checkout: Checkout) -> None:
    sandbox = checkout.start()
    run_git(sandbox, "checkout", "-q", "--detach")
    write(sandbox, {"text": PLANNED})
    run_git(sandbox, "commit", "-q", "-am", "detached work")
    applied = checkout.apply({"text": PLANNED})
    assert "detached work" in "\n".join(applied.composed.notes)


def test_a_clean_revision_is_a_base_too(checkout: Checkout) -> None:
    run_git(checkout.top, "tag", "start")
    write(checkout.top, {"text": lines("2 later")})
    run_git(checkout.top, "commit", "-q", "-am", "later")
    write(checkout.top, {"text": lines("2 later", "5 mine")})
    sandbox = checkout.start(revision="start")
    assert (sandbox / "text").read_text() == SAME
    write(sandbox, {"text": PLANNED})
    applied = checkout.apply({"text": lines("2 later", "5 mine", "9 plan")})
    assert applied.head("text") == lines("2 later", "9 plan")
    assert applied.status() == [" M text"]


def test_a_folder_that_stays_in_the_commit_is_not_replaced(checkout: Checkout) -> None:
    """The plan made a file of a folder in which the user had deleted and changed what was committed."""
    write(checkout.top, {"folder/kept": SAME})
    run_git(checkout.top, "add", "-A")
    run_git(checkout.top, "commit", "-q", "-m", "folder")
    write(checkout.top, {"folder/kept": lines("2 mine")})
    sandbox = checkout.start()
    write(sandbox, {"folder/kept": None, "folder": "file\n"})
    applied = checkout.apply({"folder/kept": None, "folder": "file\n"})
    assert applied.head("folder/kept") == SAME
    assert [told.partition(":")[0] for told in applied.composed.uncommitted] == ["folder/kept", "folder"]
    assert applied.composed.commit is None


def test_a_file_that_stays_in_the_commit_is_no_folder(checkout: Checkout) -> None:
    write(checkout.top, {"text": None, "text/mine": "mine\n"})
    sandbox = checkout.start()
    write(sandbox, {"text/plan": "plan\n"})
    applied = checkout.apply({"text/plan": "plan\n"})
    assert applied.head("text") == SAME
    assert applied.composed.uncommitted == (
        "text/plan: your last commit or index has something else at that path",
    )


HALF_DONE = {
    "merge half done": "a merge is in progress",
    "rebase half done": "a rebase is in progress",
    "detached": "detached HEAD",
}


@pytest.mark.parametrize("name", sorted(HALF_DONE))
def test_a_checkout_in_the_middle_of_something_is_refused(name: str, tmp_path: Path) -> None:
    top = CHECKOUTS[name](tmp_path)
    checkout = Checkout(tmp_path, top)
    checkout.start()
    with pytest.raises(CheckoutUnready, match=HALF_DONE[name]):
        checkout.in_place.refuse_apply(checkout.real, commit=True)
    if name == "detached":
        checkout.in_place.refuse_apply(checkout.real, commit=False)


def test_an_index_with_conflicts_is_refused(checkout: Checkout) -> None:
    checkout.start()
    write(checkout.top, {"text": lines("2 stashed")})
    run_git(checkout.top, "stash", "-q")
    write(checkout.top, {"text": lines("2 other")})
    run_git(checkout.top, "commit", "-q", "-am", "other")
    run_git(checkout.top, "stash", "pop", check=False)
    with pytest.raises(CheckoutUnready, match="its index has conflicts: text"):
        checkout.in_place.refuse_apply(checkout.real, commit=False)


def test_somebody_must_be_the_author(tmp_path: Path) -> None:
    checkout = Checkout.made(tmp_path, {"text": SAME}, GIT_CONFIG_GLOBAL="/dev/null")
    checkout.start()
    with pytest.raises(CheckoutUnready, match="who you are"):
        checkout.in_place.refuse_apply(checkout.real, commit=True)
    checkout.in_place.refuse_apply(checkout.real, commit=False)


def test_no_hook_runs_and_nothing_is_signed(checkout: Checkout) -> None:
    for hook in ("pre-commit", "commit-msg", "post-commit", "reference-transaction", "post-index-change"):
        path = checkout.top / ".git" / "hooks" / hook
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\ntouch {checkout.base}/ran\nexit 1\n")
        path.chmod(0o755)
    run_git(checkout.top, "config", "commit.gpgSign", "true")
    run_git(checkout.top, "config", "gpg.program", "/bin/false")
    write(checkout.start(), {"text": PLANNED})
    applied = checkout.apply({"text": PLANNED})
    assert "gpgsig" not in run_git(checkout.top, "cat-file", "commit", "HEAD")
    assert applied.head("text") == PLANNED
    assert not (checkout.base / "ran").exists()


def test_the_next_status_reads_nothing_anew(checkout: Checkout) -> None:
    write(checkout.top, {"other": "mine\n"})
    write(checkout.start(), {"text": PLANNED, "new": "new\n"})
    checkout.apply({"text": PLANNED, "new": "new\n"})
    assert run_git(checkout.top, "diff-files", "--raw") == ""


def test_names_that_git_does_not_take_reach_the_working_tree_only(checkout: Checkout) -> None:
    plan = {"text": PLANNED, "sub/.GIT/config": "x\n", "git~1": "x\n"}
    write(checkout.start(), plan)
    applied = checkout.apply(plan)
    assert applied.head("text") == PLANNED
    told = [each for each in applied.composed.uncommitted if each.endswith("git takes no such name")]
    assert [each.partition(":")[0] for each in told] == ["git~1", "sub/.GIT/config"]
    assert (checkout.top / "git~1").read_text() == "x\n"


def test_a_link_where_the_commit_has_a_file_stays_uncommitted(checkout: Checkout) -> None:
    (checkout.top / "text").unlink()
    (checkout.top / "text").symlink_to("run")
    sandbox = checkout.start()
    (sandbox / "text").unlink()
    (sandbox / "text").symlink_to("dos")
    order = checkout.apply_order({}, "link")
    composed = checkout.in_place.compose(checkout.apply_order({}, "link", files=order.theirs.roots[0]))
    assert composed.uncommitted == ("text: it builds on what you have not committed there",)
    assert composed.commit is None


def test_a_name_that_the_commit_still_has_is_not_taken(checkout: Checkout) -> None:
    """The plan gave a file with uncommitted lines the name of one whose deletion is not committed."""
    write(checkout.top, {"text": lines("2 mine"), "run": None})
    write(checkout.start(), {"text": None, "run": lines("2 mine")})
    applied = checkout.apply({"text": None, "run": lines("2 mine")})
    assert (applied.head("text"), applied.head("run")) == (SAME, "#!/bin/sh\n")
    assert applied.composed.uncommitted == ("run: it builds on what you have not committed there",)


def test_many_objects_are_written_in_several_packs(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mulligan.adapters.sandboxes.git.repository.git_packs._FULL", 100)
    plan = {f"new{number}": f"{number}\n" * 60 for number in range(4)}
    write(checkout.start(), plan)
    applied = checkout.apply(plan)
    assert {path: applied.head(path) for path in plan} == plan


def test_rules_that_a_sparse_checkout_leaves_out_count(tmp_path: Path) -> None:
    """Git reads `.gitignore` and `.gitattributes` from the index where patterns keep them out of the working tree."""
    top = CHECKOUTS["sparse by patterns"](tmp_path)
    assert not (top / ".gitignore").exists()
    checkout = Checkout(tmp_path, top)
    plan = {"sub/noise.log": "ignored\n", "sub/kept": "kept\n"}
    write(checkout.start(), plan)
    checkout.apply(plan)
    assert run_git(top, "show", "--format=", "--name-only", "HEAD") == "sub/kept\n"
    assert run_git(top, "status", "--porcelain") == ""
