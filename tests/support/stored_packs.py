"""Packs for tests of pack storages: bytes under a name."""

from mulligan.ports import PackStorage


def put(storage: PackStorage, name: str, data: bytes) -> None:
    draft = storage.draft()
    try:
        draft.file.write(data)
        draft.put(name)
    finally:
        draft.close()


def content(storage: PackStorage, name: str) -> bytes:
    return storage.read(name, 0, storage.size(name))
