"""The lines of a patch with the style each is drawn in."""

from collections.abc import Iterator

from mulligan.domain.trees.patch_lines import PatchLine, lines_of_patch

_STYLES = {
    PatchLine.HEADER: "bold",
    PatchLine.HUNK: "cyan",
    PatchLine.ADDED: "green",
    PatchLine.REMOVED: "red",
    PatchLine.CONTEXT: "",
    PatchLine.REMARK: "",
}


def styled_lines(patch: bytes) -> Iterator[tuple[str, str]]:
    """Each line without its end and with its tabs as spaces, and its style."""
    for line in lines_of_patch(patch):
        yield line.text.expandtabs(8), _STYLES[line.kind]
