"""The bucket of a shared project: named once, and looked at before anything relies on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mulligan import errors
from mulligan.adapters.settings_files import read_settings, set_setting
from mulligan.config import Source, parse_value
from mulligan.wiring.adapters import Adapters
from mulligan.wiring.object_store import object_store_of

if TYPE_CHECKING:
    from mulligan.adapters.homes.home_search import ProjectPlace
    from mulligan.wiring.surroundings import Surroundings

_KEY = "core.store.url"


def use_store(around: Surroundings, place: ProjectPlace, store: str) -> None:
    """Let a project keep its packs in a bucket, which must be empty or its own, and keep what it promises."""
    address = str(parse_value(_KEY, store, Source.COMMAND_LINE))
    file = place.home / "config.toml"
    known = read_settings(file, Source.PROJECT_FILE).values.get(_KEY)
    if known is not None and known != address:
        raise errors.ProjectUnusable(
            path=str(place.home),
            reason=f"its packs are in {known}",
            hint="leave out --store to use them; with --fresh too the folder gets a new home, without plans",
        )
    bucket = object_store_of(Adapters(place=place, around=around, stop=None), address)
    try:
        bucket.packs.make_sure()
    finally:
        bucket.register.close()
    if known is None:
        set_setting(file, Source.PROJECT_FILE, _KEY, address)
