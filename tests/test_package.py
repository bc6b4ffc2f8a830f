"""The wheel is what users get: it holds the whole package, and nothing else."""

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "mulligan"
EXTENSIONS = {
    f"mulligan/adapters/{name}{sysconfig.get_config_var('EXT_SUFFIX')}"
    for name in (
        *(
            "snapshots/scan/_walk",
            "snapshots/cache/_rows",
            "snapshots/capture/_contents",
            "snapshots/new_trees/_copy",
        ),
        "sandboxes/git/position/_entries",
    )
}


def build_wheel(folder: Path, **variables: str) -> Path:
    """Build from a copy: what an earlier build left in the project's own folder would get into the wheel."""
    source = folder / "source"
    nothing_built = shutil.ignore_patterns("__pycache__", "*.so", "*.egg-info")
    shutil.copytree(ROOT / "src", source / "src", ignore=nothing_built)
    for name in ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--quiet"]
    subprocess.run(
        [*command, "--wheel-dir", str(folder), str(source)],
        check=True,
        capture_output=True,
        env={**os.environ, **variables},
    )
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def build_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("wheel")


@pytest.fixture(scope="module")
def wheel(build_folder):
    with zipfile.ZipFile(build_wheel(build_folder)) as archive:
        yield archive


def in_scripts(folder: Path, command: str) -> str:
    """Run a function of the scripts in a folder."""
    lines = f"source {ROOT / 'scripts' / 'environment.sh'}; {command}"
    return subprocess.run(
        ["bash", "-ec", lines], cwd=folder, check=True, capture_output=True, text=True
    ).stdout


@pytest.mark.usefixtures("wheel")
def test_what_a_build_leaves_beside_the_sources_does_not_make_scripts_demo_build_again(build_folder):
    source = build_folder / "source"
    assert list(source.glob("src/*.egg-info/*")), "this build left nothing, so nothing is shown"
    files = [f"src/{file.relative_to(ROOT / 'src')}" for file in PACKAGE.rglob("*") if file.is_file()]
    wanted = [name for name in files if not name.endswith(".so") and "__pycache__" not in name]
    assert sorted(in_scripts(source, "package_sources").splitlines()) == sorted(wanted)


def test_scripts_notice_every_change_of_what_an_environment_is_made_from(tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "one.py").write_text("one")

    def stamp() -> str:
        return in_scripts(tmp_path, "mapfile -t s < <(package_sources); stamp_of pyproject.toml ${s[@]}")

    seen = list[str]()
    for name, text in (
        ("pyproject.toml", "a"),
        ("pyproject.toml", "b"),
        ("src/one.py", "1"),
        ("src/2.py", ""),
    ):
        (tmp_path / name).write_text(text)
        seen += [stamp()]
    (tmp_path / "src" / "2.py").rename(tmp_path / "src" / "3.py")
    seen += [stamp()]
    assert len(set(seen)) == len(seen)
    assert stamp() == seen[-1]


def test_the_wheel_holds_every_file_of_the_package_and_what_was_built_from_c(wheel):
    files = {
        f"mulligan/{file.relative_to(PACKAGE).as_posix()}"
        for file in PACKAGE.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts and file.suffix != ".so"
    }
    packed = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert packed == files | EXTENSIONS


def test_without_a_compiler_everything_is_there_but_the_extensions(tmp_path):
    with zipfile.ZipFile(build_wheel(tmp_path, CC="/nonexistent/cc")) as archive:
        assert EXTENSIONS.isdisjoint(archive.namelist())
        archive.extractall(tmp_path / "installed")
    ask = "from mulligan.adapters.snapshots.scan import c_walk; print(c_walk.__file__, c_walk.walk, c_walk.why_not)"
    told = subprocess.run(
        [sys.executable, "-c", ask],
        env={**os.environ, "PYTHONPATH": str(tmp_path / "installed")},
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert told.startswith(str(tmp_path))
    assert "None cannot import name '_walk'" in told or "None No module named" in told


def test_the_wheel_is_typed_licensed_and_starts_a_program(wheel):
    names = wheel.namelist()
    assert "mulligan/py.typed" in names
    (entry_points,) = [name for name in names if name.endswith(".dist-info/entry_points.txt")]
    assert "mulligan = mulligan.__main__:main" in wheel.read(entry_points).decode()
    assert any(name.endswith("/licenses/LICENSE") for name in names)
