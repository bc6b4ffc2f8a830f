"""Exported projects of strangers: nothing outside of the new home is deleted, rolled back or written."""

import io
import json
import sqlite3
import tarfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
import zstandard

from tests.commands.program import ask, data_of
from tests.support.git_world import run_git

Members = list[tuple[tarfile.TarInfo, bytes | None]]


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    folder = tmp_path / "victim"
    (folder / "workspace" / "sub").mkdir(parents=True)
    (folder / "workspace" / "doc").write_text("precious")
    return folder


@pytest.fixture
def exported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MULLIGAN_HOME", str(tmp_path / "homes"))
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "f").write_text("one")
    data_of(folder, "run", "--name", "one", "--", "sh", "-c", "echo x >> f")
    data_of(folder, "project", "export", str(tmp_path / "saved"))
    return tmp_path / "saved"


def changed(file: Path, change: Callable[[Members], Members], **manifest: object) -> None:
    """Write an archive again, with other members, and other words in its manifest."""
    raw = zstandard.ZstdDecompressor().stream_reader(file.read_bytes()).read()
    with tarfile.open(fileobj=io.BytesIO(raw)) as source:
        members: Members = []
        for member in source.getmembers():
            stream = source.extractfile(member) if member.isreg() else None
            members.append((member, stream.read() if stream is not None else None))
    members = change(members)
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as target:
        for member, data in members:
            written = data
            if member.name == "mulligan-project.json" and data is not None:
                written = json.dumps({**json.loads(data), "files": len(members) - 1, **manifest}).encode()
            member.size = len(written or b"")
            target.addfile(member, io.BytesIO(written) if written is not None else None)
    file.write_bytes(zstandard.compress(out.getvalue()))


def refused(tmp_path: Path, file: Path) -> None:
    """Import it, and see that nothing came of it."""
    before = sorted(tmp_path.rglob("*"))
    (tmp_path / "new").mkdir()
    answer = ask(tmp_path / "new", "project", "import", str(file))
    assert answer["error"]["kind"] == "archive_damaged", answer
    (tmp_path / "new").rmdir()
    assert sorted(tmp_path.rglob("*")) == before, "nothing is left behind"


def link_to(name: str, target: str, kind: bytes) -> tuple[tarfile.TarInfo, None]:
    link = tarfile.TarInfo(name)
    link.type, link.linkname = kind, target
    return link, None


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_a_symlink_in_the_place_of_a_folder_of_the_home(
    tmp_path: Path, exported: Path, victim: Path, depth: int
) -> None:
    def change(members: Members) -> Members:
        (top,) = (m.name for m, _ in members if m.name.endswith("/workspace"))
        place = "/".join(top.split("/")[: 2 + depth])
        kept = [each for each in members if not f"{each[0].name}/".startswith(f"{place}/")]
        return [*kept, link_to(place, str(victim), tarfile.SYMTYPE)]

    changed(exported, change)
    refused(tmp_path, exported)


@pytest.mark.parametrize("through", ["home/d/doc", "{sandbox}/d/doc", "home/none"])
def test_a_hard_link_to_what_is_not_in_it(tmp_path: Path, exported: Path, victim: Path, through: str) -> None:
    def change(members: Members) -> Members:
        name = next(m.name for m, _ in members if m.name.endswith("/workspace/f"))
        aim = through.format(sandbox=name.rpartition("/")[0])
        folder, _, _ = aim.rpartition("/")
        kept = [each for each in members if each[0].name != name]
        made = [link_to(folder, str(victim / "workspace"), tarfile.SYMTYPE)] if folder != "home" else []
        return [*kept, *made, link_to(name, aim, tarfile.LNKTYPE)]

    changed(exported, change)
    refused(tmp_path, exported)
    assert (victim / "workspace" / "doc").stat().st_nlink == 1


@pytest.mark.parametrize("column", ["path", "location", "git_dir"])
@pytest.mark.parametrize(
    "place", ["home:sandboxes/../../../victim/workspace", "project:../victim/workspace", "{victim}"]
)
def test_a_row_that_leads_out(tmp_path: Path, exported: Path, victim: Path, column: str, place: str) -> None:
    with_rows(tmp_path, exported, f"UPDATE sandboxes SET {column} = ?", place.format(victim=victim))
    refused(tmp_path, exported)


def with_rows(tmp_path: Path, exported: Path, statement: str, *values: str) -> None:
    """Change the rows of an archive."""

    def rewritten(data: bytes) -> bytes:
        file = tmp_path / "rows"
        file.write_bytes(data)
        with closing(sqlite3.connect(file)) as rows:
            with rows:
                rows.execute(statement, values)
            rows.execute("PRAGMA journal_mode = DELETE")
        data = file.read_bytes()
        file.unlink()
        return data

    def change(members: Members) -> Members:
        return [
            (member, rewritten(data or b"") if member.name == "home/mulligan.db" else data)
            for member, data in members
        ]

    changed(exported, change)


AN_INTENT = """
INSERT INTO intents (intent_id, plan_id, kind, data_json, created_at, seq)
SELECT 'i', plan_id, 'apply', ?, created_at, 99 FROM plans
"""


@pytest.mark.parametrize(
    ("statement", "value"),
    [
        ("UPDATE checkpoints SET filesystem_path = ?", "{victim}"),
        (AN_INTENT, '{{"locations": ["{victim}"]}}'),
    ],
)
def test_other_rows_that_lead_out(
    tmp_path: Path, exported: Path, victim: Path, statement: str, value: str
) -> None:
    with_rows(tmp_path, exported, statement, value.format(victim=victim))
    refused(tmp_path, exported)


def test_a_repository_of_checkpoints_that_names_another_repository_sets_and_drops_no_pins_there(
    tmp_path: Path, exported: Path
) -> None:
    mine, top = tmp_path / "mine", tmp_path / "project"
    for folder in (mine, top):
        folder.mkdir(exist_ok=True)
        run_git(folder, "init", "-q")
        (folder / "f").write_text("one")
        run_git(folder, "add", ".")
        run_git(folder, "commit", "-qm", "one")
    data_of(top, "run", "--name", "two", "--", "sh", "-c", "echo x >> f")
    data_of(top, "project", "export", "--force", str(exported))
    run_git(tmp_path, "clone", "-q", "project", "new")

    def change(members: Members) -> Members:
        def named(data: bytes) -> bytes:
            memory = json.loads(data)
            return json.dumps({**memory, "lenders": [str(mine / ".git")], "prefix": "../heads"}).encode()

        return [
            (member, named(data or b"") if member.name.endswith("/mulligan.json") else data)
            for member, data in members
        ]

    changed(exported, change)
    before = run_git(mine, "for-each-ref")
    data_of(tmp_path / "new", "project", "import", str(exported))
    assert run_git(mine, "for-each-ref") == before
    data_of(tmp_path / "new", "rm", "--yes", "two")
    data_of(tmp_path / "new", "gc")
    assert run_git(mine, "for-each-ref") == before


def test_rows_that_lead_out_later_delete_nothing(tmp_path: Path, exported: Path, victim: Path) -> None:
    project = tmp_path / "project"
    (database,) = (tmp_path / "homes").glob("project-*/mulligan.db")
    with closing(sqlite3.connect(database)) as rows, rows:
        rows.execute("UPDATE sandboxes SET path = ?", (str(victim / "workspace"),))
    assert ask(project, "rollback", "--yes", "one", "first")["exit_code"] != 0
    ask(project, "rm", "--yes", "one")
    assert (victim / "workspace" / "doc").read_text() == "precious"
    with closing(sqlite3.connect(database)) as rows, rows:
        rows.execute("UPDATE sandboxes SET path = 'home:sandboxes/../../../victim/workspace'")
    assert ask(project, "rm", "--yes", "one")["exit_code"] != 0
    assert (victim / "workspace" / "doc").read_text() == "precious"


def test_a_plan_folder_that_became_a_symlink_deletes_nothing(
    tmp_path: Path, exported: Path, victim: Path
) -> None:
    (folder,) = (tmp_path / "homes").glob("project-*/sandboxes/*")
    folder.rename(tmp_path / "aside")
    folder.symlink_to(victim)
    ask(tmp_path / "project", "rm", "--yes", "one")
    ask(tmp_path / "project", "gc")
    assert (victim / "workspace" / "doc").read_text() == "precious"


def node(name: str, kind: bytes, **headers: str) -> tuple[tarfile.TarInfo, bytes | None]:
    member = tarfile.TarInfo(name)
    member.type, member.pax_headers = kind, headers
    return member, b"x" if kind == tarfile.REGTYPE else None


@pytest.mark.parametrize(
    "added",
    [
        node("elsewhere/file", tarfile.REGTYPE),
        node("home/../file", tarfile.REGTYPE),
        node("/home/file", tarfile.REGTYPE),
        node("home/device", tarfile.CHRTYPE),
        node("home/file", tarfile.REGTYPE, **{"LIBARCHIVE.xattr.trusted.overlay": "eA=="}),
    ],
    ids=lambda added: added[0].name + added[0].type.decode(),
)
def test_a_member_that_is_in_no_home(
    tmp_path: Path, exported: Path, added: tuple[tarfile.TarInfo, bytes | None]
) -> None:
    member, data = added
    changed(exported, lambda members: [*members, (member, data)])
    refused(tmp_path, exported)


@pytest.mark.parametrize("manifest", [{"format": 99}, {"files": 3}, {"format": "one"}])
def test_a_manifest_of_something_else(tmp_path: Path, exported: Path, manifest: dict[str, object]) -> None:
    changed(exported, lambda members: members, **manifest)
    refused(tmp_path, exported)


def test_a_file_that_is_no_export_and_one_that_is_cut_off(tmp_path: Path, exported: Path) -> None:
    whole = exported.read_bytes()
    exported.write_bytes(whole[: len(whole) // 2])
    refused(tmp_path, exported)
    exported.write_bytes(b"text")
    refused(tmp_path, exported)
    changed_first = io.BytesIO()
    with tarfile.open(fileobj=changed_first, mode="w") as target:
        member = tarfile.TarInfo("file")
        target.addfile(member)
    exported.write_bytes(zstandard.compress(changed_first.getvalue()))
    refused(tmp_path, exported)
