"""Staged objects that are in no commit: no ref keeps them, so the user's next prune could remove them."""

from pathlib import Path

from mulligan.adapters.sandboxes.git.git_command import Git
from mulligan.adapters.sandboxes.git.repository.git_packs import GITLINK

RAW = ("--raw", "--no-renames", "--no-abbrev", "-z")
# Equal objects give equal bytes, in however many ways they are packed in the repository.
_PACK = ("pack-objects", "-q", "--window=0", "--no-reuse-delta", "--no-reuse-object")


def keep_staged(there: Git, head: str | None, pack: Path) -> None:
    """Write a pack of what the index names and the commit has not; none where there is no such thing."""
    listed = b"".join(name + b"\n" for name in sorted(staged_objects(there, head) or ()))
    known = there.run("cat-file", "--batch-check=%(objectname)", stdin=listed) if listed else b""
    wanted = b"".join(line + b"\n" for line in known.splitlines() if not line.endswith(b" missing"))
    if wanted:
        stem = pack.with_suffix("")
        name = there.run("-c", "pack.threads=1", *_PACK, str(stem), stdin=wanted).decode().strip()
        Path(f"{stem}-{name}.pack").rename(pack)
        pack.chmod(0o600)
        for beside in pack.parent.glob(f"{stem.name}-*"):
            beside.unlink()


def staged_objects(there: Git, head: str | None) -> dict[bytes, bytes] | None:
    """Return the objects of the index that a commit has not, each with its path; None: git cannot read the index."""
    found: dict[bytes, bytes] = {}
    words = ("ls-files", "-s", "-z")
    if head is not None:
        asked = there.attempt("diff-index", "--cached", *RAW, head)
        found = newer_objects(asked.stdout)
        if not asked.returncode and b" U\0" not in asked.stdout:
            return found
        words = words if asked.returncode else ("ls-files", "-u", "-z")
    listed = there.attempt(*words)
    entries = (record.partition(b"\t") for record in listed.stdout.split(b"\0") if record)
    found |= {about.split()[1]: path for about, _, path in entries if not about.startswith(GITLINK)}
    return None if listed.returncode else found


def newer_objects(compared: bytes) -> dict[bytes, bytes]:
    """Return the newer objects in raw differences, each with its path."""
    fields = compared.split(b"\0")[:-1]
    records = zip((field.split() for field in fields[::2]), fields[1::2], strict=True)
    found = {new: path for (_, mode, _, new, _), path in records if mode != GITLINK}
    return {name: path for name, path in found.items() if name.strip(b"0")}
