"""Worlds for the contract of sandboxes: each kind with a real thing that can be made and changed."""

import sqlite3
import stat
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from mulligan.adapters.sandboxes.folder.folder_copy import DirectorySandboxes
from mulligan.adapters.sandboxes.folder.folder_in_place import InPlaceFolders
from mulligan.adapters.sandboxes.git.checkout_copy import GitSandboxes
from mulligan.adapters.sandboxes.git.checkout_in_place import InPlaceCheckouts
from mulligan.adapters.sandboxes.git.remote.branch_clones import BranchClones
from mulligan.adapters.sandboxes.git.remote.remote_context import RemoteContext
from mulligan.adapters.sandboxes.git.remote.remote_copy import RemoteSandboxes
from mulligan.adapters.sandboxes.private_sandbox import Workplace
from mulligan.adapters.sandboxes.sqlite.database_copy import DatabaseCopies
from mulligan.adapters.sandboxes.sqlite.database_in_place import InPlaceDatabases
from mulligan.adapters.sandboxes.sqlite.database_sandbox import SqliteSandboxes
from mulligan.domain.checkpoints.store_report import PathChange
from mulligan.domain.resources.placement import CLONES, clone_of, folder_name
from mulligan.domain.resources.remote_branch import remote_branch
from mulligan.domain.resources.resource import Resource, ResourceType, Sandbox, Strategy
from mulligan.domain.text.ids import PlanId
from mulligan.ports import SandboxKind, SandboxOrder
from tests.support.git_world import GIT_ENVIRONMENT, git_context, run_git
from tests.support.snapshot_world import new_store, picture, removed

PLAN = PlanId("01JZZZZZZZZZZZZZZZZZZZZZZZ")


@dataclass(frozen=True)
class World:
    """A kind of sandbox, a real thing for it, and a file in either that can be changed."""

    kind: SandboxKind
    resource: Resource
    location: Path
    sandboxes: Path
    file: str
    copies: SandboxKind  # those of the same type that are not in place

    @property
    def in_place(self) -> bool:
        """Whether the sandbox is the real thing itself."""
        return self.kind.strategy is Strategy.IN_PLACE

    def write(self, path: Path, text: str) -> None:
        (path / self.file).write_text(text)

    def read(self, path: Path) -> str:
        return (path / self.file).read_text()

    def lose(self, path: Path) -> None:
        (path / self.file).unlink()

    def picture(self, path: Path) -> object:
        return picture(path)

    def add_another(self, path: Path) -> tuple[PathChange, ...]:
        """Make what the sandbox does not have yet; gives what going back from there does to it."""
        (path / "added").touch()
        return removed("added")

    def folder(self, sandbox: Sandbox) -> Path:
        """The folder that is the sandbox's own."""
        return Path(sandbox.path)

    def size(self) -> tuple[int, int]:
        return (2, 4)

    def copy(self, name: str) -> Path:
        """Where a copy stands."""
        return self.sandboxes / PLAN / folder_name(name)

    def copied(self, name: str) -> SandboxOrder:
        """An order for a copy, whatever the kind."""
        return replace(self.order(name), path=self.copy(name))

    def kind_of(self, sandbox: Sandbox) -> SandboxKind:
        """The kind that works on a sandbox: a fork of one in place is a copy."""
        return self.kind if sandbox.strategy is self.kind.strategy else self.copies

    def order(self, name: str = "data", *patterns: str) -> SandboxOrder:
        return SandboxOrder(
            plan_id=PLAN,
            resource=replace(self.resource, name=name),
            location=self.location,
            path=self.location if self.in_place else self.copy(name),
            excluded=frozenset(),
            include_ignored=True,
            patterns=patterns,
        )


def _place(tmp_path: Path, home: Path) -> Workplace:
    return Workplace(
        store=new_store(home / "store"),
        home=home / "sandboxes",
        project=home.parent,
        project_home=home,
        user_home=tmp_path / "users" / "me",
        pool=lambda: 1,
    )


def _directory_world(tmp_path: Path, *, in_place: bool = False) -> World:
    project = tmp_path / "project"
    location = project / "real"
    (location / "sub").mkdir(parents=True)
    (location / "sub" / "file").write_text("real")
    (location / "read-only").mkdir()
    (location / "read-only" / "inner").touch()
    (location / "read-only").chmod(0o500)
    home = project / ".mulligan"
    copies, real = (kind(_place(tmp_path, home)) for kind in (DirectorySandboxes, InPlaceFolders))
    resource = Resource(
        name="data",
        type=ResourceType.FS_DIRECTORY,
        location="real",
        strategy=None,
        from_revision=None,
        create=False,
    )
    return World(real if in_place else copies, resource, location, home / "sandboxes", "sub/file", copies)


class DatabaseWorld(World):
    """A database with one text in it, which stands for the file of the others."""

    def write(self, path: Path, text: str) -> None:
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("UPDATE t SET text = ?", (text,))

    def read(self, path: Path) -> str:
        with closing(sqlite3.connect(path)) as connection:
            return str(connection.execute("SELECT text FROM t").fetchone()[0])

    def lose(self, path: Path) -> None:
        path.unlink()

    def picture(self, path: Path) -> object:
        file = path / self.file if path.is_dir() else path
        with closing(sqlite3.connect(file)) as connection:
            return list(connection.iterdump()), stat.S_IMODE(file.stat().st_mode)

    def add_another(self, path: Path) -> tuple[PathChange, ...]:
        return ()

    def folder(self, sandbox: Sandbox) -> Path:
        return Path(sandbox.path).parent

    def size(self) -> tuple[int, int]:
        return (1, self.location.stat().st_size)

    def copy(self, name: str) -> Path:
        return super().copy(name) / self.file


def _database_world(tmp_path: Path, *, in_place: bool = False) -> World:
    project = tmp_path / "project"
    project.mkdir()
    location = project / "app.db"
    with closing(sqlite3.connect(location)) as connection, connection:
        connection.execute("CREATE TABLE t (text)")
        connection.execute("INSERT INTO t VALUES ('real')")
    home = project / ".mulligan"
    around = (_place(tmp_path, home), DatabaseCopies(time.time_ns, 1.0), "this boot")
    copies = SqliteSandboxes(*around)
    resource = Resource(
        name="data",
        type=ResourceType.SQLITE,
        location="app.db",
        strategy=None,
        from_revision=None,
        create=False,
    )
    kind = InPlaceDatabases(*around) if in_place else copies
    return DatabaseWorld(kind, resource, location, home / "sandboxes", "app.db", copies)


class GitWorld(World):
    """A checkout; its git directory is the kind's own to make."""

    def picture(self, path: Path) -> object:
        found = picture(path)
        return {name: what for name, what in found.items() if name.split(b"/")[1:2] != [b".git"]}


def _git_world(tmp_path: Path, *, in_place: bool = False) -> World:
    project = tmp_path / "project"
    location = project / "real"
    (location / "sub").mkdir(parents=True)
    (location / "sub" / "file").write_text("real")
    for command in (("init", "-q", "."), ("add", "sub/file"), ("commit", "-q", "-m", "first")):
        run_git(location, *command)
    run_git(project, "init", "-q")
    (location / "untracked").touch()
    home = project / ".mulligan"
    home.mkdir()
    copies, real = (
        kind(git_context(_place(tmp_path, home), GIT_ENVIRONMENT))
        for kind in (GitSandboxes, InPlaceCheckouts)
    )
    resource = Resource(
        name="data",
        type=ResourceType.GIT_CHECKOUT,
        location="real",
        strategy=None,
        from_revision=None,
        create=False,
    )
    return GitWorld(real if in_place else copies, resource, location, home / "sandboxes", "sub/file", copies)


class RemoteWorld(GitWorld):
    """A branch on a server; its location is the clone, whose files have other times."""

    def picture(self, path: Path) -> object:
        files = (each for each in path.rglob("*") if each.is_file() and ".git" not in each.parts)
        return {each.relative_to(path): each.read_bytes() for each in files}

    def size(self) -> tuple[int, int]:
        return (1, 4)


def _remote_world(tmp_path: Path) -> World:
    project, server = tmp_path / "project", tmp_path / "server"
    (server / "sub").mkdir(parents=True)
    (server / "sub" / "file").write_text("real")
    for command in (("init", "-q", "-b", "main", "."), ("add", "sub/file"), ("commit", "-q", "-m", "first")):
        run_git(server, *command)
    home = project / ".mulligan"
    home.mkdir(parents=True)
    git = git_context(_place(tmp_path, home), GIT_ENVIRONMENT)
    clones = BranchClones(git.git.to_servers(GIT_ENVIRONMENT), home / CLONES, lambda: None)
    kind = RemoteSandboxes(RemoteContext(git.place, git.git, git.repositories, clones=clones))
    resource = Resource(
        name="data",
        type=ResourceType.GIT_REMOTE,
        location=remote_branch(str(server), "main").location,
        strategy=None,
        from_revision=None,
        create=False,
    )
    location = Path(clone_of(str(home), resource.location))
    kind.check(resource, location)
    return RemoteWorld(kind, resource, location, home / "sandboxes", "sub/file", kind)


Worlds = dict[str, Callable[[Path], World]]
COPIED_FOLDERS: Worlds = {"directory": _directory_world, "git": _git_world}
COPIES: Worlds = {**COPIED_FOLDERS, "database": _database_world}
FOLDER_WORLDS: Worlds = {
    **COPIED_FOLDERS,
    "directory in place": partial(_directory_world, in_place=True),
    "git in place": partial(_git_world, in_place=True),
}
WORLDS: Worlds = {
    **FOLDER_WORLDS,
    "remote": _remote_world,
    "database": _database_world,
    "database in place": partial(_database_world, in_place=True),
}
