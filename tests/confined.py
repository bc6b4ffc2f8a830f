"""What tests of confined tools need: a home folder of their own, and room for what coverage writes."""

import os
from pathlib import Path


def written_by_coverage() -> list[str]:
    """The folder in which measured processes leave what they ran; none where nothing is measured."""
    file = os.environ.get("COVERAGE_FILE")
    return [str(Path(file).parent)] if file else []
