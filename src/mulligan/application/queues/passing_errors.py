"""Errors that another attempt may not meet: a server was away."""

from mulligan.errors import DatabaseBusy, DatabaseUnusable, StoreMoved, StoreUnreachable

_PASSING = (DatabaseUnusable, DatabaseBusy, StoreMoved, StoreUnreachable)


def may_pass(error: BaseException | None) -> bool:
    """Return whether an error, such as a checkpoint that failed, comes from a server that was away."""
    cause = error
    while cause is not None and not isinstance(cause, _PASSING):
        cause = cause.__cause__
    return cause is not None
