"""The paths of this machine that the tools of a project may write."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from mulligan.adapters.tools.process.confinement import LandlockConfinement

_TEMPORARY = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 - tools may write them, we do not


def confinement(
    project: Path, kept: Sequence[Path], scratch: Path, environ: Mapping[str, str]
) -> LandlockConfinement:
    """Keep tools from writing the project, and what is `kept` of it wherever that is."""
    named = filter(None, [environ.get("TMPDIR")])
    temporary = [Path(folder) for folder in (*named, *_TEMPORARY) if Path(folder).is_dir()]
    return LandlockConfinement(
        kept=kept, project=project, scratch=scratch, temporary=temporary, user=Path.home()
    )
