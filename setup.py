"""The one thing that pyproject.toml cannot say reliably yet: an extension in C, which may fail to build.

Where it does (no compiler, no Python headers) the build continues with a warning, and trees are walked in Python;
`mulligan.adapters.snapshots.scan.c_walk.why_not` has the reason. The checks of this project insist on it.
"""

from setuptools import Extension, setup

WALK = Extension(
    "mulligan.adapters.snapshots.scan._walk",
    ["src/mulligan/adapters/snapshots/scan/_walk.c"],
    depends=["src/mulligan/adapters/snapshots/scan/_patterns.h"],
    extra_compile_args=["-std=gnu11", "-Wall", "-Wextra", "-pthread"],
    extra_link_args=["-pthread"],
    optional=True,
)

COPY = Extension(
    "mulligan.adapters.snapshots.new_trees._copy",
    ["src/mulligan/adapters/snapshots/new_trees/_copy.c"],
    extra_compile_args=["-std=gnu11", "-Wall", "-Wextra", "-pthread"],
    extra_link_args=["-pthread"],
    optional=True,
)

ENTRIES = Extension(
    "mulligan.adapters.sandboxes.git.position._entries",
    ["src/mulligan/adapters/sandboxes/git/position/_entries.c"],
    extra_compile_args=["-std=gnu11", "-Wall", "-Wextra"],
    optional=True,
)

setup(ext_modules=[WALK, COPY, ENTRIES])
