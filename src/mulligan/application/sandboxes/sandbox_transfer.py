"""Makes the sandboxes of a plan again on this machine, where another one had them."""

from collections.abc import Callable
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from mulligan.application.runs.run import Run
from mulligan.application.sandboxes.sandbox_renewal import SandboxRenewal
from mulligan.domain.plans.plan import State
from mulligan.domain.resources.host import Host
from mulligan.domain.resources.resource import Sandbox
from mulligan.errors import MulliganError
from mulligan.ports import SandboxKinds, SnapshotStore
from mulligan.rows.database import Database


class SandboxTransfer(Struct, kw_only=True, frozen=True, eq=False):
    """Brings a claimed plan to this machine; what is real stays where it is."""

    database: Database
    store: SnapshotStore
    kinds: SandboxKinds
    renewal: SandboxRenewal
    is_elsewhere: Callable[[str | None], bool]
    find_host: Callable[[], Host]

    def bring(self, run: Run, at: datetime) -> None:
        """Make sandboxes that another machine has from the plan's last group, here; a repetition completes it.

        What was written there after that group is lost. The other machine removes its folders when it sweeps.
        """
        away = [sandbox for sandbox in run.sandboxes if self.is_elsewhere(sandbox.host)]
        if not away:
            return
        with self.database.reading() as db:
            hosts = {host.host: host for host in db.hosts.all()}
            group = db.checkpoints.get(run.plan.current_group_id) if run.plan.current_group_id else None
        here = self.find_host()
        others = [host for host in hosts.values() if host.host != here.host]
        pairs = [pair for h in others for pair in ((h.home, here.home), (h.folder, here.folder))]
        self.kinds.come_from(tuple(dict.fromkeys(pairs)))
        copies = [replace(sandbox, host=None) for sandbox in away]
        wanted = [(s, group.snapshot_of(s.resource) if group else s.base) for s in copies]
        with self.store.hold():
            left = self.renewal.set_aside([s for s in copies if self._holds_more(run, s)])
            self.renewal.put(wanted, run.observer)
        for sandbox in copies:
            self.kinds.of(sandbox).borrow_again(sandbox)
        with run.commit("sandbox.arrive") as commit:
            made = {sandbox.resource: commit.db.sandboxes.arrive(sandbox) for sandbox in copies}
            sandboxes: list[Sandbox] = [made.get(sandbox.resource, sandbox) for sandbox in run.sandboxes]
            commit.afterwards(lambda: run.use_sandboxes(sandboxes))
        names = ", ".join(dict.fromkeys(_name(hosts, sandbox.host) for sandbox in away))
        source = f"from @{group.number}" if group else "as they were at first"
        was_cut_off = run.plan.state is State.PROCESSING
        lost = (
            "what its process wrote after that is lost"
            if was_cut_off
            else "edits made there since are not here"
        )
        run.announce(
            f"made the sandboxes again on this machine, {source}: they were on {names}, and {lost}", at
        )
        for folder in left:
            run.announce(f"what was here, and is in no checkpoint, stays in {folder} until the next gc", at)

    def _holds_more(self, run: Run, sandbox: Sandbox) -> bool:
        """Return whether a folder from before, here, holds what no checkpoint of its plan does."""
        kind = self.kinds.of(sandbox)
        if not kind.exists(sandbox):
            return False
        with self.database.reading() as db:
            groups = db.checkpoints.list(run.plan.plan_id, superseded=True)
        try:
            found = kind.capture(sandbox, run.observer).snapshot
        except MulliganError:  # it is not what it was
            return True
        known = [sandbox.base, *(g.snapshot_of(sandbox.resource) for g in groups)]
        return not any(found.same_as(each) for each in known)


def _name(hosts: dict[str, Host], host: str | None) -> str:
    found = hosts.get(host or "")
    return found.name if found is not None else str(host)
