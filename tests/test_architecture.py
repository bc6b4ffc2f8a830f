"""What the layers contract of import-linter cannot say about the rooms, read off the source itself."""

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from mulligan.domain.resources.resource import ResourceType

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "mulligan"
MODULES = sorted(PACKAGE.rglob("*.py"))
OWN_CODE = sorted(
    file
    for folder in ("src", "tests", "features", "robot", "benchmarks")
    for file in (ROOT / folder).rglob("*.py")
)

LONGEST_FILE = 600
MOST_MODULES = 12  # in a folder
NOUNS_IN_ING = ("wiring.py", "listing.py")

# Who may read the environment and the clock, besides the wiring, which hands both to everyone else.
READS_SURROUNDINGS = {
    "wiring/": "the one place where the program meets its environment",
    "__main__.py": "decides how to start before anything is imported",
    "cli/": "terminals describe themselves in variables (NO_COLOR, COLUMNS)",
    "page/": "its answers say when they began and how long they took, as those of the command line do",
    "adapters/tools/launcher/launcher.py": "a program of its own, in its own process: its environment is its input",
    "adapters/tools/worker/worker.py": "likewise",
    "adapters/local_server/warm_process.py": "its forks take over the environment of the process that asks",
}
# Who may write to stdout and stderr.
PRINTS = {
    "cli/": "the room that talks to people",
    "__main__.py": "tells what went wrong before cli could be imported",
    "adapters/tools/launcher/launcher.py": "a program of its own: its streams are how it answers",
    "adapters/tools/worker/worker.py": "likewise",
    "adapters/local_server/warm_process.py": "its forks take over the streams of the process that asks",
}
# Who may ask for one type of resource; all others ask for its traits.
NAMES_TYPES = {
    "domain/resources/resource.py": "the table of traits",
    "adapters/sandboxes/": "the adapters of each type",
    "adapters/tools/sql/sql_tool.py": "the tool for SQLite databases",
    "wiring/sandbox_kinds.py": "chooses the adapter of each type",
    "api/sessions/resource_factories.py": "a function per type, for programs",
}

SURROUNDINGS = {
    "os.environ", "os.environb", "os.getenv", "os.putenv",
    "time.time", "time.time_ns",
    "datetime.now", "datetime.utcnow", "datetime.today", "date.today",
    "datetime.datetime.now", "datetime.datetime.utcnow", "datetime.datetime.today", "datetime.date.today",
}  # fmt: skip
STREAMS = {"sys.stdout", "sys.stderr", "sys.__stdout__", "sys.__stderr__"}


def place(file: Path) -> str:
    """Name a module by its path in the package."""
    return file.relative_to(PACKAGE).as_posix()


def allowed(file: Path, allow_list: dict[str, str]) -> bool:
    """Tell whether an allow list names this module, or the folder it is in."""
    return any(
        place(file) == entry or (entry.endswith("/") and place(file).startswith(entry))
        for entry in allow_list
    )


@cache
def tree(file: Path) -> ast.Module:
    """Parse a module."""
    return ast.parse(file.read_text(encoding="utf-8"), filename=str(file))


def dotted(node: ast.AST) -> str:
    """Spell a name or a chain of attributes, `a.b.c`; anything else is empty."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (owner := dotted(node.value)):
        return f"{owner}.{node.attr}"
    return ""


def uses(file: Path, names: set[str]) -> list[str]:
    """Return where a module uses one of these dotted names, or imports it by itself."""
    found: list[str] = []
    for node in ast.walk(tree(file)):
        if isinstance(node, ast.Attribute) and dotted(node) in names:
            found.append(f"{place(file)}:{node.lineno}: {dotted(node)}")
        if isinstance(node, ast.ImportFrom):
            imported = {f"{node.module}.{alias.name}" for alias in node.names}
            found += [f"{place(file)}:{node.lineno}: {name}" for name in sorted(imported & names)]
    return found


def comments_with(words: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """Yield the comments in our code that have such words, with their places; what strings say is not a comment."""
    for file in OWN_CODE:
        text = file.read_text(encoding="utf-8")
        if words.search(text) is None:
            continue  # most have none, and to divide all of them into tokens takes seconds
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT and words.search(token.string):
                yield f"{file.relative_to(ROOT)}:{token.start[0]}", token.string


def constructors(module: ast.Module) -> Iterator[tuple[ast.ClassDef, list[str]]]:
    """Yield the classes of a module with those constructor parameters that have defaults."""
    for node in ast.walk(module):
        if not isinstance(node, ast.ClassDef):
            continue
        for member in node.body:
            if isinstance(member, ast.FunctionDef) and member.name == "__init__":
                positional = [*member.args.posonlyargs, *member.args.args]
                optional = positional[len(positional) - len(member.args.defaults) :]
                pairs = zip(member.args.kwonlyargs, member.args.kw_defaults, strict=True)
                optional += [argument for argument, default in pairs if default is not None]
                yield node, [argument.arg for argument in optional]


def test_values_are_structs():
    """One way to define values: a dataclass takes thirty times as long to define, in every start of the program."""
    found = [str(f.relative_to(ROOT)) for f in (ROOT / "src").rglob("*.py") if "dataclass" in f.read_text()]
    assert not found


def test_services_have_no_optional_collaborators():
    """A service that can be left out will be. Values are free to have defaults."""
    optional = [
        f"{place(file)}:{owner.lineno}: {owner.name}({name}=…)"
        for file in MODULES
        if place(file).startswith("application/")
        for owner, names in constructors(tree(file))
        for name in names
    ]
    assert optional == []


def test_the_library_never_prints():
    found: list[str] = []
    for file in MODULES:
        if allowed(file, PRINTS):
            continue
        found += uses(file, STREAMS)
        for node in ast.walk(tree(file)):
            if isinstance(node, ast.Call) and dotted(node.func) in {"print", "input"}:
                found.append(f"{place(file)}:{node.lineno}: {dotted(node.func)}()")
    assert found == []


def test_only_the_wiring_reads_environment_and_clock():
    found = [
        use for file in MODULES if not allowed(file, READS_SURROUNDINGS) for use in uses(file, SURROUNDINGS)
    ]
    assert found == []


def test_only_adapters_ask_for_a_type_of_resource():
    types = {f"ResourceType.{type.name}" for type in ResourceType}
    found = [use for file in MODULES if not allowed(file, NAMES_TYPES) for use in uses(file, types)]
    assert not found, "ask for a trait instead: " + ", ".join(found)


def test_no_module_imports_the_public_api():
    """The package itself imports everything: whoever imports it from inside goes around the layers."""
    rooms = {file.stem for file in PACKAGE.glob("*.py")} | {folder.name for folder in PACKAGE.iterdir()}
    found: list[str] = []
    for file in MODULES:
        for node in ast.walk(tree(file)):
            inside = isinstance(node, ast.ImportFrom) and node.module == "mulligan"
            if inside and any(
                alias.name not in rooms and alias.name != "__version__" for alias in node.names
            ):
                found.append(f"{place(file)}:{node.lineno}: {ast.unparse(node)}")
            if isinstance(node, ast.Import) and any(alias.name == "mulligan" for alias in node.names):
                found.append(f"{place(file)}:{node.lineno}: {ast.unparse(node)}")
    assert found == []


def test_files_stay_readable():
    """A file that long has usually more than one subject."""
    lengths = {
        file.relative_to(ROOT).as_posix(): len(file.read_text(encoding="utf-8").splitlines())
        for file in OWN_CODE
    }
    long = {name: length for name, length in lengths.items() if length > LONGEST_FILE}
    assert long == {}


def test_folders_hold_at_most_a_dozen_modules():
    crowded = {
        place(folder): len(names)
        for folder in {file.parent for file in MODULES}
        if len(names := [file for file in folder.glob("*.py") if file.stem != "__init__"]) > MOST_MODULES
    }
    assert crowded == {}


def test_every_folder_says_what_it_holds():
    silent = [
        place(file) for file in MODULES if file.stem == "__init__" and not ast.get_docstring(tree(file))
    ]
    assert silent == []


def test_no_module_name_occurs_twice():
    names = Counter(file.stem for file in MODULES if file.stem != "__init__")
    assert [name for name, count in names.items() if count > 1] == []


def test_modules_are_named_after_what_they_hold():
    """A gerund says that something happens, not what the module has."""
    gerunds = [place(file) for file in MODULES if file.stem.endswith("ing")]
    assert [name for name in gerunds if not name.endswith(NOUNS_IN_ING)] == []


def test_no_work_is_left_in_comments():
    words = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
    assert list(comments_with(words)) == []


# An exception to a rule names the rule and, after it, the reason: `
EXCEPTIONS = re.compile(
    r"#\s*(?P<what>noqa|type:\s*ignore|pyright:\s*ignore|pragma:\s*no\s*(?:cover|branch)|fmt:\s*(?:off|skip))"
    r"(?P<rules>\s*:\s*[A-Z]+\d+(?:\s*,\s*[A-Z]+\d+)*|\[[^\]]*\])?"
    r"(?P<rest>.*)"
)
RULELESS = ("pragma", "fmt")


def unexplained(comment: str) -> bool:
    """Tell whether a comment makes an exception without its rule or without a reason."""
    found = EXCEPTIONS.search(comment)
    if found is None or found["what"].startswith("fmt"):
        return False
    needs_rule = not found["what"].startswith(RULELESS)
    reason = re.sub(r"[^A-Za-z]+", "", found["rest"])
    return (needs_rule and found["rules"] is None) or len(reason) < 3


def test_every_exception_to_a_rule_carries_its_reason():
    found = [f"{place}: {comment}" for place, comment in comments_with(EXCEPTIONS) if unexplained(comment)]
    assert found == []


@pytest.mark.parametrize(
    ("comment", "bare"),
    [
        ("# noqa: S608", True),
        ("# noqa", True),
        ("# noqa: S608, S101  the table is a constant", False),
        ("# noqa: S608 - the table is a constant", False),
        ("# pyright: ignore[reportPrivateUsage]", True),
        ("# pyright: ignore[reportPrivateUsage]  ctypes has no types", False),
        ("# pragma: no cover", True),
        ("# pragma: no cover - only a kernel without inotify gets here", False),
        ("# a comment that says why", False),
    ],
)
def test_what_counts_as_a_reason(comment, bare):
    assert unexplained(comment) is bare


def test_every_port_is_found_in_its_room() -> None:
    """The names of the ports are loaded when they are asked for; none may be missing or wrong."""
    import mulligan.ports as ports

    found = {name: getattr(ports, name) for name in ports.__all__}
    assert {name for name, port in found.items() if port.__name__ != name} == set()
    with pytest.raises(AttributeError, match="has no attribute 'Portal'"):
        _ = ports.Portal
