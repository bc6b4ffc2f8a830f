"""Calling git so that it runs nobody's code but its own, and the filters that the user's configuration names."""

import os
import re
import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from msgspec import Struct

from mulligan.errors import Advice, NextStep, SystemFailed

# Variables that git may get from the caller; others would point it at another repository, trace or edit.
_PASSED_ON = frozenset(
    {"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH", "GIT_ATTR_NOSYSTEM"}
)
_OWN = {
    "LC_ALL": "C",  # messages are compared
    "GIT_OPTIONAL_LOCKS": "0",  # reading never refreshes an index
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ALLOW_PROTOCOL": "none",  # with the next: what a partial clone has not fetched is not fetched by us
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",  # objects are copied and named as they are
    "GIT_PAGER": "cat",
}
_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.splitIndex=false",
    "core.logAllRefUpdates=false",
    "core.fsync=none",  # what must last is synced by us, together
    "core.alternateRefsCommand=true",
    "core.askPass=",
    "credential.helper=",
    "commit.gpgSign=false",
    "tag.gpgSign=false",
    "diff.external=",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    "protocol.allow=never",
    "advice.detachedHead=false",
)
_LOCKED = re.compile(r"'([^']+\.lock)': File exists")
ARGUMENTS = tuple(word for setting in _SETTINGS for word in ("-c", setting))
# To reach a server as its user does, whose credentials git asks for in the ways that the user has set up.
_ABOUT_SERVERS = ("core.fsync", "core.askPass", "credential.helper", "protocol.allow")
_TO_SERVERS = (
    *(setting for setting in _SETTINGS if not setting.startswith(_ABOUT_SERVERS)),
    "core.fsync=committed",
    "http.lowSpeedLimit=1",  # bytes a second: a server that stopped answering is given up
    "http.lowSpeedTime=60",
    "push.gpgSign=false",
    "push.followTags=false",
    "push.pushOption=",
)
_SERVER_ARGUMENTS = tuple(word for setting in _TO_SERVERS for word in ("-c", setting))
_PASSED_TO_SERVERS = ("GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT", "GIT_ASKPASS")
_SCHEMES = "file:git:http:https:ssh"


class GitFailed(SystemFailed):
    """A git command of ours ended in an error."""

    def __init__(self, *, path: str, reason: str, hint: str = "") -> None:
        super().__init__(
            path=path, reason=reason, hint=hint or "see what git says there: `git status`, `git fsck`"
        )


class Git(Struct, frozen=True):
    """Runs git in one place: with the caller's own configuration, without hooks, prompts, locks or networks."""

    environment: Mapping[str, str]
    folder: Path  # where it is run
    held: tuple[int, ...] = ()  # files that stay open, and so locked, for as long as it runs
    arguments: tuple[str, ...] = ARGUMENTS

    @staticmethod
    def within(callers: Mapping[str, str], folder: Path) -> "Git":
        """Git as the user has it, in a folder; the repository is the one it finds there."""
        kept = {k: v for k, v in callers.items() if not k.startswith("GIT_") or k in _PASSED_ON}
        return Git({**kept, **_OWN}, folder)

    def on(self, folder: Path, **redirections: Path | str) -> "Git":
        """The same git elsewhere, with these variables: GIT_DIR=… and the like."""
        changed = {**self.environment, **{k: str(v) for k, v in redirections.items()}}
        return Git(changed, folder, self.held, self.arguments)

    def to_servers(self, callers: Mapping[str, str]) -> "Git":
        """The same git, which may also reach servers: of all git commands here those alone that are meant to."""
        own = {name: callers[name] for name in _PASSED_TO_SERVERS if name in callers}
        changed = {**self.environment, **own, "GIT_ALLOW_PROTOCOL": _SCHEMES}
        return Git(changed, self.folder, self.held, _SERVER_ARGUMENTS)

    def holding(self, file: int) -> "Git":
        """The same git, which keeps a file open while it runs."""
        return Git(self.environment, self.folder, (*self.held, file), self.arguments)

    def run(self, *arguments: str, stdin: bytes | IO[bytes] = b"") -> bytes:
        """Return the output of the command; GitFailed with its message if it fails."""
        ended = self.attempt(*arguments, stdin=stdin)
        if ended.returncode != 0:
            raise self.failed(ended, arguments[0])
        return ended.stdout

    def failed(self, ended: subprocess.CompletedProcess[bytes], command: str) -> GitFailed:
        """Return the error of a command that failed."""
        said = os.fsdecode(ended.stderr).strip() or f"git {command} ended with {ended.returncode}"
        return GitFailed(path=str(self.folder), reason=said, hint=_about_lock(said))

    def attempt(self, *arguments: str, stdin: bytes | IO[bytes] = b"") -> subprocess.CompletedProcess[bytes]:
        try:
            return subprocess.run(
                ["git", *self.arguments, *arguments],
                input=stdin if isinstance(stdin, bytes) else None,
                stdin=None if isinstance(stdin, bytes) else stdin,
                capture_output=True,
                cwd=self.folder,
                env=dict(self.environment),
                pass_fds=self.held,
                check=False,
            )
        except FileNotFoundError as exc:
            if not self.folder.is_dir():
                raise SystemFailed(path=str(self.folder), reason="there is no such folder") from exc
            raise GitFailed(
                path="git", reason="there is no such program", hint="install git, and see that it is in PATH"
            ) from exc

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """A command that is asked again and again; it ends when its input is closed."""
        return subprocess.Popen(
            ["git", *self.arguments, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=self.folder,
            env=dict(self.environment),
        )


def _about_lock(said: str) -> str:
    """Return the hint for a lock that git could not take because the file exists."""
    found = _LOCKED.search(said)
    if found is None:
        return ""
    lock = found[1]
    return Advice(
        "another git command is at work there, or was killed and left its lock: let it finish; "
        f"if none is running: `rm {shlex.quote(lock)}`; then try again (",
        NextStep("doctor"),
        " lists such locks)",
    )
