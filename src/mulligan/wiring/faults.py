"""Faults on demand: ends the process at a chosen boundary, or lets the act there fail. For tests.

`MULLIGAN_FAULT=WHEN:ACT:NUMBER:HOW` strikes before or after the NUMBERth time that this process comes to an act;
HOW is a signal (SIGKILL, SIGTERM, SIGSTOP) or the name of an error that the act can fail with.
`MULLIGAN_FAULT_LOG=FILE` gets a line for every boundary that is passed, and one for the fault.
"""

import errno
import os
import signal
import threading
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from mulligan.boundaries import ACTS, ACTS_APART, watch
from mulligan.errors import UsageWrong

FAULT = "MULLIGAN_FAULT"
LOG = "MULLIGAN_FAULT_LOG"
_SIGNALS = ("SIGKILL", "SIGTERM", "SIGSTOP")


class Fault(Struct, frozen=True, kw_only=True):
    """A fault, and the act that it strikes."""

    when: str
    act: str
    number: int
    how: str

    def strike(self) -> None:
        """Do it."""
        if self.how in _SIGNALS:
            os.kill(os.getpid(), signal.Signals[self.how])
        else:
            number = getattr(errno, self.how)
            raise OSError(number, os.strerror(number))


class _Striking:
    """Counts what is passed, and strikes once."""

    def __init__(self, fault: Fault | None, log: Path | None) -> None:
        self._fault = fault
        self._log = log
        self._passed: Counter[tuple[str, str]] = Counter()
        self._lock = threading.Lock()  # child plans pass boundaries in threads of their own

    def __call__(self, when: str, act: str) -> None:
        with self._lock:
            self._passed[when, act] += 1
            self._note(f"{when} {act}")
            fault = self._fault
            if fault and (fault.when, fault.act, fault.number) == (when, act, self._passed[when, act]):
                self._note(f"fault {act}")
                fault.strike()

    def _note(self, line: str) -> None:
        if self._log is not None:
            with self._log.open("a", encoding="utf-8") as file:
                file.write(f"{line}\n")


def arm(environ: Mapping[str, str]) -> None:
    """Be ready to strike where the environment asks for it."""
    fault, log = environ.get(FAULT), environ.get(LOG)
    watch(_Striking(_parse(fault) if fault else None, Path(log) if log else None))


def _parse(text: str) -> Fault:
    when, act, number, how = (*text.split(":"), "", "", "", "")[:4]
    if when not in ("before", "after"):
        raise _wrong(text, "before or after comes first")
    acts = ACTS | ACTS_APART
    if act not in acts:
        raise _wrong(text, f"the act is one of {', '.join(acts)}")
    possible = [*_SIGNALS, *(acts[act][0].split() if when == "before" else ())]
    if not number.isdecimal() or how not in possible:
        raise _wrong(text, f"after the act come a number and one of {', '.join(possible)}")
    return Fault(when=when, act=act, number=int(number), how=how)


def _wrong(text: str, hint: str) -> UsageWrong:
    return UsageWrong(reason=f"{FAULT}={text} says no fault", hint=hint)
