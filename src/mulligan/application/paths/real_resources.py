"""The real resources behind a plan, as what is worked on in place: with sandboxes or without, copied or not."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from mulligan.application.sandboxes.sandbox_service import SandboxService
from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.plans.plan import Plan
from mulligan.domain.resources.placement import left_out
from mulligan.domain.resources.resource import Resource, Sandbox, Strategy, type_of_folder
from mulligan.errors import Advice, LocationChanged, NextStep, ResourceUnsuitable
from mulligan.ports import SandboxKinds


class RealResources(Struct, kw_only=True, frozen=True, eq=False):
    """Finds the real resources of plans."""

    project: Path
    kinds: SandboxKinds
    sandboxes: SandboxService

    def of(self, plan: Plan, made: Sequence[Sandbox]) -> list[Sandbox]:
        """Return the real resources of a plan with these sandboxes, in the plan's order; each must still be there."""
        by_name = {sandbox.resource: sandbox for sandbox in made}
        found = [
            self._real(plan, resource, by_name.get(resource.name))
            for resource in plan.definition.resources
            if not resource.type.traits.is_remote  # no path of it is real here
        ]
        for real in found:
            self.sandboxes.refuse_neighbours(Path(real.path))
        return found

    def plain(self, plan: Plan, resource: Resource) -> Sandbox:
        """Return the files of a real resource, without the position of a git checkout: enough to read them."""
        traits = resource.type.traits
        hidden = {traits.marked_by} if traits.marked_by else set[str]()
        excluded = left_out(resource, plan.definition.resources) | hidden
        location = self.project / resource.location
        return Sandbox(
            plan_id=plan.plan_id,
            resource=resource.name,
            type=type_of_folder(lambda _: False) if traits.is_folder else resource.type,
            strategy=Strategy.IN_PLACE,
            location=str(location),
            path=str(location.resolve()),
            base=Snapshot(()),
            excluded=tuple(sorted(excluded)),
            branch=None,
            git_dir=None,
        )

    def _real(self, plan: Plan, resource: Resource, made: Sandbox | None) -> Sandbox:
        location = self.project / resource.location if made is None else Path(made.location)
        real = self.plain(plan, resource) if made is None else made
        if made is not None and made.strategy is not Strategy.IN_PLACE:
            path = str(location.resolve())
            real = replace(made, strategy=Strategy.IN_PLACE, path=path, host=made.real_host)
        try:
            self.kinds.of(real).check(replace(resource, from_revision=None, create=True), location)
        except ResourceUnsuitable as exc:
            export = NextStep("checkpoints.restore", checkpoint=..., to=...)
            raise LocationChanged(
                resource=resource.name,
                path=str(location),
                reason=exc.facts["reason"],
                hint=Advice(
                    "nothing was changed; ", export, " writes the files of a checkpoint into a new folder"
                ),
            ) from exc
        return real
