"""Files of settings: read, set, unset; never half written, never with something unknown in them."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mulligan.adapters.settings_files import read_settings, set_setting, unset_setting
from mulligan.config import Source, parse_value
from mulligan.domain.text.json_value import Json
from mulligan.errors import SettingInvalid, SettingsFileInvalid, SettingUnknown, SystemFailed
from tests.support.raised import raises

PROJECT = Source.PROJECT_FILE
COMMENTED = """\
# settings of this project
"core.format" = "json"  # for scripts

[sandbox]
strategy = "auto"  # by type

# kept few
[sandbox.checkpoint]
max-checkpoints-per-plan = 5
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def values(file: Path) -> dict[str, Json]:
    return dict(read_settings(file, PROJECT).values)


def test_a_missing_file_sets_nothing(file: Path) -> None:
    assert values(file) == {}


@pytest.mark.parametrize(
    "text",
    [
        '[sandbox.checkpoint]\nauto-create-on = ["on_error"]\nmax-checkpoints-per-plan = 9\n',
        '[sandbox]\ncheckpoint = {auto-create-on = ["on_error"], max-checkpoints-per-plan = 9}\n',
        'sandbox.checkpoint.auto-create-on = ["on_error"]\nmax_checkpoints_per_plan = 9\n',
        '"sandbox.checkpoint.auto-create-on" = ["on_error"]\nsandbox.checkpoint.max-checkpoints-per-plan = 9',
        '[sandbox."checkpoint"]\n"auto-create-on" = ["on_error"]\n"max-checkpoints-per-plan" = 9\n[core]\n',
    ],
)
def test_tables_dots_and_quotes_mean_the_same(file: Path, text: str) -> None:
    file.write_text(text)
    assert values(file) == {
        "sandbox.checkpoint.auto-create-on": ["on_error"],
        "sandbox.checkpoint.max-checkpoints-per-plan": 9,
    }


def test_the_origin_of_a_value_names_the_file(file: Path) -> None:
    file.write_text('core.format = "json"\n')
    assert read_settings(file, PROJECT).origin("core.format") == f"project file {file}"


def test_an_unknown_key_is_refused_with_file_and_nearest(file: Path) -> None:
    file.write_text('[sandbox]\nstratgy = "auto"\n')
    with pytest.raises(SettingUnknown) as caught:
        values(file)
    assert str(file) in str(caught.value)
    assert caught.value.facts["nearest"] == "sandbox.strategy"


def test_a_bad_value_is_refused_with_the_file(file: Path) -> None:
    file.write_text('[plan]\nmax-parallel = "5"\n')
    with pytest.raises(SettingInvalid) as caught:
        values(file)
    assert caught.value.facts["key"] == "plan.max-parallel"
    assert str(file) in str(caught.value)


def test_a_key_written_in_two_ways_is_refused(file: Path) -> None:
    file.write_text('"core.format" = "json"\n[core]\nformat = "yaml"\n')
    with raises(SettingInvalid, key="core.format"):
        values(file)


@pytest.mark.parametrize(
    ("data", "line", "reason"),
    [
        (b"a = 1\n[b\n", 2, "is not TOML: Expected ']' at the end of a table declaration"),
        (b"# x\n\na =", 3, "is not TOML: Invalid value"),
        (b"# x\n\xff\n", 2, "is not UTF-8 text"),
        (b"a = " + b"[" * 5000, 1, "is nested too deeply"),
        (b"a." * 5000 + b"a = 1", 1, "is nested too deeply"),
        (b"#" * (1024 * 1024 + 1), 1, "is larger than 1 MiB"),
    ],
)
def test_a_broken_file_is_refused_with_the_line(file: Path, data: bytes, line: int, reason: str) -> None:
    file.write_bytes(data)
    with pytest.raises(SettingsFileInvalid) as caught:
        values(file)
    assert str(caught.value) == f"{file}:{line}: {reason}"
    assert caught.value.exit_code == 2


def test_a_file_that_cannot_be_read_is_reported(tmp_path: Path) -> None:
    with pytest.raises(SystemFailed, match="Is a directory"):
        values(tmp_path)


def test_setting_a_key_keeps_comments_and_all_else(file: Path) -> None:
    file.write_text(COMMENTED)
    set_setting(file, PROJECT, "sandbox.strategy", "in_place")
    assert file.read_text() == COMMENTED.replace('"auto"', '"in_place"')


def test_a_new_key_is_added_and_the_rest_stays(file: Path) -> None:
    file.write_text(COMMENTED)
    set_setting(file, PROJECT, "sandbox.checkpoint.auto-create-on", [])
    assert values(file) == {
        "core.format": "json",
        "sandbox.strategy": "auto",
        "sandbox.checkpoint.max-checkpoints-per-plan": 5,
        "sandbox.checkpoint.auto-create-on": [],
    }
    assert "# kept few\n[sandbox.checkpoint]" in file.read_text()


def test_a_short_name_sets_what_it_stands_for(file: Path) -> None:
    file.write_text("max_checkpoints_per_plan = 5\n")
    set_setting(file, PROJECT, "sandbox.checkpoint.max-checkpoints-per-plan", 7)
    assert values(file) == {"sandbox.checkpoint.max-checkpoints-per-plan": 7}
    set_setting(file, PROJECT, "max_checkpoints_per_plan", 8)
    assert values(file) == {"sandbox.checkpoint.max-checkpoints-per-plan": 8}


def test_the_file_and_its_folder_are_made_for_their_owner_only(tmp_path: Path) -> None:
    file = tmp_path / "new" / "config.toml"
    set_setting(file, PROJECT, "core.format", "json")
    assert values(file) == {"core.format": "json"}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert list(file.parent.iterdir()) == [file]


def test_a_link_to_the_file_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    file = tmp_path / "config.toml"
    file.symlink_to(tmp_path / "dotfiles" / "mulligan.toml")
    set_setting(file, Source.USER_FILE, "core.format", "json")
    assert file.is_symlink()
    assert "json" in (tmp_path / "dotfiles" / "mulligan.toml").read_text()


@pytest.mark.parametrize(
    ("key", "value"), [("core.fromat", "json"), ("core.format", "xml"), ("core.format", None)]
)
def test_nothing_is_stored_when_key_or_value_are_wrong(file: Path, key: str, value: Json) -> None:
    file.write_text(COMMENTED)
    with pytest.raises(SettingInvalid):
        set_setting(file, PROJECT, key, value)
    assert file.read_text() == COMMENTED


def test_a_file_that_is_wrong_already_is_not_touched(file: Path) -> None:
    file.write_text("[sandbox\n")
    with pytest.raises(SettingsFileInvalid):
        set_setting(file, PROJECT, "core.format", "json")
    assert file.read_text() == "[sandbox\n"
    assert list(file.parent.iterdir()) == [file]


def test_unsetting_removes_the_key_however_it_is_written(file: Path) -> None:
    file.write_text(COMMENTED)
    assert unset_setting(file, PROJECT, "max_checkpoints_per_plan")
    assert values(file) == {"core.format": "json", "sandbox.strategy": "auto"}
    assert "# for scripts" in file.read_text()


def test_unsetting_what_is_not_set_changes_nothing(file: Path) -> None:
    assert not unset_setting(file, PROJECT, "core.format")
    assert not file.exists()
    file.write_text("# nothing\n")
    assert not unset_setting(file, PROJECT, "core.format")
    assert file.read_text() == "# nothing\n"
    with pytest.raises(SettingUnknown):
        unset_setting(file, PROJECT, "core.fromat")


def test_a_disk_that_refuses_leaves_the_old_file_and_no_other(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text(COMMENTED)
    fired: list[int] = []

    def full(descriptor: int) -> None:
        fired.append(descriptor)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(SystemFailed, match="No space left on device"):
        set_setting(file, PROJECT, "core.format", "yaml")
    assert fired
    assert file.read_text() == COMMENTED
    assert list(file.parent.iterdir()) == [file]


def test_changes_of_several_processes_at_once_are_all_kept(file: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from mulligan.adapters.settings_files import set_setting;"
        "from mulligan.config import Source, parse_value;"
        "set_setting(Path(sys.argv[1]), Source.PROJECT_FILE, sys.argv[2],"
        " parse_value(sys.argv[2], sys.argv[3], 'command line'))"
    )
    wanted = {
        "core.format": "json",
        "plan.max-parallel": "7",
        "sandbox.isolate": "off",
        "sandbox.strategy": "auto",
    }
    running = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(file), key, text],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        for key, text in wanted.items()
    ]
    assert [process.wait() for process in running] == [0, 0, 0, 0]
    assert values(file) == {key: parse_value(key, text, "test") for key, text in wanted.items()}


# --- any way of writing a file -----------------------------------------------------------------------------

VALUES: dict[str, tuple[Json, str]] = {
    "sandbox.strategy": ("auto", '"auto"'),
    "sandbox.isolate": ("off", "'off'"),
    "sandbox.include-ignored": (False, "false"),
    "sandbox.checkpoint.max-checkpoints-per-plan": (7, "7"),
    "sandbox.checkpoint.auto-create-on": (["on_error"], '[\n  "on_error", # only\n]'),
    "core.format": ("json", '"json"'),
    "core.database.url": ("sqlite:///x.db", '"sqlite:///x.db"'),
    "plan.max-parallel": (3, "3"),
}

OTHER_VALUES: dict[str, Json] = {
    "sandbox.strategy": "in_place",
    "sandbox.isolate": "required",
    "sandbox.include-ignored": True,
    "sandbox.checkpoint.max-checkpoints-per-plan": 11,
    "sandbox.checkpoint.auto-create-on": [],
    "core.format": "yaml",
    "core.database.url": "sqlite:///y.db",
    "plan.max-parallel": 12,
}


@st.composite
def written(draw: st.DrawFn) -> tuple[str, dict[str, Json]]:
    """A file as someone could have written it, and what it says."""
    keys = draw(st.lists(st.sampled_from(sorted(VALUES)), unique=True))
    before_tables: list[str] = []
    tables: dict[str, list[str]] = {}
    for key in keys:
        section, _, name = key.rpartition(".")
        text = VALUES[key][1]
        style = draw(st.sampled_from(["quoted", "table"]))
        if style == "quoted":
            before_tables.append(f'"{key}" = {text} # {name}')
        else:
            tables.setdefault(section, []).append(f"{name} = {text} # {section}")
    lines = ["# mine", *before_tables]
    for section in draw(st.permutations(sorted(tables))):
        lines += ["", f"[{section}]", *tables[section]]
    end = draw(st.sampled_from(["", "\n", "\n\n# end\n"]))
    return "\n".join(lines) + end, {key: VALUES[key][0] for key in keys}


@settings(max_examples=60, deadline=None)
@given(written(), st.sampled_from(sorted(VALUES)), st.booleans())
def test_whatever_the_file_looks_like_only_the_one_key_changes(
    tmp_path_factory: pytest.TempPathFactory, content: tuple[str, dict[str, Json]], key: str, remove: bool
) -> None:
    text, before = content
    file = tmp_path_factory.mktemp("settings") / "config.toml"
    file.write_text(text)
    assert values(file) == before
    if remove:
        assert unset_setting(file, PROJECT, key) == (key in before)
        assert values(file) == {k: v for k, v in before.items() if k != key}
    else:
        set_setting(file, PROJECT, key, OTHER_VALUES[key])
        assert values(file) == {**before, key: OTHER_VALUES[key]}
    assert file.read_text().startswith("# mine")


def test_a_named_pipe_is_no_file_of_settings(file):
    os.mkfifo(file)
    with raises(SettingsFileInvalid, reason="is a named pipe"):
        values(file)
