"""Trees of commits, changed path by path: the cost follows what changed."""

from collections.abc import Mapping
from itertools import groupby

from mulligan.adapters.sandboxes.git.asking import Asking
from mulligan.adapters.sandboxes.git.command import Git
from mulligan.adapters.sandboxes.git.packs import Objects, tree_data, tree_entries

Leaf = tuple[bytes, bytes]  # mode and object, as trees have them
FOLDER, GITLINK = b"40000", b"160000"
_REMEMBERED = 4096  # trees: those of the last commits are needed again and again
_AT_ONCE = 64  # questions: less than any pipe holds


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
        (data,) = self._read([f"{commit}^{{commit}}"])
        return bytes.fromhex(data[5 : data.index(b"\n")].decode())

    def edit(self, tree: bytes | None, changes: Mapping[bytes, Leaf | None]) -> bytes:
        """The tree with these paths set, or gone where None; folders come and go with what is in them."""
        if len(self._known) > _REMEMBERED:
            self._known.clear()
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
        for _, level in groupby(sorted(above - {b""}, key=_depth), key=_depth):
            held = {folder: _held(opened, folder) for folder in level}
            self._fetch({id for mode, id in held.values() if mode == FOLDER})
            opened |= {f: self._entries(id) if mode == FOLDER else {} for f, (mode, id) in held.items()}
        return opened

    def _written(self, entries: Mapping[bytes, Leaf]) -> bytes:
        name = self._objects.add("tree", tree_data(entries.items()))
        self._known[name] = dict(entries)
        return name

    def _entries(self, tree: bytes) -> dict[bytes, Leaf]:
        self._fetch({tree})
        return self._known[tree]

    def _fetch(self, trees: set[bytes]) -> None:
        """Read trees that are not known yet, many with one question."""
        missing = sorted(trees - self._known.keys())
        for start in range(0, len(missing), _AT_ONCE):
            batch = missing[start : start + _AT_ONCE]
            for tree, data in zip(batch, self._read([each.hex() for each in batch]), strict=True):
                self._known[tree] = tree_entries(data, len(tree))

    def _read(self, names: list[str]) -> list[bytes]:
        with self._asking as answers:
            answers.send("".join(f"{name}\n" for name in names).encode())
            found: list[bytes] = []
            for name in names:
                words = answers.line().split(b" ")
                if len(words) != 3:
                    raise ObjectMissing(name)
                found.append(answers.exactly(int(words[2])))
                answers.exactly(1)
        return found


def _held(opened: Mapping[bytes, Mapping[bytes, Leaf]], folder: bytes) -> Leaf:
    parent, _, name = folder.rpartition(b"/")
    return opened[parent].get(name, (b"", b""))


def _depth(path: bytes) -> int:
    return path.count(b"/") + 1 if path else 0
