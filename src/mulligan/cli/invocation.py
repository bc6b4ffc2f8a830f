"""One call of the program: its options, the project it works in, and how it answers."""

import os
import sys
import time
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeVar

from msgspec import Struct, field

from mulligan import errors
from mulligan.cli.answers.answer import Answer, Format, Line
from mulligan.errors import MulliganError

if TYPE_CHECKING:
    from pathlib import Path

    from mulligan.api.project import Project
    from mulligan.api.results import FileStanding, Surroundings
    from mulligan.cli.short_names import ShortNames
    from mulligan.cli.terminal.live import Live
    from mulligan.cli.terminal.silent import Deferred, Silent

_Result = TypeVar("_Result")
_LOOK_FIRST = "look at it with --dry-run, then repeat the command with --yes"


class Invocation(Struct, kw_only=True, dict=True):
    """The global options of a command line."""

    project_option: str | None = None
    format_option: str | None = None
    ids_option: bool = False
    verbose_option: bool = False
    no_pager_option: bool = False
    settings: dict[str, str] = field(default_factory=dict[str, str])
    found: "Project | None" = None
    told: list[str] = field(default_factory=list[str])  # what the document says beside the answer
    aside: bool = False  # people see the answer on stderr: stdout is that of a command

    @cached_property
    def around(self) -> "Surroundings":
        """The environment of the process."""
        from mulligan.api.entrance import look_around

        return look_around(self.settings)

    @cached_property
    def format(self) -> Format:
        """The format of the answer: from option, environment or settings, else by whether it is for a terminal."""
        stream = sys.stderr if self.aside else sys.stdout
        return Format(self._configured_format() or ("rich" if stream.isatty() else "plain"))

    @cached_property
    def names(self) -> "ShortNames":
        """The words for ids in texts for people."""
        from mulligan.cli.short_names import ShortNames

        return ShortNames(self.handles, show_ids=self.ids_option)

    def handles(self, ids: "Collection[str]") -> "Mapping[str, str]":
        """Look up the words for ids."""
        try:
            return self.found.handles(ids) if self.found is not None else {}
        except MulliganError:  # the database itself is what is wrong: the answer keeps the ids
            return {}

    def page(self, data: bytes) -> bool:
        """Show a long text through the pager; return False where it is short or there is none."""
        if self.no_pager_option or not sys.stdout.isatty():
            return False
        from mulligan.cli.terminal import pager  # here: few answers are long

        if not pager.is_long(data):
            return False
        command = pager.pager_command(self._setting("pager"), os.environ)
        return command is not None and pager.show(data, command, os.environ)

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
        return Live(screen=screen, printed=printed, monotonic=time.monotonic, verbose=self.verbose_option)

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

        return self._opened(open_project(self.around, self.project_option, self.live))

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
        """Return the project of a folder; where there is none, one is made when something is recorded, and said so."""
        from mulligan.api.entrance import project_in

        return self._opened(project_in(self.around, folder, self.live, self._made))

    def _made(self, home: "Path") -> None:
        self._tell(f"made a project: {home} keeps plans and checkpoints")

    def new_project(
        self,
        folder: str,
        home: str | None = None,
        *,
        fresh: bool = False,
        database: str | None = None,
        store: str | None = None,
    ) -> "tuple[Project, bool]":
        """Make a project, with home, rows and packs in those places; return whether it is new."""
        from mulligan.api.entrance import make_project

        project, new = make_project(
            self.around, folder, self.live, home=home, fresh=fresh, database=database, store=store
        )
        return self._opened(project), new

    def imported_project(
        self, file: "Path", folder: str, home: str | None, database: str | None, store: str | None
    ) -> "Project":
        """Make the project of a folder from an exported file."""
        from mulligan.api.entrance import imported

        made = imported(self.around, file, folder, home, self.live, database=database, store=store)
        return self._opened(made)

    def _opened(self, project: "Project") -> "Project":
        self.found = project
        if project.notes:
            from mulligan.api.operations.command_words import (
                in_commands,  # here: few projects have something to say
            )

            for note in project.notes:
                self._tell(in_commands(note))
        return project

    def close(self) -> None:
        """Give back what the command opened: the database is one file again when nobody has it open."""
        if self.found is not None:
            self.found.close()

    def show(self, preview: Answer) -> None:
        """Show what would be done, before a question."""
        from mulligan.cli.terminal.render import draw_blocks

        if not self.format.is_document:
            self.live.close()
            draw_blocks(preview, self.format, self.names)
            for message in preview.messages:
                self._tell(self.names.text(message))

    @property
    def can_ask(self) -> bool:
        """Return whether a user can answer a question."""
        return sys.stdin.isatty() and sys.stderr.isatty() and not self.format.is_document

    def confirm(self, question: str, otherwise: str = _LOOK_FIRST) -> None:
        """Ask on the terminal; without one, or without a yes, refuse, and say what to do `otherwise`."""
        if not self.can_ask:
            raise errors.ConfirmationMissing(hint=otherwise)
        from mulligan.api.document import harmless

        self.live.close()
        sys.stderr.write(f"{harmless(question)} [y/N] ")
        sys.stderr.flush()
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            raise errors.Declined

    def choose(
        self, question: str, answers: Mapping[str, str], default: str, *, view: Callable[[], Answer]
    ) -> str:
        """Ask on the terminal for one of these words, or its first letter; no answer means the default.

        Each word has a meaning, which `?` shows; `v` shows what `view` returns.
        """
        self.live.close()
        letters = "/".join(word[0].upper() if word == default else word[0] for word in answers)
        while True:
            sys.stderr.write(f"{question} [{letters}/v/?] ")
            sys.stderr.flush()
            try:
                given = sys.stdin.readline()
            except KeyboardInterrupt:
                given = ""
            if not given:
                sys.stderr.write("\n")
            match given.strip().lower():
                case "v" | "view":
                    self._view(view())
                    continue
                case "?":
                    self._explain({**answers, "view": "show all that changed"})
                    continue
                case _:
                    pass
            meant = [word for word in answers if given.strip().lower() in (word, word[0])]
            if meant or not given.strip():
                return meant[0] if meant else default

    def _explain(self, answers: Mapping[str, str]) -> None:
        from mulligan.cli.terminal.render import say

        say("\n".join(f"{word[0]} {word}: {about}" for word, about in answers.items()))

    def _view(self, answer: Answer) -> None:
        from mulligan.cli.terminal.render import draw_blocks

        draw_blocks(answer, self.format, self.names, self.page)

    def clear_screen(self, note: str) -> None:
        """Remove what shows progress, and say a last word: a command of the user's gets the terminal."""
        self.live.pause()
        if note:
            self._tell(note)
        for stream in (sys.stdout, sys.stderr):
            stream.flush()

    def confirmed(self, act: Callable[[bool], Answer], question: str, *, dry_run: bool, yes: bool) -> Answer:
        """Act after the user has seen the preview and confirmed, or at once with `yes`; `act(True)` only tries."""
        if dry_run:
            return act(True)
        # A preview with a conflict: nothing will be changed, so that there is nothing to ask for.
        if yes or (preview := act(True)).error is not None or preview.settled:
            return act(False)
        self.show(preview)
        self.confirm(preview.question or question)
        return act(False).after(preview)

    def confirmed_here(
        self, act: Callable[[bool, bool], Answer], verb: str, *, dry_run: bool, yes: bool, onto_branch: bool
    ) -> Answer:
        """Do the same for an act that belongs to a branch: another one is a question of its own, which `yes` is not.

        The second argument of `act` is whether it may be another branch.
        """
        try:
            return self.confirmed(lambda dry: act(dry, onto_branch), f"{verb}?", dry_run=dry_run, yes=yes)
        except errors.BranchDiffers as exc:
            if yes or dry_run or not self.can_ask:
                raise
            self.confirm(f"{exc.text}. {verb} it there?")
        return self.confirmed(lambda dry: act(dry, True), f"{verb}?", dry_run=False, yes=False)

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
        return errors.DatabaseUnusable(
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
        from mulligan.cli.terminal.render import say

        say(f"note: {harmless(text)}")

    def _configured_format(self) -> str | None:
        if self.format_option is not None:
            return self.format_option
        word = self._setting("format")
        return word if word in list(Format) else None

    def _setting(self, name: "Literal['format', 'pager']") -> str | None:
        try:
            from mulligan.api.entrance import configured_word

            return configured_word(self.around, self.project_option, name)
        except (MulliganError, OSError):
            # Settings that cannot be read are an error of their own, which the command reports; how it is shown is
            # decided without them.
            return os.environ.get(f"MULLIGAN_CORE_{name.upper()}")


def option_pair(text: str) -> tuple[str, str]:
    """KEY=VALUE from the command line."""
    key, separator, value = text.partition("=")
    if not separator or not key:
        raise errors.UsageWrong(
            reason=f"-c {text!r}: give a setting as KEY=VALUE",
            hint="`mulligan config list` shows the settings",
        )
    return key, value
