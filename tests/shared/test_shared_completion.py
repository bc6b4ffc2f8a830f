"""The Tab key in a shared project: its words, where the server answers soon, and nothing where it does not."""

import re
import socket
from pathlib import Path

import pytest

from mulligan.api import completion_source
from mulligan.api.completion_source import known_words
from mulligan.errors import DatabaseUnusable
from mulligan.wiring.surroundings import look_around
from tests.commands.program import data_of
from tests.support.homes import home_of
from tests.support.patience import PATIENCE


def plans_of(project: Path) -> list[str]:
    """Return the handles that are offered."""
    with known_words(look_around({}), str(project)) as known:
        return [word for word, _ in known.plans("", None)]


def test_plans_are_offered(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(completion_source, "_SERVERS", PATIENCE)
    (project / "plan.yaml").write_text("name: tour\nsteps: [{run: 'true'}]\n")
    data_of(project, "plan", "execute", "plan.yaml")
    assert plans_of(project) == ["latest", "tour"]


def test_a_server_that_does_not_answer_is_not_waited_for(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(completion_source, "_SERVERS", 0.05)
    settings = home_of(project) / "config.toml"
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        address = f"postgresql://tester@127.0.0.1:{silent.getsockname()[1]}/postgres?schema=x&project=P"
        text = re.sub(r'postgresql://[^"]*', address, settings.read_text())
        assert address in text
        settings.write_text(text)
        with pytest.raises(DatabaseUnusable, match="did not answer"):
            plans_of(project)
