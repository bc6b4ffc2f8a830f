"""Layers of values by origin, the strongest first, and the settings that result from them."""

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Any, Generic, TypeVar

from msgspec import Struct

from mulligan import errors
from mulligan.config.registry import (
    SETTINGS,
    Cleanup,
    Isolation,
    SandboxPlace,
    ServerStart,
    check_value,
    parse_value,
    setting_named,
)
from mulligan.domain.plans.trigger import CheckpointType
from mulligan.domain.resources.resource import Strategy
from mulligan.domain.text.json_value import Json
from mulligan.domain.text.names import nearest_word

_Read = TypeVar("_Read")


class Source(StrEnum):
    """The origin of a value, the strongest first."""

    COMMAND_LINE = "command line"
    PLAN_FILE = "plan file"
    ENVIRONMENT = "environment"
    PROJECT_FILE = "project file"
    SHARED_FILE = "shared file"  # in the project folder, and so in version control
    USER_FILE = "user file"
    DEFAULT = "default"


class Layer(Struct, frozen=True, kw_only=True):
    """The values of one origin."""

    source: Source
    where: str  # the file's path; empty where the source says it all
    values: Mapping[str, Json]  # checked, by canonical key

    def origin(self, key: str) -> str:
        """Say where the value of that key comes from."""
        if self.source is Source.ENVIRONMENT:
            return f"{self.source} {setting_named(key, self.source).environment}"
        return f"{self.source} {self.where}".rstrip()


def layer_of_values(source: Source, where: str, values: Iterable[tuple[str, object]]) -> Layer:
    """The layer of a file, whose values have types of their own; a key that comes twice is refused."""
    origin = f"{source} {where}".rstrip()
    found: dict[str, Json] = {}
    for name, value in values:
        key = setting_named(name, origin).key
        if key in found:
            raise errors.SettingInvalid(
                key=key, reason="is set twice", origin=origin, allowed="once", hint="keep one of the two"
            )
        found[key] = check_value(key, value, origin)
    return Layer(source=source, where=where, values=found)


def layer_of_options(options: Mapping[str, str]) -> Layer:
    """The layer of the command line, whose values are text."""
    values = {
        setting_named(name, Source.COMMAND_LINE).key: parse_value(name, text, Source.COMMAND_LINE)
        for name, text in options.items()
    }
    return Layer(source=Source.COMMAND_LINE, where="", values=values)


# Variables with these beginnings are settings; others, such as MULLIGAN_PROJECT, are not.
_SECTIONS = tuple(
    f"MULLIGAN_{section}_" for section in ("SANDBOX", "APPLY", "CORE", "PLAN", "SERVER", "AGENT")
)
_MISTYPED = 0.82  # so near to a setting's variable, but for its beginning, that nothing else can be meant


def layer_of_environment(environ: Mapping[str, str]) -> Layer:
    """The layer of the environment; a variable that is nearly one of ours is refused rather than ignored."""
    by_variable = {setting.environment: setting for setting in SETTINGS}
    for variable in environ:
        section = next((each for each in _SECTIONS if variable.startswith(each)), None)
        if section is not None and variable not in by_variable:
            known = [name.removeprefix(section) for name in by_variable if name.startswith(section)]
            word = nearest_word(variable.removeprefix(section), known, at_least=_MISTYPED)
            if word is not None:
                nearest = section + word
                raise errors.SettingUnknown(
                    key=variable, origin=Source.ENVIRONMENT, nearest=nearest, hint=f"did you mean {nearest}?"
                )
    values = {
        setting.key: parse_value(setting.key, environ[variable], f"{Source.ENVIRONMENT} {variable}")
        for variable, setting in by_variable.items()
        if variable in environ
    }
    return Layer(source=Source.ENVIRONMENT, where="", values=values)


class Entry(Struct, frozen=True, kw_only=True):
    """One setting as a list shows it."""

    key: str
    value: Json
    origin: str
    meaning: str


class _Value(Generic[_Read]):
    """The value of one setting, as an attribute."""

    def __init__(self, key: str, read: Callable[[Any], _Read]) -> None:
        self._key = key
        self._read = read

    def __get__(self, settings: "Settings", owner: "type[Settings]") -> _Read:
        return self._read(next(entry.value for entry in settings.entries if entry.key == self._key))


def _text_or_none(value: str | None) -> str | None:
    return value


class Settings(Struct, frozen=True):
    """The settings that result from all layers."""

    entries: tuple[Entry, ...]  # one for each registered key, in the order of the registry

    def entry(self, key: str) -> Entry:
        """The entry of that key or short name."""
        canonical = setting_named(key, Source.COMMAND_LINE).key
        return next(entry for entry in self.entries if entry.key == canonical)

    # The values as use cases read them; triggers in the order in which they fire
    triggers = _Value("sandbox.checkpoint.auto-create-on", lambda words: tuple(map(CheckpointType, words)))
    max_checkpoints = _Value("sandbox.checkpoint.max-checkpoints-per-plan", int)
    quiet_seconds = _Value("sandbox.checkpoint.quiet-seconds", float)
    interval_seconds = _Value("sandbox.checkpoint.interval-seconds", float)
    strategy = _Value("sandbox.strategy", Strategy)
    cleanup = _Value("sandbox.cleanup", Cleanup)
    pool = _Value("sandbox.pool", int)
    include_ignored = _Value("sandbox.include-ignored", bool)
    exclude = _Value("sandbox.exclude", tuple[str, ...])  # patterns as in .gitignore
    hide = _Value("sandbox.hide", tuple[str, ...])
    at = _Value("sandbox.at", SandboxPlace)
    isolate = _Value("sandbox.isolate", Isolation)
    writable = _Value("sandbox.writable", tuple[str, ...])  # `~` is the user's home
    agent_databases = _Value("agent.databases", tuple[str, ...])  # patterns for pathlib's `glob`
    agent_follow_conversation = _Value("agent.follow-conversation", bool)
    agent_keep_days = _Value("agent.keep-days", int)
    agent_keep_bytes = _Value("agent.keep-bytes", int)  # 0: any amount
    apply_commit = _Value("apply.commit", bool)
    database_url = _Value("core.database.url", _text_or_none)  # None: in the project home
    host = _Value("core.host", _text_or_none)  # None: in a file of the user's
    store_url = _Value("core.store.url", _text_or_none)  # None: a folder in the project home
    store_endpoint = _Value(
        "core.store.endpoint", _text_or_none
    )  # None: from the environment, or Amazon's own
    store_cache = _Value("core.store.cache", int)  # bytes
    store_grace = _Value("core.store.grace", float)  # seconds
    disk_limit = _Value("core.disk-limit", int)  # bytes; 0: none
    format = _Value("core.format", _text_or_none)  # None: rich on a terminal, else plain
    pager = _Value("core.pager", _text_or_none)  # None: PAGER, or `less`
    max_parallel = _Value("plan.max-parallel", int)
    server_start = _Value("server.start", ServerStart)
    idle_timeout = _Value("server.idle-timeout", float)  # seconds


def resolve(layers: Iterable[Layer]) -> Settings:
    """For each setting take the value of the strongest layer that has one, whatever order they come in."""
    strength = list(Source)
    ordered = sorted(layers, key=lambda layer: strength.index(layer.source))
    entries: list[Entry] = []
    for setting in SETTINGS:
        layer = next((layer for layer in ordered if setting.key in layer.values), None)
        value = setting.default if layer is None else layer.values[setting.key]
        origin = Source.DEFAULT.value if layer is None else layer.origin(setting.key)
        entries.append(Entry(key=setting.key, value=value, origin=origin, meaning=setting.meaning))
    return Settings(tuple(entries))
