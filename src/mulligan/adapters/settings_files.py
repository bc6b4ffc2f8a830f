"""Files of settings: the project's config.toml and the user's own, both TOML.

Tables may be nested, dotted or quoted as people like; all of it is flattened to the registered keys. A change
keeps comments and order, and is on disk as a whole or not at all.
"""

import contextlib
import os
import re
import stat
from collections.abc import Callable, Generator, Iterator, Mapping, MutableMapping
from pathlib import Path
from typing import TypeAlias, cast

from mulligan import errors
from mulligan.boundaries import act
from mulligan.config import SHORT_NAMES, Layer, Source, check_value, layer_of_values, setting_named
from mulligan.domain.text.json_value import Json
from mulligan.osfiles.folders import is_named

_LARGEST_FILE = 1024 * 1024  # bytes; settings are a page of text
_TRIES = 1000  # each is lost only to a process that has just finished a change of its own


def read_settings(path: Path, source: Source) -> Layer:
    """Return the checked layer of a settings file; a missing file is an empty layer."""
    return layer_of_values(source, str(path), _pairs(path, _read(path)))


def set_setting(path: Path, source: Source, key: str, value: Json) -> None:
    """Set a key in a file, which is made when it is missing; comments stay.

    Key, value and the rest of the file are checked before anything is stored.
    """
    check_value(key, value, Source.COMMAND_LINE)
    edit_setting(path, source, key, lambda _: value)


def edit_setting(path: Path, source: Source, key: str, change: Callable[[Json], Json]) -> None:
    """Set a key to what `change` makes of what the file sets it to, None if nothing; as `set_setting` does.

    No other process changes the file meanwhile.
    """
    setting = setting_named(key, Source.COMMAND_LINE)
    with _exclusively(path) as file:
        found = read_settings(file, source).values.get(setting.key)
        checked = check_value(setting.key, change(found), Source.COMMAND_LINE)
        _replace(file, _with_value(_read(file).decode(), setting.key, checked))


def unset_setting(path: Path, source: Source, key: str) -> bool:
    """Remove a key from a file, however it is written there; return whether it was there."""
    setting = setting_named(key, Source.COMMAND_LINE)
    if not path.exists():
        return False
    with _exclusively(path) as file:
        if setting.key not in read_settings(file, source).values:
            return False
        _replace(file, _without(_read(file).decode(), setting.key))
        return True


def _read(path: Path) -> bytes:
    try:
        # Without waiting: opening a named pipe would last until another process writes to it.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as stream:
            if stat.S_ISFIFO(os.fstat(stream.fileno()).st_mode):
                raise errors.SettingsFileInvalid(file=str(path), line=1, reason="is a named pipe")
            data = stream.read(_LARGEST_FILE + 1)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise errors.SystemFailed(path=str(path), reason=error.strerror or str(error)) from error
    if len(data) > _LARGEST_FILE:
        raise errors.SettingsFileInvalid(file=str(path), line=1, reason="is larger than 1 MiB")
    return data


def _pairs(path: Path, data: bytes) -> list[tuple[str, object]]:
    """Every value of the file with its key, in order; one that is written in two ways comes twice."""
    if not data.strip():
        return []
    import tomllib  # here: most projects have no file of settings, and every command would pay for it

    try:
        return list(_flat(tomllib.loads(data.decode())))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise errors.SettingsFileInvalid(file=str(path), line=line, reason="is not UTF-8 text") from error
    except tomllib.TOMLDecodeError as error:
        # Before Python 3.14 only the message has the place; without one it is the end of the file.
        place = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)$", str(error))
        line = int(place[1]) if place and place[1] else data.count(b"\n") + 1
        reason = f"is not TOML: {str(error)[: place.start() if place else None]}"
        raise errors.SettingsFileInvalid(file=str(path), line=line, reason=reason) from error
    except RecursionError as error:
        raise errors.SettingsFileInvalid(file=str(path), line=1, reason="is nested too deeply") from error


def _flat(table: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    """Every value with its key, whichever way tables and dots were written."""
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat(cast("Mapping[str, object]", value), f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


# --- changing a file ---------------------------------------------------------------------------------------

_Table: TypeAlias = "MutableMapping[str, object]"


def _with_value(text: str, key: str, value: Json) -> str:
    """Return the file's text with the value in place of the old one, or before the first table."""
    import tomlkit  # here, because only a change needs it

    complete = text if text.endswith("\n") else f"{text}\n"  # a last line without end would get the new one
    document = cast("_Table", tomlkit.parse(complete))
    table, name = next(_places(document, key), (document, key))
    table[name] = value
    return tomlkit.dumps(document)


def _without(text: str, key: str) -> str:
    import tomlkit

    document = cast("_Table", tomlkit.parse(text))
    for table, name in list(_places(document, key)):
        del table[name]
    return tomlkit.dumps(document)


def _places(table: _Table, key: str, prefix: str = "") -> Iterator[tuple[_Table, str]]:
    """Return the table that holds a key, and the key's name in it."""
    for name, value in table.items():
        whole = f"{prefix}{name}"
        if isinstance(value, MutableMapping):
            yield from _places(cast("_Table", value), key, f"{whole}.")
        elif SHORT_NAMES.get(whole, whole) == key:
            yield table, name


@contextlib.contextmanager
def _exclusively(path: Path) -> Generator[Path]:
    """Keep other changes out; yield the target where the path is a link, so that the link stays."""
    file = path.resolve()
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = os.open(file.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            with _locked(file.with_name(f".{file.name}.lock")):
                yield file
                with act("settings.keep"):
                    os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise errors.SystemFailed(path=str(path), reason=error.strerror or str(error)) from error


@contextlib.contextmanager
def _locked(lock: Path) -> Generator[None]:
    """Hold a lock file, which goes afterwards. A file, because on NFS a folder cannot be locked."""
    import fcntl  # here: only a change needs it

    for _ in range(_TRIES):
        fd = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX)
            except OSError as error:
                raise errors.LockImpossible(path=str(lock), reason=error.strerror or str(error)) from error
            if not is_named(fd, lock):
                continue  # the process before this one was done with it
            try:
                yield
            finally:
                lock.unlink()
            return
        finally:
            os.close(fd)
    raise errors.LockImpossible(path=str(lock), reason="other processes kept replacing it")


def _replace(file: Path, text: str) -> None:
    """Put the new text in the place of the old one in one move, once it is durable."""
    import tempfile  # here: only a change needs it

    handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")  # readable by its owner only
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(text.encode())
            stream.flush()
            with act("settings.sync"):
                os.fsync(stream.fileno())
        with act("settings.name"):
            temporary.replace(file)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
