"""The difference between two snapshots of one resource, as files, folders and a patch."""

from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from mulligan.domain.trees.diff import FileDiff, FileStatus, FolderDiff, TreeDiff
from mulligan.domain.trees.git_patch import FilePatch, Version, patch_of
from mulligan.domain.trees.renames import find_renames
from mulligan.domain.trees.tree_difference import StoredContent, TreeDifference, TreeEntry, beyond_patch

_Read = Callable[[StoredContent], bytes]
_Leaves = dict[str, TreeEntry]


class DiffOptions(Struct, frozen=True, kw_only=True):
    """Options of a comparison."""

    resource: str
    prefix: str  # before every path in the patch
    binary: bool  # the patch includes binary contents
    largest_text: int  # bytes; a larger file is treated as binary, and not read


class _FileChange(Struct, frozen=True):
    """A file or symlink on both sides; one may be missing."""

    old_path: str
    new_path: str
    old: TreeEntry | None
    new: TreeEntry | None
    similarity: int  # of a rename, in percent; else 0

    @property
    def path(self) -> str:
        return self.new_path if self.new is not None else self.old_path

    @property
    def in_git_folder(self) -> bool:
        return any(name.lower() == ".git" for p in (self.old_path, self.new_path) for name in p.split("/"))

    @property
    def status(self) -> FileStatus:
        if self.old is not None and self.new is not None and self.old_path != self.new_path:
            return FileStatus.RENAMED
        return _status(self.old, self.new)


def _status(old: TreeEntry | None, new: TreeEntry | None) -> FileStatus:
    if old is None:
        return FileStatus.ADDED
    return FileStatus.DELETED if new is None else FileStatus.MODIFIED


def diff_trees(differences: Sequence[TreeDifference], read: _Read, options: DiffOptions) -> TreeDiff:
    """Find renames, and write the patch; read only contents that differ."""
    changes, left_out = _file_changes(differences, read)
    files: list[FileDiff] = []
    parts: list[bytes] = []
    for change in changes:
        patch = _patch(change, read, options)
        if change.in_git_folder:  # git refuses a patch that touches one, all of it
            patch = replace(patch, text=b"", carries_content=False)
        files.append(_file_diff(change, patch, options.resource))
        parts.append(patch.text)
    folders = tuple(_folder_diff(d, options.resource) for d in differences if _is_about_folder(d))
    return TreeDiff(files=tuple(files), folders=folders, patches=tuple(parts), pairs_left_out=left_out)


def _file_changes(differences: Sequence[TreeDifference], read: _Read) -> tuple[list[_FileChange], int]:
    old = {d.path: d.old for d in differences if d.old is not None and not d.old.is_folder}
    new = {d.path: d.new for d in differences if d.new is not None and not d.new.is_folder}
    # A name that became a folder, or was one, is not a rename: git does not apply that for a symlink.
    gone: _Leaves = {d.path: old[d.path] for d in differences if d.path in old and d.new is None}
    come: _Leaves = {d.path: new[d.path] for d in differences if d.path in new and d.old is None}
    renames, left_out = find_renames(gone, come, read)
    origin = {rename.new: rename for rename in renames}
    moved = {rename.old for rename in renames}
    changes: list[_FileChange] = []
    for path in (d.path for d in differences if d.of_files):
        if path in origin:
            rename = origin[path]
            changes.append(_FileChange(rename.old, path, old[rename.old], new[path], rename.similarity))
        elif path not in moved:
            changes.append(_FileChange(path, path, old.get(path), new.get(path), 0))
    return changes, left_out


def _patch(change: _FileChange, read: _Read, options: DiffOptions) -> FilePatch:
    old, new = change.old, change.new
    same = old is not None and new is not None and old.content is not None and old.content == new.content
    versions: list[Version | None] = []
    for path, entry in ((change.old_path, old), (change.new_path, new)):
        if entry is None:
            versions.append(None)
            continue
        data = b"" if same else _data(entry, read, options)
        place = (options.prefix + path).encode("utf-8", "surrogateescape")
        versions.append(Version(place, entry.git_mode, data))
    return patch_of(versions[0], versions[1], change.similarity, literal=options.binary)


def _data(entry: TreeEntry, read: _Read, options: DiffOptions) -> bytes | None:
    if entry.content is None:
        return entry.target
    return read(entry.content) if options.binary or entry.content.size <= options.largest_text else None


def _file_diff(change: _FileChange, patch: FilePatch, resource: str) -> FileDiff:
    status = change.status
    renamed = status is FileStatus.RENAMED
    content = () if patch.carries_content else ("content",)
    return FileDiff(
        resource=resource,
        path=change.path,
        status=status,
        old_path=change.old_path if renamed else None,
        similarity=change.similarity if renamed else None,
        binary=patch.binary,
        insertions=patch.insertions,
        deletions=patch.deletions,
        not_in_patch=content + beyond_patch(change.old, change.new),
    )


def _is_about_folder(difference: TreeDifference) -> bool:
    """Return whether a folder was added, removed, changed itself or emptied; files show that one was filled."""
    old, new = _folders(difference)
    if old is None or new is None:
        return old is not None or new is not None
    return (old.mode, old.attributes) != (new.mode, new.attributes) or new.empty


def _folder_diff(difference: TreeDifference, resource: str) -> FolderDiff:
    old, new = _folders(difference)
    return FolderDiff(
        resource=resource, path=difference.path, status=_status(old, new), not_in_patch=beyond_patch(old, new)
    )


def _folders(difference: TreeDifference) -> tuple[TreeEntry | None, TreeEntry | None]:
    old, new = difference.old, difference.new
    return (old if old is not None and old.is_folder else None), (
        new if new is not None and new.is_folder else None
    )
