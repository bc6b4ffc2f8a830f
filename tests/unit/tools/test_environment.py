"""What the environment of a tool holds, and what it must not."""

import os
import subprocess
import sys

from mulligan.adapters.tools.process.command_runner import Launchers
from mulligan.adapters.tools.toolbox import LocalToolbox
from tests.support.recording_host import PLAN, RecordingHost, a_request

CALLERS = {
    "PATH": os.environ["PATH"],
    "HOME": "/home/someone",
    "PWD": "/somewhere/else",
    "OLDPWD": "/before",
    "GIT_DIR": "/real/.git",
    "GIT_WORK_TREE": "/real",
    "GIT_INDEX_FILE": "/real/.git/index",
    "GIT_OBJECT_DIRECTORY": "/real/.git/objects",
    "GIT_AUTHOR_NAME": "Someone",
    "GIT_CEILING_DIRECTORIES": "/home",
    "MULLIGAN_PLAN_ID": "outer",
    "MULLIGAN_VAR_SECRET": "of the outer run",
    "MULLIGAN_PROJECT": "/outer",
}


def environment_seen(root, tmp_path, args, **more):
    toolbox = LocalToolbox(launchers=Launchers(python=sys.executable, environment=CALLERS), scratch=tmp_path)
    request = a_request(root, {"argv": ["env", "-0"], **args}, **more)
    output = toolbox.tool("shell").call(request, RecordingHost()).output
    toolbox.forget_processes()
    return dict(pair.split("=", 1) for pair in output.split("\0") if pair), request


def test_a_tool_sees_the_callers_environment_cleaned_and_its_own(root, tmp_path):
    (root / "sub").mkdir()
    own = {"MULLIGAN_VAR_VERSION": "2.0"}
    seen, request = environment_seen(root, tmp_path, {"env": {"A": "b"}, "cwd": "sub"}, environment=own)
    assert seen == {
        "PATH": CALLERS["PATH"],
        "HOME": "/home/someone",
        "PWD": f"{root}/sub",
        "GIT_AUTHOR_NAME": "Someone",
        "GIT_CEILING_DIRECTORIES": f"{tmp_path}:/home",
        "MULLIGAN_VAR_VERSION": "2.0",
        "MULLIGAN_PLAN_ID": PLAN,
        "MULLIGAN_CALL_ID": request.call_id,
        "A": "b",
    }


def test_the_steps_own_words_win_but_for_the_marks(root, tmp_path):
    own = {"GIT_DIR": "mine", "PWD": "p", "MULLIGAN_PLAN_ID": "forged", "MULLIGAN_CALL_ID": "forged"}
    seen, request = environment_seen(root, tmp_path, {"env": own})
    assert (seen["GIT_DIR"], seen["PWD"]) == ("mine", "p")
    assert (seen["MULLIGAN_PLAN_ID"], seen["MULLIGAN_CALL_ID"]) == (PLAN, request.call_id)


def test_git_in_a_sandbox_does_not_find_a_repository_around_it(call, root, tmp_path):
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    assert call("shell", command="git rev-parse --show-toplevel 2>/dev/null || echo none").output == "none"
    (root / "deep").mkdir()
    assert call("shell", command="git status 2>/dev/null || echo none", cwd="deep").output == "none"
