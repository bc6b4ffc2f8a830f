"""Objects: bytes under the hash of what they are, kept in packs."""

import os
from collections.abc import Iterable, Mapping
from threading import Lock
from typing import TYPE_CHECKING

from mulligan import errors
from mulligan.adapters.snapshots.format.pack_format import Pack

if TYPE_CHECKING:
    from mulligan.adapters.snapshots.packs.pack_file import PackFile
    from mulligan.ports import PackStorage

_FEW_SEARCHES = 8_192  # searching packs takes microseconds, a table of all their objects a tenth of a second
# At a folder that another process is changing: a listing made meanwhile may miss an object that moves.
_LOOKS = 5
_MISSING = "it is listed, and is not there"


class Objects:
    """All packs of a store as one set of objects. Safe for threads; other processes may add packs."""

    def __init__(self, storage: "PackStorage") -> None:
        self.storage = storage
        self._lock = Lock()
        self._packs: dict[str, Pack] = {}
        self._damaged: dict[str, str] = {}  # pack name -> what is wrong with it
        # None: so few were asked for that the packs are searched.
        self._where: dict[bytes, Pack] | None = None
        self._searches = 0
        self._settled = True
        self._leaving = frozenset[str]()

    def refresh(self) -> None:
        """List the packs again: some came and some went. Of those that are known nothing is read."""
        with self._lock:
            self._refresh()

    def pack_names(self) -> frozenset[str]:
        """The packs that can be read now, and that stay as far as is known."""
        return frozenset(self._packs).difference(self._leaving)

    def leaving(self) -> frozenset[str]:
        """The packs that can be read now, and that nothing new relies on: a sweep is about to remove them."""
        return self._leaving

    def packs(self) -> list[Pack]:
        """The packs that can be read now, by name."""
        with self._lock:
            return [self._packs[name] for name in sorted(self._packs)]

    def damaged(self) -> Mapping[str, str]:
        """The packs whose index cannot be read, and why."""
        return dict(self._damaged)

    def size_bytes(self) -> int:
        """The size on disk of all readable packs."""
        with self._lock:
            return sum(pack.size for pack in self._packs.values())

    def contains(self, object_id: bytes) -> bool:
        """Return whether the object is here and stays, as far as is known without listing again."""
        pack = self._place(object_id)
        if pack is None or pack.name not in self._leaving:
            return pack is not None
        return any(other.name not in self._leaving for other in self._others(pack, object_id))

    def can_read(self, object_id: bytes) -> bool:
        """Return whether the object is here now, in whichever pack."""
        return self._place(object_id) is not None

    def length(self, object_id: bytes) -> int:
        """Return the length of an object according to its pack; SnapshotDamaged if it is missing."""
        return self._find(object_id).row(object_id).raw

    def read(self, object_id: bytes) -> bytes:
        """An object's bytes, proved by their hash; SnapshotDamaged where they are missing or changed."""
        for _ in range(_LOOKS):
            pack = self._find(object_id)
            try:
                return pack.read(object_id)
            except FileNotFoundError:
                self.refresh()  # its objects were moved into another pack, or it is lost: look again
            except errors.SnapshotDamaged:
                if self.storage.distrust(pack.name):
                    continue
                for other in self._others(pack, object_id):
                    if self.is_sound(other, object_id):
                        return other.read(object_id)
                raise
            except OSError as exc:
                reason = f"pack {pack.name}: {exc.strerror}"
                raise errors.SnapshotDamaged(object=object_id.hex(), reason=reason) from exc
        raise errors.SnapshotDamaged(object=object_id.hex(), reason=self._why_missing())

    def is_sound(self, pack: Pack, object_id: bytes) -> bool:
        """Return whether this pack's copy of an object is intact."""
        try:
            pack.read(object_id)
        except (errors.SnapshotDamaged, OSError):
            return False
        return True

    def look_for_packs(self) -> None:
        """List the packs again, and look whether their bytes are where they are kept, and not in a copy alone."""
        with self._lock:
            self._refresh()
            missing = self.storage.missing()
            self._drop(missing)
            self._damaged |= dict.fromkeys(missing, _MISSING)

    def settle(self) -> None:
        """Make sure that packs which another process added survive a power cut, before we build on them."""
        if not self._settled:
            self.storage.settle()
            self._settled = True

    def adopt(self, written: "PackFile") -> Pack:
        """Finish a pack and take it over: from here on it is seen, by us and by others."""
        pack = written.finish(f"{os.urandom(16).hex()}.pack")
        with self._lock:
            self._take(pack)
        return pack

    def remove(self, packs: Iterable[Pack]) -> frozenset[str]:
        """Delete packs, now or after a grace; return the names of those that are gone.

        The caller knows that nothing needs the objects that only they hold.
        """
        with self._lock:
            names = sorted({pack.name for pack in packs})
            gone = frozenset(self.storage.remove(*names)) if names else frozenset[str]()
            self._drop(gone)
            return gone

    def replace(self, packs: Iterable[Pack], by: Pack) -> None:
        """Delete packs whose objects are all in another one."""
        with self._lock:
            self._drop(self.storage.replace([pack.name for pack in packs], by.name))

    def _find(self, object_id: bytes) -> Pack:
        """The pack of an object; another process may have written or moved it since we last looked."""
        for _ in range(_LOOKS):
            pack = self._place(object_id)
            if pack is not None:
                return pack
            self.refresh()
        raise errors.SnapshotDamaged(object=object_id.hex(), reason=self._why_missing())

    def _place(self, object_id: bytes) -> Pack | None:
        where = self._where
        if where is None and self._searches < _FEW_SEARCHES:
            self._searches += 1
            return next((pack for pack in list(self._packs.values()) if object_id in pack), None)
        if where is None:
            with self._lock:
                where = dict[bytes, Pack]()
                for pack in self._packs.values():
                    where.update(pack.places())
                self._where = where
        return where.get(object_id)

    def _others(self, pack: Pack, object_id: bytes) -> list[Pack]:
        """Further packs that hold an object: captures at the same time may both have stored it."""
        return [other for other in self.packs() if other is not pack and object_id in other]

    def _refresh(self) -> None:
        gone = list[str]()
        for _ in range(_LOOKS):
            names = set(self.storage.list())
            self._leaving = frozenset(self.storage.leaving())
            self._damaged = {name: why for name, why in self._damaged.items() if name in names}
            new = sorted(names - self._packs.keys() - self._damaged.keys())
            gone = [name for name in new if not self._load(name)]
            self._drop(self._packs.keys() - names)  # after loading: what moved is found in its new place
            if not gone:
                return
        self._damaged |= dict.fromkeys(gone, _MISSING)

    def _load(self, name: str) -> bool:
        """Take in a pack that was listed; False where it is gone already."""
        try:
            pack = self._opened(name)
        except FileNotFoundError:
            return False
        except errors.SnapshotDamaged as exc:
            self._damaged[name] = str(exc.facts["reason"])
        except OSError as exc:
            self._damaged[name] = exc.strerror or str(exc)
        else:
            self._take(pack)
            self._settled = False
        return True

    def _opened(self, name: str) -> Pack:
        try:
            return Pack.open(self.storage, name)
        except errors.SnapshotDamaged:
            if not self.storage.distrust(name):
                raise
            return Pack.open(self.storage, name)

    def _take(self, pack: Pack) -> None:
        self._packs[pack.name] = pack
        if self._where is not None:
            self._where.update(pack.places())

    def _drop(self, names: Iterable[str]) -> None:
        where, homeless = self._where, set[bytes]()
        for name in list(names):
            pack = self._packs.pop(name, None)
            if pack is None:
                continue
            if where is not None:
                homeless.update(object_id for object_id in pack.ids if where[object_id] is pack)
        if where is None:
            return
        for object_id in homeless:
            del where[object_id]
        # The same object may be in an earlier pack that the removed one had hidden.
        for other in self._packs.values() if homeless else ():
            for object_id in homeless.intersection(other.ids):
                where[object_id] = other

    def _why_missing(self) -> str:
        hurt = ", ".join(f"pack {name}: {why}" for name, why in sorted(self._damaged.items()))
        return f"it is missing ({hurt})" if hurt else "it is missing"
