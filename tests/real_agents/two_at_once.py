"""Two different agents at work in one folder at the same time: the work of one goes, and that of the other stays."""

from pathlib import Path

from tests.real_agents.agent_programs import PROGRAMS
from tests.real_agents.conftest import Opened
from tests.real_agents.workplace import PATIENCE, Workplace, until


def text(file: Path) -> str | None:
    return file.read_text() if file.exists() else None


def contents(place: Workplace) -> list[str | None]:
    """Return what Claude Code edits, what it writes, and what Codex makes."""
    return [text(place.folder / name) for name in ("a.txt", "left.txt", "right.txt")]


def test_the_work_of_one_agent_goes_and_comes_back(at_work: Opened) -> None:
    with at_work("claude-code") as left:
        right = left.beside(PROGRAMS["codex"])
        before = left.seen()
        begun, go = left.scene.home / "begun", left.scene.home / "go"
        waits = f"touch {begun}; until [ -e {go} ]; do sleep 0.1; done"
        right.plays("work right", right.agent.shell(f"{waits}; echo right > right.txt; rm .env"))
        other = right.start(*right.agent.prompted("work right"))
        try:
            until(begun.exists, "Codex is at work")
            assert left.agent.read is not None
            file = left.folder / "a.txt"
            edits = (
                left.agent.edit(file, "one", "two"),
                left.agent.write(left.folder / "left.txt", "left\n"),
            )
            left.prompt("work left", left.agent.read(file), *edits)
            go.touch()
            printed, _ = other.communicate(timeout=PATIENCE)
        finally:
            other.kill()
        assert contents(left) == ["two\n", "left\n", "right\n"], printed
        after = left.seen()
        numbers = {entry["title"]: str(entry["number"]) for entry in left.log()}
        assert set(numbers) == {"work left", "work right"}
        edit, write = (call["name"] for call in left.mulligan("log", numbers["work left"])["calls"])

        left.mulligan("undo", "--only", edit, "--yes")
        assert contents(left) == ["one\n", "left\n", "right\n"]
        left.mulligan("redo", "--yes")
        left.mulligan("undo", "--only", "claude-code", "--yes")
        assert contents(left) == ["one\n", None, "right\n"]
        left.mulligan("redo", "--yes")
        assert left.seen() == after
        left.mulligan("undo", "--only", numbers["work right"], "--yes")
        assert contents(left) == ["two\n", "left\n", None]
        assert (left.folder / ".env").exists()
        left.mulligan("undo", "--only", write, "--only", edit, "--yes")
        assert left.seen() == before
        for _ in range(2):
            left.mulligan("redo", "--yes")
        assert left.seen() == after


def test_what_commands_of_both_may_have_done_goes_only_together(at_work: Opened) -> None:
    with at_work("claude-code") as left:
        right = left.beside(PROGRAMS["codex"])
        before = left.seen()
        begun, done = left.scene.home / "begun", left.scene.home / "done"
        first = f"touch {begun}; until [ -e {done} ]; do sleep 0.1; done"
        right.plays("work right", right.agent.shell(first))
        other = right.start(*right.agent.prompted("work right"))
        try:
            until(begun.exists, "Codex is at work")
            left.prompt("work left", left.agent.shell("echo left > left.txt"))
            done.touch()
            other.communicate(timeout=PATIENCE)
        finally:
            other.kill()
        after = left.seen()
        numbers = {entry["title"]: str(entry["number"]) for entry in left.log()}
        refused = left.ask("undo", "--only", numbers["work left"], "--yes")
        assert refused["error"]["kind"] == "undo_shared"
        assert [each["path"] for each in refused["error"]["shared"]] == ["left.txt"]
        assert left.seen() == after
        left.mulligan("undo", "--only", numbers["work left"], "--only", numbers["work right"], "--yes")
        assert left.seen() == before
