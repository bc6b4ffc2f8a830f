"""Project homes with tools of the user's own, and toolboxes over them as new processes would have them."""

import os
import sys
from pathlib import Path

from mulligan.adapters.tools.process.command_runner import Launchers
from mulligan.adapters.tools.project_toolbox import ProjectToolbox
from mulligan.adapters.tools.toolbox import LocalToolbox
from mulligan.adapters.tools.user_tools.entry_points import PackagedTools

HEAD = "import os, sys, time\nimport mulligan\n"
GREET = HEAD + "@mulligan.tool\ndef greet(context, who: str):\n    return f'hello {who}'\n"


class Home:
    """A project home, and toolboxes over it as new processes would have them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / ".mulligan"
        self.home.mkdir(mode=0o700, parents=True)
        self.file = self.home / "tools.py"
        self.boxes: list[ProjectToolbox] = []

    def box(self, *packages: PackagedTools, machine: str = "here", **environment: str) -> ProjectToolbox:
        measured = {name: value for name, value in os.environ.items() if name.startswith("COVERAGE_")}
        base = {"PATH": os.environ["PATH"], **measured, **environment}
        built_in = LocalToolbox(
            launchers=Launchers(python=sys.executable, environment=base), scratch=self.home / "scratch"
        )
        made = ProjectToolbox(
            built_in=built_in,
            home=self.home,
            machine=machine,
            installed=lambda: packages,
        )
        self.boxes.append(made)
        return made

    def trusted(self, text: str) -> ProjectToolbox:
        self.file.write_text(text)
        box = self.box()
        box.own.trust(box.own.look().sha256 or "")
        return box
