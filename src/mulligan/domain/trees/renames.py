"""Renames, detected by content among the deleted and the new files.

Files of the same content come first, then files that share a base name which occurs once on either side, then
every old file against every new one, up to a limit of pairs. Half of the bytes must be the same.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from mulligan.domain.trees.line_diff import is_binary, lines_of
from mulligan.domain.trees.tree_difference import StoredContent, TreeEntry

SIMILAR_FROM = 50  # percent of the larger file's bytes that are, as whole lines, in both
MOST_PAIRS = 20_000  # compared with each other: 0.5 s for files of 200 lines, 2 s for files of 1000
LARGEST_COMPARED = 1024 * 1024  # bytes of one file; a larger one is renamed when its content is equal
MOST_READ = 64 * 1024 * 1024  # bytes of all files together


class Rename(Struct, frozen=True):
    """A file under its old and its new name."""

    old: str
    new: str
    similarity: int  # percent; 100: the same content


class Lines(Struct, frozen=True):
    """A text's lines as a heap: how many bytes of each there are."""

    size: int
    weights: Mapping[bytes, int]

    @staticmethod
    def of(text: bytes) -> "Lines":
        """The lines of a text."""
        counts = Counter(lines_of(text))
        return Lines(len(text), {line: len(line) * count for line, count in counts.items()})

    def similarity(self, other: "Lines") -> int:
        """Return how much of the larger text is in both, in percent; 100 is reserved for equal contents."""
        small, large = sorted((self, other), key=lambda lines: len(lines.weights))
        most = max(self.size, other.size)
        if not most or min(self.size, other.size) * 100 < most * SIMILAR_FROM:
            return 0
        weights = large.weights
        same = sum(min(weight, weights[line]) for line, weight in small.weights.items() if line in weights)
        return min(same * 100 // most, 99)


def find_renames(
    gone: Mapping[str, TreeEntry], come: Mapping[str, TreeEntry], read: Callable[[StoredContent], bytes]
) -> tuple[list[Rename], int]:
    """Files that went and came under another name; and how many pairs were too many to be compared."""
    equal = equal_renames(gone, come)
    moved, named = {r.old for r in equal}, {r.new for r in equal}
    old = _comparable({path: entry for path, entry in gone.items() if path not in moved})
    new = _comparable({path: entry for path, entry in come.items() if path not in named})
    if not old or not new:
        return equal, 0
    if sum(content.size for side in (old, new) for content in side.values()) > MOST_READ:
        return equal, len(old) * len(new)
    similar, left_out = similar_renames(_texts(old, read), _texts(new, read))
    return equal + similar, left_out


def equal_renames(gone: Mapping[str, TreeEntry], come: Mapping[str, TreeEntry]) -> list[Rename]:
    """Pair files and symlinks of the same content; empty files only where the base name is the same."""
    old_paths: defaultdict[object, list[str]] = defaultdict(list)
    new_paths: defaultdict[object, list[str]] = defaultdict(list)
    for paths, entries in ((old_paths, gone), (new_paths, come)):
        for path in sorted(entries):
            paths[(entries[path].content, entries[path].target)].append(path)
    renames: list[Rename] = []
    for content in old_paths.keys() & new_paths.keys():
        olds, news = old_paths[content], new_paths[content]
        pairs = _same_base_names(olds, news)
        stored = gone[olds[0]].content
        if stored is None or stored.size:
            taken_old, taken_new = {old for old, _ in pairs}, {new for _, new in pairs}
            rest_old = [path for path in olds if path not in taken_old]
            rest_new = [path for path in news if path not in taken_new]
            pairs += zip(rest_old, rest_new, strict=False)
        renames += [Rename(old, new, 100) for old, new in pairs]
    return renames


def similar_renames(gone: Mapping[str, Lines], come: Mapping[str, Lines]) -> tuple[list[Rename], int]:
    """Pair similar texts; return the pairs, and the number of pairs that exceeded the limit."""
    once = _once(gone) & _once(come)
    old_of = {_base_name(path): path for path in gone}
    renames: list[Rename] = []
    for new in come:
        if _base_name(new) in once:
            old = old_of[_base_name(new)]
            similarity = gone[old].similarity(come[new])
            if similarity >= SIMILAR_FROM:
                renames.append(Rename(old, new, similarity))
    taken_old, taken_new = {r.old for r in renames}, {r.new for r in renames}
    olds = [path for path in gone if path not in taken_old]
    news = [path for path in come if path not in taken_new]
    if len(olds) * len(news) > MOST_PAIRS:
        return renames, len(olds) * len(news)
    scored = [Rename(old, new, gone[old].similarity(come[new])) for old in olds for new in news]
    return renames + _best(scored), 0


def _best(scored: Iterable[Rename]) -> list[Rename]:
    """Each name once, the most similar first."""
    chosen: list[Rename] = []
    taken_old: set[str] = set()
    taken_new: set[str] = set()
    alike = [rename for rename in scored if rename.similarity >= SIMILAR_FROM]
    for rename in sorted(alike, key=lambda r: (-r.similarity, _base_name(r.old) != _base_name(r.new))):
        if rename.old not in taken_old and rename.new not in taken_new:
            taken_old.add(rename.old)
            taken_new.add(rename.new)
            chosen.append(rename)
    return chosen


def _same_base_names(olds: Sequence[str], news: Sequence[str]) -> list[tuple[str, str]]:
    waiting: defaultdict[str, list[str]] = defaultdict(list)
    for path in reversed(olds):
        waiting[_base_name(path)].append(path)
    return [(waiting[_base_name(path)].pop(), path) for path in news if waiting[_base_name(path)]]


def _once(paths: Iterable[str]) -> set[str]:
    counts = Counter(_base_name(path) for path in paths)
    return {name for name, count in counts.items() if count == 1}


def _base_name(path: str) -> str:
    return path.rpartition("/")[2]


def _comparable(entries: Mapping[str, TreeEntry]) -> dict[str, StoredContent]:
    """The contents that may be looked at for likeness."""
    contents = {path: entry.content for path, entry in entries.items() if entry.content is not None}
    return {path: content for path, content in contents.items() if 0 < content.size <= LARGEST_COMPARED}


def _texts(contents: Mapping[str, StoredContent], read: Callable[[StoredContent], bytes]) -> dict[str, Lines]:
    found: dict[str, Lines] = {}
    for path, content in contents.items():
        data = read(content)
        if not is_binary(data):
            found[path] = Lines.of(data)
    return found
