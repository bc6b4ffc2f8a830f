"""Differences between two groups: the files, each with its patch in colours."""

from mulligan.adapters.report_page.markup import Content, Markup, element, joined, several_lines
from mulligan.adapters.report_page.page_words import chip, coded, left_out
from mulligan.domain.text.plural import counted
from mulligan.domain.trees.diff import FileStatus, FolderDiff
from mulligan.domain.trees.patch_lines import NumberedLine, PatchLine, lines_of_patch
from mulligan.domain.views.excerpt import WIDEST
from mulligan.domain.views.report import Changes, ShownFile

_TONES = {
    FileStatus.ADDED: "good",
    FileStatus.DELETED: "bad",
    FileStatus.MODIFIED: "busy",
    FileStatus.RENAMED: "busy",
}


def summary(changes: Changes) -> str:
    """Describe how much differs."""
    paths = len(changes.files) + len(changes.folders) + changes.paths_left_out
    if not paths:
        return "the store could not compare them" if changes.problem else "nothing in the files differs"
    return f"{counted(paths, 'path')} changed"


def sums(changes: Changes) -> Markup:
    """Return the numbers of inserted and deleted lines in the files that are shown."""
    files = [shown.file for shown in changes.files]
    return _plus_minus(sum(f.insertions or 0 for f in files), sum(f.deletions or 0 for f in files))


def files(changes: Changes) -> Markup:
    """Every file that is shown, closed; then folders, and what is not shown."""
    several = len({entry.resource for entry in (*(f.file for f in changes.files), *changes.folders)}) > 1
    parts = [_file(shown, several=several) for shown in changes.files]
    parts += [_folder(folder, several=several) for folder in changes.folders]
    if changes.paths_left_out:
        parts.append(_note(f"{counted(changes.paths_left_out, 'more path')} changed: ", coded(changes.look)))
    if changes.hidden:
        parts.append(_note(f"{counted(changes.hidden, 'cache file')} not shown"))
    if changes.problem:
        parts.append(element("p", f"Not all of it can be shown: {changes.problem}", class_="problem"))
    return element("div", parts, class_="files")


def _file(shown: ShownFile, *, several: bool) -> Markup:
    file = shown.file
    name = _name(file.path, file.resource, several=several)
    origin = element("span", f"from {file.old_path}", class_="origin") if file.old_path is not None else None
    count = chip("not shown") if file.binary else _plus_minus(file.insertions or 0, file.deletions or 0)
    head = joined(
        chip(file.status.value, _TONES[file.status]), name, origin, element("span", count, class_="count")
    )
    body = _body(shown)
    if body is None:
        return element("p", head, class_="file")
    return element("details", element("summary", head), body, class_="file")


def _body(shown: ShownFile) -> Markup | None:
    """The patch, where there is one to be seen, and what it does not carry."""
    lines = [line for line in lines_of_patch(shown.patch) if line.kind is not PatchLine.HEADER]
    parts: list[Markup] = []
    if lines:
        parts.append(element("div", map(_line, lines), class_="patch", tabindex="0"))
    if shown.lines_left_out:
        parts.append(_note(f"{counted(shown.lines_left_out, 'more line')} of this patch"))
    unseen = "binary, or too large to be shown"
    parts += [_note(unseen if text == "content" else text) for text in shown.file.not_in_patch]
    return joined(parts) if parts else None


def _line(line: NumberedLine) -> Markup:
    text = line.text[:WIDEST]
    more = left_out(f"{len(line.text) - WIDEST:,} characters") if len(line.text) > WIDEST else None
    number = "" if line.number is None else str(line.number)
    return element("div", several_lines(text), more, class_=f"l {line.kind.value}", data_n=number)


def _folder(folder: FolderDiff, *, several: bool) -> Markup:
    name = _name(f"{folder.path}/", folder.resource, several=several)
    told = element("span", ", ".join(folder.not_in_patch) or "folder", class_="origin")
    return element("p", chip(folder.status.value, _TONES[folder.status]), name, told, class_="file")


def _name(path: str, resource: str, *, several: bool) -> Markup:
    where = element("span", f"{resource}: ", class_="resource") if several else None
    return element("code", where, path, class_="path")


def _plus_minus(insertions: int, deletions: int) -> Markup:
    return joined(
        element("span", f"+{insertions:,}", class_="plus", title="lines inserted"),
        " ",
        element("span", f"−{deletions:,}", class_="minus", title="lines deleted"),
    )


def _note(*content: Content) -> Markup:
    return element("p", left_out(*content), class_="note")
