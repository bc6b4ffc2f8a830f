"""The registered settings: every key with its type, default, environment variable and meaning."""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import cast

from msgspec import Struct

from mulligan import errors
from mulligan.config.bucket_address import endpoint_url, store_url
from mulligan.config.values import (
    Unfit,
    ValueType,
    command_line,
    database_url,
    host_id,
    length_of_time,
    list_of,
    one_word,
    shown,
    size_in_bytes,
    true_or_false,
    whole_number,
)
from mulligan.domain.plans.trigger import (
    DEFAULT_TRIGGERS,
    CheckpointType,
    in_order,
    trigger_named,
    trigger_words,
)
from mulligan.domain.resources.resource import Strategy
from mulligan.domain.text.json_value import Json
from mulligan.domain.text.names import nearest_word
from mulligan.errors import Advice

MOST_PARALLEL = 50  # subplans at once


class Cleanup(StrEnum):
    """When a plan's sandboxes are removed."""

    ON_APPLY = "on_apply"
    ON_TERMINAL = "on_terminal"
    MANUAL = "manual"


class Isolation(StrEnum):
    """The confinement of tools with the operating system's means."""

    AUTO = "auto"
    REQUIRED = "required"
    OFF = "off"


class SandboxPlace(StrEnum):
    """The path at which steps see their sandboxes."""

    AUTO = "auto"
    REAL_PATH = "real-path"
    OWN_PATH = "own-path"


class ServerStart(StrEnum):
    """When the local server is started."""

    AUTO = "auto"
    NEVER = "never"


class Setting(Struct, frozen=True, kw_only=True):
    """One registered key."""

    key: str
    type: ValueType
    default: Json
    meaning: str
    in_plan_files: bool = True  # whether `config:` of a plan file may set it

    @property
    def environment(self) -> str:
        """The environment variable that sets it."""
        return "MULLIGAN_" + self.key.replace(".", "_").replace("-", "_").upper()


def _canonical_triggers(words: Sequence[str]) -> list[str]:
    found: list[CheckpointType] = []
    for word in words:
        trigger = trigger_named(word)
        if trigger is None:
            raise Unfit(f"there is no trigger {shown(word)}", nearest_word(word, trigger_words()))
        found.append(trigger)
    return [trigger.value for trigger in in_order(found)]


def _canonical_paths(paths: Sequence[str]) -> list[str]:
    for path in paths:
        if not (path.startswith(("/", "~/")) or path == "~") or "\0" in path:
            raise Unfit(f"{shown(path)} is not an absolute path")
    return list(dict.fromkeys(paths))


def _canonical_patterns(patterns: Sequence[str]) -> list[str]:
    for pattern in patterns:
        if "\n" in pattern or "\0" in pattern or not pattern.strip(" "):
            raise Unfit(f"{shown(pattern)} is not a pattern")
        if pattern.startswith("#"):
            raise Unfit(f"{shown(pattern)} is a comment; a name that begins with # is written \\#")
    return list(patterns)  # as they are: the last one that fits a path decides


def _canonical_globs(patterns: Sequence[str]) -> list[str]:
    for pattern in patterns:
        parts = pattern.split("/")
        if not pattern.strip() or "\0" in pattern or pattern.startswith("/") or ".." in parts:
            raise Unfit(f"{shown(pattern)} is not a pattern of files below the folder")
    return list(dict.fromkeys(patterns))


AUTO_CREATE_ON = "sandbox.checkpoint.auto-create-on"
MAX_CHECKPOINTS = "sandbox.checkpoint.max-checkpoints-per-plan"
_SHORTEST, _LONGEST = 0.1, 86_400.0  # seconds: captures more often than that would never end
_CACHES = [
    "~/.cache", "~/.npm", "~/.yarn", "~/.cargo", "~/.rustup", "~/.gradle", "~/.m2", "~/.nuget", "~/go/pkg",
]  # fmt: skip
# What tools make again whenever they need it.
_TOOL_CACHES = [
    "__pycache__/", ".pytest_cache/", ".ruff_cache/", ".mypy_cache/", ".pytype/", ".pyre/",
    "**/node_modules/.cache/", ".eslintcache", ".stylelintcache", ".parcel-cache/", ".turbo/", ".sass-cache/",
    "**/.next/cache/", ".phpunit.cache/", ".phpunit.result.cache", ".rubocop_cache/",
]  # fmt: skip
_PATTERNS = "patterns as in .gitignore"

SETTINGS: tuple[Setting, ...] = (
    Setting(
        key=AUTO_CREATE_ON,
        type=list_of(trigger_words(), ",", _canonical_triggers),
        default=[trigger.value for trigger in DEFAULT_TRIGGERS],
        meaning="when checkpoints are taken automatically; [] turns triggers off",
    ),
    Setting(
        key=MAX_CHECKPOINTS,
        type=whole_number(2),
        default=50,
        meaning="how many checkpoint groups a plan keeps",
    ),
    Setting(
        key="sandbox.checkpoint.quiet-seconds",
        type=length_of_time(_SHORTEST, _LONGEST),
        default=3,
        meaning="how long nothing is written before on_quiet fires",
    ),
    Setting(
        key="sandbox.checkpoint.interval-seconds",
        type=length_of_time(_SHORTEST, _LONGEST),
        default=60,
        meaning="how much time passes between two groups of on_interval",
    ),
    Setting(
        key="sandbox.strategy",
        type=one_word(tuple(Strategy)),
        default=Strategy.AUTO.value,
        meaning="how sandboxes are made; auto goes by resource type, a resource's own strategy wins",
    ),
    Setting(
        key="sandbox.cleanup",
        type=one_word(tuple(Cleanup)),
        default=Cleanup.ON_APPLY.value,
        meaning="when sandboxes are removed: on apply, on apply or cancel, or only by hand",
    ),
    Setting(
        key="sandbox.pool",
        type=whole_number(0),
        default=1,
        meaning="how many working copies of each resource are kept after their plans, for the next plan; 0: none",
        in_plan_files=False,
    ),
    Setting(
        key="sandbox.include-ignored",
        type=true_or_false(),
        default=True,
        meaning="whether sandboxes and snapshots of git checkouts hold git-ignored files too",
    ),
    Setting(
        key="sandbox.exclude",
        type=list_of(_PATTERNS, ",", _canonical_patterns),
        default=[],
        meaning="what exists in sandboxes but belongs to no checkpoint, diff or apply; also in .mulliganignore",
    ),
    Setting(
        key="sandbox.hide",
        type=list_of(_PATTERNS, ",", _canonical_patterns),
        default=cast("Json", _TOOL_CACHES),
        meaning="what checkpoints hold but no apply brings into real resources, and no diff shows unless asked",
    ),
    Setting(
        key="sandbox.at",
        type=one_word(tuple(SandboxPlace)),
        default=SandboxPlace.AUTO.value,
        meaning="where steps see their sandboxes: in the place of the real folder (where the system can, or required), "
        "or at their own paths",
    ),
    Setting(
        key="sandbox.isolate",
        type=one_word(tuple(Isolation)),
        default=Isolation.AUTO.value,
        meaning="confine what tools may write: where the system can, required, or off",
    ),
    Setting(
        key="sandbox.writable",
        type=list_of("absolute paths, or such that begin with ~/", ":", _canonical_paths),
        default=cast("Json", _CACHES),
        meaning="what tools may write in addition to sandboxes and temporary folders",
    ),
    Setting(
        key="agent.databases",
        type=list_of("patterns relative to the folder, such as *.db", ",", _canonical_globs),
        default=[],
        meaning="SQLite files that sessions of coding agents hold as databases, by pattern, such as **/*.db",
        in_plan_files=False,
    ),
    Setting(
        key="agent.follow-conversation",
        type=true_or_false(),
        default=False,
        meaning="whether files go back when the user goes back in the conversation with an agent; otherwise they are "
        "offered",
        in_plan_files=False,
    ),
    Setting(
        key="agent.keep-days",
        type=whole_number(1),
        default=30,
        meaning="for how many days checkpoints of coding agents are kept",
        in_plan_files=False,
    ),
    Setting(
        key="agent.keep-bytes",
        type=size_in_bytes(),
        default=10 * 10**9,
        meaning="how much the checkpoints of one session of a coding agent may add to the store; 0 for any amount",
        in_plan_files=False,
    ),
    Setting(
        key="apply.commit",
        type=true_or_false(),
        default=True,
        meaning="whether an apply to a git checkout makes a commit, or changes the working tree only",
    ),
    Setting(
        key="core.database.url",
        type=database_url(),
        default=None,
        meaning="where plans and checkpoints are recorded",
        in_plan_files=False,
    ),
    Setting(
        key="core.host",
        type=host_id(),
        default=None,
        meaning="the id of this machine in shared projects; made once in the user's configuration folder unless set",
        in_plan_files=False,
    ),
    Setting(
        key="core.store.url",
        type=store_url(),
        default=None,
        meaning="the bucket that holds the packs of a shared project; a folder in the home unless set",
        in_plan_files=False,
    ),
    Setting(
        key="core.store.endpoint",
        type=endpoint_url(),
        default=None,
        meaning="the server of that bucket; AWS_ENDPOINT_URL or the user's AWS files unless set, else Amazon's own",
        in_plan_files=False,
    ),
    Setting(
        key="core.store.cache",
        type=size_in_bytes(),
        default=10 * 10**9,
        meaning="how much of that bucket this machine keeps a copy of",
        in_plan_files=False,
    ),
    Setting(
        key="core.store.grace",
        type=length_of_time(0, 30 * 86_400),
        default=3600,
        meaning="how long a pack that nothing needs stays in that bucket, for processes that began before",
        in_plan_files=False,
    ),
    Setting(
        key="core.disk-limit",
        type=size_in_bytes(),
        default=0,
        meaning="how much the homes of all projects may hold before new plans are refused; 0 for any amount",
        in_plan_files=False,
    ),
    Setting(
        key="core.format",
        type=one_word(("rich", "plain", "json", "yaml")),
        default=None,
        meaning="output format; rich on a terminal, else plain, unless set",
        in_plan_files=False,
    ),
    Setting(
        key="core.pager",
        type=command_line(),
        default=None,
        meaning="command that shows long answers on a terminal; PAGER or less unless set, cat for none",
        in_plan_files=False,
    ),
    Setting(
        key="plan.max-parallel",
        type=whole_number(1, MOST_PARALLEL),
        default=5,
        meaning="how many subplans run at once",
    ),
    Setting(
        key="server.start",
        type=one_word(tuple(ServerStart)),
        default=ServerStart.AUTO.value,
        meaning="whether hooks of agents start the local server, or it runs only when its command starts it",
        in_plan_files=False,
    ),
    Setting(
        key="server.idle-timeout",
        type=length_of_time(1, 31536000),
        default=1800,
        meaning="after how long without a call the local server ends",
        in_plan_files=False,
    ),
)

SHORT_NAMES: Mapping[str, str] = {"max_checkpoints_per_plan": MAX_CHECKPOINTS}

_BY_KEY = {setting.key: setting for setting in SETTINGS}


def setting_named(key: str, origin: str) -> Setting:
    """The setting of that key or short name; `origin` says in messages where the key was found."""
    setting = _BY_KEY.get(SHORT_NAMES.get(key, key))
    if setting is None:
        nearest = nearest_word(key, (*_BY_KEY, *SHORT_NAMES))
        meant = f"did you mean `{nearest}`? " if nearest else ""
        # Where a file is wrong no command can list the settings.
        known = f"correct or remove it there; known: {', '.join(_BY_KEY)}" if _in_a_file(origin) else None
        facts = {"nearest": nearest} if nearest else {}
        raise errors.SettingUnknown(
            key=key, origin=origin, hint=Advice(meant, known or errors.SettingUnknown.usual_advice()), **facts
        )
    return setting


def _in_a_file(origin: str) -> bool:
    """Return whether a source, as messages name it, is a settings file."""
    return " file /" in origin


def check_value(key: str, value: object, origin: str) -> Json:
    """The canonical form of a value that a file gave."""
    setting = setting_named(key, origin)
    return _canonical(setting, lambda: setting.type.check(value), origin)


def parse_value(key: str, text: str, origin: str) -> Json:
    """The canonical form of a value that came as text."""
    setting = setting_named(key, origin)
    return _canonical(setting, lambda: setting.type.parse(text), origin)


def _canonical(setting: Setting, read: Callable[[], Json], origin: str) -> Json:
    try:
        return read()
    except Unfit as unfit:
        allowed = setting.type.allowed
        words = allowed if isinstance(allowed, str) else ", ".join(allowed)
        meant = f"did you mean `{unfit.nearest}`? " if unfit.nearest else ""
        raise errors.SettingInvalid(
            key=setting.key,
            reason=unfit.reason,
            origin=origin,
            allowed=allowed if isinstance(allowed, str) else list(allowed),
            hint=f"{meant}allowed: {words}{'; correct it in that file' if _in_a_file(origin) else ''}",
            **({"nearest": unfit.nearest} if unfit.nearest else {}),
        ) from None
