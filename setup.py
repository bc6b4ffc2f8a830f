"""The one thing that pyproject.toml cannot say reliably yet: what is built from C, which may fail to build.

Where it does (no compiler, no Python headers) the build continues with a warning, and trees are walked in Python;
`mulligan.adapters.snapshots.scan.c_walk.why_not` has the reason. Hooks of agents start Python then, instead of a small
program that asks the local server. The checks of this project insist on both.
"""

from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext


class BuildWithProgram(build_ext):
    """Builds extensions, and a program where an extension is named as one."""

    def get_ext_filename(self, fullname: str) -> str:
        """Return the path of what is built, below the folder of all packages."""
        if fullname.endswith(PROGRAM.name.rpartition(".")[2]):
            return str(Path(*fullname.split(".")))
        return super().get_ext_filename(fullname)

    def build_extension(self, ext: Extension) -> None:
        """Build one of them."""
        if ext is not PROGRAM:
            super().build_extension(ext)
            return
        path = Path(self.get_ext_fullpath(ext.name))
        objects = self.compiler.compile(
            ext.sources, output_dir=self.build_temp, extra_postargs=ext.extra_compile_args
        )
        self.compiler.link_executable(objects, path.name, output_dir=str(path.parent))


SIGNATURES = "src/mulligan/adapters/snapshots/format/_signatures.h"

WALK = Extension(
    "mulligan.adapters.snapshots.scan._walk",
    ["src/mulligan/adapters/snapshots/scan/_walk.c"],
    depends=["src/mulligan/adapters/snapshots/scan/_patterns.h"],
    extra_compile_args=["-std=gnu11", "-Wall", "-Wextra", "-pthread"],
    extra_link_args=["-pthread"],
    optional=True,
)

ROWS = Extension(
    "mulligan.adapters.snapshots.cache._rows",
    ["src/mulligan/adapters/snapshots/cache/_rows.c"],
    extra_compile_args=["-std=gnu11", "-Wall", "-Wextra"],
    optional=True,
)

COPY = Extension(
    "mulligan.adapters.snapshots.new_trees._copy",
    ["src/mulligan/adapters/snapshots/new_trees/_copy.c"],
    depends=[SIGNATURES],
    extra_compile_args=["-std=gnu11", "-Wall", "-Wextra", "-pthread"],
    extra_link_args=["-pthread"],
    optional=True,
)

CONTENTS = Extension(
    "mulligan.adapters.snapshots.capture._contents",
    ["src/mulligan/adapters/snapshots/capture/_contents.c"],
    depends=[SIGNATURES],
    extra_compile_args=["-std=gnu11", "-Wall", "-Wextra"],
    optional=True,
)

ENTRIES = Extension(
    "mulligan.adapters.sandboxes.git.position._entries",
    ["src/mulligan/adapters/sandboxes/git/position/_entries.c"],
    extra_compile_args=["-std=gnu11", "-Wall", "-Wextra"],
    optional=True,
)

PROGRAM = Extension(
    "mulligan.adapters.local_server.mulligan-hook",
    ["src/mulligan/adapters/local_server/hook_client.c"],
    extra_compile_args=["-std=gnu11", "-Wall", "-Wextra", "-O2"],
    optional=True,
)

setup(ext_modules=[WALK, ROWS, COPY, CONTENTS, ENTRIES, PROGRAM], cmdclass={"build_ext": BuildWithProgram})
