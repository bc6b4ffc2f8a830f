"""Trees of commits, changed path by path: the cost follows what changed."""

from collections.abc import Mapping
from contextlib import suppress

from mulligan.adapters.sandboxes.git.asking import Asking
from mulligan.adapters.sandboxes.git.command import Git
from mulligan.adapters.sandboxes.git.packs import Objects, tree_data, tree_entries

Leaf = tuple[bytes, bytes]  # mode and object, as trees have them
FOLDER, GITLINK = b"40000", b"160000"
_REMEMBERED = 4096  # trees; those of the last commits are asked for again and again


class ObjectMissing(Exception):
    """An object that a tree or commit names is not there."""


class Trees:
    """Reads trees through git, once each, and writes changed ones."""

    def __init__(self, git: Git, objects: Objects) -> None:
        """Read through git in this repository; new trees go to `objects`."""
        self._objects = objects
        self._asking = Asking(git, "cat-file", "--batch")
        self._known: dict[bytes, dict[bytes, Leaf]] = {}

    def of_commit(self, commit: str) -> bytes:
        """The tree of a commit."""
        data = self._read(f"{commit}^{{commit}}".encode())
        return bytes.fromhex(data[5 : data.index(b"\n")].decode())

    def edit(self, tree: bytes | None, changes: Mapping[bytes, Leaf | None]) -> bytes:
        """The tree with these paths set, or gone where None; folders come and go with what is in them."""
        folders = self._opened(tree, changes)
        results: dict[bytes, list[tuple[bytes, bytes | None]]] = {}  # of the folders inside each folder
        by_folder: dict[bytes, list[tuple[bytes, Leaf | None]]] = {}
        whole: bytes | None = None
        for path, leaf in changes.items():
            folder, _, name = path.rpartition(b"/")
            by_folder.setdefault(folder, []).append((name, leaf))
        for folder in sorted(folders, key=_depth, reverse=True):
            entries = dict(folders[folder])
            for name, leaf in by_folder.get(folder, ()):
                if leaf is not None:
                    entries[name] = leaf
                elif name in entries and entries[name][0] != FOLDER:
                    del entries[name]
            for name, result in results.pop(folder, ()):
                held = entries.get(name)
                if result is not None and (held is None or held[0] == FOLDER):
                    entries[name] = (FOLDER, result)
                elif result is None and held is not None and held[0] == FOLDER:
                    del entries[name]
            whole = self._written(entries) if entries else None
            if folder:
                parent, _, name = folder.rpartition(b"/")
                results.setdefault(parent, []).append((name, whole))
        return whole or self._written({})

    def entry(self, tree: bytes, path: bytes) -> Leaf | None:
        """What a tree has under a path."""
        found: Leaf | None = (FOLDER, tree)
        for name in path.split(b"/"):
            if found is None or found[0] != FOLDER:
                return None
            found = self._entries(found[1]).get(name)
        return found

    def close(self) -> None:
        """End the process behind it."""
        self._asking.close()

    def _opened(
        self, tree: bytes | None, changes: Mapping[bytes, Leaf | None]
    ) -> dict[bytes, dict[bytes, Leaf]]:
        """The folders above all changes with what they hold now, by path."""
        above: set[bytes] = {b""}
        for path in changes:
            folder = path.rpartition(b"/")[0]
            while folder not in above:
                above.add(folder)
                folder = folder.rpartition(b"/")[0]
        opened = {b"": self._entries(tree) if tree else {}}
        for folder in sorted(above - {b""}, key=_depth):
            parent, _, name = folder.rpartition(b"/")
            held = opened[parent].get(name)
            opened[folder] = self._entries(held[1]) if held is not None and held[0] == FOLDER else {}
        return opened

    def _written(self, entries: Mapping[bytes, Leaf]) -> bytes:
        name = self._objects.add("tree", tree_data(entries.items()))
        self._remember(name, dict(entries))
        return name

    def _entries(self, tree: bytes) -> dict[bytes, Leaf]:
        known = self._known.get(tree)
        if known is None:
            known = tree_entries(self._read(tree.hex().encode()), len(tree))
            self._remember(tree, known)
        return known

    def _remember(self, tree: bytes, entries: dict[bytes, Leaf]) -> None:
        while len(self._known) >= _REMEMBERED:
            with suppress(StopIteration, KeyError):
                del self._known[next(iter(self._known))]
        self._known[tree] = entries

    def _read(self, name: bytes) -> bytes:
        with self._asking as answers:
            answers.send(name + b"\n")
            words = answers.line().split(b" ")
            if len(words) != 3:
                raise ObjectMissing(name.decode())
            data = answers.exactly(int(words[2]))
            answers.exactly(1)
        return data


def _depth(path: bytes) -> int:
    return path.count(b"/") + 1 if path else 0
