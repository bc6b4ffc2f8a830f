from typing import TypeAlias

# names, signatures, entries with more to note, whether something was left out
Content: TypeAlias = tuple[bytes, bytes, list[tuple[str, bytes]], bool]
# number of the parent, name, watch, row in the archive (-1: none describes it all), content
Found: TypeAlias = tuple[int, str, int, int, Content | None]

def walk(
    folder_fd: int,
    left_out: bytes,
    recent_ns: int,
    inotify_fd: int,
    inotify_mask: int,
    threads: int,
    rows: memoryview,
    heap: memoryview,
    row: int,
    stale: bytes,
    patterns: list[tuple[bytes, int, int]],
    prefix: bytes,
    /,
) -> tuple[list[Found], bytes]: ...
