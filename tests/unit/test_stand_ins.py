"""Modules of libraries that the program loads when they are used: until then others stand in for them."""

import inspect
import ipaddress
import sys
import urllib.parse
from collections.abc import Generator
from pathlib import Path
from types import ModuleType

import pytest

from mulligan.cli import own_process as program

NAMES = (
    *(
        "gettext",
        "inspect",
        "ipaddress",
        "msgspec.inspect",
        "msgspec.msgpack",
        "msgspec.toml",
        "msgspec.yaml",
    ),
    *("ntpath", "platform", "textwrap", "urllib.parse"),
)


@pytest.fixture(autouse=True)
def _as_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have none of the modules loaded, and those of the tests afterwards."""
    monkeypatch.setattr(urllib, "parse", urllib.parse)
    for name in NAMES:
        monkeypatch.delitem(sys.modules, name, raising=False)


@pytest.fixture
def standing_in() -> Generator[dict[str, ModuleType]]:
    with program.stand_ins():
        yield {name: sys.modules[name] for name in NAMES}


def test_one_that_is_used_is_the_module_itself(standing_in: dict[str, ModuleType]) -> None:
    stand_in = standing_in["ipaddress"]
    assert not hasattr(stand_in, "__path__")
    assert stand_in is not ipaddress
    assert stand_in.ip_address("::1") == stand_in.IPv6Address(1)
    assert sys.modules["ipaddress"] is not stand_in
    assert stand_in.ip_address is sys.modules["ipaddress"].ip_address
    with pytest.raises(AttributeError):
        stand_in.no_such_name  # noqa: B018  it is asked for


def test_those_of_msgspec_work_when_they_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "msgspec"]:
        monkeypatch.delitem(sys.modules, name)
    with program.stand_ins():
        import msgspec
    assert "msgspec.inspect" not in sys.modules
    assert msgspec.json.schema(int) == {"type": "integer"}
    assert msgspec.toml.decode("a = 1") == {"a": 1}
    assert msgspec.msgpack.decode(msgspec.msgpack.encode([1])) == [1]


def test_afterwards_all_but_one_are_gone() -> None:
    with program.stand_ins():
        pass
    assert [name for name in NAMES if name in sys.modules] == ["platform"]


def test_a_module_that_is_loaded_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "inspect", inspect)
    with program.stand_ins():
        assert sys.modules["inspect"] is inspect
    assert sys.modules["inspect"] is inspect


@pytest.mark.parametrize(
    "text", ["", "One line.", " before", "after ", "a\ttab", "First.\n\n    Second.\n  ", "\n\nx"]
)
def test_help_is_cleaned_as_by_the_module(text: str, standing_in: dict[str, ModuleType]) -> None:
    assert standing_in["inspect"].cleandoc(text) == inspect.cleandoc(text)


def test_what_is_offered_is_what_the_modules_answer(standing_in: dict[str, ModuleType]) -> None:
    offered = standing_in["gettext"], standing_in["platform"]
    for name in NAMES:
        del sys.modules[name]
    import gettext
    import platform

    assert (gettext, platform) != offered
    assert offered[0].gettext("No such file") == gettext.gettext("No such file")
    for number in (0, 1, 2):
        assert offered[0].ngettext("one", "many", number) == gettext.ngettext("one", "many", number)
    assert offered[1].system() == platform.system()
    assert offered[1].python_implementation() == platform.python_implementation()
    quote = standing_in["urllib.parse"].quote_from_bytes
    assert quote(b"a b/\xff") == "a%20b/%FF"
    assert Path("/a b").as_uri() == "file:///a%20b"
