"""Sandboxes of remote branches: a working tree of the commit that the branch is at, as of a clean checkout."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from msgspec.structs import replace

from mulligan.adapters.sandboxes.git.checkout_copy import GitSandboxes
from mulligan.adapters.sandboxes.git.creation.sandbox_creation import Making
from mulligan.adapters.sandboxes.git.remote.remote_context import RemoteContext
from mulligan.adapters.sandboxes.git.repository.user_repository import Repository
from mulligan.domain.checkpoints.store_report import Capture, Survey
from mulligan.domain.resources.remote_branch import branch_at
from mulligan.domain.resources.resource import Resource, ResourceType, Sandbox
from mulligan.ports import Observer, SandboxOrder


class RemoteSandboxes(GitSandboxes):
    """Makes working copies of branches on servers."""

    type = ResourceType.GIT_REMOTE

    def __init__(self, context: RemoteContext) -> None:
        super().__init__(context)
        self._clones = context.clones

    def check(self, resource: Resource, location: Path) -> None:
        with self._clones.held(location) as clone:
            clone.check_out(clone.fetch(resource.name))
        self._context.checked(resource.name, location)

    def survey(self, order: SandboxOrder, observer: Observer) -> Survey:
        repository = self._repository(order.resource, order.location)
        commit = self._commit_of(order.resource, repository, branch_at(order.resource.location).ref)
        return Making(self._context, repository, order).survey_of(commit)

    def create(self, order: SandboxOrder, observer: Observer) -> tuple[Sandbox, Capture]:
        remote = branch_at(order.resource.location)
        with self._clones.held(order.location) as clone:
            clone.check_out(clone.fetch(order.resource.name))
            from_branch = replace(order.resource, from_revision=remote.ref)
            return super().create(replace(order, resource=from_branch), observer)

    @contextmanager
    def watch(self, sandbox: Sandbox, *, others_at_work: bool) -> Generator[None]:
        self._clones.ensure(Path(sandbox.location))  # programs in the sandbox read what it borrows
        with super().watch(sandbox, others_at_work=others_at_work):
            yield

    def carry_over(self, source: Path, sandbox: Sandbox) -> None:
        """Do nothing: what is in no snapshot is on no server either."""

    def _repository(self, resource: Resource, location: Path) -> Repository:
        return self._context.opened(resource.name, location)
