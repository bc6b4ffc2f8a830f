"""The side-by-side comparison works, on a tree so small that its figures mean nothing."""

import io
import json
import os
import shutil
import subprocess
import time
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from benchmarks.compare.command import exit_code, main
from benchmarks.compare.contest import Disk, Effort, Taken, compete, size_on_disk
from benchmarks.compare.contestants import contestants
from benchmarks.compare.processes import Budget, CommandFailed, run
from benchmarks.compare.results import Failure, Findings, Row, Work
from benchmarks.compare.targets import TARGETS, Target, Verdict, judge
from benchmarks.compare.works import WORKS, WORKS_ON_TREES
from benchmarks.trees import make_repository

FILES = 60
WITHIN_REACH = Target(
    work="five changes",
    against="git",
    ours=f"mulligan-scan.five-changes@{FILES}",
    theirs=f"git.five-changes@{FILES}",
    faster=0.000_001,
)
OUT_OF_REACH = Target(
    work="no change",
    against="git",
    ours=f"mulligan-watch.no-change@{FILES}",
    theirs=f"git.no-change@{FILES}",
    faster=1e9,
)
OTHER_SIZE = Target(work="none", against="git", ours="mulligan-scan.first@7", theirs="git.first@7", at_most=1)


class Compared(NamedTuple):
    code: int
    printed: str
    document: dict[str, Any]
    left: list[Path]

    def contestant(self, key: str) -> dict[str, Any]:
        return next(each for each in self.document["contestants"] if each["key"] == key)


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Compared:
    folder = tmp_path_factory.mktemp("compare")
    report = tmp_path_factory.mktemp("report") / "compare.json"
    few = ["--repeats", "1", "--checkpoints", "2", "--budget", "60", "--no-sync"]
    asked = ["--sizes", str(FILES), "--only", "mulligan", "--no-works", *few]
    targets = [WITHIN_REACH, OUT_OF_REACH, OTHER_SIZE]
    printed = io.StringIO()
    with redirect_stdout(printed):
        code = main([*asked, "--folder", str(folder), "--json", str(report)], targets)
    return Compared(code, printed.getvalue(), json.loads(report.read_text()), list(folder.iterdir()))


def test_a_missed_target_is_exit_code_1_and_is_named(compared):
    assert compared.code == 1
    verdicts = {each["work"]: each["verdict"] for each in compared.document["targets"]}
    assert verdicts == {"five changes": "reached", "no change": "missed", "none": "not measured"}


def test_what_is_printed_has_a_line_for_every_contestant_and_target(compared):
    for title in (each["title"] for each in compared.document["contestants"]):
        assert title in compared.printed
    assert "≥ 1e+09× faster" in compared.printed


def test_every_contestant_is_measured_on_every_tree(compared):
    keys = [each["key"] for each in compared.document["contestants"]]
    assert keys == ["mulligan-watch", "mulligan-scan", "git", "git-unforced", "git-tuned"]
    for contestant in compared.document["contestants"]:
        (tree,) = contestant["trees"]
        assert contestant["failure"] is None
        assert (tree["files"], tree["failure"], tree["restore_inexact"]) == (FILES, None, None)
        assert set(tree["seconds"]) == {"first", "five-changes", "no-change", "restore"}
        assert len(tree["seconds"]["five-changes"]["runs"]) == 2
        assert 0 < tree["disk_bytes"]["first"] < tree["disk_bytes"]["after-2"]


def test_mulligan_loses_nothing_and_git_what_git_cannot_hold(compared):
    assert compared.contestant("mulligan-watch")["fidelity"]["lost"] == {}
    assert compared.contestant("mulligan-scan")["fidelity"]["lost"] == {}
    assert {"empty folders", "mtimes", "nested repositories"} <= set(
        compared.contestant("git")["fidelity"]["lost"]
    )
    assert "ignored files" in compared.contestant("git-unforced")["fidelity"]["lost"]
    assert "ignored files" in compared.contestant("git")["fidelity"]["kept"]


def test_nothing_is_left_behind(compared):
    assert compared.left == []


def test_targets_are_ratios_of_two_figures_that_can_be_measured():
    assert [t.work for t in TARGETS if (t.faster is None) == (t.at_most is None)] == []


def test_targets_are_of_contestants_and_pieces_of_work_that_exist():
    known = {*WORKS, *WORKS_ON_TREES, *(contestant.key for contestant in contestants())}
    figures = [figure for target in TARGETS for figure in (target.ours, target.theirs)]
    assert [figure for figure in figures if figure.partition(".")[0] not in known] == []


def test_a_piece_of_work_runs_by_itself_and_is_held_against_its_own_targets(tmp_path):
    report, place = tmp_path / "report.json", tmp_path / "place"
    place.mkdir()
    few = ["--repeats", "1", "--budget", "60", "--no-sync", "--folder", str(place)]
    with redirect_stdout(io.StringIO()):
        main(["--works", "status", "--json", str(report), *few], TARGETS)
    document = json.loads(report.read_text())
    assert [work["key"] for work in document["works"]] == ["status"]
    assert document["contestants"] == []
    judged = {target["ours"]: target["verdict"] == "not measured" for target in document["targets"]}
    assert judged == {"status.mulligan": False, "status.mulligan, server running": False}


def test_a_piece_of_work_that_stops_is_told_and_stops_no_other(tmp_path, monkeypatch):
    def stopped(bench):
        run(["true"], bench.budget)
        raise subprocess.CalledProcessError(1, ["initdb"], stderr=b"there is no room")

    def done(bench):
        return Work(key="status", title="", files=None, sides={}, how="", failures=[])

    monkeypatch.setitem(WORKS, "rollback", stopped)
    monkeypatch.setitem(WORKS, "status", done)
    report = tmp_path / "compare.json"
    words = ["--works", "rollback,status", "--no-sync", "--folder", str(tmp_path), "--json", str(report)]
    with redirect_stdout(io.StringIO()):
        assert main(words, []) == 1
    works = {each["key"]: each["failures"] for each in json.loads(report.read_text())["works"]}
    assert works["status"] == []
    (failure,) = works["rollback"]
    assert "initdb" in failure["output"]
    assert "there is no room" in failure["output"]


def test_a_target_that_is_not_measured_names_what_is_missing():
    target = Target(work="w", against="g", ours="o", theirs="t", faster=50)
    (judgement,) = judge([target], {"o": 1.0})
    assert judgement.missing == ("t",)


@pytest.mark.parametrize(
    ("ours", "theirs", "verdict"),
    [(1.0, 60.0, Verdict.REACHED), (1.0, 40.0, Verdict.MISSED), (None, 40.0, Verdict.NOT_MEASURED)],
)
def test_a_verdict_goes_by_the_ratio(ours, theirs, verdict):
    target = Target(work="w", against="g", ours="o", theirs="t", faster=50)
    figures = {name: value for name, value in (("o", ours), ("t", theirs)) if value is not None}
    (judgement,) = judge([target], figures)
    assert judgement.verdict is verdict


def findings_with(key: str, failure: Failure | None) -> Findings:
    row = Row(key=key, title=key, how="", version="", trees=[], lost={}, kept=[], failure=failure)
    return Findings(machine={}, rows=[row], works=[])


def test_missed_targets_can_be_a_warning_only():
    missed = judge([Target(work="w", against="g", ours="o", theirs="t", at_most=1)], {"o": 2, "t": 1})
    assert exit_code(missed, findings_with("git", None), warn_only=False) == 1
    assert exit_code(missed, findings_with("git", None), warn_only=True) == 0


def test_a_peer_that_cannot_be_measured_is_told_but_only_mulligan_has_to_work():
    failure = Failure(measure="install", command="npm install", output="no such host", excused=False)
    assert exit_code([], findings_with("gemini", failure), warn_only=False) == 0
    assert exit_code([], findings_with("mulligan-scan", failure), warn_only=False) == 1


def test_git_is_never_left_out():
    failure = Failure(measure="install", command="git --version", output="not found", excused=False)
    assert exit_code([], findings_with("git-tuned", failure), warn_only=False) == 1


def test_a_peer_that_cannot_be_installed_is_a_row_with_the_command_and_what_it_said(
    tmp_path, monkeypatch, capsys
):
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("git", "cp"):
        (programs / name).symlink_to(shutil.which(name))
    (programs / "npm").write_text("#!/bin/sh\necho 'npm: no such host' >&2\nexit 7\n")
    (programs / "npm").chmod(0o755)
    monkeypatch.setenv("PATH", str(programs))
    report = tmp_path / "compare.json"
    few = ["--repeats", "1", "--checkpoints", "1", "--no-sync", "--no-works", "--folder", str(tmp_path)]
    assert main(["--sizes", "20", "--only", "restic,gemini", *few, "--json", str(report)], []) == 0
    failures = {row["key"]: row["failure"] for row in json.loads(report.read_text())["contestants"]}
    assert failures["git"] is None
    assert failures["restic"]["command"].startswith("apt-get")
    assert "No such file" in failures["restic"]["output"]
    assert failures["gemini"]["command"].startswith("npm install")
    assert failures["gemini"]["output"] == "npm: no such host\n\nexit code 7"
    printed = capsys.readouterr().out
    assert "npm: no such host" in printed


class Slow:
    """A contestant that takes a tenth of a second for everything, and keeps nothing."""

    key = group = title = "slow"
    how = ""
    own_names = frozenset[str]()

    @contextmanager
    def open(self, tree, store, budget):
        self._tree, self._before = tree, {}
        yield self

    def snapshot(self):
        time.sleep(0.1)
        self._before = {path: path.read_bytes() for path in self._tree.rglob("*.ts")}
        return Taken(0.1, "it")

    def restore(self, name, paths):
        for path, data in self._before.items():
            path.write_bytes(data)
        paths.remove_added()
        return 0.1

    def stored(self):
        return [self._tree]


def test_one_that_is_too_slow_for_all_checkpoints_is_cut_short_and_told(tmp_path):
    folder = tmp_path / "original"
    folder.mkdir()
    repository = make_repository(folder, 30)
    effort = Effort(first=1, checkpoints=500, repeats=1, budget=3, disk=Disk(sync=False))
    found = compete(Slow(), repository, tmp_path / "place", effort)
    done = len(found.runs["five-changes"].seconds)
    assert 1 < done < 30
    assert {"no-change", "restore"} < set(found.runs)
    assert set(found.disk) == {"first"}
    assert found.failure.output == f"stopped after {done} of 500 checkpoints: most of its 3 s are spent"


def test_disk_use_is_counted_once_nothing_is_tidied_up_any_more(tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"x" * 5000)
    walks = iter([FileNotFoundError, FileNotFoundError, None])
    scan = os.scandir

    def scandir(folder):
        if gone := next(walks, None):
            raise gone
        return scan(folder)

    monkeypatch.setattr(os, "scandir", scandir)
    monkeypatch.setattr(time, "sleep", lambda _: None)
    assert size_on_disk([tmp_path]) == 8192
    walks = iter([FileNotFoundError] * 1000)
    with pytest.raises(CommandFailed, match="kept going away"):
        size_on_disk([tmp_path])


def test_a_command_that_goes_on_too_long_is_ended_and_named():
    with pytest.raises(CommandFailed, match="sleep 60") as failed:
        run(["sh", "-c", "echo begun; sleep 60"], Budget(0.5))
    assert "begun" in failed.value.output
    assert "spent" in failed.value.output


@pytest.mark.parametrize("option", ["--only", "--works"])
def test_only_what_is_known_can_be_asked_for(option, capsys):
    with pytest.raises(SystemExit):
        main([option, "gitt"], [])
    assert "unknown: gitt" in capsys.readouterr().err
