"""What a setting may be set to, and what is said of what it may not."""

import pytest

from mulligan.config import SETTINGS, check_value, parse_value, setting_named
from mulligan.errors import Advice, NextStep, SettingInvalid, SettingUnknown
from tests.support.raised import raises

TRIGGERS = "sandbox.checkpoint.auto-create-on"
MAX_CHECKPOINTS = "sandbox.checkpoint.max-checkpoints-per-plan"
QUIET, INTERVAL = "sandbox.checkpoint.quiet-seconds", "sandbox.checkpoint.interval-seconds"


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        (TRIGGERS, "on_error,before_step", ["before_step", "on_error"]),
        (TRIGGERS, " on_error , on_error ", ["on_error"]),
        (TRIGGERS, "before_tool_execute,after_tool_execute", ["on_tool_write", "on_tool_write_complete"]),
        (TRIGGERS, '["on_error", "after_step"]', ["after_step", "on_error"]),
        (TRIGGERS, "['on_error',]", ["on_error"]),
        (TRIGGERS, "[]", []),
        (TRIGGERS, "", []),
        (TRIGGERS, "  ", []),
        (MAX_CHECKPOINTS, "2", 2),
        (MAX_CHECKPOINTS, " +1000000 ", 1_000_000),
        ("max_checkpoints_per_plan", "7", 7),
        ("sandbox.strategy", "in_place", "in_place"),
        ("sandbox.cleanup", " on_terminal ", "on_terminal"),
        ("sandbox.include-ignored", "No", False),
        ("sandbox.include-ignored", "TRUE", True),
        ("sandbox.include-ignored", "1", True),
        ("sandbox.isolate", "off", "off"),
        ("sandbox.writable", "/var/cache:~/.cache:/var/cache", ["/var/cache", "~/.cache"]),
        ("sandbox.writable", "~", ["~"]),
        ("sandbox.writable", "", []),
        ("core.database.url", "sqlite:////srv/plans.db", "sqlite:////srv/plans.db"),
        (
            "core.database.url",
            "postgresql://h/d?schema=team&lease=30",
            "postgresql://h/d?schema=team&lease=30",
        ),
        ("core.format", "json", "json"),
        ("plan.max-parallel", "50", 50),
        (QUIET, "3", 3),
        (QUIET, " 0.5 ", 0.5),
        (QUIET, "1500ms", 1.5),
        (INTERVAL, "1h30m", 5400),
        (INTERVAL, "1d", 86400),
    ],
)
def test_text_becomes_a_value_of_the_settings_type(key: str, text: str, value: object) -> None:
    assert parse_value(key, text, "command line") == value


@pytest.mark.parametrize(
    ("key", "text", "reason", "nearest"),
    [
        (TRIGGERS, "befor_step", "there is no trigger 'befor_step'", "before_step"),
        (TRIGGERS, "on_error,,after_step", "there is no trigger ''", None),
        (TRIGGERS, "[1]", "1 is not a text", None),
        (TRIGGERS, "[", "'[' is not a list", None),
        (TRIGGERS, "[]\nx = 1", "'[]\\nx = 1' is not a list", None),
        (TRIGGERS, "[" * 5000, "'" + "[" * 56 + "... is not a list", None),
        (MAX_CHECKPOINTS, "1", "1 is out of range", None),
        (MAX_CHECKPOINTS, "-5", "-5 is out of range", None),
        (MAX_CHECKPOINTS, "many", "'many' is not a whole number", None),
        (MAX_CHECKPOINTS, "5.0", "'5.0' is not a whole number", None),
        (MAX_CHECKPOINTS, "٥", "'٥' is not a whole number", None),
        (MAX_CHECKPOINTS, "9" * 5000, "'" + "9" * 56 + "... is not a whole number", None),
        ("plan.max-parallel", "0", "0 is out of range", None),
        ("plan.max-parallel", "51", "51 is out of range", None),
        ("sandbox.strategy", "git-worktree", "'git-worktree' is not an allowed word", "git_worktree"),
        ("sandbox.isolate", "OFF", "'OFF' is not an allowed word", "off"),
        ("sandbox.isolate", "", "'' is not an allowed word", None),
        ("sandbox.include-ignored", "maybe", "'maybe' is neither true nor false", None),
        ("sandbox.writable", "build", "'build' is not an absolute path", None),
        ("sandbox.writable", "/a::/b", "'' is not an absolute path", None),
        ("sandbox.writable", "/a\0", "'/a\\x00' is not an absolute path", None),
        (QUIET, "0", "'0' is out of range", None),
        (QUIET, "50ms", "'50ms' is out of range", None),
        (QUIET, "-3", "'-3' is not a length of time", None),
        (QUIET, "soon", "'soon' is not a length of time", None),
        (INTERVAL, "2d", "'2d' is out of range", None),
        (INTERVAL, "1e9", "'1e9' is not a length of time", None),
        (INTERVAL, "", "'' is not a length of time", None),
        ("core.format", "jsno", "'jsno' is not an allowed word", "json"),
    ],
)
def test_a_wrong_text_is_refused_with_what_is_allowed(
    key: str, text: str, reason: str, nearest: str | None
) -> None:
    with pytest.raises(SettingInvalid) as caught:
        parse_value(key, text, "command line")
    assert caught.value.facts["key"] == key
    assert caught.value.facts["reason"] == reason
    assert caught.value.facts.get("nearest") == nearest
    assert caught.value.facts["allowed"]
    assert str(caught.value) == f"{key}: {reason} (command line)"
    assert "allowed: " in caught.value.next_step
    assert nearest is None or f"did you mean `{nearest}`?" in caught.value.next_step
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        (TRIGGERS, "on_error", "'on_error' is not a list"),
        (TRIGGERS, None, "None is not a list"),
        (MAX_CHECKPOINTS, True, "True is not a whole number"),
        (MAX_CHECKPOINTS, 5.0, "5.0 is not a whole number"),
        (MAX_CHECKPOINTS, "5", "'5' is not a whole number"),
        ("sandbox.include-ignored", "true", "'true' is neither true nor false"),
        ("sandbox.include-ignored", 1, "1 is neither true nor false"),
        ("sandbox.isolate", False, "False is not an allowed word"),
        ("core.database.url", 7, "is neither the address of a SQLite file nor of a PostgreSQL database"),
        (QUIET, True, "True is not a length of time"),
        (QUIET, None, "None is not a length of time"),
        (QUIET, float("nan"), "nan is not a length of time"),
        (INTERVAL, 0, "0 is out of range"),
    ],
)
def test_a_value_of_another_type_is_refused(key: str, value: object, reason: str) -> None:
    with pytest.raises(SettingInvalid) as caught:
        check_value(key, value, "project file config.toml")
    assert str(caught.value) == f"{key}: {reason} (project file config.toml)"


@pytest.mark.parametrize(
    "url",
    [
        *(
            "postgresql://user:secret@host/db",
            "postgresql://h/d?password=secret",
            "postgresql://h/d?options=-c%20a",
        ),
        *("postgresql://h/d?schema=pg_temp", "postgresql://h/d?schema=A-b", "postgresql://h/d#part"),
        *(
            "postgresql://h/d?lease=secret",
            "postgresql://h/d?lease=0",
            "postgresql://[h/d",
            "postgresql://h/a\0b",
        ),
        *("sqlite:///", "sqlite:///:memory:", "sqlite:///a\0b"),
    ],
)
def test_a_database_address_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(SettingInvalid) as caught:
        parse_value("core.database.url", url, "command line")
    assert url not in str(caught.value)
    assert "secret" not in repr(caught.value.facts)
    assert caught.value.next_step == "allowed: sqlite:///PATH, postgresql://HOST/DATABASE"


def test_the_allowed_words_are_listed() -> None:
    with pytest.raises(SettingInvalid) as caught:
        parse_value("sandbox.cleanup", "never", "command line")
    assert caught.value.facts["allowed"] == ["on_apply", "on_terminal", "manual"]
    assert caught.value.next_step == "allowed: on_apply, on_terminal, manual"


def test_the_allowed_range_is_named() -> None:
    with pytest.raises(SettingInvalid) as caught:
        parse_value("plan.max-parallel", "99", "command line")
    assert caught.value.facts["allowed"] == "a whole number from 1 to 50"
    with pytest.raises(SettingInvalid) as caught:
        parse_value(MAX_CHECKPOINTS, "1", "command line")
    assert caught.value.facts["allowed"] == "a whole number from 2 up"


def test_an_unknown_key_is_refused_with_the_nearest() -> None:
    with pytest.raises(SettingUnknown) as caught:
        setting_named("sandbox.include_ignored", "command line")
    assert caught.value.facts["nearest"] == "sandbox.include-ignored"
    assert str(caught.value) == "there is no setting 'sandbox.include_ignored' (command line)"
    assert NextStep("config.list") in caught.value.next_step.steps


def test_a_key_that_is_near_to_none_gets_no_guess() -> None:
    with pytest.raises(SettingUnknown) as caught:
        setting_named("zzz", "command line")
    assert "nearest" not in caught.value.facts
    assert caught.value.next_step == Advice(NextStep("config.list"), " shows all settings")


def test_every_default_is_a_value_the_setting_takes() -> None:
    for setting in SETTINGS:
        if setting.default is not None:
            assert check_value(setting.key, setting.default, "default") == setting.default


@pytest.mark.parametrize("pattern", ["", "  ", "# a comment", "two\nlines", "a\0b"])
def test_a_pattern_is_one_line_with_something_in_it(pattern: str) -> None:
    with raises(SettingInvalid, key="sandbox.exclude"):
        check_value("sandbox.exclude", ["*.log", pattern], "here")
