"""Chromium without a window, spoken to through two pipes in its DevTools protocol: no driver, no network."""

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
PATIENCE = 60  # seconds
QUIET = 0.3  # seconds after which it has nothing more to say
_TO_BROWSER, _FROM_BROWSER = 3, 4  # where it expects the pipes
_ABOVE = 10  # other descriptors stand above these


class Tab:
    """One page that is open, and all that the browser said of it."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        """Open an empty page."""
        self._to, self._from = to_browser, from_browser
        self._read = b""
        self._sent = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        self.page = self.another()

    def another(self) -> str:
        """Open one more empty page, turn to it, and return its name."""
        self._session = None
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.ask(f"{domain}.enable")
        return str(self._session)

    def turn_to(self, page: str) -> None:
        """Ask another of its pages from now on."""
        self._session = page
        self.ask("Page.bringToFront")

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Give a command and wait for its result."""
        self._sent += 1
        message: dict[str, Any] = {"id": self._sent, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._sent:
                assert "error" not in answer, (method, answer["error"])
                return answer["result"]
            self.events.append(answer)

    def open(self, file: Path) -> None:
        """Open a file, and wait until all of it is there."""
        self.go(file.as_uri())

    def go(self, address: str) -> None:
        """Open an address, and wait until all of it is there."""
        self.events.clear()
        self.ask("Page.navigate", url=address)
        while not self.told("Page.loadEventFired"):
            self.events.append(self._next())
        self.listen()

    def listen(self) -> None:
        """Wait for what the browser still has to say."""
        while b"\0" in self._read or select.select([self._from], [], [], QUIET)[0]:
            self.events.append(self._next())

    def told(self, method: str) -> list[dict[str, Any]]:
        """What the browser said by that name since the page was opened."""
        return [event["params"] for event in self.events if event.get("method") == method]

    @property
    def complaints(self) -> list[str]:
        """What stands in its console: words of scripts, errors, and what a policy forbade."""
        logged = [entry["entry"]["text"] for entry in self.told("Log.entryAdded")]
        thrown = [entry["exceptionDetails"]["text"] for entry in self.told("Runtime.exceptionThrown")]
        said = [str(entry["args"]) for entry in self.told("Runtime.consoleAPICalled")]
        return [*logged, *thrown, *said]

    @property
    def requests(self) -> list[str]:
        """What it asked for, the page itself included."""
        return [request["request"]["url"] for request in self.told("Network.requestWillBeSent")]

    def until(self, expression: str) -> Any:
        """Wait until an expression is true, and return its value."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                if value := self.evaluate(expression):
                    return value
            except AssertionError:  # the page is just being left
                pass
            assert time.monotonic() < deadline, expression
            time.sleep(0.05)

    def evaluate(self, expression: str) -> Any:
        """The value of an expression, from beside the page: no policy of the page's stands against it."""
        result = self.ask("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def resize(self, width: int, height: int, *, mobile: bool) -> None:
        """Give the page a screen."""
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=mobile,
        )

    def scheme(self, name: str, media: str = "") -> None:
        """Ask for light or dark, on a screen or on paper."""
        features = [{"name": "prefers-color-scheme", "value": name}]
        self.ask("Emulation.setEmulatedMedia", media=media, features=features)

    def screenshot(self, file: Path, *, whole: bool) -> None:
        """Keep what is seen, or what would be seen on a screen as long as the page."""
        shot = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        file.write_bytes(base64.b64decode(shot["data"]))

    def press(self, key: str) -> None:
        """Press a key and let it go."""
        codes = {"Tab": 9, "Enter": 13, "Escape": 27}
        text = {"text": "\r" if key == "Enter" else key} if key not in ("Tab", "Escape") else {}
        common = {"key": key, "code": key, "windowsVirtualKeyCode": codes.get(key, ord(key[0].upper()))}
        self.ask("Input.dispatchKeyEvent", type="keyDown", **common, **text)
        self.ask("Input.dispatchKeyEvent", type="keyUp", **common)

    def pdf(self, file: Path) -> None:
        """Print it."""
        file.write_bytes(base64.b64decode(self.ask("Page.printToPDF", printBackground=True)["data"]))

    def _next(self) -> dict[str, Any]:
        until = time.monotonic() + PATIENCE
        while b"\0" not in self._read:
            assert select.select([self._from], [], [], until - time.monotonic())[0], (
                "the browser says nothing"
            )
            data = os.read(self._from, 1 << 20)
            assert data, "the browser is gone"
            self._read += data
        message, _, self._read = self._read.partition(b"\0")
        found: dict[str, Any] = json.loads(message)
        return found


@contextmanager
def tab(folder: Path) -> Generator[Tab]:
    """A browser with one page, its profile and its words in a folder; fails where there is no browser."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    assert program, f"there is no Chromium ({', '.join(NAMES)}): `apt-get install chromium`"
    words = [
        program,
        "--headless",
        "--remote-debugging-pipe",
        f"--user-data-dir={folder}",
        "--hide-scrollbars",
    ]
    words += ["--no-first-run", "--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage"]
    words += ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--disable-quic"]
    if os.geteuid() == 0:
        words.append("--no-sandbox")  # which Chromium asks for where root runs it; the pages are ours
    (its_in, to_browser), (from_browser, its_out) = (tuple(map(_moved, os.pipe())) for _ in range(2))
    log = os.open(folder / "log", os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC)
    moves = [(os.POSIX_SPAWN_DUP2, its_in, _TO_BROWSER), (os.POSIX_SPAWN_DUP2, its_out, _FROM_BROWSER)]
    moves += [(os.POSIX_SPAWN_DUP2, log, 1), (os.POSIX_SPAWN_DUP2, log, 2)]
    process = os.posix_spawn(program, words, os.environ, file_actions=moves, setpgroup=0)
    for descriptor in (its_in, its_out, log):
        os.close(descriptor)
    try:
        yield Tab(to_browser, from_browser)
    finally:
        os.killpg(process, signal.SIGKILL)
        os.waitpid(process, 0)
        os.close(to_browser)
        os.close(from_browser)


def _moved(descriptor: int) -> int:
    """The same under a number that is in nobody's way."""
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _ABOVE)
    os.close(descriptor)
    return moved
