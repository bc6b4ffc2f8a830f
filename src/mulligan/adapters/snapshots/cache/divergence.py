"""The names at which a scanned tree is not as its stat cache says, and those that no watch can be relied on for."""

import stat

from mulligan.adapters.snapshots.format.signatures import SIGNATURE_LENGTH, inode_and_links
from mulligan.adapters.snapshots.scan.found_folder import Folder
from mulligan.domain.resources.placement import PROJECT_HOME
from mulligan.osfiles.directory_handles import path_of

_LINKS = 4  # where the link count is in a signature


def diverging(top: Folder, known: Folder, *, by_content: bool) -> tuple[set[str], set[str]]:
    """Return the paths at which a scanned tree is not, or not surely, as it was known; and the folders that came.

    `by_content` where the contents of files can change without a new timestamp.
    """
    paths, renewed = set[str](), set[str]()
    pairs = [(top, known)]
    for folder, old in pairs:
        if folder.sealed:
            continue
        if by_content or not (_is_settled(folder) and _is_settled(old) and folder.looks_like(old)):
            paths.update(path_of(folder, name) for name in _names(folder, old))
        for name, child in folder.children.items():
            if (before := old.children.get(name)) is not None:
                pairs.append((child, before))
            else:
                renewed.add(path_of(folder, name))
    return paths | renewed, renewed


def _is_settled(folder: Folder) -> bool:
    """Return whether all that is known of a folder shows in its signatures."""
    return not (folder.racy or folder.unheld or folder.skipped or folder.apart)


def _names(folder: Folder, old: Folder) -> set[str]:
    found = folder.racy | old.racy | (folder.unheld.keys() ^ old.unheld.keys())
    found |= {name for name, packed in folder.stats.items() if old.stats.get(name) != packed}
    found |= old.stats.keys() - folder.stats.keys()
    found |= {
        name
        for name, record in folder.records.items()
        if old.records.get(name) != record and name not in folder.children
    }
    if (folder.skipped, folder.apart) != (old.skipped, old.apart):
        found.add(PROJECT_HOME)  # what is excluded there is looked for again
    return found


def racy_in(top: Folder) -> frozenset[str]:
    """Return the paths that were read within the grain of the timestamps."""
    return frozenset(path_of(folder, name) for folder in top.walk_unsealed() for name in folder.racy)


def shared_in(top: Folder) -> frozenset[str]:
    """Return the paths of files with several links in a scanned tree: a folder with such a file is never sealed."""
    return frozenset(
        path_of(folder, name)
        for folder in top.walk_unsealed()
        if not folder.sealed and _has_links(folder.listing.signatures)
        for name, packed in folder.stats.items()
        if _is_shared(packed)
    )


def _has_links(signatures: bytes) -> bool:
    counts = signatures[_LINKS::SIGNATURE_LENGTH]  # of each its lowest byte: one for most files
    return counts != b"\1" * len(counts)


def _is_shared(packed: bytes) -> bool:
    return not stat.S_ISDIR(int.from_bytes(packed[:4], "little")) and inode_and_links(packed)[1] > 1
