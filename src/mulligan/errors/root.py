"""The class of all errors, which have a kind, an exit code, a message, a next step and facts; and its families."""

import re
from typing import ClassVar

from mulligan.errors.next_step import Advice, NextStep

__all__ = ["Conflicted", "Failed", "Interrupted", "Misused", "MulliganError", "NotFound", "Refused"]


def _snake(name: str) -> str:
    return re.sub(r"(?<=.)(?=[A-Z])", "_", name).lower()


class _Blank(dict[str, object]):
    """Facts for a template; a missing one stays visible as its placeholder instead of raising a second error."""

    def __missing__(self, key: str) -> str:
        return "{" + key + "}"


class MulliganError(Exception):
    """An error of mulligan: a kind, a message, a next step and the facts behind them."""

    kind: ClassVar[str] = "mulligan_error"
    exit_code: ClassVar[int] = 1
    http_status: ClassVar[int] = 500
    message: ClassVar[str] = "{reason}"
    hint: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        """Name each kind after its class."""
        cls.kind = _snake(cls.__name__)

    def __init__(self, **facts: object) -> None:
        """Keep the facts; `hint=` replaces the advice of the class."""
        hint = facts.pop("hint", None)
        self.facts: dict[str, object] = facts
        self.text = type(self).message.format_map(_Blank(facts))
        own = hint if isinstance(hint, str) else None
        self.next_step = self.usual_advice(**facts) if own is None else Advice(own)
        super().__init__(self.text)

    @classmethod
    def usual_advice(cls, **facts: object) -> Advice:
        """Return the advice of this kind."""
        return Advice(cls.hint).filled(_Blank(facts))

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle it with facts and next step."""
        return (_rebuild, (type(self), dict(self.facts), self.next_step))


def _rebuild(cls: type[MulliganError], facts: dict[str, object], hint: Advice) -> MulliganError:
    return cls(hint=hint, **facts)


class Failed(MulliganError):
    """Something that should have worked did not."""

    exit_code = 1
    http_status = 500


class Misused(MulliganError):
    """A command, plan file or setting is wrong; nothing was done."""

    exit_code = 2
    http_status = 400


class Refused(MulliganError):
    """A check refused the operation; nothing was changed."""

    exit_code = 3
    http_status = 409


class NotFound(Refused):
    """A name, id or keyword matches nothing."""

    http_status = 404


class Conflicted(MulliganError):
    """Two sides changed the same thing."""

    exit_code = 4
    http_status = 409
    message = "conflicts: {paths}"
    hint = "resolve them and try again"


class Interrupted(MulliganError):
    """Ctrl-C or SIGTERM; the state was recorded, and the plan can be resumed unless it was cancelled."""

    exit_code = 130
    http_status = 499
    message = "interrupted"
    hint = Advice("look at it with ", NextStep("status", plan="latest"))
