"""Machines that work in one shared project."""

from msgspec import Struct


class Host(Struct, frozen=True, kw_only=True):
    """A machine, or a user of one, by an id that no other has."""

    host: str
    name: str  # for people
    home: str  # the project home there
    folder: str  # the project folder there
