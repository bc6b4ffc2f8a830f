"""Exit statuses of commands in words."""

import signal


def ended(exit_status: int) -> str:
    """Say how a command ended: `exit status 2`, or `SIGKILL` for a negative one, which is the signal's number."""
    return f"exit status {exit_status}" if exit_status >= 0 else signal_name(-exit_status)


def brief_status(exit_status: int) -> str:
    """Return what a narrow column shows: `2`, or `SIGKILL` where a signal ended the command."""
    return str(exit_status) if exit_status >= 0 else signal_name(-exit_status)


def signal_name(number: int) -> str:
    """Return the name of a signal; without one, such as for a real-time signal, its number."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
