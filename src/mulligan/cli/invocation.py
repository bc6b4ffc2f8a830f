"""One call of the program: its options, the project it works in, and how it answers."""

import os
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct, field

from mulligan.cli.answers.answer import Answer, Format, Line
from mulligan.errors import ConfirmationMissing, DatabaseUnusable, Declined, MulliganError, UsageWrong

if TYPE_CHECKING:
    from mulligan.api.project import Project
    from mulligan.api.results import FileStanding, Surroundings
    from mulligan.cli.terminal.live import Live
    from mulligan.cli.terminal.silent import Deferred, Silent

_Result = TypeVar("_Result")
_LOOK_FIRST = "look at it with --dry-run, then repeat the command with --yes"


class Invocation(Struct, kw_only=True, dict=True):
    """The global options of a command line."""

    project_option: str | None = None
    format_option: str | None = None
    settings: dict[str, str] = field(default_factory=dict[str, str])
    found: "Project | None" = None
    told: list[str] = field(default_factory=list[str])  # what the document says beside the answer

    @cached_property
    def around(self) -> "Surroundings":
        """The environment of the process."""
        from mulligan.api.entrance import look_around

        return look_around(self.settings)

    @cached_property
    def format(self) -> Format:
        """The format of the answer: from option, environment or settings, else by whether stdout is a terminal."""
        return Format(self._configured_format() or ("rich" if sys.stdout.isatty() else "plain"))

    @cached_property
    def live(self) -> "Deferred | Silent":
        """The observer that shows progress."""
        from mulligan.cli.terminal.silent import Deferred, Silent

        return Silent() if self.format.is_document else Deferred(self._draw)

    def _draw(self) -> "Live":
        from mulligan.cli.terminal.live import AsItIs, Live
        from mulligan.cli.terminal.screen import Screen, can_draw
        from mulligan.domain.text.inert_text import Inert

        drawn = can_draw(sys.stderr) and self._configured_format() != Format.PLAIN
        screen = Screen(sys.stderr, terminal=drawn)
        # A terminal that is not drawn on obeys what programs print all the same.
        printed = (lambda: Inert(screen.encoding)) if sys.stderr.isatty() else AsItIs
        return Live(screen=screen, printed=printed, monotonic=time.monotonic)

    @cached_property
    def now(self) -> datetime:
        """The moment that all times of one answer are seen from."""
        return datetime.now(UTC)

    def when(self, moment: datetime) -> str:
        """A moment for people: on a terminal how long ago while that is less than a day, else by their own clock."""
        from mulligan.cli.terminal.times import ago, local_time

        recent = self.now - moment < timedelta(days=1)
        return ago(moment, self.now) if recent and self.format is Format.RICH else local_time(moment)

    def project(self) -> "Project":
        """The project the command works in, or a refusal."""
        from mulligan.api.entrance import open_project

        self.found = open_project(self.around, self.project_option, self.live)
        return self.found

    def project_or_new(self) -> "Project":
        """The project the command works in, made in the current folder where there is none."""
        from mulligan.errors import ProjectNotFound

        try:
            return self.project()
        except ProjectNotFound:
            if self.project_option or self.around.environ.get("MULLIGAN_PROJECT"):
                raise
            return self.project_in(".")

    def project_in(self, folder: str) -> "Project":
        """Return the project of a folder; make one where there is none, and say so."""
        project, new = self.new_project(folder)
        if new:
            self._tell(f"made a project: {project.folder}/.mulligan keeps plans and checkpoints")
        return project

    def new_project(self, folder: str) -> "tuple[Project, bool]":
        """Make a project; return whether it is new."""
        from mulligan.api.entrance import make_project

        self.found, new = make_project(self.around, folder, self.live)
        return self.found, new

    def close(self) -> None:
        """Give back what the command opened: the database is one file again when nobody has it open."""
        if self.found is not None:
            self.found.close()

    def show(self, preview: Answer) -> None:
        """Show what would be done, before a question."""
        from mulligan.cli.terminal.render import draw_blocks

        if not self.format.is_document:
            self.live.close()
            draw_blocks(preview, self.format)

    @property
    def can_ask(self) -> bool:
        """Return whether a user can answer a question."""
        return sys.stdin.isatty() and sys.stderr.isatty() and not self.format.is_document

    def confirm(self, question: str, otherwise: str = _LOOK_FIRST) -> None:
        """Ask on the terminal; without one, or without a yes, refuse, and say what to do `otherwise`."""
        if not self.can_ask:
            raise ConfirmationMissing(hint=otherwise)
        from mulligan.api.document import harmless

        self.live.close()
        sys.stderr.write(f"{harmless(question)} [y/N] ")
        sys.stderr.flush()
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            raise Declined

    def confirmed(self, act: Callable[[bool], Answer], question: str, *, dry_run: bool, yes: bool) -> Answer:
        """Act after the user has seen the preview and confirmed, or at once with `yes`; `act(True)` only tries."""
        if dry_run:
            return act(True)
        # A preview with a conflict: nothing will be changed, so that there is nothing to ask for.
        if yes or (preview := act(True)).error is not None:
            return act(False)
        self.show(preview)
        self.confirm(question)
        return act(False).without_tables()

    def trusting(self, project: "Project", act: Callable[[], _Result]) -> _Result:
        """Do it; where that needs a tools.py that is not trusted yet, ask on the terminal and do it then."""

        def ask(standing: "FileStanding", why: str) -> bool:
            if self.can_ask:
                self.ask_for_trust(standing, why)
            return self.can_ask

        from mulligan.api.operations import tool_trust  # here: few commands run tools

        return tool_trust.trusting(project, act, ask)

    def ask_for_trust(self, standing: "FileStanding", why: str) -> None:
        """Show which content would run, none of it run, and ask; raise Declined without a yes."""
        lines = [
            Line(why),
            Line(f"file:    {standing.path}, {standing.size_bytes} bytes"),
            Line(f"sha256:  {standing.sha256}"),
            Line("It is code that runs as you, when plans are checked and run. Read it first."),
        ]
        self.show(Answer(data=None, blocks=lines))
        otherwise = "read the file, then allow it to run with `mulligan tool trust --yes`"
        self.confirm("Trust this content?", otherwise)

    def unsound_rows(self) -> MulliganError | None:
        """Return why the project's database cannot be used; None if it can."""
        try:
            problems = self.found.problems() if self.found is not None else ()
        except MulliganError as exc:
            return exc
        if self.found is None or not problems:
            return None
        return DatabaseUnusable(
            database=str(self.found.database),
            reason="; ".join(problems[:3]),
            hint="keep a copy of the file; `mulligan doctor` lists all that is wrong with it",
        )

    def _tell(self, text: str) -> None:
        """Print a note immediately, so that the output ends with the next step."""
        if self.format.is_document:
            self.told.append(text)
            return
        from mulligan.api.document import harmless

        sys.stderr.write(f"note: {harmless(text)}\n")

    def _configured_format(self) -> str | None:
        if self.format_option is not None:
            return self.format_option
        try:
            from mulligan.api.entrance import configured_format

            return configured_format(self.around, self.project_option)
        except (MulliganError, OSError):
            # Settings that cannot be read are an error of their own, which the command reports; the format for that
            # is decided without them.
            word = os.environ.get("MULLIGAN_CORE_FORMAT")
            return word if word in list(Format) else None


def option_pair(text: str) -> tuple[str, str]:
    """KEY=VALUE from the command line."""
    key, separator, value = text.partition("=")
    if not separator or not key:
        raise UsageWrong(
            reason=f"-c {text!r}: give a setting as KEY=VALUE",
            hint="`mulligan config list` shows the settings",
        )
    return key, value
