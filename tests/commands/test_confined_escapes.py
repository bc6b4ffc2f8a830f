"""Ways out of confinement that do not go through the name of a file: none is left, to root or to anyone else."""

import json
import os
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tests.support import escapes
from tests.support.confined import ATTEMPTS, an_attempt, written_by_coverage
from tests.support.homes import home_of
from tests.support.users import NOBODY, ROOT_ALONE, USERS, User

REFUSED = {"EPERM", "EACCES", "ENOSYS"}  # ENOSYS: this kernel was built without it
NAMES = sorted(name for name in vars(escapes.Attempts) if not name.startswith("_"))


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder on disk that every user can reach, and that is no temporary folder of the tools."""
    with TemporaryDirectory(dir="/var/tmp") as name:
        Path(name).chmod(0o755)
        yield Path(name)


class Trial:
    """A project of one user's, with a file, a process and a socket outside of it that belong to them too."""

    def __init__(self, place: Path, user: str) -> None:
        self._user = User(user, place)
        self.project = place / "project"
        self.project.mkdir()
        self.file = self._user.home / "precious"
        self.file.write_text("untouched\n")
        (self.project / "real").write_text("untouched\n")
        shutil.copy(escapes.__file__, self.project / "escapes.py")
        writable = ":".join(["~/.cache", *written_by_coverage()])
        self._user.environment["MULLIGAN_SANDBOX_WRITABLE"] = writable
        self.process = self._user.start(self.project, "sleep", "600")
        self.socket = socket.socket(socket.AF_UNIX)
        name = f"mulligan-test-{self.process.pid}"
        self.socket.bind("\0" + name)
        self.socket.listen()
        facts = {"file": str(self.file), "process": str(self.process.pid), "socket": name}
        (self.project / "facts.json").write_text(json.dumps(facts))
        self._user.owns(place)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self.socket.close()

    def execute(self, *commands: str, isolate: str = "required") -> dict[str, Any]:
        """Run a plan of one shell step per command; gives its answer."""
        steps = [
            {"name": f"s{number}", "tool": "shell", "args": {"command": command}}
            for number, command in enumerate(commands)
        ]
        return self.run(steps, isolate)

    def run(self, steps: list[dict[str, Any]], isolate: str, at: str = "real-path") -> dict[str, Any]:
        """Run a plan as the user; gives its answer."""
        config = {"sandbox.isolate": isolate, "sandbox.at": at}
        plan = {"name": "escaping", "config": config, "steps": steps}
        file = self.project / "plan.yaml"
        file.write_text(json.dumps(plan))
        file.chmod(0o644)
        answer = self._user.ask(self.project, "plan", "execute", "plan.yaml")
        assert answer["exit_code"] == 0, answer
        return answer

    def outcomes(self, isolate: str) -> dict[str, str]:
        """What came of each attempt."""
        answer = self.execute("/usr/bin/env python3 -I escapes.py facts.json > outcomes", isolate=isolate)
        return json.loads((self.sandbox(answer) / "outcomes").read_text())

    def sandbox(self, answer: dict[str, Any]) -> Path:
        return Path(answer["data"]["sandboxes"][0]["path"])


@pytest.fixture
def trial(place: Path, request: pytest.FixtureRequest) -> Iterator[Trial]:
    made = Trial(place, request.param)
    yield made
    made.close()


@pytest.mark.parametrize("trial", USERS, indirect=True)
def test_every_way_out_is_refused(trial: Trial) -> None:
    outcomes = trial.outcomes("required")
    assert sorted(outcomes) == NAMES
    assert {name: outcome for name, outcome in outcomes.items() if outcome not in REFUSED} == {}
    assert trial.file.read_text() == "untouched\n"
    assert trial.process.poll() is None


@pytest.mark.parametrize("trial", USERS, indirect=True)
def test_no_file_outside_is_written_by_its_name(trial: Trial) -> None:
    aims = [trial.file, trial.project / "real", home_of(trial.project) / "mulligan.db"]
    names = [set(os.listdir(aim.parent)) for aim in aims[:2]]
    steps = [an_attempt(name, aim, "&& exit 1 || exit 0") for name in ATTEMPTS for aim in aims]
    # At the real path two of these are hidden, and what is written there is the sandbox's.
    answer = trial.run(steps, "required", at="own-path")
    assert answer["data"]["state"] == "complete"
    assert [aim.read_text() for aim in aims[:2]] == ["untouched\n"] * 2
    assert [set(os.listdir(aim.parent)) - {".mulligan", "plan.yaml"} for aim in aims[:2]] == names


@pytest.mark.parametrize("trial", ROOT_ALONE, indirect=True)
def test_root_could_go_each_of_these_ways_where_nothing_refuses_it(trial: Trial) -> None:
    """Otherwise the test above would show nothing."""
    outcomes = trial.outcomes("off")
    assert [name for name, outcome in outcomes.items() if outcome in ("EPERM", "EACCES")] == []


@pytest.mark.parametrize("trial", ROOT_ALONE, indirect=True)
def test_root_works_in_a_sandbox_as_ever(trial: Trial) -> None:
    """What programs of root need: other owners, closed files, other users, low ports, traced children."""
    serve = "import socket; s = socket.create_server(('127.0.0.1', 1011)); s.close()"
    answer = trial.execute(
        f"echo x > f && chown {NOBODY}:{NOBODY} f && chmod 0 f && cat f && echo y >> f && chown 0:0 f",
        f"mkdir d && chown {NOBODY} d && chmod 700 d && echo x > d/f && touch -d 2001-01-01 d/f",
        f"setpriv --reuid {NOBODY} --regid {NOBODY} --clear-groups sh -c 'echo x > d/g' && test -s d/g",
        f"setpriv --reuid {NOBODY} --clear-groups sleep 60 & kill $!; ! wait $!",
        f'python3 -c "{serve}"',
        "chroot . /nowhere 2> said; grep -q 'No such file' said",
        "chmod 4755 f && mkfifo fifo && rm fifo",
    )
    status = trial.execute("cat /proc/self/status > status", isolate="auto")
    lines = dict(line.split(":\t", 1) for line in (trial.sandbox(status) / "status").read_text().splitlines())
    assert (trial.sandbox(answer) / "d" / "g").read_text() == "x\n"
    bits = [int(lines[name], 16) for name in ("CapPrm", "CapEff", "CapBnd")]
    assert bits == [0x200405FB] * 3  # chown to setpcap but dac_read_search, bind, chroot, audit
    assert (lines["NoNewPrivs"].strip(), lines["Seccomp"].strip()) == ("1", "2")
