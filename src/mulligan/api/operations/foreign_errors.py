"""Exceptions that are not ours, as errors that a front door can answer with."""

from mulligan.errors import InternalError, MulliganError, SystemFailed, UsageWrong


def our_error(exc: Exception) -> MulliganError:
    """Return an error for an exception; InternalError, whose traceback is to be shown, where it is a bug."""
    if isinstance(exc, MulliganError):
        return exc
    if isinstance(
        exc, OSError
    ):  # a name too long for the system, for one; work is translated where it is done
        if isinstance(exc.filename, str):
            return SystemFailed(path=exc.filename, reason=exc.strerror or str(exc))
        return SystemFailed(
            path="the system", reason=exc.strerror or str(exc), hint=SystemFailed.usual_advice()
        )
    if isinstance(exc, UnicodeEncodeError):
        return UsageWrong(reason="a value holds bytes that are not UTF-8 text", hint="give it as text")
    if isinstance(exc, ValueError) and "embedded null" in str(exc):
        return UsageWrong(reason="a path has a character that no file name has", hint="give another one")
    return InternalError(reason=f"{type(exc).__name__}: {exc}")
