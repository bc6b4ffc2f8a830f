"""The example of the page on tools of your own does what the page says, against a real site."""

import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

import mulligan
from tests.support.homes import home_of

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "tools.md"


def example(language: str, beginning: str) -> str:
    """Return the first block of the section that begins so."""
    text = PAGE.read_text(encoding="utf-8").partition("\n## Tools of your own\n")[2]
    blocks = re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return next(block for block in blocks if block.startswith(beginning))


@pytest.fixture
def site() -> Iterator[tuple[str, dict[str, dict[str, str]]]]:
    """A site that pages can be put on and taken from: its address and its pages."""
    pages: dict[str, dict[str, str]] = {}

    class Site(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            page = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            pages[str(len(pages) + 1)] = page
            self._answer({"id": str(len(pages))})

        def do_DELETE(self) -> None:
            pages.pop(self.path.rpartition("/")[2], None)
            self._answer({})

        def _answer(self, content: dict[str, str]) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(content).encode())

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Site)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", pages
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_example_publishes_and_takes_down(
    tmp_path: Path, site: tuple[str, dict[str, dict[str, str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    address, pages = site
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    project = mulligan.init(tmp_path)
    tools = example("python", "import json").replace("http://localhost:8080", address)
    (home_of(tmp_path) / "tools.py").write_text(tools)
    (tmp_path / "plan.yaml").write_text(example("yaml", "# a plan that publishes"))
    assert [tool.name for tool in project.tools.trust().tools] == ["publish", "count_words"]
    assert project.execute(tmp_path / "plan.yaml").state == "complete"
    assert pages == {"1": {"title": "News, 4 words", "text": "Version 2 is there\n"}}
    done = project.rollback("publish", "first")
    assert pages == {}
    assert (done.messages, done.impact.irreversible) == ((), ())
