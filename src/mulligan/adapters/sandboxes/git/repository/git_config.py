"""A repository's configuration as a flat list, and as a file again, with what must not point back rewritten."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from mulligan.adapters.sandboxes.git.git_command import Git
from mulligan.adapters.sandboxes.git.repository.user_repository import Repository

# Of the repository itself, not of the copy; or code that runs whenever git looks at a working tree.
_DROPPED = frozenset({"core.worktree", "core.bare", "core.fsmonitor", "extensions.worktreeconfig"})
# What decides how contents become blobs and which files count: the bare repository needs no more.
_OF_FILES = re.compile(
    r"core\.(autocrlf|attributesfile|bigfilethreshold|checkroundtripencoding|eol|excludesfile|filemode"
    r"|ignorecase|precomposeunicode|repositoryformatversion|safecrlf|symlinks)"
    r"|extensions\.(objectformat|partialclone)|remote\..*\.(promisor|partialclonefilter)"
    r"|(filter|lfs)\..*"
)


class Setting(NamedTuple):
    """One line of a configuration: section.subsection.name, and its value; None: the name alone, which is true."""

    key: str
    value: str | None

    @property
    def place(self) -> tuple[str, str, str]:
        section, _, rest = self.key.partition(".")
        subsection, _, name = rest.rpartition(".")
        return section, subsection, name


def read_settings(git: Git, repository: Repository) -> list[Setting]:
    """The repository's own settings, of all files that its configuration includes, in order."""
    listed = git.on(
        repository.git_dir, GIT_DIR=repository.git_dir
    )  # --local: so that conditions hold as there
    out = listed.run("config", "--local", "--includes", "--list", "-z")
    if (repository.git_dir / "config.worktree").is_file():
        out += listed.run("config", "--worktree", "--includes", "--list", "-z")
    return [_setting(item) for item in out.split(b"\0") if item]


def for_sandbox(settings: Iterable[Setting], moved: Sequence[tuple[Path, Path]]) -> list[Setting]:
    """The settings for a copy: whatever names the user's checkout or git directory names the copy's instead."""
    kept = [s for s in settings if s.key not in _DROPPED and s.place[0] not in ("include", "includeif")]
    return [
        *(Setting(s.key, _moved(s.value, moved)) for s in kept),
        Setting("core.bare", "false"),
        Setting("core.fsmonitor", "false"),
    ]


def for_checkpoints(settings: Iterable[Setting], *, filters: bool) -> list[Setting]:
    """The settings of the user that make contents into blobs, the repository's own filters only if asked for."""
    kept = [s for s in settings if _OF_FILES.fullmatch(s.key) and (filters or not is_of_filter(s))]
    return [*kept, Setting("core.bare", "true")]


def is_of_filter(setting: Setting) -> bool:
    """Return whether a setting names a program through which git passes contents, or belongs to one."""
    return setting.place[0] in ("filter", "lfs")


def as_text(settings: Iterable[Setting]) -> str:
    """A configuration file."""
    lines: list[str] = []
    before = None
    for setting in settings:
        section, subsection, name = setting.place
        if (section, subsection) != before:
            inner = subsection.replace("\\", "\\\\").replace('"', '\\"')
            lines.append(f'[{section} "{inner}"]' if subsection else f"[{section}]")
            before = (section, subsection)
        lines.append(f"\t{name}" if setting.value is None else f"\t{name} = {_quoted(setting.value)}")
    return "\n".join(lines) + "\n"


def _setting(item: bytes) -> Setting:
    key, has_value, value = item.decode("utf-8", "surrogateescape").partition("\n")
    return Setting(key, value if has_value else None)


def _moved(value: str | None, moved: Sequence[tuple[Path, Path]]) -> str | None:
    """Replace paths in a value, also inside a command or a list; all at once, since one may contain another."""
    if value is None:
        return None
    places = {str(old): str(new) for old, new in moved}
    names = "|".join(re.escape(name) for name in places)
    return re.sub(rf"(?<![\w./~-])({names})(?![^/\s\"';:,])", lambda found: places[found[1]], value)


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"'
