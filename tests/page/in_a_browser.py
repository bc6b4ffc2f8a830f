"""The page as people use it: in a real browser, every act with its outcome on disk, and what other pages can do.

`scripts/test -s page` runs this; it needs Chromium, and axe from npm (`MULLIGAN_TEST_AXE` names the file). Pictures of
each screen are in `build/page`; with `MULLIGAN_WRITE_PICTURES` those in the documents are renewed.
"""

import http.server
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest

import mulligan
from tests.page.worlds import simple_project
from tests.report.browser import Tab, tab
from tests.report.eventful import NAME, eventful_project
from tests.support.patience import PATIENCE

ROOT = Path(__file__).parents[2]
PICTURES, DOCUMENTS = ROOT / "build" / "page", ROOT / "docs" / "reference" / "page"
WIDTHS = {1200: 800, 420: 860}
FIRST_PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
PLAN = """
name: release
description: A release with a choice
steps:
  - {name: choose, decision: {question: Which parser?, chosen: lark, alternatives: [ply], rationale: Better messages}}
  - {name: rewrite, run: "sed -i s/hello/'good day'/ app.py; mv greeting.txt moved.txt; cp dot.png second.png"}
  - {name: check, run: "echo 3 tests passed; test -e allowed || (echo 1 failed >&2; exit 3)"}
"""
CLASH = """
name: clash
steps:
  - name: parts
    subplans:
      plans:
        - name: warmer
          steps: [{name: w, run: "sed -i \\"s/'hello'/'good morning'/\\" app.py"}]
        - name: colder
          steps: [{name: w, run: "sed -i \\"s/'hello'/'hm'/; 1i import sys\\" app.py"}]
"""


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """Serve a project as `mulligan ui` does; yields the address."""
    command = [sys.executable, "-m", "mulligan", "ui", "--no-open"]
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stdout is not None
            yield server.stdout.readline().strip(), server
        finally:
            server.send_signal(signal.SIGINT)
            _, said = server.communicate(timeout=PATIENCE)
            assert "Traceback" not in said, said


class Reader:
    """A browser at the page of a project."""

    def __init__(self, browser: Tab, address: str, folder: Path) -> None:
        self.browser, self.home, self.folder = browser, address.partition("/?")[0], folder
        browser.go(address)
        browser.until("location.pathname == '/' && !location.search && !!document.querySelector('main')")

    def go(self, path: str) -> None:
        self.browser.go(self.home + path)

    def click(self, selector: str) -> None:
        """Click what a selector finds first, with the mouse that scripts cannot tell from people."""
        # Before the style sheet is there, it is at another place.
        place = self.browser.until(
            f"(() => {{ const e = document.querySelector({selector!r}); if (!e || document.readyState != 'complete')"
            " return null; e.scrollIntoView({block: 'center', behavior: 'instant'});"
            " const r = e.getBoundingClientRect(), x = r.x + r.width / 2, y = r.y + r.height / 2;"
            " return e.contains(document.elementFromPoint(x, y)) ? [x, y] : null })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.browser.ask(
                "Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", clickCount=1
            )

    def agree(self, path: str) -> str:
        """Look at the preview of an act, agree to it, and return what came of it."""
        self.go(path)
        self.click("form.act button.first")
        over = "document.querySelector('.eyebrow').textContent.includes('Done')"
        self.browser.until(f"location.pathname == '/job' && {over}")
        return str(self.browser.evaluate("document.querySelector('main').innerText"))


def soon(reader: Reader) -> float:
    """Return the milliseconds within which a screen is to appear: a second, or several times an empty one."""
    reader.go("/act/gc")
    usual = float(reader.browser.until(FIRST_PAINT))
    return max(1000, 6 * usual)


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Tab]:
    with tab(tmp_path / "profile") as opened:
        opened.resize(1200, 900, mobile=False)
        yield opened


@pytest.fixture(autouse=True)
def profile(tmp_path: Path) -> None:
    (tmp_path / "profile").mkdir()


def test_every_act_of_a_plan_has_its_outcome_on_disk(browser: Tab, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    project = simple_project(folder)
    (folder / "plan.yaml").write_text(PLAN)
    project.execute(folder / "plan.yaml")
    with served(folder) as (address, _):
        reader = Reader(browser, address, folder)
        assert "exit status 3" in reader.agree("/act/resume?plan=release")
        assert "attempt 2 begins" in reader.agree("/act/correct?decision=release/d1&choose=ply&execute=false")
        assert project.status("release").attempt == 2
        assert "went to release@1" in reader.agree("/act/rollback?plan=release&checkpoint=@1")
        sandbox = Path(project.status("release").sandboxes[0].path)
        assert (sandbox / "greeting.txt").exists()
        assert "exit status 3" in reader.agree("/act/resume?plan=release")
        assert not (sandbox / "greeting.txt").exists()
        assert "has the name" in reader.agree("/act/label?plan=release&label=nice")
        assert project.checkpoints.show("nice")[0].label == "nice"
        assert "is complete" in reader.agree("/act/accept?plan=release")
        assert "changed" in reader.agree("/act/apply?plan=release")
        assert (folder / "moved.txt").exists()
        assert "is undone" in reader.agree("/act/undo")
        assert (folder / "greeting.txt").exists()
        assert "brought back" in reader.agree("/act/redo")
        assert (folder / "moved.txt").exists()
        assert "taken out" in reader.agree("/act/unapply?plan=release")
        assert (folder / "greeting.txt").exists()
        (folder / "app.py").write_text("broken")
        assert "1 path came back" in reader.agree("/act/restore?checkpoint=release@1&paths=app.py")
        assert "hello" in (folder / "app.py").read_text()
        assert "cancelled" in reader.agree("/act/cancel?plan=release")
        assert project.status("release").state == "cancelled"
        assert "forgotten" in reader.agree("/act/remove?plan=release")
        assert not list(project.plans())
        assert not sandbox.exists()
        assert "freed" in reader.agree("/act/gc")
        assert "All is well" in reader.agree("/act/doctor")
        assert browser.complaints == []
    project.close()


def test_a_question_a_variant_and_conflicts(browser: Tab, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    project = simple_project(folder)
    (folder / "asks.yaml").write_text(
        "name: asks\nsteps:\n  - {name: ask, decision: {question: Which one?, alternatives: [left, right]}}\n"
    )
    (folder / "clash.yaml").write_text(
        "name: clash\nsteps:\n  - name: parts\n    subplans:\n      plans:\n"
        + "".join(
            f"        - {{name: {n}, steps: [{{tool: write_file, args: {{path: greeting.txt, content: {n}}}}}]}}\n"
            for n in ("one", "two")
        )
    )
    project.execute(folder / "asks.yaml")
    project.execute(folder / "clash.yaml")
    project.try_variants(variants={"one": "echo 1 > n.txt", "two": "echo 2 > n.txt; exit 1"}, name="try")
    with served(folder) as (address, _):
        reader = Reader(browser, address, folder)
        reader.go("/plan?name=asks")
        reader.click("a[href*='choice=right']")
        browser.until("location.pathname == '/act/answer'")
        reader.click("form.act button.first")
        browser.until("location.pathname == '/job' && document.body.innerText.includes('got its answer')")
        assert project.status("asks").state == "complete"
        assert "has the result of one" in reader.agree("/act/pick?variant=one")
        assert project.variants("try").picked == "one"
        sandbox = Path(project.status("clash").sandboxes[0].path)
        reader.agree("/act/resolve?plan=clash&paths=greeting.txt")  # refused: markers are left
        assert project.status("clash").conflicts
        reader.go("/plan?name=clash")
        reader.click("a[href^='/conflict']")
        browser.until("location.pathname == '/conflict' && document.readyState == 'complete'")
        reader.click("form.act button.first")  # refused: markers are left
        browser.until("document.querySelector('.callout.bad')?.textContent.includes('markers')")
        reader.click("button[data-take='side-3']")
        box = "document.querySelector('#content')"
        assert browser.evaluate(f"{box}.value") == "two"
        browser.evaluate(f"{box}.value = '\\nboth <b>\\nof them\\n'")
        reader.click("form.act button.first")
        browser.until(
            "location.pathname == '/job' && document.body.innerText.includes('No conflict is left')"
        )
        assert (sandbox / "greeting.txt").read_text() == "\nboth <b>\nof them\n"
        assert not project.status("clash").conflicts
    project.close()


def test_a_plan_is_live_while_it_runs_and_when_its_process_is_killed(browser: Tab, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    simple_project(folder).close()
    go = tmp_path / "go"
    wait = f"while ! [ -e {go}1 ]; do sleep 0.1; done"
    (folder / "live.yaml").write_text(
        f"name: live\nsteps:\n  - {{name: first, run: '{wait}; echo first is done'}}\n"
        "  - {name: second, run: 'sleep 600'}\n"
    )
    with served(folder) as (address, _):
        reader = Reader(browser, address, folder)
        command = [sys.executable, "-m", "mulligan", "plan", "execute", "live.yaml"]
        with subprocess.Popen(
            command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        ) as plan:
            browser.until(
                "[...document.querySelectorAll('.entry .title')].some(e => e.textContent == 'first')"
            )
            browser.until("document.querySelector('.card')?.textContent.includes('live')")
            reader.go("/plan?name=live")
            Path(f"{go}1").touch()
            browser.until(
                "document.body.innerText.includes('first is done') || "
                "document.querySelector('#out-0')?.textContent.includes('first is done')"
            )
            browser.until("document.querySelectorAll('li.step.running').length == 1")
            plan.kill()
        browser.until("document.body.innerText.includes('is gone')")
        assert browser.evaluate("!!document.querySelector(\"a[href^='/act/resume']\")")
        assert browser.complaints == []


def test_hostile_names_and_outputs_are_inert(browser: Tab, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    eventful_project(folder).close()
    with served(folder) as (address, _):
        reader = Reader(browser, address, folder)
        named = quote(NAME)
        for path in (
            "/",
            "/plans",
            f"/plan?name={named}",
            f"/output?plan={named}",
            f"/compare?plan={named}&wait=yes",
            "/tree?checkpoint=draft",
            f"/act/cancel?plan={named}",
            "/upkeep",
            "/entry?number=1",
        ):
            reader.go(path)
            browser.listen()
            assert "owned" not in browser.evaluate("document.title"), path
            assert browser.complaints == [], path
            asked = [each for each in browser.requests if not each.startswith(reader.home)]
            assert asked == [], path


OTHER = """<!doctype html><title>other</title><img id=i src="{home}/static/mark.svg">
<iframe id=f src="{home}/"></iframe><iframe name=x></iframe>
<form id=g method=post action="{home}/act/undo" target=x></form>
<script>
window.said = [];
(async () => {{
  for (const [path, options] of [["/", {{}}], ["/api/session", {{credentials: "include"}}],
    ["/api/acts/remove", {{method: "POST", credentials: "include", mode: "no-cors", body: '{{"plan": "hello"}}'}}],
    ["/act/remove", {{method: "POST", credentials: "include", mode: "no-cors",
      headers: {{"content-type": "application/x-www-form-urlencoded"}}, body: "plan=hello"}}]]) {{
    try {{
      const a = await fetch("{home}" + path, options);
      said.push([path, a.type, a.type == "opaque" ? "" : await a.text()]);
    }}
    catch (e) {{ said.push([path, "failed", ""]); }}
  }}
  document.getElementById("g").submit();
  const source = new EventSource("{home}/events"); source.onopen = () => said.push(["events", "open", ""]);
  setTimeout(() => {{ document.title = "tried"; }}, 1500);
}})();
</script>"""


def test_a_page_of_another_origin_can_do_nothing(browser: Tab, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    project = simple_project(folder)
    project.run_command(["sh", "-c", "echo Hello > greeting.txt"], name="hello")
    project.apply("hello")
    with served(folder) as (address, _):
        reader = Reader(browser, address, folder)

        class Other(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                self.end_headers()
                self.wfile.write(OTHER.format(home=reader.home).encode())

            def log_message(self, *_: object) -> None:
                pass

        other = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Other)
        threading.Thread(target=other.serve_forever, daemon=True).start()
        try:
            for host in ("127.0.0.1", "localhost"):
                browser.go(
                    f"http://127.0.0.1:{other.server_port}/"
                    if host == "127.0.0.1"
                    else f"http://127.0.0.1:{other.server_port}/again"
                )
                browser.until("document.title == 'tried'")
                said = browser.evaluate("said")
                assert [each[1] for each in said if each[1] not in ("failed", "opaque")] == [], said
                assert browser.evaluate("document.getElementById('i').naturalWidth") == 0
        finally:
            other.shutdown()
            other.server_close()
        assert project.status("hello").state == "applied"
        assert (folder / "greeting.txt").read_text() == "Hello\n"
        reader.go("/")  # the reader's own page still works
        assert browser.evaluate("document.querySelectorAll('.entry').length") == 2
    project.close()


def test_ten_thousand_entries_stay_usable(browser: Tab, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    count = int(os.environ.get("MULLIGAN_TEST_ENTRIES", "10000"))
    (folder / "a.txt").write_text("a\n")
    project = mulligan.init(folder)
    project.config.set("sandbox.isolate", "off")
    steps = "\n".join(
        f"  - {{name: s{n}, tool: write_file, args: {{path: n.txt, content: '{n}'}}}}" for n in range(count)
    )
    head = f"name: many\nconfig: {{max_checkpoints_per_plan: {count * 3}}}\nsteps:\n"
    (folder / "many.yaml").write_text(f"{head}{steps}\n")
    assert project.execute(folder / "many.yaml").state == "complete"
    project.close()
    with served(folder) as (address, _):
        reader = Reader(browser, address, folder)
        paints: list[float] = []
        for path in ("/", "/", "/plan?name=many", "/plan?name=many"):
            reader.go(path)
            paints.append(browser.until(FIRST_PAINT))
        reader.go("/")
        most = 0
        for _ in range(60):
            browser.evaluate("scrollTo(0, document.body.scrollHeight)")
            time.sleep(0.25)
            most = max(most, browser.evaluate("document.querySelectorAll('.entry').length"))
        browser.ask("HeapProfiler.collectGarbage")
        heap = browser.ask("Runtime.getHeapUsage")["usedSize"] / 1e6
        keys = "[...document.querySelectorAll('.entry')].map(e => Number(e.dataset.key))"
        lowest = browser.evaluate(f"Math.min(...{keys})")
        browser.evaluate("scrollTo(0, 0)")
        browser.until(f"document.querySelector('.entry')?.dataset.key == '{count}'")
        print(
            f"\n{count} entries: first paint {[round(p) for p in paints]} ms, at most {most} rows, down to {lowest},"
            f" heap {heap:.1f} MB"
        )
        assert most <= 1500
        assert heap < 50
        assert min(paints[:2]) < soon(reader)
        assert min(paints[2:]) < soon(reader)


def test_a_difference_of_half_a_million_lines_stays_usable(browser: Tab, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    lines = int(os.environ.get("MULLIGAN_TEST_LINES", "250000"))
    (folder / "long.txt").write_text("".join(f"line {n} of the old text\n" for n in range(lines)))
    project = mulligan.init(folder)
    project.config.set("sandbox.isolate", "off")
    change = r"sed -i 's/old/new/' long.txt"
    project.run_command(["sh", "-c", change], name="change")
    project.close()
    with served(folder) as (address, server):
        reader = Reader(browser, address, folder)
        began = time.monotonic()
        reader.go("/compare?plan=change")
        paint = browser.until(FIRST_PAINT)
        browser.until("document.querySelectorAll('.chunk .r').length >= 250")
        shown = time.monotonic() - began
        for _ in range(12):
            reader.click(".lines > .more:last-child a")
            browser.until("!document.querySelector('.lines[data-loading]')")
        rows = browser.evaluate("document.querySelectorAll('.r').length")
        browser.evaluate(
            f"const i = document.getElementById('find'); i.value = 'line {lines - 5} of'; i.focus()"
        )
        began = time.monotonic()
        browser.press("Enter")
        browser.until(f"document.querySelector('.r.found')?.textContent.includes('line {lines - 5} of')")
        found = time.monotonic() - began
        browser.ask("HeapProfiler.collectGarbage")
        heap = browser.ask("Runtime.getHeapUsage")["usedSize"] / 1e6
        status = Path(f"/proc/{server.pid}/status").read_text()
        memory = int(status.partition("VmRSS:")[2].split()[0]) / 1e3
        print(
            f"\n{lines * 2} lines: first paint {paint:.0f} ms, lines after {shown:.1f} s, {rows} rows in the page,"
            f" found after {found:.1f} s, heap {heap:.1f} MB, server {memory:.0f} MB"
        )
        assert paint < soon(reader)
        assert rows <= 4000
        assert heap < 50


def test_what_is_searched_for_is_found_line_by_line(browser: Tab, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    project = simple_project(folder)
    (folder / "long.txt").write_text("".join(f"{n}\n" for n in range(2000)))
    script = r"sed -i -e 's/^150[0-2]$/Äpfel &/' -e 's/^1[0-4]..$/& too/' long.txt"
    project.run_command(["sh", "-c", script], name="change")
    project.close()
    with served(folder) as (address, _):
        reader = Reader(browser, address, folder)
        reader.go("/compare?plan=change&view=unified&wait=yes")
        browser.until("document.querySelectorAll('.chunk .r').length > 10")
        browser.evaluate("const i = document.getElementById('find'); i.value = 'äpfel'; i.focus()")
        row = "document.querySelector('.r.found')?.textContent"
        for number in (1500, 1501, 1502, 1500):  # and again from the top
            browser.press("Enter")
            browser.until(f"{row}?.includes('Äpfel {number}')")
        reader.click(".lines > .above a")  # all the lines above can be read from there
        browser.until("!document.querySelector('.r.found') && document.querySelectorAll('.r').length > 100")
        assert browser.evaluate("!!document.querySelector('.lines > .above a')")
        browser.evaluate("document.getElementById('find').focus()")
        browser.evaluate("document.getElementById('find').value = 'nowhere'")
        browser.press("Enter")
        browser.until("document.getElementById('pulse').textContent == 'not found'")


def test_no_entry_is_missing_after_a_page_was_not_seen(browser: Tab, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    project = simple_project(folder)
    project.run_command(["true"], name="first")

    def record(name: str, count: int) -> None:
        steps = "".join(
            f"  - {{name: {name}{n}, tool: write_file, args: {{path: n, content: '{n}'}}}}\n"
            for n in range(count)
        )
        (folder / f"{name}.yaml").write_text(f"name: {name}\nsteps:\n{steps}")
        project.execute(folder / f"{name}.yaml")

    keys = "[...document.querySelectorAll('.entry')].map(e => Number(e.dataset.key))"
    whole = f"(k => k.every((n, i) => n == k.length - i) && k.length)({keys})"
    seen = "Object.defineProperty(document, 'hidden', {{configurable: true, get: () => {}}});"
    seen += " document.dispatchEvent(new Event('visibilitychange'))"
    with served(folder) as (address, _):
        Reader(browser, address, folder)
        browser.until("document.getElementById('pulse').textContent == 'live'")
        browser.evaluate(seen.format("true"))
        record("some", 120)
        browser.listen()
        assert browser.evaluate(f"{keys}.length") == 1
        browser.evaluate(seen.format("false"))
        browser.until(f"{whole} == 121")
        browser.evaluate(seen.format("true"))
        record("more", 700)  # more than are fetched to close a gap: the newest are shown, with all below them
        browser.evaluate(seen.format("false"))
        browser.until(f"Math.max(...{keys}) == 821 && !!document.querySelector('li.more')")
        assert browser.evaluate(f"(k => k.every((n, i) => n == 821 - i))({keys})")
    project.close()


def test_many_tabs_are_live_at_once(browser: Tab, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    project = simple_project(folder)
    with served(folder) as (address, _):
        reader = Reader(browser, address, folder)
        own = browser.page
        tabs = [own]
        for _ in range(8):  # a browser has six connections to one place
            tabs.append(browser.another())
            reader.go("/")
            browser.until("document.getElementById('pulse').textContent == 'live'")
        project.run_command(["true"], name="nothing")
        for each in tabs:
            browser.turn_to(each)
            browser.until("document.querySelectorAll('.entry').length == 1")
        browser.turn_to(own)
        reader.go("/plans")  # the one that listened for the others is elsewhere now
        project.run_command(["true"], name="nothing")
        browser.turn_to(tabs[-1])
        browser.until("document.querySelectorAll('.entry').length == 2")
    project.close()


def test_keys_lead_through_the_page(browser: Tab, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    project = simple_project(folder)
    project.run_command(["sh", "-c", "echo Hello > greeting.txt"], name="hello")
    project.run_command(["true"], name="nothing")
    project.close()
    with served(folder) as (address, _):
        reader = Reader(browser, address, folder)
        for key in ("j", "j"):
            browser.press(key)
        assert browser.evaluate("document.activeElement.dataset.key") == "1"
        browser.press("k")
        assert browser.evaluate("document.activeElement.dataset.key") == "2"
        browser.press("?")
        assert browser.evaluate("document.getElementById('keys').open")
        browser.press("Escape")
        browser.press("/")
        assert browser.evaluate("document.activeElement.name") == "path"
        browser.press("Escape")
        browser.press("j")
        browser.press("c")
        browser.until("location.pathname == '/compare' && document.readyState == 'complete'")
        browser.press("g")
        browser.press("p")
        browser.until("location.pathname == '/plans'")
        reader.go("/")
        browser.press("j")
        browser.press("j")
        browser.press("u")
        browser.until("location.pathname == '/act/undo' && location.search == '?what=1'")


def screens(project: mulligan.Project) -> dict[str, str]:
    """The screens of which there are pictures."""
    assert project.plans()
    return {
        "timeline": "/",
        "plans": "/plans",
        "plan": "/plan?name=release",
        "compare": "/compare?plan=release&wait=yes",
        "files": "/tree?checkpoint=release",
        "file": "/file?checkpoint=release&path=app.py",
        "history": "/history?path=app.py",
        "entry": "/entry?number=2",
        "preview": "/act/rollback?plan=release&checkpoint=@1",
        "correct": "/act/correct?decision=release/d1",
        "disk": "/upkeep",
        "variants": "/plan?name=try",
        "conflict": "/conflict?plan=clash&path=app.py",
    }


def test_each_screen_fits_has_no_serious_fault_and_is_pictured(browser: Tab, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    project = simple_project(folder)
    (folder / "plan.yaml").write_text(PLAN)
    project.execute(folder / "plan.yaml")
    project.try_variants(variants={"sed": "echo 1 > n.txt", "perl": "echo 2 > n.txt; exit 1"}, name="try")
    (folder / "clash.yaml").write_text(CLASH)
    project.execute(folder / "clash.yaml")
    project.run_command(["sh", "-c", "echo Hello > greeting.txt"], name="hello")
    project.apply("hello")
    axe = Path(os.environ["MULLIGAN_TEST_AXE"]).read_text("utf-8")
    PICTURES.mkdir(parents=True, exist_ok=True)
    faults: list[str] = []
    with served(folder) as (address, _):
        reader = Reader(browser, address, folder)
        for name, path in screens(project).items():
            for width, height in WIDTHS.items():
                browser.resize(width, height, mobile=width < 600)
                for scheme in ("dark", "light"):
                    browser.scheme(scheme)
                    reader.go(path)
                    browser.evaluate(axe)
                    found = browser.evaluate(
                        "axe.run({resultTypes: ['violations']}).then(r => r.violations.map(v => [v.id, v.impact, "
                        "v.nodes.slice(0, 2).map(n => n.html.slice(0, 160))]))"
                    )
                    faults += [
                        f"{name} {width} {scheme}: {each}"
                        for each in found
                        if each[1] in ("serious", "critical")
                    ]
                    if browser.evaluate(OVERFLOW) > 0:
                        faults.append(f"{name} {width}: wider than the screen")
                browser.screenshot(PICTURES / f"{name}-{width}.png", whole=False)
    project.close()
    assert faults == []
    if os.environ.get("MULLIGAN_WRITE_PICTURES"):
        DOCUMENTS.mkdir(exist_ok=True)
        for picture in PICTURES.glob("*.png"):
            if not picture.name.startswith("disk"):  # it shows where the project is
                shutil.copy(picture, DOCUMENTS / picture.name)
