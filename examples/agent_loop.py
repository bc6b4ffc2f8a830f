"""An agent's loop as a plan: kill it at any moment, start it again, and it goes on where it was.

How to run it, with a new folder:

    python3 agent_loop.py FOLDER

What to look at: the "agent" here writes a small function until its tests pass. It keeps its memory in `session.state`,
which is part of every checkpoint. Failed attempts are rolled back (see `mulligan plan log` in that folder); only what
passes is applied. Started again after a kill, it does not repeat attempts that it gave up before.
"""

import subprocess
import sys
from pathlib import Path

import mulligan

IDEAS = ("return a - b", "return a * b", "return a + b")
TEST = "from add import add\nassert add(2, 3) == 5\nassert add(0, 4) == 4\n"


def main(folder: Path) -> str:
    """Work in the project until the tests pass, and apply the result."""
    project = mulligan.init(folder)
    with open_session(project) as session:
        if not session.done("write the test"):
            with session.step("write the test"):
                (session.path() / "test_add.py").write_text(TEST)
        for number, idea in enumerate(IDEAS):
            if number < session.state.get("given up", 0):
                continue
            if attempt(session, f"idea {number}", idea):
                break
            session.state["given up"] = number + 1
    project.apply(session.plan_id)
    return session.plan_id


def open_session(project: mulligan.Project) -> mulligan.Session:
    """Go on with what an earlier run left, or begin."""
    for plan in project.plans():
        if plan.name == "write add" and plan.state in ("processing", "queued", "errored"):
            return project.session(resume=plan.plan_id)
    return project.session("write add", resources={"code": mulligan.directory(".")})


def attempt(session: mulligan.Session, name: str, body: str) -> bool:
    """Try one idea in a step; a step that fails leaves nothing behind."""
    try:
        with session.step(name):
            (session.path() / "add.py").write_text(f"def add(a, b):\n    {body}\n")
            session.record_decision("How to add?", chosen=body, alternatives=[i for i in IDEAS if i != body])
            subprocess.run(
                [sys.executable, "test_add.py"], cwd=session.path(), check=True, capture_output=True
            )
    except subprocess.CalledProcessError:
        return False
    return True


if __name__ == "__main__":
    sys.stdout.write(f"applied {main(Path(sys.argv[1]))}\n")
