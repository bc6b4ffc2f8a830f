"""Grafting: a stored tree with some of its paths replaced, added or removed, as a tree of its own."""

from collections.abc import Callable, Mapping

from msgspec import Struct, field

from mulligan.adapters.snapshots.format.pack_format import Kind
from mulligan.adapters.snapshots.format.tree_format import (
    NO_ID,
    ROOT_NAME,
    Entry,
    EntryKind,
    address_of,
    decode,
    encode,
    folder_object,
    kind_of,
    split,
    split_root,
)
from mulligan.adapters.snapshots.packs.sinks import Sink
from mulligan.adapters.snapshots.trees.stored_diff import TYPES
from mulligan.domain.checkpoints.snapshot import ObjectId, Root, SnapshotId
from mulligan.domain.trees.tree_difference import EntryType, TreeEntry

_Records = dict[str, bytes]
_KINDS = {type: kind for kind, type in TYPES.items()}


class _Node(Struct):
    """The edits at one path and below it."""

    edited: bool = False
    entry: TreeEntry | None = None
    children: "dict[str, _Node]" = field(default_factory=dict[str, "_Node"])

    @property
    def fills(self) -> bool:
        """Return whether something is to be below it."""
        return any(child.entry is not None or child.fills for child in self.children.values())


def grafted(
    root: Root,
    edits: Mapping[str, TreeEntry | None],
    at_ns: int | None,
    read: Callable[[bytes], bytes],
    sink: Sink,
) -> Root:
    """Store a tree that is the root's but for the edits; with `at_ns` None folders keep their mtimes."""
    address = address_of(root)
    records = split_root(address, read(address))
    top = _nodes(edits)
    if top.edited and (top.entry is None or not top.entry.is_folder):
        raise ValueError("a tree is a folder")
    record = _Grafting(read, sink, at_ns).edited(ROOT_NAME, top, records[ROOT_NAME], ROOT_NAME)
    assert record is not None
    data, identity = folder_object({ROOT_NAME: record})
    return Root(SnapshotId(identity.hex()), ObjectId(sink.add(Kind.TREE, data).hex()))


def _nodes(edits: Mapping[str, TreeEntry | None]) -> _Node:
    top = _Node()
    for path, entry in edits.items():
        node = top
        for name in path.split("/") if path != ROOT_NAME else ():
            node = node.children.setdefault(name, _Node())
        node.edited, node.entry = True, entry
    return top


class _Grafting(Struct, frozen=True, eq=False):
    read: Callable[[bytes], bytes]
    sink: Sink
    at_ns: int | None

    def edited(self, name: str, node: _Node, record: bytes | None, path: str) -> bytes | None:
        """Return the record of a name after the edits; None if it is removed."""
        folder = decode(record) if record is not None and kind_of(record) is EntryKind.FOLDER else None
        if node.edited:
            if node.entry is None or not node.entry.is_folder:
                if node.fills:
                    raise ValueError(f"{path} is to hold something, but is not to be a folder")
                return None if node.entry is None else encode(_entry(name, node.entry))
            wanted = _entry(name, node.entry)
            held = self._records(folder)
            folder = wanted if folder is None else wanted._replace(id=folder.id, address=folder.address)
            return self._folder(folder, held, node, path, made=not folder.address)
        if folder is None:
            if node.fills:
                raise ValueError(f"{path} is to hold something, but is not a folder")
            return record
        return self._folder(folder, self._records(folder), node, path, made=False)

    def _folder(self, folder: Entry, records: _Records, node: _Node, path: str, *, made: bool) -> bytes:
        listed = dict(records)
        for name, child in node.children.items():
            below = name if path == ROOT_NAME else f"{path}/{name}"
            after = self.edited(name, child, records.get(name), below)
            if after is None:
                listed.pop(name, None)
            else:
                listed[name] = after
        if listed == records and not made:
            return encode(folder)
        data, identity = folder_object(listed)
        touched = any(child.edited for child in node.children.values()) or listed.keys() != records.keys()
        return encode(
            folder._replace(
                id=identity,
                address=self.sink.add(Kind.TREE, data),
                mtime_ns=self.at_ns if touched and self.at_ns is not None else folder.mtime_ns,
            )
        )

    def _records(self, folder: Entry | None) -> _Records:
        return {} if folder is None else split(folder.address, self.read(folder.address))


def _entry(name: str, entry: TreeEntry) -> Entry:
    content = entry.content
    size = len(entry.target) if entry.type is EntryType.SYMLINK else content.size if content else 0
    return Entry(
        name=name,
        kind=_KINDS[entry.type],
        mode=entry.mode,
        size=size,
        id=bytes.fromhex(content.id) if content else NO_ID,
        target=entry.target,
        group=entry.shared_with,
        attributes=entry.attributes,
        mtime_ns=entry.beside.mtime_ns,
        sparse=entry.beside.sparse,
    )
