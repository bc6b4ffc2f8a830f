"""Pieces of work of mulligan, each beside the same work done another way."""

from collections.abc import Callable, Mapping

from benchmarks.compare.results import Work
from benchmarks.compare.works.applying import applying
from benchmarks.compare.works.bench import Bench
from benchmarks.compare.works.children import children
from benchmarks.compare.works.executor import executor
from benchmarks.compare.works.first_step import first_step
from benchmarks.compare.works.forks import forks
from benchmarks.compare.works.graphs import graph_states, graph_steps
from benchmarks.compare.works.history import history
from benchmarks.compare.works.hooks import hooks, hooks_git
from benchmarks.compare.works.queues import queues
from benchmarks.compare.works.real_path import real_path
from benchmarks.compare.works.rollback import rollback, session_rollback
from benchmarks.compare.works.running_plan import running_plan, running_plan_git
from benchmarks.compare.works.second_plan import second_plan
from benchmarks.compare.works.shared import shared_checkpoints, shared_steps
from benchmarks.compare.works.status import status
from benchmarks.compare.works.variants import variants
from benchmarks.compare.works.verify import verify

# On trees of a size of their own, whatever sizes are compared.
WORKS: Mapping[str, Callable[[Bench], Work]] = {
    "status": status,
    "rollback": rollback,
    "first-step": first_step,
    "verify": verify,
    "executor": executor,
    "history": history,
    "children": children,
    "forks": forks,
    "variants": variants,
    "real-path": real_path,
    "queues": queues,
    "shared-steps": shared_steps,
    "graph-states": graph_states,
    "graph-steps": graph_steps,
}
# On the tree of every size.
WORKS_ON_TREES: Mapping[str, Callable[[Bench], Work]] = {
    "running-plan": running_plan,
    "running-plan-git": running_plan_git,
    "apply": applying,
    "second-plan": second_plan,
    "session-rollback": session_rollback,
    "hooks": hooks,
    "hooks-git": hooks_git,
    "shared-checkpoints": shared_checkpoints,
}
