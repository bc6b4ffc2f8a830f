"""The questions of commands that a server answers: what changed in a tree since a moment?"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from msgspec import DecodeError, ValidationError, msgpack

from mulligan.adapters.local_server.change_questions import mount_namespace
from mulligan.adapters.snapshots.watch.tree_journals import TreeJournals
from mulligan.domain.server.words import TreeAnswer, TreeQuestion, Word
from mulligan.ports import WorkingTree


class TreeQuestions:
    """Answers them from journals, which begin with the first question about a tree.

    It looks at no file, runs no operation and waits for none: while a hook is at work, commands get their answers.
    """

    def __init__(self, program: tuple[int, ...]) -> None:
        self._program = program
        self.journals = TreeJournals()

    def answer(self, question: bytes) -> Sequence[bytes]:
        """Answer one, or leave the command to find out itself."""
        try:
            asked = msgpack.decode(question, type=TreeQuestion)
        except (DecodeError, ValidationError):
            return [Word.ELSEWHERE, b"this version has no such question"]
        if (asked.program, asked.mounts) != (self._program, mount_namespace()):
            return [Word.ELSEWHERE, b"another installation asks, or one that sees other mounts"]
        tree = WorkingTree(
            path=Path(os.fsdecode(asked.path)),
            cache_key="",
            excluded=frozenset(map(os.fsdecode, asked.excluded)),
            patterns=asked.patterns,
            real=False,
        )
        if not asked.begins:
            return [Word.DONE, msgpack.encode(TreeAnswer(self.journals.moment(tree), None, ()))]
        found = self.journals.report(tree, asked.token)
        if found is None:
            return [Word.ELSEWHERE, b"the system does not report what changes there"]
        paths = None if found.paths is None else tuple(map(os.fsencode, found.paths))
        answer = TreeAnswer(token=found.token, paths=paths, renewed=tuple(map(os.fsencode, found.renewed)))
        return [Word.DONE, msgpack.encode(answer)]
