"""Where no C could be compiled, each extension is None, and why is known."""

import importlib
import importlib.util
import sys

import pytest

SNAPSHOTS = "mulligan.adapters.snapshots"
EXTENSIONS = (
    ("scan", "c_walk", "walk"),
    ("cache", "c_rows", "measure"),
    ("capture", "c_contents", "read"),
    ("new_trees", "c_copy", "copy"),
)


@pytest.mark.parametrize(("folder", "name", "function"), EXTENSIONS)
def test_without_an_extension_python_does_the_work(
    monkeypatch: pytest.MonkeyPatch, folder: str, name: str, function: str
) -> None:
    package = importlib.import_module(f"{SNAPSHOTS}.{folder}")
    extension = name.replace("c_", "_")
    monkeypatch.setitem(sys.modules, f"{SNAPSHOTS}.{folder}.{extension}", None)
    monkeypatch.delattr(package, extension)
    spec = importlib.util.find_spec(f"{SNAPSHOTS}.{folder}.{name}")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert getattr(module, function) is None
    assert extension in module.why_not
