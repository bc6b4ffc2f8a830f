"""Exit statuses of commands in words."""

# Of Linux, from 1 on, but for the few processors that count them in their own way.
_SIGNALS = (
    "HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT"
    " CHLD CONT STOP TSTP TTIN TTOU URG XCPU XFSZ VTALRM PROF WINCH IO PWR SYS"
)


def ended(exit_status: int) -> str:
    """Say how a command ended: `exit status 2`, or `SIGKILL` for a negative one, which is the signal's number."""
    return f"exit status {exit_status}" if exit_status >= 0 else signal_name(-exit_status)


def brief_status(exit_status: int) -> str:
    """Return what a narrow column shows: `2`, or `SIGKILL` where a signal ended the command."""
    return str(exit_status) if exit_status >= 0 else signal_name(-exit_status)


def signal_name(number: int) -> str:
    """Return the name of a signal; without one, such as for a real-time signal, its number."""
    names = _SIGNALS.split()
    return f"SIG{names[number - 1]}" if 0 < number <= len(names) else f"signal {number}"
