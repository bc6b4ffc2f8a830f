"""Steps about sandboxes that are seen at the real path."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from behave import given, then, when

_PROJECT = """\
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"
[project]
name = "lib"
version = "1"
[project.scripts]
libtool = "lib:main"
"""
# In a user namespace of its own, whose limits are its own too: the kernel then refuses every further namespace.
_WITHOUT_NAMESPACES = (
    'echo 0 > /proc/sys/user/max_mnt_namespaces; echo 0 > /proc/sys/user/max_user_namespaces; exec "$@"'
)


@given('the project is installed, editable, in a virtual environment "{name}"')
def _(context, name):
    """Make it as users do; without a network, pip and pytest are those of this interpreter."""
    folder = context.world.folder
    context.world.write("pyproject.toml", _PROJECT)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", name], cwd=folder, check=True)
    python = folder / name / "bin" / "python"
    paths = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True,
        text=True,
        check=True,
    )
    (Path(paths.stdout.strip()) / "tools.pth").write_text(sysconfig.get_path("purelib") + "\n")
    install = [python, "-m", "pip", "install", "-q", "-e", ".", "--no-build-isolation", "--no-deps"]
    subprocess.run(install, cwd=folder, check=True, env=os.environ | {"PIP_NO_INDEX": "1"})


@given("the kernel refuses namespaces")
@when("the kernel begins to refuse namespaces")
def _(context):
    """Run the program where it really does; skip where this cannot be arranged."""
    under = ["unshare", "-U", "-r", "sh", "-c", _WITHOUT_NAMESPACES, "sh"]
    if shutil.which("unshare") is None or subprocess.run([*under, "true"], check=False).returncode != 0:
        context.scenario.skip("no user namespace can be made here")
        return
    context.world.under = under


@given('"{path}" is a symlink to the real file "{target}"')
def _(context, path, target):
    (context.world.folder / path).symlink_to(context.world.folder / target)


@then("the steps noted")
def _(context):
    noted = (context.world.notes / "noted").read_text().splitlines()
    wanted = context.text.replace("{project}", str(context.world.folder)).splitlines()
    wanted = [line.replace("{sandbox}", str(context.world.sandbox())) for line in wanted]
    assert noted == wanted, noted


@then('{count:d} messages of the plan say "{text}"')
def _(context, count, text):
    messages = context.world.status()["messages"]
    found = [message for message in messages if text in message]
    assert len(found) == count, messages


@then("the plan has no messages")
def _(context):
    assert context.world.status()["messages"] == [], context.world.status()["messages"]


@then("no mount of the project is left")
def _(context):
    table = Path("/proc/self/mountinfo").read_text()
    assert str(context.root) not in table, table


@when("everything that runs the plan is killed at once")
def _(context):
    """Kill the runner, the launcher and its guardian, in one go."""
    plan_id = context.world.status()["plan_id"]
    mark = f"MULLIGAN_PLAN_ID={plan_id}".encode()
    found = [context.world.running.pid]
    for folder in Path("/proc").iterdir():
        try:
            variables = (folder / "environ").read_bytes().split(b"\0") if folder.name.isdigit() else []
        except OSError:
            continue
        if mark in variables and b"MULLIGAN_LAUNCHER=1" in variables:
            found.append(int(folder.name))
    assert len(found) >= 3, found
    for pid in found:
        os.kill(pid, 19)  # SIGSTOP: so that none of them ends anything in time
    for pid in found:
        os.kill(pid, 9)
    context.world.finish()


@then('no advice names "{text}"')
def _(context, text):
    error = context.world.error
    assert text not in error["message"] + error["hint"], error


@then("the answer has no messages")
def _(context):
    assert context.world.data["messages"] == [], context.world.told


@then('the doctor says that steps see sandboxes "{where}"')
def _(context, where):
    (text,) = [each for each in context.world.data["system"] if "see sandboxes" in each]
    assert text.partition(": ")[0] == f"steps see sandboxes {where}", text
