"""Checkouts whose own configuration names programs: hooks of agents, the server and commands run none of them."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.agents.test_hook_answers import bash, hook
from tests.commands.program import data_of
from tests.support.git_world import GIT_ENVIRONMENT, run_git

# Every key by which a repository can name a program that git runs on some occasion.
PROGRAMS = (
    *("core.fsmonitor", "core.sshCommand", "core.pager", "core.editor", "core.gitProxy", "core.askPass"),
    *("core.alternateRefsCommand", "diff.external", "diff.evil.textconv", "diff.evil.command"),
    *("merge.evil.driver", "gpg.program", "gpg.ssh.program", "gpg.ssh.defaultKeyCommand", "sequence.editor"),
    *("interactive.diffFilter", "uploadpack.packObjectsHook", "gc.recentObjectsHook", "trailer.x.command"),
    *("credential.helper", "remote.origin.uploadpack", "remote.origin.vcs", "submodule.inner.update"),
    *("pager.diff", "pager.log", "pager.status"),
)
FILTERS = ("filter.evil.clean", "filter.evil.smudge", "filter.a=b.clean", "filter.a=b.smudge")
SWITCHES = {
    "commit.gpgSign": "true",
    "tag.gpgSign": "true",
    "log.showSignature": "true",
    "user.signingKey": "x",
    "remote.origin.promisor": "true",
    "remote.origin.partialclonefilter": "blob:none",
}
HOOKS = (
    *("pre-commit", "post-commit", "commit-msg", "prepare-commit-msg", "post-checkout", "post-merge"),
    *("reference-transaction", "post-index-change", "pre-auto-gc", "post-rewrite", "fsmonitor-watchman"),
)


class Hostile:
    """A checkout in which whatever git can be made to run leaves its name in a file."""

    def __init__(self, place: Path) -> None:
        self.top = place / "checkout"
        self.programs = place / "programs"
        self.programs.mkdir()
        self._ran = place / "ran"
        (self.top / "inner").mkdir(parents=True)
        run_git(self.top, "init", "-q", "-b", "main")
        (self.top / ".gitattributes").write_text("* diff=evil merge=evil filter=evil\n*.eq filter=a=b\n")
        for name in ("a.txt", "b.eq", ".gitignore"):
            (self.top / name).write_text("one\n")
        run_git(self.top, "add", "-A")
        run_git(self.top, "commit", "-qm", "first")
        run_git(self.top / "inner", "init", "-q", "-b", "main")
        more = place / "more"
        more.write_text(_lines({"core.pager": str(self.program("included"))}))
        settings = {key: str(self.program(key)) for key in PROGRAMS} | SWITCHES
        settings |= {"user.name": "User", "user.email": "user@example.com"}
        settings |= {"remote.origin.url": f"ext::{self.program('ext')}", "include.path": str(more)}
        settings["core.hooksPath"] = str(self.programs)
        for folder in (self.top, self.top / "inner"):
            with (folder / ".git" / "config").open("a") as config:
                config.write(_lines(settings))
            for name in HOOKS:
                (folder / ".git" / "hooks" / name).unlink(missing_ok=True)
                (folder / ".git" / "hooks" / name).symlink_to(self.program(name))

    def program(self, name: str) -> Path:
        path = self.programs / name
        path.write_text(f"#!/bin/sh\necho '{name}' >> '{self._ran}'\nexec cat\n")
        path.chmod(0o755)
        return path

    def ran(self) -> list[str]:
        """Return the programs that were run since the last time."""
        found = self._ran.read_text().split() if self._ran.exists() else []
        self._ran.unlink(missing_ok=True)
        return sorted(set(found))


def _lines(settings: Mapping[str, str]) -> str:
    lines: list[str] = []
    for key, value in settings.items():
        section, _, rest = key.partition(".")
        inner, _, name = rest.rpartition(".")
        lines.append(f'[{section} "{inner}"]' if inner else f"[{section}]")
        lines.append(f"\t{name} = {value}")
    return "\n".join(lines) + "\n"


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hostile:
    monkeypatch.setenv("MULLIGAN_SERVER_START", "never")
    found = Hostile(tmp_path)
    data_of(found.top, "init")
    subprocess.run(
        ["git", "status"],
        cwd=found.top,
        env=GIT_ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        check=False,
        capture_output=True,
    )
    assert "core.fsmonitor" in found.ran(), "git itself runs what the checkout names"
    return found


def prompted(top: Path, name: str, change: str) -> None:
    """Let an agent answer a prompt with one call of the shell."""
    hook(top, "UserPromptSubmit", prompt=name, prompt_id=name)
    hook(top, "PreToolUse", **bash(name))
    subprocess.run(["/bin/sh", "-c", change], cwd=top, check=True, env=GIT_ENVIRONMENT)
    hook(top, "PostToolUse", tool_response={"stdout": ""}, **bash(name))
    hook(top, "Stop", background_tasks=[])


def test_hooks_and_undo_run_nothing_that_a_checkout_names(hostile: Hostile) -> None:
    top = hostile.top
    with (top / ".git" / "config").open("a") as config:
        config.write(_lines({key: str(hostile.program(key)) for key in FILTERS}))
        config.write(_lines({"filter.evil.required": "true"}))
    (top / "a.txt").write_text("two\n")
    before = {path.name: path.read_bytes() for path in top.iterdir() if path.is_file()}
    assert hook(top, "SessionStart", source="startup") == (0, {}, b"")
    prompted(top, "one", "echo three > a.txt; echo new > new.txt; echo new > b.eq; rm .gitignore")
    prompted(top, "two", "echo four >> a.txt")
    assert hostile.ran() == []
    for words in (
        *(
            ("log",),
            ("log", "1"),
            ("diff", "1"),
            ("status",),
            ("list", "claude-code@1"),
            ("doctor",),
            ("gc",),
        ),
        *(("undo", "--yes", "--dry-run"), ("undo", "--yes"), ("redo", "--yes"), ("undo", "--yes")),
        *(("undo", "--yes", "--only", "1.1"), ("redo", "--yes"), ("undo", "--yes", "1")),
        ("checkpoint", "create", "claude-code", "--label", "now"),
    ):
        data_of(top, *words)
        assert hostile.ran() == [], words
    assert {path.name: path.read_bytes() for path in top.iterdir() if path.is_file()} == before
    run_git(top, "status", "-s")
    assert {"filter.evil.clean", "filter.a=b.clean"} <= set(hostile.ran()), "git itself runs them"


def test_commands_run_nothing_that_a_checkout_names_but_filters(hostile: Hostile) -> None:
    top = hostile.top
    data_of(top, "run", "--", "sh", "-c", "echo three > a.txt; echo new > new.txt")
    for words in (("diff",), ("apply", "--yes"), ("undo", "--yes"), ("redo", "--yes"), ("unapply", "--yes")):
        data_of(top, *words)
        assert hostile.ran() == [], words
    data_of(top, "run", "--in-place", "--", "sh", "-c", "echo three > a.txt")
    data_of(top, "try", "-n", "2", "--", "sh", "-c", "echo $MULLIGAN_VARIANT > a.txt")
    for words in (("undo", "--yes"), ("log",), ("doctor",), ("gc",)):
        data_of(top, *words)
    assert hostile.ran() == []
