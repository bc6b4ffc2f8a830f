"""Finds, by reading the code, what makes something last or moves it outside of every named act."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

# Calls by the last part of their name. `replace` counts with one argument only: text has two.
_VERBS = {
    "backup",
    "fdatasync",
    "fsync",
    "link",
    "rename",
    "renames",
    "sync_filesystem",
    "sync_folder",
    "syncfs",
}
_GIT = {"update-ref", "symbolic-ref", "repack"}  # words of git that change what others may read
# Without one of these words a file makes nothing last: most are not read any further.
_NAMING = re.compile(r"boundaries|\.commit\(")
_LASTING = re.compile(rf"\b({'|'.join(sorted(_VERBS))}|replace)\(|COMMIT|{'|'.join(sorted(_GIT))}")
UNIT_OF_WORK = ("run.py", "name")  # where the name of an act is a parameter: `Run.commit`


@dataclass(slots=True)
class _Function:
    """What a function does outside of acts of its own."""

    bare: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])  # lines, and calls that last
    calls: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])  # functions of the same file


def named_acts(file: Path) -> list[str]:
    """The acts that a file names; whatever else it does with `act` is an error."""
    if _NAMING.search(file.read_text("utf-8")) is None:
        return []
    tree = _parsed(file)
    withs = {
        id(item.context_expr) for node in ast.walk(tree) if isinstance(node, ast.With) for item in node.items
    }
    imported = any(
        isinstance(node, ast.ImportFrom)
        and node.module == "mulligan.boundaries"
        and any(alias.name == "act" for alias in node.names)
        for node in ast.walk(tree)
    )
    found: list[str] = []
    called: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (_calls_act(node.func, imported=imported) or _is_commit(node)):
            (name,) = node.args
            if isinstance(name, ast.Name) and (file.name, name.id) == UNIT_OF_WORK:
                called.add(id(node.func))  # the name that its callers give
                continue
            assert isinstance(name, ast.Constant), f"{file}:{node.lineno}: an act is named by a constant"
            assert id(node) in withs, f"{file}:{node.lineno}: an act stands in a `with`"
            found.append(str(name.value))
            called.add(id(node.func))
    for node in ast.walk(tree) if imported else ():
        if isinstance(node, ast.Name) and node.id == "act":
            assert id(node) in called, f"{file}:{node.lineno}: `act` is called, and nothing else"
    return found


def _calls_act(func: ast.expr, *, imported: bool) -> bool:
    return imported and isinstance(func, ast.Name) and func.id == "act"


def _is_commit(call: ast.Call) -> bool:
    """Tell whether a call opens the unit of work of a run, which names its act."""
    func = call.func
    return (
        isinstance(func, ast.Attribute)
        and func.attr == "commit"
        and isinstance(func.value, ast.Name)
        and func.value.id in {"run", "self"}
        and bool(call.args)
    )


def outside_of_acts(file: Path) -> list[str]:
    """The calls that make something last and that no act stands around, as `function:line: call`.

    A function may leave that to its callers in the same file; then each of them has to stand in an act.
    """
    if _LASTING.search(file.read_text("utf-8")) is None:
        return []
    functions: dict[str, _Function] = {}
    for name, body in _functions(_parsed(file)):
        _read(body, functions.setdefault(name, _Function()))
    found: list[str] = []
    for name, function in functions.items():
        if not function.bare:
            continue
        callers = [n for n, other in functions.items() if any(called == name for _, called in other.calls)]
        private = name.startswith("_")
        if private and not callers and _is_called(file, name):
            continue  # only ever inside of acts
        found += [f"{name}:{line}: {call}" for line, call in function.bare]
    return found


@cache
def _parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text("utf-8"))


def _functions(tree: ast.Module) -> Iterator[tuple[str, list[ast.stmt]]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            yield node.name, node.body


def _read(body: list[ast.stmt], into: _Function) -> None:
    pending: list[ast.AST] = list(body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.FunctionDef):
            continue  # it is looked at by itself
        if isinstance(node, ast.With) and any(_is_act(item.context_expr) for item in node.items):
            continue
        if isinstance(node, ast.Call):
            name = _name_of(node)
            words = [str(arg.value) for arg in node.args if isinstance(arg, ast.Constant)]
            if name in _VERBS or (name == "replace" and _is_move(node)):
                into.bare.append((node.lineno, name))
            elif "COMMIT" in words or (name in ("attempt", "run") and _GIT.intersection(words)):
                into.bare.append((node.lineno, f"{name} {words}"))
            else:
                into.calls.append((node.lineno, name))
        pending.extend(ast.iter_child_nodes(node))


def _is_act(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "act"


def _name_of(node: ast.Call) -> str:
    return getattr(node.func, "attr", None) or getattr(node.func, "id", "")


def _is_move(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Attribute) and len(node.args) == 1 and not node.keywords


def _is_called(file: Path, name: str) -> bool:
    tree = _parsed(file)
    return any(isinstance(node, ast.Call) and _name_of(node) == name for node in ast.walk(tree))
