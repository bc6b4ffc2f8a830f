"""What every error is: a kind, an exit code, a message, a next step and facts; and the families of them."""

import re
from typing import ClassVar

from mulligan.errors.next_step import Advice, NextStep


def _snake(name: str) -> str:
    return re.sub(r"(?<=.)(?=[A-Z])", "_", name).lower()


class _Blank(dict[str, object]):
    """Facts for a template; one that is missing stays visible instead of raising a second error."""

    def __missing__(self, key: str) -> str:
        return "{" + key + "}"


class MulliganError(Exception):
    """An error of our own: a kind, a message, a next step and the facts behind them."""

    kind: ClassVar[str] = "mulligan_error"
    exit_code: ClassVar[int] = 1
    http_status: ClassVar[int] = 500
    message: ClassVar[str] = "{reason}"
    hint: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        """Name each kind after its class, so that the tree above is the list of kinds."""
        cls.kind = _snake(cls.__name__)

    def __init__(self, **facts: object) -> None:
        """Keep the facts; `hint=` replaces the class's own advice where the caller knows better."""
        hint = facts.pop("hint", None)
        self.facts: dict[str, object] = facts
        self.text = type(self).message.format_map(_Blank(facts))
        own = hint if isinstance(hint, str) else None
        self.next_step = self.usual_advice(**facts) if own is None else Advice(own)
        super().__init__(self.text)

    @classmethod
    def usual_advice(cls, **facts: object) -> Advice:
        """Return what to do about errors of this kind."""
        return Advice(cls.hint).filled(_Blank(facts))

    def __reduce__(self) -> tuple[object, ...]:
        """Travel between processes with facts and next step."""
        return (_rebuild, (type(self), dict(self.facts), self.next_step))


def _rebuild(cls: type[MulliganError], facts: dict[str, object], hint: Advice) -> MulliganError:
    return cls(hint=hint, **facts)


class Failed(MulliganError):
    """Something that should have worked did not."""

    exit_code: ClassVar[int] = 1
    http_status: ClassVar[int] = 500


class Misused(MulliganError):
    """The words of a command, a plan file or a setting are wrong; nothing was done."""

    exit_code: ClassVar[int] = 2
    http_status: ClassVar[int] = 400


class Refused(MulliganError):
    """A guard said no; nothing was changed."""

    exit_code: ClassVar[int] = 3
    http_status: ClassVar[int] = 409


class NotFound(Refused):
    """A name, id or word that matches nothing."""

    http_status: ClassVar[int] = 404


class Conflicted(MulliganError):
    """Two sides changed the same thing."""

    exit_code: ClassVar[int] = 4
    http_status: ClassVar[int] = 409
    message: ClassVar[str] = "in conflict: {paths}"
    hint: ClassVar[str] = "mend them and try again"


class Interrupted(MulliganError):
    """Ctrl-C or SIGTERM; the state was recorded and the plan can go on."""

    exit_code: ClassVar[int] = 130
    http_status: ClassVar[int] = 499
    message: ClassVar[str] = "interrupted"
    hint: ClassVar[str] = Advice("look at it with ", NextStep("status", plan="latest"))
