"""What pages show of a real session: two minutes with Claude Code, and what the hooks cost inside it."""

import itertools
import shutil
import statistics

from tests.real_agents.conftest import Opened
from tests.real_agents.measured import Measured
from tests.real_agents.workplace import Workplace

NAME = "claude-code"
CALLS = 20


def test_two_minutes_with_claude_code(at_work: Opened, measured: Measured) -> None:
    with at_work(NAME) as place:
        for each in ("app.db", "plain.sqlite3", "private", "staged.txt", "link", "run.sh", "b.txt"):
            (place.folder / each).unlink()
        shutil.rmtree(place.folder / "sub")
        prompt = "Tidy up what git does not need"
        said = place.prompt(prompt, place.agent.shell("git clean -fdxq"))
        assert not (place.folder / ".env").exists()
        shown = [f'$ claude -p "{prompt}"\n{said.strip()}', "$ ls -A\n" + _listed(place)]
        shown += [
            f"$ mulligan {words}\n{place.shown(*words.split()).strip()}" for words in ("log", "undo --yes")
        ]
        shown.append("$ ls -A\n" + _listed(place))
        assert (place.folder / ".env").exists()
        measured.keep("recording", "\n".join(shown))


def test_what_the_hooks_cost_inside_claude_code(at_work: Opened, measured: Measured) -> None:
    with at_work(NAME) as place:
        calls = [place.agent.shell(f"echo {number} > number.txt") for number in range(CALLS)]
        place.prompt("Warm up", *calls[:2])
        gaps: dict[str, int] = {}
        for word in ("with", "without"):
            if word == "without":
                place.mulligan("agent", "uninstall", NAME, "--yes")
            place.model.arrivals.clear()
            place.prompt(f"Count {word} hooks", *calls)
            times = place.model.arrivals
            assert len(times) == CALLS + 1
            gaps[word] = round(1000 * statistics.median(b - a for a, b in itertools.pairwise(times)))
        measured.keep("cost", gaps)


def _listed(place: Workplace) -> str:
    return "  ".join(sorted(path.name for path in place.folder.iterdir()))
