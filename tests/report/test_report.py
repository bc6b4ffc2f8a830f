"""The report of a plan: one page that tells everything, runs nothing, and asks nothing of any network."""

import base64
import hashlib
import json
import os
import re
from contextlib import chdir
from itertools import pairwise
from pathlib import Path

import pytest

import mulligan
from mulligan.api.operations import report_file
from mulligan.api.operations.command_words import in_commands
from mulligan.cli.main import run
from tests.commands.program import ask, data_of
from tests.report.eventful import LINES, NAME, SCRIPT, eventful_project
from tests.report.parsed import Element, parsed
from tests.support.homes import home_of

# Attributes that only name, tell or draw; with none of them anything is loaded, run or styled.
HARMLESS = {
    *(
        "aria-hidden",
        "aria-labelledby",
        "aria-label",
        "charset",
        "class",
        "content",
        "data-n",
        "datetime",
        "height",
    ),
    *(
        "href",
        "http-equiv",
        "id",
        "lang",
        "name",
        "open",
        "preserveaspectratio",
        "tabindex",
        "title",
        "viewbox",
        "width",
    ),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("eventful")
    eventful_project(folder).close()
    return folder


@pytest.fixture(scope="module")
def page(folder: Path) -> str:
    return mulligan.open(folder).report(NAME, words=in_commands)


@pytest.fixture(scope="module")
def tree(page: str) -> Element:
    return parsed(page)


def step(tree: Element, name: str, number: int = -1) -> Element:
    """A run of a step; the last of several."""
    found = [item for item in tree.all("li", "step") if item.all(class_="name")[0].text == name]
    return found[number]


def test_nothing_is_run_loaded_or_styled_from_within(tree: Element) -> None:
    elements = tree.all()
    assert not {e.tag for e in elements} & {
        "script",
        "link",
        "img",
        "iframe",
        "object",
        "base",
        "form",
        "i",
        "b",
    }
    assert {name for e in elements for name in e.attributes} <= HARMLESS
    assert all((e.attributes.get("href") or "#").startswith("#") for e in elements)
    (title,) = tree.all("title")
    assert title.text == f"{NAME}: report of a plan"
    assert (
        tree.text.count(SCRIPT) >= 6
    )  # as text: in the name, a question, outputs, a log, an error, guidance


def test_the_policy_lets_in_the_one_style_and_nothing_else(tree: Element) -> None:
    (style,) = tree.all("style")
    (policy,) = [e.attributes["content"] for e in tree.all("meta") if "http-equiv" in e.attributes]
    hashed = base64.b64encode(hashlib.sha256(style.text.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'sha256-{hashed}'; base-uri 'none'; form-action 'none'"
    assert "url(" not in style.text
    assert "@import" not in style.text


def test_a_page_has_landmarks_headings_in_order_and_links_that_lead_somewhere(tree: Element) -> None:
    ids = [e.attributes["id"] for e in tree.all() if "id" in e.attributes]
    assert len(ids) == len(set(ids))
    links = [e.attributes["href"] for e in tree.all("a")]
    assert {str(link).removeprefix("#") for link in links} <= set(ids)
    assert [len(tree.all(tag)) for tag in ("main", "nav", "footer", "h1")] == [1, 1, 1, 1]
    levels = [int(e.tag[1]) for e in tree.all() if re.fullmatch(r"h[1-6]", e.tag)]
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_facts_say_where_the_plan_stands(tree: Element) -> None:
    (facts, *_) = tree.all("dl", "facts")
    told = {dt.text: dd.text for dt, dd in zip(facts.all("dt"), facts.all("dd"), strict=True)}
    assert told["State"] == "errored in phase execute"
    assert told["Works on"] == "workspace, fs-directory at ."
    assert told["Variables"] == "version = 2.0"
    assert told["Corrections"] == f"attempt 2: use ply {SCRIPT}"
    assert "Stopped. Step test failed." in tree.all(class_="callout")[0].text
    (steps, *_) = tree.all("ol", "steps")
    assert [item.classes for item in steps.all("li")] == [["done"]] * 4 + [["failed"]]


def test_plans_and_checkpoints_go_by_handles_and_numbers_and_never_by_ids(
    tree: Element, folder: Path
) -> None:
    (body,) = tree.all("body")
    assert re.findall(r"\b[0-9A-HJKMNP-TV-Z]{26}\b", body.text) == []  # anchors are made of ids
    assert [each.text for each in body.all("a", "id")][:2] == ["@1", "@2"]
    assert body.all("code", "id")[0].text == mulligan.open(folder).status(NAME).handle


def test_steps_tell_their_calls_with_what_they_were_given_and_printed(tree: Element) -> None:
    rewrite = step(tree, "rewrite")
    (call,) = rewrite.all("li", "call")
    assert "shell" in call.text
    assert "printf '\\0binary' > image" in call.all("dl", "arguments")[0].text
    (output,) = call.all("pre", "output")
    first, *_ = output.text.splitlines()
    assert first == f"red {SCRIPT} \\x1b \\u202e bidi"  # colours and titles are gone, the rest is spelled
    assert f"{LINES + 1 - 200} lines left out" in output.text.replace(",", "")
    assert output.text.endswith(f"\n{LINES}")
    assert f"Output, {LINES + 1:,} lines" in call.text
    (failed,) = step(tree, "test").all("li", "call")
    assert "ended with exit status 1" in failed.all(class_="error")[0].text


def test_decisions_come_with_alternatives_and_rationale(tree: Element) -> None:
    (decision, *_) = step(tree, "choose a parser", 0).all("li", "decision")
    assert [e.text for e in decision.all("span", "alternative")] == ["ply", "<i>hand-written</i>"]
    assert "chosenlark" in decision.text
    assert "becauseError messages that people understand" in decision.text
    told = [item.text for item in tree.all("li", "decision")]
    assert any(f"guidanceuse ply {SCRIPT}instead oflark" in text for text in told)


def test_turns_of_the_history_are_told_and_what_was_left_behind_is_folded(tree: Element) -> None:
    turns = [item.text for item in tree.all("li", "turn")]
    assert [text.split(" ")[0] for text in turns] == ["Went", "Corrected", "Went", "Rolled", "Went"]
    assert "chosen instead: ply" in turns[1]
    branches = tree.all("li", "branch")
    assert [branch.all("details")[0].attributes.get("open", "closed") for branch in branches] == [
        *["closed"] * (len(branches) - 1),
        None,  # what stopped the plan is open
    ]
    assert step(branches[0], "choose a parser")
    assert all(item not in branch.all() for branch in branches for item in tree.all("li", "turn")[-1:])


def test_child_plans_are_told_after_their_parent_and_linked(tree: Element) -> None:
    children = tree.all("section", "child-plan")
    names = [child.all("h2")[0].all("span", "name")[0].text for child in children]
    assert names[-2:] == ["docs & more", "client"]
    links = [e.attributes["href"] for e in step(tree, "parts").all("li", "child") for e in e.all("a")]
    assert set(links) == {f"#{child.attributes['id']}" for child in children[-2:]}
    assert '"made": [' in children[-1].text.replace("\n", "")
    assert "The tool says" in children[-1].text
    assert f"a word {SCRIPT}" in children[-1].text


def test_changes_are_coloured_numbered_and_cut(tree: Element) -> None:
    (overall, *_) = tree.all("section", "changes")
    files = {e.all("code", "path")[0].text: e for e in overall.all(class_="file")}
    assert {"VERSION", "moved.txt", "caf\\xe9 <b>.txt", "image", "empty/", "numbers.txt"} <= set(files)
    version = files["VERSION"].all("div", "l")
    assert [(line.classes[1], line.attributes["data-n"], line.text) for line in version] == [
        ("hunk", "", "@@ -1 +1 @@"),
        ("removed", "1", "-1.0"),
        ("added", "1", "+2.0"),
    ]
    assert "open" not in files["VERSION"].attributes
    assert "from api.txt" in files["moved.txt"].text
    assert "binary" in files["image"].text
    assert "too large to be shown" in files["large.txt"].text
    assert re.search(r"60\d more lines of this patch", files["numbers.txt"].text)
    rewrite = step(tree, "rewrite").all("details", "changes")
    assert "Changes since the checkpoint before: 6 paths changed" in rewrite[0].text


def test_the_file_is_new_whole_and_readable_as_the_umask_says(folder: Path, page: str) -> None:
    before = set(folder.iterdir())
    old = os.umask(0o027)
    try:
        answer = data_of(folder, "plan", "report", NAME, "--html", "story.html")
    finally:
        os.umask(old)
    file = folder / "story.html"
    assert answer == {"file": str(file), "size_bytes": file.stat().st_size}
    assert file.stat().st_mode & 0o777 == 0o640
    made = re.compile(r"Made by mulligan.*?</p>")
    assert made.sub("", file.read_text("utf-8")) == made.sub("", page)
    assert set(folder.iterdir()) - before == {file}


def test_what_stands_there_is_replaced_only_by_force(folder: Path) -> None:
    file = folder / "there.html"
    file.write_text("mine")
    words = ("plan", "report", NAME, "--html", "there.html")
    refused = ask(folder, *words)
    assert (refused["exit_code"], refused["error"]["kind"]) == (3, "target_exists")
    assert refused["error"]["hint"].endswith("--html there.html --force` replaces it")
    assert file.read_text() == "mine"
    (folder / "link.html").symlink_to(file)
    data_of(folder, *words[:-1], "link.html", "--force")
    assert (folder / "link.html").is_symlink()
    assert file.read_text().startswith("<!DOCTYPE html>")


@pytest.mark.parametrize(
    ("target", "code", "told"),
    [
        (".", 3, "it is not a file"),
        ("/dev/null", 3, "it is not a file"),
        ("nowhere/x.html", 2, "name another file"),
        ("-", 2, "name a FILE"),
    ],
)
def test_what_is_no_place_for_a_page_is_refused(folder: Path, target: str, code: int, told: str) -> None:
    answer = ask(folder, "plan", "report", NAME, "--html", target, "--force")
    assert answer["exit_code"] == code
    assert told in answer["error"]["hint"]


def test_a_page_on_stdout_is_the_page_and_nothing_else(
    folder: Path, page: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    for format in ("plain", "rich"):
        with chdir(folder):
            assert run(["plan", "report", NAME, "--html", "-", "--format", format]) == 0
        shown = capfdbinary.readouterr().out
        assert shown.startswith(b"<!DOCTYPE html>")
        assert shown.endswith(b"</html>\n")


@pytest.mark.parametrize("fault", ["link", "fsync"])
def test_nothing_is_left_of_a_page_that_could_not_be_written(
    folder: Path, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk, and someone who makes the same file in the same moment."""
    file = folder / f"no-{fault}.html"

    def fail(*_: object) -> None:
        if fault == "link":
            file.write_text("theirs")
            raise FileExistsError
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(report_file.os, fault, fail)
    answer = ask(folder, "plan", "report", NAME, "--html", file.name)
    monkeypatch.undo()
    kind = {"link": "target_exists", "fsync": "system_failed"}[fault]
    assert answer["error"]["kind"] == kind
    assert [path.read_text() for path in folder.glob("*.html*") if path == file] == ["theirs"] * (
        fault == "link"
    )
    assert not [path for path in folder.iterdir() if path.name.endswith(".new")]


def test_a_filesystem_without_links_gets_its_page_too(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(report_file.os, "link", refuse)
    answer = data_of(folder, "plan", "report", NAME, "--html", "stick.html")
    assert (folder / "stick.html").stat().st_size == answer["size_bytes"]


def test_a_plan_without_history_and_one_without_checkpoints_have_a_page(tmp_path: Path) -> None:
    project = mulligan.init(tmp_path)
    steps = "steps: [{tool: write_file, args: {path: a, content: b}}]\n"
    (tmp_path / "new.yaml").write_text(f"name: new\n{steps}")
    (tmp_path / "bare.yaml").write_text(f"name: bare\nrollback_policy: {{enabled: false}}\n{steps}")
    project.create(tmp_path / "new.yaml")
    project.execute(tmp_path / "bare.yaml")
    for name in ("new", "bare"):
        tree = parsed(project.report(name))
        assert "There are no two checkpoints to compare." in tree.text
        assert "The plan was recorded" in tree.text


def test_a_damaged_store_keeps_nobody_from_the_rest(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old\n" * 1000)
    (tmp_path / "plan.yaml").write_text(
        "name: hurt\nsteps: [{tool: shell, args: {command: 'seq 1 3000 > a; echo told'}}]\n"
    )
    project = mulligan.init(tmp_path)
    project.execute(tmp_path / "plan.yaml")
    project.close()
    for pack in (home_of(tmp_path) / "store" / "packs").iterdir():
        data = bytearray(pack.read_bytes())
        data[len(data) // 4 : len(data) // 2] = bytes(len(data) // 2 - len(data) // 4)
        pack.chmod(0o600)
        pack.write_bytes(data)
    answer = ask(tmp_path, "plan", "report", "--html", "hurt.html")
    assert (answer["exit_code"], answer["status"]) == (0, "warn"), json.dumps(answer)
    tree = parsed((tmp_path / "hurt.html").read_text("utf-8"))
    assert any("Not all of it can be shown" in e.text for e in tree.all(class_="problem"))
    assert "told" in tree.all("pre", "output")[0].text
