"""Durability boundaries: every act that makes something last or lets something go, by name.

The code says `with act("pack.sync"):` around each. Nothing happens there unless a watcher is set. The watcher is
called right before and right after the act, and may end the process or let the act fail. This is how tests strike
between any two acts (docs/reference/durability.md).
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from types import TracebackType
from typing import TypeAlias

Watcher: TypeAlias = Callable[[str, str], None]  # called with "before" or "after", and the name of the act
Check: TypeAlias = Callable[[], None]  # raises what ends the work

_NONE = ""
_SYNC = "ENOSPC EIO"  # calls that Python repeats automatically after a signal
_NAMES = "ENOSPC EIO EINTR"  # calls that it does not repeat; on a network disk they may be cut short
_GOES = "EIO EINTR"

# Each act: how its system call can fail, and what a crash right before it and right after it leaves.
ACTS: dict[str, tuple[str, str, str]] = {
    "home.make": (
        _NAMES,
        "no project",
        "an empty folder for a home that nothing names; `projects prune` removes it",
    ),
    "home.sync": (_SYNC, "the same, which a power cut may take away", "the same, durable"),
    "home.record": (
        _NAMES,
        "a home without a word of its folder, or with the older one",
        "a home that names its folder",
    ),
    "home.index": (
        _NAMES,
        "a home that the index does not name yet; the next command notes it, or makes another",
        "a home that is found by its folder",
    ),
    "home.link": (
        _NAMES,
        "a home that is found by its folder; the next command completes the small folder",
        "a project folder that names its home",
    ),
    "home.follow": (
        _NAMES,
        "a moved home or project, with what git keeps in it as before; the next command repeats it",
        "the same, with paths that follow; the next command records it",
    ),
    "home.move": (
        _NAMES,
        "a home in its former place; the next command moves it",
        "a home in its new place, which the index names",
    ),
    "home.remove": (_NAMES, "a home that no folder needs", "the same, on its way out; the next prune completes it"),
    "archive.sync": (_SYNC, "a temporary file beside the one to be written", "the same, durable"),
    "archive.name": (
        _NAMES,
        "a temporary file beside the one to be written",
        "the exported project, complete, and perhaps the temporary file",
    ),
    "settings.sync": (_SYNC, "the old settings, and a temporary file", "the same, durable"),
    "settings.name": (_NAMES, "the old settings, and a temporary file", "the new settings"),
    "settings.keep": (_SYNC, "the new settings, which a power cut may take away", "the new settings, for good"),
    "trust.sync": (_SYNC, "the older record of what is trusted, and a temporary file", "the same, durable"),
    "trust.name": (
        _NAMES,
        "the older record of what is trusted, and a temporary file",
        "the new record; one that a power cut takes away is asked for again",
    ),
    "agent.record": (
        _NAMES,
        "the agent's file as it was",
        "the same, and a record of what is about to be written, with a copy of the file",
    ),
    "agent.write": (
        _NAMES,
        "the agent's file as it was, and perhaps a temporary file beside it; the same command writes it",
        "the agent's file with our hooks, or without them; uninstall goes by what is in it",
    ),
    "agent.remove": (
        _GOES,
        "a file that install made; uninstall removes it",
        "no file, and perhaps an empty folder, which uninstall removes",
    ),
    "agent.forget": (
        _GOES,
        "a record of a file that has no hook of ours; the next install or uninstall forgets it",
        "no record; the copy of what was there stays",
    ),
    "agent.pause": (_NAMES, "hooks as they were, on or off", "hooks switched off, or on again"),
    "rows.copy": (
        _NAMES,
        "a database of an older version, as it was",
        "the same, and a copy of it; the next command goes on",
    ),
    "rows.commit": (
        _SYNC,
        "the rows of before: SQLite drops what was not committed",
        "the rows of after, all of them",
    ),
    "lock.sign": (
        _SYNC,
        "a lock file that names nobody or a dead process; the system has let go of the lock",
        "a lock file that names a dead process; the system has let go of the lock",
    ),
    "plan.create": (_NONE, "no plan", "a plan that waits to be executed"),
    "plan.fork": (
        _NONE,
        "no fork",
        "a fork without sandboxes; resume finishes it, the next fork removes it",
    ),
    "plan.claim": (_NONE, "the plan as it was", "the plan with a new fence; calls of a dead process interrupted"),
    "plan.record": (
        _NONE,
        "the plan as it was; what was ahead of its last group is discarded by resume",
        "the plan's new state",
    ),
    "plan.end": (
        _NONE,
        "the plan as it was",
        "a plan that has ended; folders of sandboxes that no row names; gc removes them",
    ),
    "step.add": (
        _NONE,
        "the plan as it was",
        "a plan with one more step, which resume runs",
    ),
    "plan.accept": (
        _NONE,
        "the plan as it was; snapshots that no row names, and gc removes them",
        "a plan that is complete, with the group of what was there",
    ),
    "plan.stop": (
        _NONE,
        "a plan that says processing; resume goes on with it",
        "a plan that is queued or errored; resume goes on with it",
    ),
    "plan.remove": (
        _NONE,
        "a plan that has ended, without sandboxes; rm completes it",
        "no plan; its bytes wait for the next sweep, and a lock file that nothing needs",
    ),
    "lock.remove": (
        "EIO EINTR",
        "a lock file of a plan that is forgotten, which nothing needs",
        "no lock file",
    ),
    "plan.mend": (_NONE, "the plan as it was recorded", "the plan as the edited file says"),
    "survivors.end": (
        _NONE,
        "processes of a killed run; nothing is restored before they are ended",
        "no process of a killed run",
    ),
    "sandbox.intend": (_NONE, "a plan without sandboxes", "an intent: the next claim drops it and starts again"),
    "sandbox.record": (
        _NONE,
        "folders that no row names; the next start completes them, or gc removes them",
        "a plan in processing with all its sandboxes",
    ),
    "sandbox.undo": (_NONE, "the intent of making sandboxes, undone again", "a plan without sandboxes"),
    "sandbox.renew": (
        _NONE,
        "a copy of a sandbox beside it, after a plan was taken from a process that lives on; gc removes it",
        "the copy in the sandbox's place, and the old one beside it; gc removes it",
    ),
    "sandbox.remake": (
        _NAMES,
        "a sandbox that is missing, and a whole one beside its place; doctor makes it again, gc removes what is left",
        "the sandbox as the plan's last checkpoint has it",
    ),
    "sandbox.remove": (
        _NAMES,
        "a folder that no row names; gc removes it",
        "the folder moved to the trash; the next removal or gc clears it",
    ),
    "sandbox.park": (
        _NAMES,
        "a sandbox that no row refers to",
        "the same, parked for the next plan, which adopts it or removes it; `gc` removes it too",
    ),
    "sandbox.adopt": (
        _NAMES,
        "a parked tree, or one that is complete and not in its place: the next start removes it and makes another",
        "the same on its way into a sandbox, or in its place, exact",
    ),
    "sandbox.forget": (
        _NONE,
        "a plan that is over, with its sandboxes",
        "folders and pins that no row names; gc removes them, and doctor pins without a folder",
    ),
    "sandbox.clear": (_GOES, "trash, in part; the next removal or gc clears it", "nothing of the sandbox"),
    "scratch.write": (_SYNC, "no file for the call", "a file for a call that never came; gc removes it"),
    "plan.constrain": (
        _NONE,
        "a plan that says processing; resume goes back to before the step and merges again",
        "a plan that is constrained, on what the merge left; resolve goes on with it",
    ),
    "subplan.spawn": (
        _NONE,
        "the step as if it had not begun; the snapshot that was to be forked is named by no row, and gc removes it",
        "child plans that wait; the step finds them when it runs again",
    ),
    "subplan.adopt": (
        _NONE,
        "children of an earlier run of the step; the next run finds them again",
        "the same, on the present line of history; those that are wanted no more cancelled, their folders for gc",
    ),
    "variant.finish": (
        _NONE,
        "a variant that ran to its end, with its sandbox; the next run of the try parks that",
        "a variant that only its checkpoints hold, and a folder that no row names: parked, or for gc",
    ),
    "check.drop": (
        _NONE,
        "what a check wrote, in a sandbox whose step is running; resume goes back to before the check",
        "the sandbox as it was before the check, whose result is recorded nowhere; resume runs it again",
    ),
    "undo.run": (
        _NONE,
        "a call that is to be undone; the intent is open and the next claim undoes it",
        "what the undo did, recorded nowhere; the next claim calls it again",
    ),
    "undo.record": (
        _NONE,
        "what the undo did, recorded nowhere; the next claim calls it again",
        "a call that is recorded as undone, and is not undone again",
    ),
    "undo.settle": (
        _NONE,
        "real resources as the undo or redo makes them, rows of before: the next claim puts them back",
        "real resources and rows of after, and the group that keeps what was there",
    ),
    "call.run": (
        _NONE,
        "a call recorded as running; resume interrupts it and goes back to before the step",
        "what the tool did, recorded nowhere; resume keeps it in a group and goes back to before the step",
    ),
    "call.start": (
        _NONE,
        "a call recorded as running that has not begun; resume interrupts it",
        "a call that is ended with its processes; resume keeps what it did in a group and goes back to before the step",
    ),
    "room.make": (_NAMES, "nothing", "an empty room, cleared by the next process that needs one"),
    "room.clear": (_NONE, "a room with work in progress, cleared in the same way", "no room"),
    "folder.make": (_NAMES, "no folder", "an empty folder"),
    "folder.sync": (
        _SYNC,
        "an entry that a power cut may take away; no row names what is in it yet",
        "an entry that stays",
    ),
    "pack.sync": (_SYNC, "a file without a name: the system frees it", "the same, durable"),
    "pack.name": (_NAMES, "a file without a name: the system frees it", "a pack that no row names; gc removes it"),
    "pack.remove": (_GOES, "a pack that nothing needs; the next sweep removes it", "one pack less"),
    "cache.name": (
        _NAMES,
        "the older stat cache or its mark, which are true of an older tree",
        "the new stat cache, or its mark",
    ),
    "level.name": (_NAMES, "the older level: a sweep may come early", "the new level"),
    "leftover.remove": (_GOES, "a leftover; the next gc removes it", "one leftover less"),
    "group.record": (
        _NONE,
        "snapshots that no row names; gc removes them",
        "the group, with all that was pending and what retention pruned",
    ),
    "forget.record": (
        _NONE,
        "all checkpoints as they were, and trees that no row names; gc removes them",
        "checkpoints without the paths, whose bytes are still stored; the same command frees them",
    ),
    "prune.record": (_NONE, "all groups", "fewer groups; their bytes wait for the next sweep"),
    "return.intend": (_NONE, "the plan as it was", "an intent that touched nothing: dropped where a way back is due"),
    "return.ready": (
        _NONE,
        "the intent and the group that keeps what was there; the intent is dropped",
        "an intent with its way back: the next claim finishes it",
    ),
    "return.settle": (
        _NONE,
        "files as in the target, rows of before: the next claim restores again, and settles",
        "files and rows as in the target",
    ),
    "correction.settle": (
        _NONE,
        "files as in the target, rows of before: the next claim restores again, and settles",
        "files as in the target, and one attempt more: the guidance with its group, and the plan as corrected",
    ),
    "append.record": (
        _NONE,
        "the plan as it was; snapshots that no row names, and gc removes them",
        "one attempt more: the guidance with the group of what was there, and the step that is added; resume runs it",
    ),
    "return.drop": (_NONE, "an intent to be dropped again", "the plan as it was"),
    "apply.intend": (_NONE, "the plan as it was", "an intent that touched nothing: the next claim drops it"),
    "apply.ready": (
        _NONE,
        "an intent that touched nothing; merged trees that no row names",
        "an intent with what was there and what is to be there: the next claim puts every real resource back",
    ),
    "apply.settle": (
        _NONE,
        "real resources as they are to be, rows of before: the next claim puts them back",
        "real resources and rows of after; or, with conflicts, a constrained plan and nothing changed",
    ),
    "apply.drop": (_NONE, "real resources put back, and the intent: the next claim does so again", "all as it was"),
    "tree.copy": (
        _SYNC, "a new tree in between; the next start completes it, or gc removes it", "the same, some folders more"
    ),
    "tree.write": (_SYNC, "a new tree in between, completed or removed in the same way", "the same, one file more"),
    "restore.stage": (_SYNC, "files in a room; the tree is untouched", "one file more in the room"),
    "restore.stage_sync": (_SYNC, "files in a room; the real tree is untouched", "the same, durable"),
    "aside.make": (_NAMES, "a real tree untouched", "an empty aside; the next restore of a real tree clears it"),
    "aside.clear": (
        _GOES,
        "an aside that holds nothing but what is stored; the next restore of a real tree clears it",
        "no aside",
    ),
    "restore.remove": (
        _GOES,
        "a tree in between; the intent is open and the next claim restores again",
        "the same, one entry less",
    ),
    "restore.make_folder": (_NAMES, "a tree in between, completed in the same way", "the same, one folder more"),
    "restore.place": (_NAMES, "a tree in between, completed in the same way", "the same, one file in its place"),
    "restore.link": (_NAMES, "a tree in between, completed in the same way", "the same, one hard link more"),
    "restore.adjust": (_GOES, "a tree in between, completed in the same way", "the same, one mode or time put right"),
    "restore.finish": (_GOES, "all files in place, folders open to their owner", "the same, one folder finished"),
    "restore.sync": (
        _SYNC,
        "the whole tree, which a power cut may take away: the intent is open",
        "the whole tree, for good",
    ),
    "database.remove": (
        _GOES,
        "the database of before, in part; the intent is open and the next claim restores again",
        "the same, one of its files less",
    ),
    "database.place": (_NAMES, "no database, in the same way", "the wanted database"),
    "database.write": (
        _NONE,
        "the real database as it was; the intent is open and the next claim restores again",
        "the real database as wanted: SQLite wrote all of it or nothing",
    ),
    "database.sync": (_SYNC, "the wanted database, which a power cut may take away", "the same, for good"),
    "known.name": (_NAMES, "an older note of what a database was", "the new note"),
    "git.sync": (_SYNC, "a temporary file in the repository of checkpoints", "the same, durable"),
    "git.name": (
        _NAMES,
        "a temporary file; packs without an index and refs of no checkpoint are not looked at",
        "one file more: objects first, the ref that names them last",
    ),
    "git.keep": (_SYNC, "files that a power cut may take away; no row names them yet", "files that stay"),
    "git.join": (_GOES, "small packs, and one that holds all that they do", "one small pack less"),
    "git.remake": (
        _NONE,
        "a repository of checkpoints that lacks something; doctor makes it again",
        "one without commits; doctor makes it and them again",
    ),
    "names.record": (
        _NONE,
        "commits that were made again, rows that name the earlier ones; doctor makes them again",
        "rows that name the commits there are",
    ),
    "git.retire": (
        _NONE,
        "commits of pruned checkpoints, cut off from those that stay; the next retirement drops them",
        "commits of the checkpoints that are kept",
    ),
    "git.collect": (_NONE, "objects that no commit needs; a later retirement drops them", "one pack, no garbage"),
    "pin.set": (_NONE, "a sandbox in the making; the intent is undone", "pins, and where they are is remembered"),
    "pin.drop": (_NONE, "pins of a sandbox that is to go; gc removes both", "no pins; a folder that gc removes"),
    "position.move": (
        _NONE,
        "files as in the target, HEAD or branch as before, the index locked; the next claim unlocks and restores again",
        "the same, HEAD or branch as in the target",
    ),
    "position.sync": (
        _SYNC,
        "files as in the target, HEAD, branch and index as before; the next claim completes it",
        "the same",
    ),
    "position.lock": (
        _NAMES,
        "files as in the target, HEAD, branch and index as before; the next claim completes it",
        "the same, and git's lock of the index, which the next claim removes",
    ),
    "position.index": (
        _NAMES,
        "HEAD and branch as in the target, the index as before and locked; the next claim completes it",
        "HEAD, branch and index as in the target, and a draft that the next claim removes",
    ),
    "position.keep": (_SYNC, "HEAD, branch and index as in the target, which a power cut may take away", "for good"),
}  # fmt: skip

# Acts that tests of their own strike at: on what many machines share, in a bucket and in a database on a server, and
# those of graphs that other programs run.
ACTS_APART: dict[str, tuple[str, str, str]] = {
    "sandbox.arrive": (
        _NONE,
        "folders here that gc removes, and the row of a sandbox on another machine; the next claim makes it again",
        "the sandbox on this machine; the folders on the other one are removed by a gc there",
    ),
    "host.make": (
        _NAMES,
        "a machine without an id; the next command makes one",
        "the id of this machine, for good",
    ),
    "pack.upload": (_NONE, "nothing", "an object that no row names; a gc after a day removes it"),
    "clone.make": (
        _NAMES,
        "a clone that is not complete, in a temporary folder; the next command that needs it makes it again",
        "a clone that can be deleted, and is made again",
    ),
    "ref.push": (
        _NONE,
        "a branch of a remote repository as it was, with the commit for it in the clone",
        "the branch at the commit; the next claim of the plan puts it back, unless others pushed on top",
    ),
    "pack.doom": (
        _NONE,
        "packs that nothing needs, as they were",
        "the same, which nothing new relies on; a later gc removes them",
    ),
    "pack.unlist": (
        _NONE,
        "packs that nothing needs; a later gc removes them",
        "objects that no row names; a gc after a day removes them",
    ),
    "queue.enter": (
        _NONE,
        "a plan that no entry of its queue names; workers enter it",
        "a plan with an entry in its queue, and a number that only this entry has",
    ),
    "graph.put": (
        _NONE,
        "the graph at its checkpoint before; what its tasks wrote since is recorded, and it goes on from there",
        "the graph at the new checkpoint",
    ),
    "graph.write": (
        _NONE,
        "a task whose result is recorded nowhere; the graph runs it again",
        "a task whose result is recorded, and that is not run again",
    ),
    "graph.remove": (_NONE, "checkpoints of a graph", "these checkpoints gone"),
}


class _Unwatched:
    """An act without a watcher."""

    __slots__ = ()

    def __enter__(self) -> None:
        """Go on, if this process still may."""
        for check in _guards.get():
            check()

    def __exit__(self, *_: object) -> None:
        """Go on."""


class _Watched:
    """An act whose watcher is called; afterwards only if it was done."""

    __slots__ = ("_name", "_watcher")

    def __init__(self, name: str, watcher: Watcher) -> None:
        self._name = name
        self._watcher = watcher

    def __enter__(self) -> None:
        self._watcher("before", self._name)
        for check in _guards.get():
            check()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._watcher("after", self._name)


_UNWATCHED = _Unwatched()
_watcher: Watcher | None = None
# Of the current work: a plan's thread has its own, and a child's has those of its parent too.
_guards: ContextVar[tuple[Check, ...]] = ContextVar("guards", default=())


def act(name: str) -> _Unwatched | _Watched:
    """Surround one act that is durable when it is done."""
    return _UNWATCHED if _watcher is None else _Watched(name, _watcher)


@contextmanager
def guarded(check: Check) -> Generator[None]:
    """Ask this before every act of this work, and before older guards, as long as it is open."""
    _guards.set((check, *_guards.get()))
    try:
        yield
    finally:
        _guards.set(tuple(each for each in _guards.get() if each is not check))


def guards() -> tuple[Check, ...]:
    """Return the checks before every act here, for a thread that continues this work."""
    return _guards.get()


@contextmanager
def guarded_by(checks: tuple[Check, ...]) -> Generator[None]:
    """Go on with work that has these guards, and no others, in whatever thread this is."""
    before = _guards.get()
    _guards.set(checks)
    try:
        yield
    finally:
        _guards.set(before)


def watch(watcher: Watcher | None) -> None:
    """Call this watcher at every act of this process; None removes it."""
    global _watcher  # noqa: PLW0603  one per process, as the process is what is ended
    _watcher = watcher
