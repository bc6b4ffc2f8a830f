"""The plugin for Claude Code and the extension for Gemini CLI, as the tables of hooks say they are."""

from tests.agent_plugins import plugin_files
from tests.support.page_examples import ROOT


def test_the_plugins_are_what_would_be_written_now() -> None:
    wanted = plugin_files()
    found = {
        str(file.relative_to(ROOT)): file.read_text("utf-8")
        for folder in (ROOT / "plugins", ROOT / ".claude-plugin")
        for file in folder.rglob("*")
        if file.is_file()
    }
    assert found == wanted, "run `python -m tests.agent_plugins` and look at the difference"
