"""Staged objects that are in no commit: no ref keeps them, so the user's next prune could remove them."""

from pathlib import Path

from mulligan.adapters.sandboxes.git.git_command import Git
from mulligan.adapters.sandboxes.git.repository.git_packs import GITLINK

# Equal objects give equal bytes, in however many ways they are packed in the repository.
_PACK = ("pack-objects", "-q", "--window=0", "--no-reuse-delta", "--no-reuse-object")


def keep_staged(there: Git, head: str | None, pack: Path) -> None:
    """Write a pack of what the index names and the commit has not; none where there is no such thing."""
    listed = b"".join(name + b"\n" for name in sorted(_staged(there, head)))
    known = there.run("cat-file", "--batch-check=%(objectname)", stdin=listed) if listed else b""
    wanted = b"".join(line + b"\n" for line in known.splitlines() if not line.endswith(b" missing"))
    if wanted:
        stem = pack.with_suffix("")
        name = there.run("-c", "pack.threads=1", *_PACK, str(stem), stdin=wanted).decode().strip()
        Path(f"{stem}-{name}.pack").rename(pack)
        pack.chmod(0o600)
        for beside in pack.parent.glob(f"{stem.name}-*"):
            beside.unlink()


def _staged(there: Git, head: str | None) -> set[bytes]:
    """The objects of all entries, or of those that differ from the commit; a broken index has none."""
    if head is None:
        return _objects(there.attempt("ls-files", "-s", "-z").stdout)
    words = ("diff-index", "--cached", "--raw", "--no-renames", "--no-abbrev", "-z", head)
    records = there.attempt(*words).stdout.split(b"\0")[:-1:2]  # each is followed by its path
    fields = map(bytes.split, records)  # the old mode, the new one, the old object, the new one, a letter
    changed = {name for _, mode, _, name, _ in fields if mode != GITLINK}
    unmerged = _objects(there.attempt("ls-files", "-u", "-z").stdout)
    return {name for name in changed | unmerged if name.strip(b"0")}


def _objects(listed: bytes) -> set[bytes]:
    """Those that a list of entries names: mode, object, and the rest."""
    entries = (record.split(b" ", 2) for record in listed.split(b"\0") if record)
    return {name for mode, name, _ in entries if mode != GITLINK}
