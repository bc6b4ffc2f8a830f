"""Trees of commits, changed path by path: the cost follows what changed."""

import os
from collections.abc import Iterable, Mapping

from mulligan.adapters.sandboxes.git.git_batch import Asking
from mulligan.adapters.sandboxes.git.git_command import Git
from mulligan.adapters.sandboxes.git.repository.git_packs import FOLDER, Objects, tree_data, tree_entries

Leaf = tuple[bytes, bytes]  # mode and object, as trees have them
_REMEMBERED = 4096  # trees: those of the last commits are needed again and again
_AT_ONCE = 64  # questions: less than any pipe holds


class ObjectMissing(Exception):
    """An object that a tree or commit names is not there."""


class Trees:
    """Reads trees through git, once each, and writes changed ones."""

    def __init__(self, git: Git, objects: Objects) -> None:
        self._objects = objects
        self._asking = Asking(git, "cat-file", "--batch")
        self._known: dict[bytes, dict[bytes, Leaf]] = {}

    def of_commit(self, commit: str) -> bytes:
        ((_, kind, data),) = self.read([commit])
        if kind != "commit":
            raise ObjectMissing(commit)
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
        found: Leaf | None = (FOLDER, tree)
        for name in path.split(b"/"):
            if found is None or found[0] != FOLDER:
                return None
            found = self.entries(found[1]).get(name)
        return found

    def leaf(self, tree: bytes | None, path: bytes) -> Leaf | None:
        """The file, symlink or commit that a tree has under a path; a folder is none."""
        found = self.entry(tree, path) if tree is not None else None
        return found if found is not None and found[0] != FOLDER else None

    def leaves_below(self, tree: bytes, path: bytes) -> list[bytes]:
        """The paths of all files, symlinks and commits in a folder of a tree; none where there is no folder."""
        found = self.entry(tree, path)
        if found is None or found[0] != FOLDER:
            return []
        below: list[bytes] = []
        for name, (mode, _) in self.entries(found[1]).items():
            inner = b"%s/%s" % (path, name)
            below += self.leaves_below(tree, inner) if mode == FOLDER else [inner]
        return below

    def blob(self, name: bytes) -> bytes:
        ((_, kind, data),) = self.read([name.hex()])
        if kind != "blob":
            raise ObjectMissing(name.hex())
        return data

    def close(self) -> None:
        self._asking.close()

    def look_ahead(self, tree: bytes | None, paths: Iterable[bytes]) -> None:
        """Read the folders above many paths together."""
        if tree is not None:
            self._fetch_below(tree, folders_above(paths) - {b""})

    def _opened(
        self, tree: bytes | None, changes: Mapping[bytes, Leaf | None]
    ) -> dict[bytes, dict[bytes, Leaf]]:
        """The folders above all changes with what they hold now, by path."""
        self.look_ahead(tree, changes)
        opened = {b"": self.entries(tree) if tree else {}}
        for folder in sorted(folders_above(changes) - {b""}, key=_depth):
            parent, _, name = folder.rpartition(b"/")
            mode, id = opened[parent].get(name, (b"", b""))
            opened[folder] = self.entries(id) if mode == FOLDER else {}
        return opened

    def _fetch_below(self, tree: bytes, folders: set[bytes]) -> None:
        """Read the folders of a tree that are not known yet, as far as their names let git find them by path."""
        wanted = {tree.hex(): tree} if tree not in self._known else {}
        for folder in folders:
            known: bytes | None = tree
            for name in folder.split(b"/"):
                entries = self._known.get(known) if known is not None else None
                mode, known = entries.get(name, (b"", None)) if entries is not None else (FOLDER, None)
                if mode != FOLDER:
                    break
            else:
                if (known is None or known not in self._known) and b"\n" not in folder:
                    wanted[f"{tree.hex()}:{os.fsdecode(folder)}"] = known or b""
        names = sorted(wanted)
        for start in range(0, len(names), _AT_ONCE):
            for id, kind, data in self.read(names[start : start + _AT_ONCE]):
                if kind == "tree":
                    self._known[id] = tree_entries(data, len(id))

    def _written(self, entries: Mapping[bytes, Leaf]) -> bytes:
        name = self._objects.add("tree", tree_data(entries.items()))
        self._known[name] = dict(entries)
        return name

    def entries(self, tree: bytes) -> dict[bytes, Leaf]:
        if tree not in self._known:
            (found,) = self.read([tree.hex()])
            if found[1] != "tree":
                raise ObjectMissing(tree.hex())
            self._known[tree] = tree_entries(found[2], len(tree))
        return self._known[tree]

    def read(self, names: list[str]) -> list[tuple[bytes, str, bytes]]:
        """Id, kind and content of objects; those that are not there have none."""
        with self._asking as answers:
            answers.send(b"".join(os.fsencode(f"{name}\n") for name in names))
            return [self._answer(answers) for _ in names]

    def _answer(self, answers: Asking) -> tuple[bytes, str, bytes]:
        line = answers.line()
        if line.endswith((b" missing", b" ambiguous")):
            return b"", "missing", b""
        id, kind, size = line.decode().split(" ")
        data = answers.exactly(int(size))
        answers.exactly(1)
        return bytes.fromhex(id), kind, data


def folders_above(paths: Iterable[bytes]) -> set[bytes]:
    """All folders that paths lie in, the outermost, which has no name, included."""
    above: set[bytes] = {b""}
    for path in paths:
        folder = path.rpartition(b"/")[0]
        while folder not in above:
            above.add(folder)
            folder = folder.rpartition(b"/")[0]
    return above


def _depth(path: bytes) -> int:
    return path.count(b"/") + 1 if path else 0
