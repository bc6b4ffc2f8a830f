"""Where the user's own settings and the homes of projects are, by the variables of the process."""

from pathlib import Path

import platformdirs
import pytest

from mulligan.wiring.surroundings import state_folder, user_folder


@pytest.mark.parametrize(
    ("variables", "settings", "homes"),
    [
        ({"HOME": "/h"}, "/h/.config/mulligan", "/h/.local/state/mulligan"),
        ({"HOME": "/h", "XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "/s"}, "/c/mulligan", "/s/mulligan"),
        (
            {"HOME": "/h", "XDG_CONFIG_HOME": "not/absolute", "MULLIGAN_HOME": "/a/../b"},
            "/h/.config/mulligan",
            "/b",
        ),
    ],
)
def test_variables_say_where(variables: dict[str, str], settings: str, homes: str) -> None:
    assert user_folder(variables) == Path(settings)
    assert state_folder(variables) == Path(homes)


def test_without_them_the_system_says_where() -> None:
    assert user_folder({}) == platformdirs.user_config_path("mulligan", appauthor=False)
    assert state_folder({}) == platformdirs.user_state_path("mulligan", appauthor=False)
