"""What the page keeps of comparisons between two requests: bounded by its size in memory."""

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from mulligan.api.entrance import look_around
from mulligan.page import project_desk
from mulligan.page.project_desk import DiffKey, ProjectDesk
from tests.page.worlds import simple_project

PATCH = b"@@ -1 +1 @@\n-" + b"x" * 100 + b"\n+y\n"


def test_windows_are_kept_up_to_a_size_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    simple_project(tmp_path / "work").close()
    monkeypatch.setattr(project_desk, "_WINDOW_BYTES", 2 * len(PATCH))
    desk = ProjectDesk(replace(look_around({}), folder=tmp_path / "work"), None)
    key = DiffKey("old", "new", (), hidden=False)
    made: list[int] = []

    def patch_of(index: int) -> Callable[[], bytes]:
        return lambda: made.append(index) or PATCH

    try:
        for index in (0, 1, 0, 2, 0, 1):
            assert desk.kept_windows(key, index, patch_of(index)).count == 3
        assert made == [0, 1, 2, 1]  # 1 was used longest ago when 2 came
        monkeypatch.setattr(project_desk, "_WINDOW_BYTES", 1)
        assert desk.kept_windows(key, 3, patch_of(3)) is desk.kept_windows(key, 3, patch_of(3))
    finally:
        desk.close()
