"""Surveys: a tree is counted before it is captured, and what was found is taken over by the capture.

Where another process reports what changed, nothing is scanned for it: what is known is counted, and what was reported.
"""

import os
import stat
from collections.abc import Generator
from contextlib import contextmanager

from msgspec.structs import replace

from mulligan.adapters.snapshots.cache.marks import Mark
from mulligan.adapters.snapshots.capture.full_capture import Surveyed
from mulligan.adapters.snapshots.format.signatures import measured
from mulligan.adapters.snapshots.format.tree_format import ROOT_NAME
from mulligan.adapters.snapshots.scan.exclusions import exclusions_of
from mulligan.adapters.snapshots.scan.found_folder import Folder
from mulligan.adapters.snapshots.scan.scan import Scan, Witness, until_steady
from mulligan.domain.checkpoints.store_report import Survey
from mulligan.domain.resources.placement import PROJECT_HOME
from mulligan.osfiles.directory_handles import Folders
from mulligan.ports import ChangeReports, WorkingTree

_FEW = 500  # paths that are looked at one by one


class Surveys:
    """Counts trees, and keeps the scans that were made for it while captures are to follow."""

    def __init__(self) -> None:
        self._kept: dict[str, Surveyed] | None = (
            None  # by cache key; None: each look is made when it is asked for
        )

    @contextmanager
    def kept(self) -> Generator[None]:
        """Keep scans meanwhile."""
        before, self._kept = self._kept, {}
        try:
            yield
        finally:
            self._kept = before

    def count(
        self,
        tree: WorkingTree,
        known: Folder | None,
        mark: Mark | None,
        reports: ChangeReports | None,
        now_ns: int,
    ) -> Survey:
        """Count a tree. `mark` is the moment that it is known at, where `reports` may say what changed since."""
        later = Mark()
        if reports is not None and known is not None and mark is not None and self._kept is not None:
            report = reports.since(tree, mark.token)
            if report is not None and report.paths is None:
                later = replace(mark, token=report.token)  # a scan is due, and this one is it
            elif report is not None and report.paths is not None:
                found = _recounted(tree, known, mark.later(report.token, report.paths, report.renewed))
                if found is not None:
                    return found
        return self._scanned(tree, known, later, now_ns)

    def _scanned(self, tree: WorkingTree, known: Folder | None, mark: Mark, now_ns: int) -> Survey:
        scans: list[Scan] = []
        with Folders(tree.path) as folders:

            def attempt() -> Folder:
                scans.append(Scan(folders, exclusions_of(tree), now_ns, Witness(), known))
                return scans[-1].run()

            top = until_steady(attempt)
            files, size = top.measured()
        if self._kept is not None:
            self._kept[tree.cache_key] = Surveyed(tree, known, scans[-1], top, mark)
        return Survey(files=files, size_bytes=size)

    def take(self, tree: WorkingTree, known: Folder | None) -> Surveyed | None:
        """Return the scan of a tree that a survey made, unless more was learned of the tree since; no other gets it."""
        found = self._kept.pop(tree.cache_key, None) if self._kept else None
        return found if found is not None and found.tree == tree and found.known is known else None


def _recounted(tree: WorkingTree, known: Folder, mark: Mark) -> Survey | None:
    """Count what is known, but the names of a mark as they are now; None where only a scan can find out."""
    if mark.renewed or len(mark.paths) > _FEW:
        return None
    files, size = known.measured()
    for path in mark.paths:
        if path == ROOT_NAME:
            continue
        *above, name = path.split("/")
        folder = known.children.get(ROOT_NAME)
        for each in above:
            folder = folder.children.get(each) if folder is not None else None
        if folder is None:
            return None
        if name in folder.children and os.path.isdir(place := tree.path / path) and not os.path.islink(place):
            continue  # it is the same folder, and what changed in it is named
        was, now = folder.stats.get(name), _measured_now(tree, path)
        if (
            now is None
            or name in folder.children
            or (was is None and now[0] and _may_be_left_out(tree, path))
        ):
            return None
        count, length = measured(was) if was is not None else (0, 0)
        files, size = files + now[0] - count, size + now[1] - length
    return Survey(files=files, size_bytes=size)


def _measured_now(tree: WorkingTree, path: str) -> tuple[int, int] | None:
    """Return how many files there are at a path, and their bytes; None for a folder, and what cannot be held."""
    try:
        st = os.lstat(tree.path / path)
    except FileNotFoundError:
        return 0, 0
    except OSError:
        return None
    if stat.S_ISLNK(st.st_mode):
        return 1, 0
    return (1, st.st_size) if stat.S_ISREG(st.st_mode) else None


def _may_be_left_out(tree: WorkingTree, path: str) -> bool:
    return bool(tree.patterns) or path in tree.excluded or path.rpartition("/")[2] == PROJECT_HOME
