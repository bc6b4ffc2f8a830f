"""The screens of the page: what they show, in text that is inert whatever it is."""

import re
import urllib.parse
from html import unescape
from pathlib import Path

import pytest

from mulligan.adapters.sandboxes.sqlite import table_changes as tables
from mulligan.adapters.sandboxes.sqlite.table_changes import table_changes
from mulligan.page.screens import comparison_screen
from tests.page.served import Visit, visit
from tests.page.worlds import simple_project
from tests.report.eventful import LINES, NAME, SCRIPT
from tests.report.parsed import parsed


def addresses(page: str) -> set[str]:
    """The addresses of this page that a screen leads to."""
    found = {unescape(each) for each in re.findall(r'(?:href|src|data-\w+)="(/[^"]*)"', page)}
    return {each for each in found if not each.startswith("/static")}


def test_every_screen_of_an_eventful_project_is_there_and_inert(made: Path) -> None:
    """A walk along all links, from the timeline: no error, no markup of a name or an output, no dead end."""

    async def body(visitor: Visit) -> None:
        waiting, seen = ["/"], set[str]()
        while waiting and len(seen) < 160:
            address = waiting.pop(0)
            kind = re.sub(r"=[^&]*", "", address)
            if address in seen or sum(re.sub(r"=[^&]*", "", each) == kind for each in seen) >= 6:
                continue
            seen.add(address)
            answer = await visitor.get(address)
            assert answer.status_code in (200, 404, 409), (address, answer.text)
            if not answer.headers["content-type"].startswith("text/html"):
                continue
            assert SCRIPT not in answer.text, address
            assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", answer.text), (
                address
            )
            names = {element.tag for element in parsed(re.sub("<!doctype html>", "", answer.text)).all()}
            assert names <= TAGS, (address, names - TAGS)
            waiting += sorted(addresses(answer.text) - seen)
        kinds = {urllib.parse.urlsplit(each).path for each in seen}
        assert {
            "/plan",
            "/compare",
            "/compare/rows",
            "/tree",
            "/file",
            "/history",
            "/entry",
            "/upkeep",
        } <= kinds
        assert {"/act/undo", "/act/rollback", "/act/correct", "/act/resume", "/act/restore"} <= kinds

    visit(made, body)


TAGS = {
    *(
        "html",
        "head",
        "meta",
        "title",
        "link",
        "script",
        "body",
        "a",
        "header",
        "span",
        "nav",
        "main",
        "dialog",
    ),
    *(
        "h1",
        "h2",
        "h3",
        "dl",
        "dt",
        "dd",
        "kbd",
        "form",
        "button",
        "footer",
        "div",
        "p",
        "section",
        "ol",
        "ul",
        "li",
    ),
    *(
        "label",
        "select",
        "option",
        "input",
        "datalist",
        "code",
        "time",
        "strong",
        "progress",
        "details",
        "summary",
    ),
    *("pre", "table", "caption", "thead", "tbody", "tr", "th", "td", "mark", "blockquote", "img", "figure"),
    *("figcaption", "textarea"),
}


def test_a_plan_shows_its_steps_decisions_attempts_and_children(made: Path) -> None:
    async def body(visitor: Visit) -> None:
        page = unescape(await visitor.seen("/plan", name=NAME))
        for words in ("choose a parser", "Attempt 2", "Child plans", "ply", "lark", "hand-written"):
            assert words in page
        assert "Error messages that people understand" in page
        output = unescape(await visitor.seen("/output", plan=NAME))
        assert f"\n{LINES}\n" in output or "1 != 2" in output

    visit(made, body)


@pytest.fixture(scope="module")
def simple(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("screens") / "work"
    project = simple_project(folder)
    (folder / "letters.txt").write_text("Äpfel alt\nÄpfel alt\nBirnen\n")
    change = """
        sed -i s/alt/neu/ letters.txt
        sed -i s/hello/'good day'/ app.py; mv greeting.txt moved.txt; seq 1 1000 > numbers.txt; mkdir empty
        printf '\\0' > binary; cp dot.png second.png; chmod +x app.py; ln -s app.py link
        python3 -c "import sqlite3; d = sqlite3.connect('data.db'); d.execute('DELETE FROM users WHERE id = 1')
d.execute(\\"INSERT INTO users VALUES (3, '<b>Eve</b>')\\"); d.execute('CREATE TABLE more (x)'); d.commit()"
    """
    status, _ = project.run_command(["sh", "-c", change], name="change")
    assert status.state == "complete"
    project.close()
    return folder


def test_a_comparison_marks_words_and_shows_renames_images_and_databases(simple: Path) -> None:
    async def body(visitor: Visit) -> None:
        page = await visitor.seen("/compare", plan="change", wait="yes")
        assert "from greeting.txt" in page
        assert page.count("<img") == 1
        lines = {
            path: unescape(address)
            for address, path in re.findall(
                r'data-lines="([^"]+)".*?<code class="path">([^<]*)<', page, re.DOTALL
            )
        }
        split = await visitor.seen(lines["app.py"])
        assert re.search(r"<mark[^>]*>hello</mark>", split)
        assert re.search(r"<mark[^>]*>good day</mark>", split) or re.search(r"<mark[^>]*>good</mark>", split)
        assert '<span class="k">def</span>' in split
        unified = await visitor.seen(lines["app.py"].replace("view=split", "view=unified"))
        assert "side" not in unified
        assert '<div class="r removed">' in unified
        database = next(
            unescape(each) for each in re.findall(r'data-part="([^"]+)"', page) if "database" in each
        )
        parts = [unescape(each) for each in re.findall(r'data-part="([^"]+)"', page)]
        told = "".join([await visitor.seen(each) for each in parts])
        assert database in parts
        assert "2 rows → 2 rows" in told
        assert "<td>Ada</td>" in told
        assert "&lt;b&gt;Eve&lt;/b&gt;" in told
        assert "a new table" in told
        assert '<p class="note">1 bytes</p>' in told  # the file that is binary, and not a database
        assert "8.2 kB → 12.3 kB" in told

    visit(simple, body)


def test_a_long_file_comes_in_windows_and_is_searched(simple: Path) -> None:
    async def body(visitor: Visit) -> None:
        page = await visitor.seen("/compare", plan="change", path="numbers.txt")
        rows = unescape(re.findall(r'data-lines="([^"]+)"', page)[0])
        first = await visitor.seen(rows)
        assert "701 more lines" in first
        last = await visitor.seen(f"{rows}&first=900")
        assert ">1000</span>" in last
        assert "more line" not in last
        found = await visitor.seen(f"{rows}&find=777")
        assert 'data-first="774"' in found
        assert "data-missing" in await visitor.seen(f"{rows}&find=nowhere")
        assert 'class="chunk' in await visitor.seen(f"{rows}&first=5000")
        assert (await visitor.get(rows.replace("index=0", "index=9"))).status_code == 400

    visit(simple, body)


@pytest.mark.parametrize("view", ["split", "unified"])
def test_each_line_that_is_searched_for_is_found(simple: Path, view: str) -> None:
    """Lines below each other too, in capital letters, and in those of other languages."""

    async def body(visitor: Visit) -> None:
        page = await visitor.seen("/compare", plan="change", path="letters.txt", view=view)
        rows = unescape(re.findall(r'data-lines="([^"]+)"', page)[0])
        found: list[str] = []
        following = 0
        while "data-missing" not in (part := await visitor.seen(f"{rows}&first={following}&find=äPFEL")):
            (row,) = parsed(part).all(class_="found")
            found += [row.text]
            following = int(re.findall(r'data-at="(\d+)"', part)[0]) + 1
        assert len(found) == 4, found
        assert all("Äpfel" in each for each in found)

    visit(simple, body)


def test_a_head_of_lines_can_be_searched_for(simple: Path) -> None:
    async def body(visitor: Visit) -> None:
        page = await visitor.seen("/compare", plan="change", path="letters.txt")
        rows = unescape(re.findall(r'data-lines="([^"]+)"', page)[0])
        assert '<div class="r hunk found">' in await visitor.seen(f"{rows}&find=@@")

    visit(simple, body)


def test_any_point_shows_its_tree_its_files_and_their_bytes(simple: Path) -> None:
    async def body(visitor: Visit) -> None:
        tree = await visitor.seen("/tree", checkpoint="change")
        assert "moved.txt" in tree
        assert "→ app.py" in tree
        assert "def" in await visitor.seen("/file", checkpoint="change", path="app.py")
        assert "a link to" in await visitor.seen("/file", checkpoint="change", path="link")
        assert "<img" in await visitor.seen("/file", checkpoint="change", path="dot.png")
        assert "download it" in await visitor.seen("/file", checkpoint="change", path="binary")
        assert "empty" in await visitor.seen("/tree", checkpoint="change", path="empty")
        image = await visitor.get("/image", checkpoint="change", path="dot.png")
        assert image.headers["content-type"] == "image/png"
        assert (await visitor.get("/image", checkpoint="change", path="app.py")).status_code == 404
        kept = await visitor.get("/download", checkpoint="change@1", path="greeting.txt")
        assert kept.content == b"Hey there\n"
        assert kept.headers["content-disposition"].startswith("attachment;")
        assert (await visitor.get("/file", checkpoint="change", path="../etc/passwd")).status_code in (
            400,
            404,
            409,
        )
        assert (await visitor.get("/file", checkpoint="change", path="greeting.txt")).status_code == 404
        assert (await visitor.get("/file", checkpoint="change")).status_code == 400

    visit(simple, body)


def test_the_timeline_is_filtered_by_kind_plan_and_path(simple: Path) -> None:
    async def body(visitor: Visit) -> None:
        assert 'data-key="1"' in await visitor.seen("/")
        assert 'data-key="1"' in await visitor.seen("/", kind="run", agent="change", path="app.py")
        assert "No entry fits" in await visitor.seen("/", kind="apply")
        assert "No entry fits" in await visitor.seen("/", agent="claude-code")
        assert "No entry fits" in await visitor.seen("/", path="dot.png")
        assert (await visitor.get("/", kind="nonsense")).status_code == 400
        assert (await visitor.get("/", before="x")).status_code == 400
        assert "Entry 1" in await visitor.seen("/entry", number=1)
        assert (await visitor.get("/entry", number=99)).status_code == 404
        assert (await visitor.get("/entry")).status_code == 400
        history = await visitor.seen("/history", path="moved.txt")
        assert "path=moved.txt" in history
        assert "No entry of the timeline" in await visitor.seen("/history", path="dot.png")
        assert (await visitor.get("/history")).status_code == 400

    visit(simple, body)


def test_an_error_offers_its_next_steps(simple: Path) -> None:
    async def body(visitor: Visit) -> None:
        answer = await visitor.get("/plan", name="nothing")
        assert answer.status_code == 404
        assert 'href="/plans"' in answer.text or "mulligan list" in answer.text

    visit(simple, body)


def test_of_a_plan_with_many_steps_some_are_shown(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    project = simple_project(folder)
    steps = "".join(f"  - {{name: s{number}, run: 'true'}}\n" for number in range(250))
    (folder / "many.yaml").write_text(f"name: many\nsteps:\n{steps}")
    project.create(folder / "many.yaml")
    project.close()

    async def body(visitor: Visit) -> None:
        page = unescape(await visitor.seen("/plan", name="many"))
        assert page.count('<li class="step ') == 100
        assert "150 steps after" in page
        last = unescape(await visitor.seen("/plan", name="many", steps=200))
        assert last.count('<li class="step ') == 50
        assert "200 steps before" in last

    visit(folder, body)


def test_parts_of_pages_come_alone(simple: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that a browser scrolls to, and a comparison that takes long."""

    async def body(visitor: Visit) -> None:
        rows = await visitor.seen("/timeline/rows")
        assert 'data-key="1"' in rows
        assert "<html" not in rows
        waiting = await visitor.seen("/compare", plan="change")
        assert "Comparing" in waiting
        files = await visitor.seen(unescape(re.findall(r'data-load="([^"]+)"', waiting)[0]))
        assert "moved.txt" in files
        assert "moved.txt" in await visitor.seen("/compare", plan="change", wait="yes")
        assert (await visitor.get("/compare", old="change", wait="yes")).status_code == 400
        assert "is ended" in await visitor.seen("/act/resume", plan="change", take_over="true")

    monkeypatch.setattr(comparison_screen, "_AT_ONCE", 0)
    visit(simple, body)


def test_a_database_that_is_no_database_or_too_large_is_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    assert table_changes(None, None).tables == ()
    assert table_changes(b"x" * 100, None).problem is None
    damaged = b"SQLite format 3\0" + b"x" * 100
    assert "cannot be read" in str(table_changes(damaged, None).problem)
    monkeypatch.setattr(tables, "LARGEST", 10)
    assert "too large" in str(table_changes(damaged, None).problem)
