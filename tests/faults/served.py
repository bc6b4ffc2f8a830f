"""A conversation with an agent whose hooks a local server answers, which is killed on the way: the outcome is the same.

`python -m tests.faults.served` kills it before and after every passing of every boundary, one by one; `--part 1/4` does
a quarter of them.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mulligan.adapters.local_server.server_place import HOOK_CLIENT
from tests.support.fake_agent import FakeAgent
from tests.support.forked_program import run_program
from tests.support.patience import wait_until

PROGRAM = str(Path(sys.executable).with_name("mulligan"))
# The command that runs where there is no server has no fault of its own.
ALONE = ("/usr/bin/env", "-u", "MULLIGAN_FAULT", "-u", "MULLIGAN_FAULT_LOG", PROGRAM)
BEFORE = {"a.txt": "one\n", "b.txt": "one\n"}
BETWEEN = {"a.txt": "two\n", "new.txt": "two\n"}
AFTER = {"a.txt": "three\n", "new.txt": "two\n"}


class ServedAgent(FakeAgent):
    """An agent whose hooks start the client in C."""

    fault = ""

    def hook(self, event: str, *, fault: str = "", **fields: object) -> tuple[int, dict[str, Any]]:
        payload = {"session_id": self.session, "cwd": str(self.folder), "hook_event_name": event, **fields}
        called = subprocess.run(
            [HOOK_CLIENT, *ALONE, *self.words],
            input=json.dumps(payload).encode(),
            cwd=self.folder,
            env=self.environment(fault or self.fault),
            capture_output=True,
            check=False,
        )
        assert (called.returncode, called.stderr) == (0, b""), called
        return called.returncode, json.loads(called.stdout) if called.stdout.strip() else {}


class Trial:
    """A project in a folder of its own, with a server in which a fault may strike."""

    def __init__(self, place: Path, fault: str, homes: Path) -> None:
        self.homes = homes
        self.folder = place / "folder"
        self.log = place / "passed"
        self.agent = ServedAgent(self.folder)
        self.agent.fault, self.agent.log = fault, self.log
        self.agent.surroundings = {**os.environ, "XDG_RUNTIME_DIR": str(place), "MULLIGAN_HOME": str(homes)}
        self.folder.mkdir()
        for name, text in BEFORE.items():
            (self.folder / name).write_text(text)
        self.do("init")

    def environment(self, *, armed: bool) -> dict[str, str]:
        found = self.agent.environment(self.agent.fault)
        return found if armed else {k: v for k, v in found.items() if not k.startswith("MULLIGAN_FAULT")}

    def do(self, *words: str) -> Any:
        """Run a command without the fault; return its data."""
        words = ("--format", "json", *words)
        done = run_program(words, folder=self.folder, environment=self.environment(armed=False))
        answer = json.loads(done.stdout)
        assert answer["exit_code"] == 0, answer
        return answer["data"]

    @contextmanager
    def served(self) -> Iterator["subprocess.Popen[bytes]"]:
        """Let the server run, with the fault."""
        server = subprocess.Popen(
            [sys.executable, "-m", "mulligan", "serve"],
            cwd=self.folder,
            env=self.environment(armed=True),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            wait_until(lambda: self.is_ready(server), "the server runs")
            yield server
        finally:
            server.terminate()
            server.wait()

    def is_ready(self, server: "subprocess.Popen[bytes]") -> bool:
        return server.poll() is not None or bool(list(self.homes.glob("*/server.json")))

    def files(self) -> dict[str, str]:
        return {path.name: path.read_text() for path in self.folder.iterdir() if path.is_file()}

    def passed(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []

    def run(self) -> None:
        """Let the agent answer two prompts; then take both back, one by one, and bring them back."""
        agent = self.agent
        agent.start()
        agent.prompt("first")
        agent.shell("echo two > a.txt; echo two > new.txt; rm b.txt")
        agent.stop()
        agent.prompt("second")
        agent.shell("echo three > a.txt")
        agent.stop()
        agent.end()

    def judge(self) -> None:
        """Check that nothing is lost, and nothing is recorded twice."""
        assert self.files() == AFTER
        entries = self.do("log")["entries"]
        assert [each["title"] for each in entries] == ["second", "first"], entries
        # The end of a call is answered before it is recorded: the next event finds that there was none.
        assert {each["status"] for each in entries} <= {"done", "interrupted"}, entries
        calls = [self.do("log", str(each["number"]))["calls"] for each in entries]
        assert [len(each) for each in calls] == [1, 1], calls
        for expected in (BETWEEN, BEFORE):
            self.do("undo", "--yes")
            assert self.files() == expected
        for expected in (BETWEEN, AFTER):
            self.do("redo", "--yes")
            assert self.files() == expected
        verified = self.do("checkpoint", "verify")
        assert not verified.get("damaged"), verified


@contextmanager
def trial(fault: str, homes: Path | None = None) -> Iterator[Trial]:
    with tempfile.TemporaryDirectory(prefix="ms-", dir="/tmp") as place:
        yield Trial(Path(place), fault, homes or Path(place, "homes"))


def struck(fault: str) -> None:
    """Let the fault strike in the server, and judge the outcome."""
    with trial(fault) as tried:
        with tried.served() as server:
            tried.run()
            wait_until(lambda: server.poll() is not None, f"{fault}: the fault fires")
        assert f"fault {fault.split(':')[1]}" in tried.passed(), f"{fault}: the fault never fired"
        tried.judge()


def passings() -> Sequence[str]:
    """Return a fault for every boundary that the server passes in a conversation, before it and after it."""
    with trial("") as tried:
        with tried.served():
            tried.run()
        found = tried.passed()
        tried.judge()
    counted: Counter[str] = Counter()
    faults: list[str] = []
    for line in found:
        counted[line] += 1
        when, act = line.split()
        faults.append(f"{when}:{act}:{counted[line]}:SIGKILL")
    return faults


def main(arguments: Sequence[str]) -> int:
    """Strike at every passing, and name those after which the outcome was another."""
    part, of = (
        map(int, arguments[arguments.index("--part") + 1].split("/")) if "--part" in arguments else (1, 1)
    )
    faults, wrong = passings(), 0
    chosen = faults[part - 1 :: of]
    for number, fault in enumerate(chosen, 1):
        try:
            struck(fault)
        except AssertionError as exc:
            wrong += 1
            print(f"{fault}: {exc}", flush=True)
        if number % 20 == 0:
            print(f"{number} of {len(chosen)} kills", flush=True)
    print(f"{len(chosen)} kills of {len(faults)} that are possible, {wrong} with another outcome")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
