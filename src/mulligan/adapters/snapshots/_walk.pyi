from typing import TypeAlias

Listed: TypeAlias = tuple[int, str, bytes, bytes, list[tuple[str, bytes]], int, int, bool, int]
NotListed: TypeAlias = tuple[int, str, None, None, None, None, int, None, int]

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
    /,
) -> list[Listed | NotListed]: ...
