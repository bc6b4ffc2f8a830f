"""The contestants, in the order in which the table shows them."""

from collections.abc import Sequence

from benchmarks.compare.contest import Contestant
from benchmarks.compare.contestants.borg import Borg
from benchmarks.compare.contestants.gemini import Gemini
from benchmarks.compare.contestants.git import ShadowGit, TunedGit
from benchmarks.compare.contestants.opencode import Opencode
from benchmarks.compare.contestants.restic import Restic
from benchmarks.compare.contestants.stepback import Stepback
from benchmarks.compare.contestants.store import RunningStore, StoreProcess


def contestants() -> Sequence[Contestant]:
    """Everyone who takes part."""
    return (
        RunningStore(),
        StoreProcess(),
        ShadowGit(ignored=True),
        ShadowGit(ignored=False),
        TunedGit(),
        Stepback(),
        Gemini(),
        Opencode(),
        Restic(),
        Borg(),
    )
