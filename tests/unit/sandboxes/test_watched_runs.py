"""While a plan runs, its sandboxes are watched; afterwards they are not."""

import os
import subprocess
from pathlib import Path

import pytest

import mulligan
from mulligan.adapters.snapshots.store import PackedSnapshotStore
from mulligan.adapters.snapshots.watch.tree_watch import OTHER_NAME
from mulligan.api.project import Project
from mulligan.domain.checkpoints.store_report import Capture
from mulligan.ports import Observer, WorkingTree
from tests.faults.projects import Watching, nothing, services_in

# Each step asks the kernel how many folders the process that runs the plan watches.
COUNT = "cat /proc/{pid}/fdinfo/* 2>/dev/null | grep -c ^inotify || true"
PLAN = """
name: watched
config: {{sandbox.isolate: 'off'}}  # a confined step may not look into other processes
resources:
  data: {{type: fs-directory, location: data}}
steps:
  - {{name: first, tool: shell, args: {{command: "({count}) > first; mkdir new"}}}}
  - {{name: second, tool: shell, args: {{command: "({count}) > second; rm -r sub"}}}}
  - {{name: third, tool: shell, args: {{command: "({count}) > third"}}}}
"""


def test_a_run_watches_its_sandboxes_and_the_folders_that_steps_make(tmp_path: Path) -> None:
    (tmp_path / "data" / "sub").mkdir(parents=True)
    count = COUNT.format(pid=os.getpid())
    (tmp_path / "plan.yaml").write_text(PLAN.format(count=count))
    others = int(subprocess.check_output(count, shell=True))
    status = mulligan.init(tmp_path).execute(tmp_path / "plan.yaml")
    assert status.state == "complete"
    sandbox = Path(status.sandboxes[0].path)
    assert int((sandbox / "first").read_text()) == others + 2  # the tree itself and `sub`
    assert int((sandbox / "second").read_text()) == others + 3
    assert int((sandbox / "third").read_text()) == others + 2
    assert int(subprocess.check_output(count, shell=True)) == others


LINKING = """
name: linking
config: {{sandbox.isolate: {isolate}}}
resources:
  data: {{type: fs-directory, location: data}}
steps:
  - {{name: settled, tool: shell, args: {{command: sleep 0.1}}}}
  - {{name: new, tool: shell, args: {{command: mkdir new; echo x > new/x; mv new/x y}}}}
  - {{name: own, tool: write_file, args: {{path: made/z, content: z}}}}
  - {{name: linked, tool: shell, args: {{command: ln f new/f; rm new/f}}}}
  - {{name: after, tool: shell, args: {{command: echo y > y}}}}
"""


@pytest.mark.parametrize(
    ("isolate", "reasons"),
    [
        ("auto", ["", "", "", OTHER_NAME, ""]),
        ("'off'", [OTHER_NAME, OTHER_NAME, "", OTHER_NAME, OTHER_NAME]),  # no link is noticed there
    ],
)
def test_everything_is_scanned_only_after_a_link_or_where_none_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, isolate: str, reasons: list[str]
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "f").write_text("x")
    (tmp_path / "plan.yaml").write_text(LINKING.format(isolate=isolate))
    services = services_in(tmp_path)
    looks: list[str] = []
    capture = PackedSnapshotStore.capture

    def noted(
        store: PackedSnapshotStore, tree: WorkingTree, observer: Observer, *, at_work: bool = False
    ) -> Capture:
        captured = capture(store, tree, observer, at_work=at_work)
        looks.append(store.last_look.reason)
        return captured

    monkeypatch.setattr(PackedSnapshotStore, "capture", noted)
    status, _ = Project(services=services, observer=Watching(nothing)).run(tmp_path / "plan.yaml")
    assert status.state.value == "complete"
    assert looks[-len(reasons) :] == reasons
