"""A project home in one file, to be moved to another folder or machine: a tar archive, compressed with zstd.

The file gets its name when all of it is on disk. What comes out of one is unpacked beside its place, and checked,
before any folder names it.
"""

from __future__ import annotations

import binascii
import errno
import io
import os
import stat
import tarfile
from base64 import b64decode, b64encode
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote, unquote_to_bytes

from msgspec import DecodeError, Struct, json

from mulligan.adapters.homes.home_adoption import held_open
from mulligan.adapters.homes.home_index import MARK
from mulligan.adapters.homes.home_link import RECORD, HomeRecord
from mulligan.boundaries import act
from mulligan.errors import ArchiveDamaged, ProjectBusy, SystemFailed, TargetExists
from mulligan.osfiles.folders import sync_filesystem, sync_folder

_MANIFEST = "mulligan-project.json"
_FORMAT = 1
_DATABASE = "mulligan.db"
# What belongs to this machine or to a process, and what is made again when it is missing.
_LEFT_OUT = (
    *(
        "locks",
        "scratch",
        "in-place.lock",
        "size.json",
        "trusted-tools.json",
        f"{_DATABASE}-wal",
        f"{_DATABASE}-shm",
    ),
    *("store/bucket", "store/bucket-cache"),
    *("store/rooms", "store/caches", "store/asides", "store/lock", "store/upkeep"),
    *("sandboxes/.parked", "sandboxes/.trials", "remotes"),
)
_PACK_FOLDERS = ("store", "store/packs")
_LONGEST_NAME = 200
_PLAN_FILES = 4  # sandboxes/PLAN/RESOURCE/NAME: from here on, plans decide what there is
_ATTRIBUTE = "LIBARCHIVE.xattr."  # what begins the names of headers with attributes
_LARGEST_MANIFEST = 1 << 20


class Manifest(Struct, frozen=True, kw_only=True):
    """The first member of an archive, which describes it."""

    format: int
    record: HomeRecord
    home: str  # where the home was
    files: int


class Exported(Struct, frozen=True, kw_only=True):
    """An archive that was written."""

    file: str
    files: int
    size_bytes: int


def write_archive(
    home: Path,
    record: HomeRecord,
    file: Path,
    copy_database: Callable[[Path], None],
    packs: Mapping[str, Callable[[], bytes]],
    *,
    force: bool,
) -> Exported:
    """Write a home into a file; refuse while a plan runs, and to replace a file unless forced.

    `copy_database` writes a consistent copy of the database into a file. `packs` are those that are not in the home, by
    name; they are asked for when the copy is there.
    """
    place = Path(os.path.realpath(file))
    _refuse(place, force=force)
    draft = place.with_name(f".{place.name[:_LONGEST_NAME]}.{os.urandom(4).hex()}.new")
    with held_open(home) as free:
        if not free:
            raise ProjectBusy(home=str(home))
        try:
            return _written(home, record, place, draft, copy_database, packs, force=force)
        except OSError as exc:
            raise SystemFailed(path=str(exc.filename or place), reason=exc.strerror or str(exc)) from exc
        finally:
            draft.unlink(missing_ok=True)
            draft.with_suffix(".db").unlink(missing_ok=True)


def _written(
    home: Path,
    record: HomeRecord,
    place: Path,
    draft: Path,
    copy_database: Callable[[Path], None],
    packs: Mapping[str, Callable[[], bytes]],
    *,
    force: bool,
) -> Exported:
    import zstandard

    database = draft.with_suffix(".db")
    database.touch(mode=0o600)
    copy_database(database)
    members = list(_members(home))
    elsewhere = dict(packs)  # asked for now: the rows that name them are copied
    above = [name for name in _PACK_FOLDERS if elsewhere and name not in members]
    count = len(members) + len(above) + len(elsewhere) + 1
    manifest = Manifest(format=_FORMAT, record=record, home=str(home), files=count)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as raw:
        compressor = zstandard.ZstdCompressor(level=3, write_checksum=True)
        with (
            compressor.stream_writer(raw, closefd=False) as packed,
            tarfile.open(fileobj=packed, mode="w|", format=tarfile.PAX_FORMAT) as archive,
        ):
            _add_bytes(archive, _MANIFEST, json.encode(manifest))
            _add(archive, database, f"home/{_DATABASE}")
            for name in members:
                _add(archive, home / name, f"home/{name}")
            for name in above:
                _add_folder(archive, f"home/{name}")
            for name, fetch in elsewhere.items():
                _add_bytes(archive, f"home/{_PACK_FOLDERS[-1]}/{name}", fetch())
        raw.flush()
        with act("archive.sync"):
            os.fsync(raw.fileno())
    with act("archive.name"):
        if force:
            draft.replace(place)
        else:
            try:
                os.link(draft, place)
            except FileExistsError as exc:
                raise TargetExists(
                    path=str(place), hint="name another file, or replace it with --force"
                ) from exc
        sync_folder(place.parent)
    return Exported(file=str(place), files=manifest.files, size_bytes=place.stat().st_size)


def read_archive(file: Path, target: Path) -> Manifest:
    """Unpack a home into a new folder and make it durable; refuse an archive that is damaged or leads elsewhere."""
    import zstandard

    try:
        with file.open("rb") as raw, zstandard.ZstdDecompressor().stream_reader(raw) as stream:
            with tarfile.open(fileobj=stream, mode="r|") as archive:
                manifest = _unpacked(archive, file, target)
            while stream.read(1 << 20):
                pass  # to the end, where the checksum is
    except OSError as exc:
        raise SystemFailed(path=str(exc.filename or file), reason=exc.strerror or str(exc)) from exc
    except (tarfile.TarError, zstandard.ZstdError, EOFError, DecodeError, binascii.Error) as exc:
        raise ArchiveDamaged(file=str(file), reason=str(exc) or "it cannot be read") from exc
    descriptor = os.open(target, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with act("home.sync"):
            sync_filesystem(descriptor)
    finally:
        os.close(descriptor)
    return manifest


def _unpacked(archive: tarfile.TarFile, file: Path, target: Path) -> Manifest:
    manifest: Manifest | None = None
    count = 0
    folders: list[tarfile.TarInfo] = []
    files: set[str] = set()  # that a hard link may be another name of
    for member in archive:
        if manifest is None:
            manifest = _manifest(archive, member, file)
            target.mkdir(mode=0o700)
            (target / MARK).touch()
            continue
        inside = _inside(member, file)
        if member.isdir():
            folders.append(member)
        _refuse_link(member, inside, files, file)
        _extract(archive, member, target / inside, target, file)
        if member.isreg():
            files.add(inside)
        count += 1
    if manifest is None or count != manifest.files:
        raise ArchiveDamaged(file=str(file), reason="it is incomplete")
    for member in reversed(folders):  # children before parents: adding a name changes the time of its folder
        place = target / _inside(member, file)
        place.chmod(stat.S_IMODE(member.mode))
        os.utime(place, ns=_times(member))
    return manifest


def _manifest(archive: tarfile.TarFile, member: tarfile.TarInfo, file: Path) -> Manifest:
    stream = archive.extractfile(member) if member.name == _MANIFEST and member.isreg() else None
    if stream is None or member.size > _LARGEST_MANIFEST:
        raise ArchiveDamaged(file=str(file), reason="it is not an exported project home")
    manifest = json.decode(stream.read(), type=Manifest)
    if manifest.format != _FORMAT:
        raise ArchiveDamaged(
            file=str(file), reason=f"it has format {manifest.format}, which this version cannot read"
        )
    return manifest


def _inside(member: tarfile.TarInfo, file: Path) -> str:
    """Return the path of a member in the home; refuse one that leads out of it."""
    top, _, inside = member.name.partition("/")
    if top != "home" or not inside or any(part in ("", ".", "..") for part in inside.split("/")):
        raise ArchiveDamaged(file=str(file), reason=f"it names {member.name!r}, which is not in a home")
    return inside


def _refuse_link(member: tarfile.TarInfo, inside: str, files: set[str], file: Path) -> None:
    """Refuse a symlink where no plan could have made one, and a hard link to what the archive did not bring."""
    parts = inside.split("/")
    if member.issym() and (parts[0] != "sandboxes" or len(parts) < _PLAN_FILES):
        raise ArchiveDamaged(
            file=str(file), reason=f"{member.name!r} is a symlink, which is not part of a home"
        )
    if member.islnk() and _inside(tarfile.TarInfo(member.linkname), file) not in files:
        raise ArchiveDamaged(
            file=str(file),
            reason=f"{member.name!r} is a link to {member.linkname!r}, which is not a file in it",
        )


def _extract(
    archive: tarfile.TarFile, member: tarfile.TarInfo, place: Path, target: Path, file: Path
) -> None:
    """Write one member; no symlink of the archive is followed."""
    if not _is_plain(place.parent, target):
        raise ArchiveDamaged(file=str(file), reason=f"{member.name!r} leads through a symlink")
    if member.isdir():
        place.mkdir(mode=0o700)
        _set_attributes(member, place, file)
    elif member.isreg():
        stream = archive.extractfile(member)
        assert stream is not None, "it is a file"
        descriptor = os.open(
            place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
        )
        with os.fdopen(descriptor, "wb") as copy:
            while data := stream.read(1 << 20):
                copy.write(data)
        _set_attributes(member, place, file)
        place.chmod(stat.S_IMODE(member.mode))
        os.utime(place, ns=_times(member))
    elif member.issym():
        place.symlink_to(member.linkname)
        os.utime(place, ns=_times(member), follow_symlinks=False)
    elif member.islnk():
        other = tarfile.TarInfo(member.linkname)
        os.link(target / _inside(other, file), place, follow_symlinks=False)
    elif member.isfifo():
        os.mkfifo(place, stat.S_IMODE(member.mode))
    else:
        raise ArchiveDamaged(
            file=str(file), reason=f"{member.name!r} is neither a file nor a folder nor a link"
        )


def _is_plain(folder: Path, target: Path) -> bool:
    """Return whether every folder between the target and this one is a folder itself."""
    while folder != target:
        if folder.is_symlink():
            return False
        folder = folder.parent
    return True


def _times(member: tarfile.TarInfo) -> tuple[int, int]:
    exact = member.pax_headers.get("mtime")
    if exact is None:
        nanoseconds = int(member.mtime) * 10**9
        return nanoseconds, nanoseconds
    seconds, _, fraction = exact.partition(".")
    nanoseconds = int(seconds) * 10**9 + int(fraction[:9].ljust(9, "0"))
    return nanoseconds, nanoseconds


def _members(home: Path) -> Iterator[str]:
    """Yield what an archive holds, parents first."""
    pending = [""]
    while pending:
        folder = pending.pop()
        with _readable(home / folder):
            entries = sorted((home / folder).iterdir())
        for entry in entries:
            name = f"{folder}/{entry.name}".lstrip("/")
            mode = entry.lstat().st_mode
            if name in (*_LEFT_OUT, _DATABASE, RECORD) or stat.S_ISSOCK(mode):
                continue
            yield name
            if stat.S_ISDIR(mode):
                pending.append(name)


@contextmanager
def _readable(path: Path) -> Generator[None]:
    """Let the owner read what a plan closed to its owner, meanwhile."""
    st = path.lstat()
    wanted = 0o500 if stat.S_ISDIR(st.st_mode) else 0o400
    closed = not stat.S_ISLNK(st.st_mode) and st.st_mode & wanted != wanted
    if closed:
        path.chmod(stat.S_IMODE(st.st_mode) | wanted)
    try:
        yield
    finally:
        if closed:
            path.chmod(stat.S_IMODE(st.st_mode))


def _add(archive: tarfile.TarFile, path: Path, name: str) -> None:
    st = path.lstat()
    with _readable(path):
        member = archive.gettarinfo(path, name)
        member.mode = stat.S_IMODE(st.st_mode)
        member.mtime = 0
        mtime = f"{st.st_mtime_ns // 10**9}.{st.st_mtime_ns % 10**9:09d}"
        member.pax_headers = {"mtime": mtime, **_attributes_of(path, st)}
        if not member.isreg():
            archive.addfile(member)
            return
        with path.open("rb") as stream:
            archive.addfile(member, stream)


def _attributes_of(path: Path, st: os.stat_result) -> dict[str, str]:
    """Return the user.* attributes of a file or folder, as checkpoints hold them, in the words of libarchive."""
    if not (stat.S_ISREG(st.st_mode) or stat.S_ISDIR(st.st_mode)):
        return {}
    try:
        names = [name for name in os.listxattr(path) if name.startswith("user.")]
    except OSError as exc:
        if exc.errno == errno.ENOTSUP:
            return {}
        raise
    return {
        f"{_ATTRIBUTE}{quote(os.fsencode(name), safe='')}": b64encode(os.getxattr(path, name)).decode()
        for name in names
    }


def _set_attributes(member: tarfile.TarInfo, place: Path, file: Path) -> None:
    """Set the attributes of a file or folder while its owner may write to it."""
    for key, value in member.pax_headers.items():
        if key.startswith(_ATTRIBUTE):
            name = unquote_to_bytes(key.removeprefix(_ATTRIBUTE))
            if not name.startswith(b"user."):
                raise ArchiveDamaged(file=str(file), reason=f"{member.name!r} has an attribute of the system")
            os.setxattr(place, name, b64decode(value, validate=True), follow_symlinks=False)


def _add_bytes(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(data), 0o600
    archive.addfile(member, io.BytesIO(data))


def _add_folder(archive: tarfile.TarFile, name: str) -> None:
    member = tarfile.TarInfo(name)
    member.type, member.mode = tarfile.DIRTYPE, 0o700
    archive.addfile(member)


def _refuse(place: Path, *, force: bool) -> None:
    if not place.parent.is_dir():
        raise SystemFailed(path=str(place.parent), reason="there is no such folder")
    if place.exists() and (not force or not place.is_file()):
        raise TargetExists(path=str(place), hint="name another file, or replace it with --force")
