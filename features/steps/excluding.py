"""Steps about caches, excluded paths, and files that never hold still."""

import subprocess
import sys

from behave import given, then

WRITER = """\
import os, sqlite3, sys, threading
db = sqlite3.connect(sys.argv[1], timeout=60)
db.execute("PRAGMA synchronous=OFF")
db.execute("CREATE TABLE filling AS SELECT zeroblob(8000000)")
db.execute("CREATE TABLE t AS SELECT 0 AS value")
db.commit()
log = open(sys.argv[2], "a")
busy = os.open(sys.argv[3], os.O_RDWR | os.O_CREAT)
os.write(busy, bytes(64_000_000))
def write():
    while True:
        os.pwrite(busy, b"x", 1000)
threading.Thread(target=write, daemon=True).start()
print("at work", flush=True)
while True:
    with db:
        db.execute("UPDATE t SET value = value + 1")
    log.write("a line\\n")
    log.flush()
"""
LARGE_WRITER = """\
import os, sys
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
os.write(file, bytes(9_000_000))
print("at work", flush=True)
while True:
    os.pwrite(file, os.urandom(4), 1000 * int.from_bytes(os.urandom(2)) % 9_000_000)
"""


@given('a program that writes 9 MB to "{busy}" without end')
def _(context, busy):
    context.world.others = subprocess.Popen(
        [sys.executable, "-c", LARGE_WRITER, str(context.world.folder / busy)], stdout=subprocess.PIPE
    )
    assert context.world.others.stdout.readline() == b"at work\n"


@given('a program that writes to "{database}", "{log}" and "{busy}" without end')
def _(context, database, log, busy):
    files = [str(context.world.folder / name) for name in (database, log, busy)]
    context.world.others = subprocess.Popen(
        [sys.executable, "-c", WRITER, *files], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert context.world.others.stdout.readline() == b"at work\n"


@given('a program that appends to "{log}" without end')
def _(context, log):
    append = 'while :; do n=$((n + 1)); echo $n >> "$0"; sleep 0.01; done'
    context.world.others = subprocess.Popen(["sh", "-c", append, str(context.world.folder / log)])


@then('no line that was appended to "{log}" is lost')
def _(context, log):
    first, *lines = (context.world.folder / log).read_text().splitlines()
    assert first == "started"
    assert lines
    assert lines == [str(number) for number in range(1, len(lines) + 1)], lines


@then("the program writes on")
def _(context):
    assert context.world.others.poll() is None


@then('a group of "{plan}" names "{path}" as busy')
def _(context, plan, path):
    groups = context.world.ask("checkpoint", "list", plan)["checkpoints"]
    metadata = [context.world.ask("checkpoint", "show", group["group_id"])["metadata"] for group in groups]
    busy = [each for each in metadata if {"resource": "workspace", "path": path} in each.get("busy", [])]
    assert busy, metadata
    assert all(each["still"] is False for each in busy), busy


@then("{count:d} files are hidden")
def _(context, count):
    assert context.world.data["hidden"] == count, context.world.data


@then("the changes applied are")
def _(context):
    found = [(change["path"], change["status"]) for change in context.world.data["changes"]]
    assert found == [(row["path"], row["status"]) for row in context.table], found


@given('the user types "{line}" first')
def _(context, line):
    context.world.say(line)


@then('the setting {key} has "{one}" and "{other}" by {origin}')
def _(context, key, one, other, origin):
    found = context.world.ask("config", "get", key)
    assert {one, other} <= {*found["value"]}, found
    assert origin in found["origin"], found


@then('the setting {key} has no "{one}"')
def _(context, key, one):
    found = context.world.ask("config", "get", key)
    assert one not in found["value"], found


@then("each of these folders is refused")
def _(context):
    for row in context.table:
        context.world.say(f"run --resource {row['folder']} -- true")
        assert context.world.error["kind"] == "resource_unsuitable", context.world.told
        assert not (context.world.folder / ".mulligan").exists(), row["folder"]
