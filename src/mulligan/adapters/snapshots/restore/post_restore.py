"""Cache entries of a tree right after a restore, so that the first capture costs one scan."""

import stat
from collections.abc import Mapping

from mulligan.adapters.snapshots.capture.full_capture import count_files
from mulligan.adapters.snapshots.format.signatures import Listing, is_alike, matches
from mulligan.adapters.snapshots.format.tree_format import ROOT_NAME, EntryKind, decode, facts_of, kind_of
from mulligan.adapters.snapshots.restore.restore_plan import Difference, Work
from mulligan.adapters.snapshots.scan.exclusions import NOTHING
from mulligan.adapters.snapshots.scan.found_folder import Folder
from mulligan.adapters.snapshots.scan.scan import Gone, Scan, Witness
from mulligan.errors import MulliganError
from mulligan.osfiles.directory_handles import Folders

NONE_COPIED: Mapping[int, Listing] = {}
_UNLISTED = "a folder could not be listed after a restore"
_STAT_KINDS = {EntryKind.FILE: stat.S_IFREG, EntryKind.FOLDER: stat.S_IFDIR, EntryKind.SYMLINK: stat.S_IFLNK}


def settled_tree(
    difference: Difference,
    folders: Folders,
    started_ns: int,
    witness: Witness,
    *,
    sure: bool,
    copied: Mapping[int, Listing] = NONE_COPIED,
) -> Folder:
    """Return the tree as it is now: folders that were worked on are listed again, others taken as they were found.

    An entry is known when it has the mode, size and mtime that the restore gave it; any other is read again
    by the next capture. Only what is in the store is ever known: what was there and differed is left out. A folder
    that holds all of its target and nothing else is known as a whole. Where others may write (not `sure`), files that
    were adjusted are read again too: an mtime that was put back can hide what was written right before. `copied`
    has, by the id of a folder's work, the names and signatures of a folder with the very same records.
    """
    is_new = difference.top.present is None and len(difference.works) > 1
    scan = Scan(folders, difference.works[1].exclusions if is_new else NOTHING, started_ns, witness)
    top = Folder("", None)
    found = {id(difference.top): top}
    if is_new and not _look_at_all(scan, top, witness):
        return top
    for work in difference.works:
        folder = found.get(id(work))
        if folder is None or not (is_new or _look(scan, folder, work, witness)):
            continue
        if work.present is not None:
            folder.stem_from(work.present)
        if is_alike(folder.listing, copied.get(id(work))):
            folder.records.update(work.records)
        else:
            _recognise(folder, work, sure=sure)
        if sure and difference.is_exact:
            _know_as_whole(folder, work)
        for child in work.children:
            if child.name in folder.children:
                found[id(child)] = folder.children[child.name]
    for folder in reversed(found.values()):
        count_files(folder)
    return top


def _look_at_all(scan: Scan, top: Folder, witness: Witness) -> bool:
    """List all folders of a tree; one that changes meanwhile stays unknown."""
    try:
        is_there = scan.find_tree(top)
        if is_there:
            scan.list_all(top.children[ROOT_NAME], scan.exclusions)
    except (OSError, MulliganError, Gone):
        top.start_anew()
        witness.lost(_UNLISTED)
        return False
    return is_there


def _look(scan: Scan, folder: Folder, work: Work, witness: Witness) -> bool:
    """List a folder; one that cannot be listed now stays unknown, which the next capture makes good."""
    try:
        if folder.parent is None:
            return scan.find_tree(folder)
        scan.list_folder(folder, work.exclusions)
    except (OSError, MulliganError):
        folder.stats.clear()
        witness.lost(_UNLISTED)
        return False
    return True


def _recognise(folder: Folder, work: Work, *, sure: bool) -> None:
    worked_on = {child.name for child in work.children}
    unsure = set[str]() if sure else {entry.name for entry in work.adjust}
    for name, packed in folder.stats.items():
        record = work.records.get(name)
        if record is None or kind_of(record) is EntryKind.UNHELD or name in unsure:
            continue
        entry = facts_of(record)
        size = None if entry.kind is EntryKind.FOLDER else entry.size
        if not matches(packed, _STAT_KINDS[entry.kind] | entry.mode, size, entry.mtime_ns):
            continue
        folder.records[name] = record
        if entry.shared:
            folder.groups[name] = decode(record).group
        if entry.kind is EntryKind.FOLDER and name not in worked_on and work.present is not None:
            untouched = work.present.children[name]
            untouched.parent = folder
            folder.children[name] = untouched


def _know_as_whole(folder: Folder, work: Work) -> None:
    """Give a folder its identity and address, if all that these stand for is there."""
    target, is_complete = work.target, folder.complete and not folder.unheld
    if target is not None and is_complete and len(folder.records) == len(work.records):
        folder.id, folder.address = target.id, target.address
