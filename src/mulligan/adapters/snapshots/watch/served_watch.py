"""A watch without the kernel's help: another process, which lives on, reports what changed.

It begins with what the stat cache knows, so that the first look of a short command costs what changed, too. When no
proper answer comes it is lost, as any watch is, and the tree is scanned.
"""

from msgspec.structs import replace

from mulligan.adapters.snapshots.cache.marks import Mark
from mulligan.adapters.snapshots.format.signatures import inode_and_links
from mulligan.adapters.snapshots.format.tree_format import ROOT_NAME
from mulligan.adapters.snapshots.scan.found_folder import Folder
from mulligan.adapters.snapshots.watch.tree_watch import Watch, name_paths
from mulligan.osfiles.directory_handles import path_of
from mulligan.ports import ChangeReports, WorkingTree

SILENT = "no local server reports what changed"
UNREPORTED = "the local server does not know what changed since the last look"


class ServedWatch(Watch):
    """A watch that asks at each look."""

    def __init__(self, tree: WorkingTree, *, reports: ChangeReports, top: Folder, mark: Mark) -> None:
        """`top` is the tree as the stat cache on disk has it, and `mark` the moment that this describes."""
        super().__init__(tree, others_at_work=True)
        self._reports = reports
        self.mark = mark
        self.top, self.reason = top, ""
        name_paths(self, top, mark.paths, mark.renewed)
        for path in mark.shared:
            self._share_known(path)
        self._find_unstored(top)

    def catch_up(self) -> None:
        report = self._reports.since(self.tree, self.mark.token)
        if report is None:
            self.mark = Mark()
            self.lost(SILENT)
        elif report.paths is None or self.top is None:
            self.mark = replace(self.mark, token=report.token)
            self.lost(UNREPORTED)
        else:
            self.mark = self.mark.later(report.token, report.paths, report.renewed)
            name_paths(self, self.top, report.paths, report.renewed)

    def looked(self, touched: dict[Folder, None]) -> None:
        """Take over what the look found: names of files that got other names are looked at by the next process too."""
        super().looked(touched)
        shared = {path_of(folder, name) for folder, names in self.shared.items() for name in names}
        self.mark = replace(self.mark, shared=frozenset(shared))

    def _find_unstored(self, top: Folder) -> None:
        """Have the objects made that a restore left unknown: of a folder, and so of all above it."""
        waiting = [top]
        for folder in waiting:
            if not folder.address:
                folder.unseal()
                self.unstored.add(folder)
                waiting += folder.children.values()

    def _share_known(self, path: str) -> None:
        assert self.top is not None, "it begins with a tree"
        *above, name = path.split("/")
        folder = self.top.children.get(ROOT_NAME)
        for each in above:
            folder = folder.children.get(each) if folder is not None else None
        if folder is None or name not in folder.stats:
            return  # it is gone, or named otherwise: the report says so
        folder.unseal()
        self.share(folder, name)
        inode, count = inode_and_links(folder.stats[name])
        self.searched[inode] = count
        if folder.groups:
            self.grouped.add(folder)
