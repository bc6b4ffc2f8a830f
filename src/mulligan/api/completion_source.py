"""Words for completion from a project's rows, settings and tools."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from mulligan.wiring.surroundings import locate

if TYPE_CHECKING:
    from mulligan.rows.completion_words import KnownWords, Word
    from mulligan.wiring.surroundings import Surroundings

_PATIENCE = 0.1  # seconds for a writer to finish: the user has pressed Tab
_SERVERS = 0.5  # for a server to let a client in, and for each of its answers


@contextmanager
def known_words(around: Surroundings, named: str | None) -> Generator[KnownWords]:
    """Open the words of the project's database; raise DatabaseUnusable where they cannot be read at once."""
    from mulligan.rows.completion_words import KnownWords
    from mulligan.wiring.database_place import database_in, quick_reader_of, reader_of
    from mulligan.wiring.layered_settings import LayeredSettings

    place = locate(around, named)
    settings = LayeredSettings(
        around=around, project_file=place.home / "config.toml", folder=place.folder
    ).of_project()
    database = database_in(place.folder, place.home, settings)
    connection = (
        reader_of(database, mode="rw", patience=_PATIENCE)
        if isinstance(database, Path)
        else quick_reader_of(database, _SERVERS)
    )
    with closing(connection):
        yield KnownWords(connection)


def tool_words(around: Surroundings, named: str | None) -> Iterator[Word]:
    """The built-in tools, and those that a trusted tools.py declared; no code of the user's is run."""
    from mulligan.adapters.tools.user_tools.tools_file import NAME, TrustRecord, read_tools_file
    from mulligan.wiring.toolbox_wiring import MACHINE_FILES, build_toolbox, machine_name

    own = locate(around, named).home
    built_in = build_toolbox(own / "scratch", own, around.environ, None, lambda: None).built_in
    yield from ((name, declared.summary) for name, declared in built_in.declarations().items())
    file = read_tools_file(own / NAME)
    if file is not None:
        for tool in TrustRecord(own, machine_name(MACHINE_FILES)).declared(file) or ():
            yield str(tool["name"]), "of tools.py"
