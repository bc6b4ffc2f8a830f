"""Ignore rules and clean filters of the user's git, for files that are not in the working tree yet.

Git runs in a folder of our own with the rules that the working tree will have: its `.gitignore` and
`.gitattributes` files, as far as they concern the paths in question.
"""

import os
import stat
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

from mulligan.adapters.sandboxes.git.creation.tracked_files import (
    RULES,
    Judgement,
    Tracking,
    can_be_listed,
    plain_leaves,
)
from mulligan.adapters.sandboxes.git.git_command import Git
from mulligan.adapters.sandboxes.git.repository.git_packs import Objects
from mulligan.adapters.sandboxes.git.repository.git_trees import Leaf, folders_above
from mulligan.adapters.sandboxes.git.repository.user_repository import Repository
from mulligan.domain.trees.tree_difference import StoredContent, TreeEntry
from mulligan.ports import StoredTrees

_DURABLE = ("-c", "core.fsync=all", "-c", "core.safecrlf=false")


class Cleaning:
    """Makes blobs in the user's repository, as `git add` would."""

    def __init__(
        self, git: Git, repository: Repository, store: StoredTrees, *, index: Path, folder: Path
    ) -> None:
        """`git` works in the user's repository; `folder` is empty and ours."""
        self._store = store
        self._folder = folder
        self._there = git.on(folder, GIT_WORK_TREE=folder, GIT_INDEX_FILE=index)
        sparse = repository.git_dir / "info" / "sparse-checkout"
        self._tracking = Tracking(git, folder, index, repository.object_format, lasting=True, sparse=sparse)
        self._pack_folder = repository.objects / "pack"
        self.objects = Objects(repository.object_format)
        self._sources: dict[bytes, StoredContent | bytes] = {}  # of blobs: where their bytes are, or these

    def follow(self, top: Path, paths: Iterable[bytes], merged: Mapping[bytes, TreeEntry | None]) -> None:
        """Take over the rules of a working tree for these paths; `merged` is what it is about to get."""
        for folder in folders_above(paths):
            for name in RULES:
                path = os.path.join(folder, name)
                here = os.path.join(os.fsencode(top), path)
                text = self._text(merged[path]) if path in merged else _read(here)
                if text is not None:
                    self._write(path, text)

    def judge(self, paths: Collection[bytes]) -> Judgement:
        """Return the paths that git ignores and does not track, and those whose contents it converts."""
        return self._tracking.judge(sorted(paths))

    def leaves(
        self, entries: Mapping[bytes, TreeEntry], conversions: Mapping[bytes, str], *, kept: bool
    ) -> dict[bytes, Leaf]:
        """Return the blobs of these files; with `kept` they are written to the repository, otherwise only named."""
        found, by_git = plain_leaves(self._store, entries, conversions, partial(self._blob, kept=kept))
        made = self._hashed(entries, by_git)
        return {**found, **{path: (entries[path].git_mode, name) for path, name in made.items()}}

    def source(self, blob: bytes) -> bytes | None:
        """The bytes of a blob that was made here; None: the repository has it."""
        source = self._sources.get(blob)
        return self._store.read(source) if isinstance(source, StoredContent) else source

    def keep(self) -> None:
        if self.objects.size:
            self.objects.write_to(self._pack_folder)

    def close(self) -> None:
        self._tracking.forget()

    def _blob(self, data: bytes, entry: TreeEntry, *, kept: bool) -> bytes:
        name = self.objects.add("blob", data) if kept else self.objects.name_of("blob", data)
        self._sources[name] = entry.content or entry.target
        if self.objects.is_full:
            self.keep()
        return name

    def _hashed(self, entries: Mapping[bytes, TreeEntry], paths: list[bytes]) -> dict[bytes, bytes]:
        """Let git make blobs of these, each under its own path: that decides about filters."""
        found: dict[bytes, bytes] = {}
        listed = [path for path in paths if path.rpartition(b"/")[2] not in RULES and can_be_listed(path)]
        for path in listed:
            self._write(path, self._text(entries[path]) or b"")
        if listed:
            stdin = b"".join(path + b"\n" for path in listed)
            names = self._there.run(*_DURABLE, "hash-object", "-w", "--stdin-paths", stdin=stdin).split()
            found = dict(zip(listed, names, strict=True))
            for path in listed:
                os.unlink(os.path.join(os.fsencode(self._folder), path))
        for path in paths:
            if path not in found:
                words = ("hash-object", "-w", "--stdin", "--path", os.fsdecode(path))
                found[path] = self._there.run(
                    *_DURABLE, *words, stdin=self._text(entries[path]) or b""
                ).strip()
        return {path: bytes.fromhex(name.decode()) for path, name in found.items()}

    def _text(self, entry: TreeEntry | None) -> bytes | None:
        return None if entry is None or entry.content is None else self._store.read(entry.content)

    def _write(self, path: bytes, text: bytes) -> None:
        place = os.path.join(os.fsencode(self._folder), path)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "wb") as file:
            file.write(text)


def _read(path: bytes) -> bytes | None:
    with suppress(FileNotFoundError, NotADirectoryError):
        if stat.S_ISREG(os.lstat(path).st_mode):
            with open(path, "rb") as file:
                return file.read()
    return None
