"""Which value counts when several places give one."""

import itertools

import pytest

from mulligan.config import (
    SETTINGS,
    Cleanup,
    Isolation,
    Layer,
    SandboxPlace,
    ServerStart,
    Source,
    layer_of_environment,
    layer_of_options,
    layer_of_values,
    resolve,
)
from mulligan.domain.plans.trigger import CheckpointType
from mulligan.domain.resources.resource import Strategy
from mulligan.errors import SettingInvalid, SettingUnknown

LAYERS = [
    layer_of_options({"plan.max-parallel": "1"}),
    layer_of_values(Source.PLAN_FILE, "plan.yaml", [("plan.max-parallel", 2)]),
    layer_of_environment({"MULLIGAN_PLAN_MAX_PARALLEL": "3"}),
    layer_of_values(Source.PROJECT_FILE, "/p/.mulligan/config.toml", [("plan.max-parallel", 4)]),
    layer_of_values(Source.USER_FILE, "/u/config.toml", [("plan.max-parallel", 6)]),
]
ORIGINS = [
    "command line",
    "plan file plan.yaml",
    "environment MULLIGAN_PLAN_MAX_PARALLEL",
    "project file /p/.mulligan/config.toml",
    "user file /u/config.toml",
]


def test_without_any_layer_all_settings_have_their_defaults() -> None:
    settings = resolve([])
    assert settings.triggers == (
        CheckpointType.BEFORE_STEP,
        CheckpointType.AFTER_SUBPLAN,
        CheckpointType.ON_ERROR,
    )
    assert settings.max_checkpoints == 50
    assert settings.strategy is Strategy.AUTO
    assert settings.cleanup is Cleanup.ON_APPLY
    assert settings.include_ignored is True
    assert settings.exclude == ()
    assert {"__pycache__/", "**/node_modules/.cache/"} < {*settings.hide}
    assert settings.at is SandboxPlace.AUTO
    assert settings.isolate is Isolation.AUTO
    assert settings.writable[:2] == ("~/.cache", "~/.npm")
    assert "~/.cargo" in settings.writable
    assert settings.database_url is None
    assert settings.format is None
    assert settings.max_parallel == 5
    assert {entry.origin for entry in settings.entries} == {"default"}


def test_the_registry_is_the_documented_one() -> None:
    assert {s.key: s.environment for s in SETTINGS} == {
        "sandbox.checkpoint.auto-create-on": "MULLIGAN_SANDBOX_CHECKPOINT_AUTO_CREATE_ON",
        "sandbox.checkpoint.max-checkpoints-per-plan": "MULLIGAN_SANDBOX_CHECKPOINT_MAX_CHECKPOINTS_PER_PLAN",
        "sandbox.checkpoint.quiet-seconds": "MULLIGAN_SANDBOX_CHECKPOINT_QUIET_SECONDS",
        "sandbox.checkpoint.interval-seconds": "MULLIGAN_SANDBOX_CHECKPOINT_INTERVAL_SECONDS",
        "sandbox.strategy": "MULLIGAN_SANDBOX_STRATEGY",
        "sandbox.cleanup": "MULLIGAN_SANDBOX_CLEANUP",
        "sandbox.pool": "MULLIGAN_SANDBOX_POOL",
        "sandbox.include-ignored": "MULLIGAN_SANDBOX_INCLUDE_IGNORED",
        "sandbox.exclude": "MULLIGAN_SANDBOX_EXCLUDE",
        "sandbox.hide": "MULLIGAN_SANDBOX_HIDE",
        "sandbox.at": "MULLIGAN_SANDBOX_AT",
        "sandbox.isolate": "MULLIGAN_SANDBOX_ISOLATE",
        "sandbox.writable": "MULLIGAN_SANDBOX_WRITABLE",
        "agent.databases": "MULLIGAN_AGENT_DATABASES",
        "agent.follow-conversation": "MULLIGAN_AGENT_FOLLOW_CONVERSATION",
        "agent.keep-days": "MULLIGAN_AGENT_KEEP_DAYS",
        "agent.keep-bytes": "MULLIGAN_AGENT_KEEP_BYTES",
        "apply.commit": "MULLIGAN_APPLY_COMMIT",
        "core.database.url": "MULLIGAN_CORE_DATABASE_URL",
        "core.host": "MULLIGAN_CORE_HOST",
        "core.store.url": "MULLIGAN_CORE_STORE_URL",
        "core.store.endpoint": "MULLIGAN_CORE_STORE_ENDPOINT",
        "core.store.cache": "MULLIGAN_CORE_STORE_CACHE",
        "core.store.grace": "MULLIGAN_CORE_STORE_GRACE",
        "core.disk-limit": "MULLIGAN_CORE_DISK_LIMIT",
        "core.format": "MULLIGAN_CORE_FORMAT",
        "core.pager": "MULLIGAN_CORE_PAGER",
        "plan.max-parallel": "MULLIGAN_PLAN_MAX_PARALLEL",
        "server.start": "MULLIGAN_SERVER_START",
        "server.idle-timeout": "MULLIGAN_SERVER_IDLE_TIMEOUT",
    }
    assert {s.key for s in SETTINGS if not s.in_plan_files} == {
        *("server.start", "server.idle-timeout"),
        *(
            "agent.databases",
            "agent.follow-conversation",
            "agent.keep-days",
            "agent.keep-bytes",
            "sandbox.pool",
            "core.database.url",
            "core.host",
            "core.store.url",
            "core.store.endpoint",
            "core.store.cache",
            "core.store.grace",
            "core.disk-limit",
            "core.format",
            "core.pager",
        ),
    }
    assert all(s.meaning for s in SETTINGS)


def test_every_setting_can_be_set_and_keeps_its_type() -> None:
    settings = resolve(
        [
            layer_of_options(
                {
                    "sandbox.checkpoint.auto-create-on": "after_step",
                    "max_checkpoints_per_plan": "3",
                    "sandbox.checkpoint.quiet-seconds": "500ms",
                    "sandbox.checkpoint.interval-seconds": "5m",
                    "sandbox.strategy": "filesystem_copy",
                    "sandbox.cleanup": "manual",
                    "sandbox.include-ignored": "off",
                    "sandbox.pool": "4",
                    "sandbox.exclude": "*.log,!keep.log",
                    "sandbox.hide": '["a,b/"]',
                    "sandbox.at": "own-path",
                    "sandbox.isolate": "required",
                    "sandbox.writable": "/srv:~/go",
                    "agent.databases": "*.db,data/**/*.sqlite3",
                    "agent.follow-conversation": "true",
                    "agent.keep-days": "7",
                    "agent.keep-bytes": "2GB",
                    "apply.commit": "no",
                    "core.database.url": "sqlite:////srv/m.db",
                    "core.host": "build-7",
                    "core.store.url": "s3://bucket/a/b/",
                    "core.store.endpoint": "http://127.0.0.1:8333/",
                    "core.store.cache": "2GB",
                    "core.store.grace": "2h",
                    "core.disk-limit": "20GB",
                    "core.format": "yaml",
                    "core.pager": "less -S",
                    "plan.max-parallel": "9",
                    "server.start": "never",
                    "server.idle-timeout": "1h30m",
                }
            )
        ]
    )
    assert settings.triggers == (CheckpointType.AFTER_STEP,)
    assert settings.max_checkpoints == 3
    assert settings.strategy is Strategy.FILESYSTEM_COPY
    assert settings.cleanup is Cleanup.MANUAL
    assert settings.pool == 4
    assert settings.include_ignored is False
    assert (settings.exclude, settings.hide) == (("*.log", "!keep.log"), ("a,b/",))
    assert settings.at is SandboxPlace.OWN_PATH
    assert settings.disk_limit == 20_000_000_000
    assert settings.isolate is Isolation.REQUIRED
    assert settings.writable == ("/srv", "~/go")
    assert settings.agent_follow_conversation
    assert (settings.agent_keep_days, settings.agent_keep_bytes) == (7, 2 * 10**9)
    assert settings.agent_databases == ("*.db", "data/**/*.sqlite3")
    assert settings.apply_commit is False
    assert settings.pager == "less -S"
    assert settings.database_url == "sqlite:////srv/m.db"
    assert settings.host == "build-7"
    assert (settings.store_url, settings.store_endpoint) == ("s3://bucket/a/b", "http://127.0.0.1:8333")
    assert (settings.store_cache, settings.store_grace) == (2 * 10**9, 7200)
    assert settings.format == "yaml"
    assert settings.max_parallel == 9
    assert (settings.server_start, settings.idle_timeout) == (ServerStart.NEVER, 5400)
    assert {entry.origin for entry in settings.entries} == {"command line"}


@pytest.mark.parametrize("strongest", range(len(LAYERS)))
def test_the_strongest_place_wins_and_is_named(strongest: int) -> None:
    entry = resolve(LAYERS[strongest:]).entry("plan.max-parallel")
    assert entry.value == LAYERS[strongest].values["plan.max-parallel"]
    assert entry.origin == ORIGINS[strongest]


def test_the_order_in_which_layers_are_given_does_not_matter() -> None:
    for layers in itertools.permutations(LAYERS):
        assert resolve(layers).max_parallel == 1


def test_a_list_shows_every_setting_with_value_origin_and_meaning() -> None:
    entries = resolve(LAYERS).entries
    assert [entry.key for entry in entries] == [setting.key for setting in SETTINGS]
    assert all(entry.origin and entry.meaning for entry in entries)


def test_a_setting_is_found_by_its_short_name() -> None:
    settings = resolve([layer_of_options({"max_checkpoints_per_plan": "9"})])
    entry = settings.entry("max_checkpoints_per_plan")
    assert (entry.key, entry.value) == ("sandbox.checkpoint.max-checkpoints-per-plan", 9)


def test_asking_for_an_unknown_setting_is_refused() -> None:
    with pytest.raises(SettingUnknown):
        resolve([]).entry("sandbox.stratgy")


def test_an_empty_list_in_the_environment_turns_triggers_off() -> None:
    layer = layer_of_environment({"MULLIGAN_SANDBOX_CHECKPOINT_AUTO_CREATE_ON": ""})
    assert resolve([layer]).triggers == ()


def test_nonsense_in_the_environment_is_refused_with_the_variable() -> None:
    with pytest.raises(SettingInvalid) as caught:
        layer_of_environment({"MULLIGAN_PLAN_MAX_PARALLEL": "abc"})
    assert "MULLIGAN_PLAN_MAX_PARALLEL" in str(caught.value)
    assert caught.value.facts["key"] == "plan.max-parallel"


def test_a_mistyped_variable_is_refused_rather_than_ignored() -> None:
    with pytest.raises(SettingUnknown) as caught:
        layer_of_environment({"MULLIGAN_SANDBOX_ISOLATED": "required"})
    assert caught.value.facts["nearest"] == "MULLIGAN_SANDBOX_ISOLATE"


def test_other_variables_are_left_alone() -> None:
    environ = {
        "HOME": "/home/user",
        "MULLIGAN_PROJECT": "/p",
        "MULLIGAN_GUIDANCE": "be quick",
        "MULLIGAN_VAR_VERSION": "2.0",
        "MULLIGAN_PLAN_ID": "01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "MULLIGAN_SANDBOX_PATH": "/s",
    }
    assert layer_of_environment(environ) == Layer(source=Source.ENVIRONMENT, where="", values={})


def test_a_key_and_its_short_name_in_one_file_are_refused() -> None:
    pairs = [("max_checkpoints_per_plan", 5), ("sandbox.checkpoint.max-checkpoints-per-plan", 6)]
    with pytest.raises(SettingInvalid, match="is set twice") as caught:
        layer_of_values(Source.PROJECT_FILE, "/p/config.toml", pairs)
    assert "/p/config.toml" in str(caught.value)
