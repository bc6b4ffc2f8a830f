import pytest

from tests import skips

REPORT = """<testsuites><testsuite>
<testcase classname="tests.unit.test_a" name="test_runs"/>
<testcase classname="tests.unit.test_a" name="test_waits"><skipped message="no inotify here"/></testcase>
</testsuite></testsuites>"""


@pytest.fixture
def report(tmp_path):
    (tmp_path / "report.xml").write_text(REPORT)
    return tmp_path


def allow(monkeypatch, tmp_path, text):
    allow_list = tmp_path / "allowed.txt"
    allow_list.write_text(text)
    monkeypatch.setattr(skips, "ALLOW_LIST", allow_list)


def test_a_skip_that_is_not_allowed_fails_the_run_and_is_named(report, tmp_path, monkeypatch, capsys):
    allow(monkeypatch, tmp_path, "# nothing is allowed\n")
    assert skips.main([str(report)]) == 1
    assert "REFUSED tests.unit.test_a::test_waits: no inotify here" in capsys.readouterr().out


def test_an_allowed_skip_is_listed_with_its_reason_and_passes(report, tmp_path, monkeypatch, capsys):
    allow(monkeypatch, tmp_path, "tests.unit.test_a::* -- containers without inotify\n")
    assert skips.main([str(report / "report.xml")]) == 0
    assert "  tests.unit.test_a::test_waits: no inotify here" in capsys.readouterr().out


def test_the_allow_list_wants_reasons():
    with pytest.raises(ValueError, match="no reason"):
        skips.read_allow_list("tests.unit.test_a::*\n")


def test_the_allow_list_of_this_project_can_be_read():
    skips.read_allow_list(skips.ALLOW_LIST.read_text(encoding="utf-8"))
