"""A graft is equal to a capture of the same tree, whatever differs."""

import os
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.properties.test_snapshot_property import ACTS, Act, Playground
from tests.support.long_run import LONGER
from tests.support.snapshot_world import bring_back, new_store, picture, take

_AT_NS = 1_700_000_000_000_000_000


@settings(max_examples=25 * LONGER, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(before=st.lists(ACTS, max_size=12), then=st.lists(ACTS, max_size=8))
def test_a_graft_of_what_differs_is_the_other_tree(before: list[Act], then: list[Act]) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        store = new_store(folder / "store")
        playground = Playground(folder / "tree")
        for act in before:
            playground.do(act)
        old = take(store, folder / "tree")
        for act in then:
            playground.do(act)
        new = take(store, folder / "tree")
        edits = {d.path: d.new for d in store.difference(old.roots[0], new.roots[0])}
        grafted = store.graft(old.roots[0], edits, _AT_NS)
        assert grafted.id == new.roots[0].id
        made = type(new)((grafted,))
        assert not new_store(folder / "store").verify([made], quick=False, observer=_Quiet())
        bring_back(store, made, folder / "other")
        assert _without_times(picture(folder / "other")) == _without_times(picture(folder / "tree"))
        os.chmod(folder / "other", 0o700)


class _Quiet:
    def event(self, event: object) -> None:
        """Nothing."""

    def output(self, plan_id: str, data: bytes) -> None:
        """Nothing."""

    def progress(self, what: str, done: int, total: int | None) -> None:
        """Nothing."""


def _without_times(found: dict[bytes, tuple[object, ...]]) -> dict[bytes, tuple[object, ...]]:
    return {name: (*facts[:3], *facts[4:]) for name, facts in found.items()}
