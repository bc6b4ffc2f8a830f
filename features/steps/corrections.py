"""Steps that correct decisions, and look at the attempts that began with that."""

import shlex

from behave import given, then, when


def decisions(world, node=None):
    """The live decisions of the plan, in the order of the tree."""
    node = node or world.ask("plan", "tree", world.plan)["tree"]
    here = [node] if node["type"] == "decision" else []
    return [*here, *(found for child in node["children"] for found in decisions(world, child))]


def decision(world, question, type="choice"):
    """The id of the newest live decision on a question."""
    found = [d for d in decisions(world) if d["question"] == question and d["decision_type"] == type]
    return found[-1]["id"]


def correct(world, id, guidance, *words):
    """Correct a decision; remembers what was live before, by id."""
    world.kept["decisions"] = {d["id"]: f"{d['question']} {d['chosen']}" for d in decisions(world)}
    files = [str(world.plans / w) if w.endswith(".yaml") else w for w in words]
    world.run("plan", "correct", "--mode", "revert", "--guidance", guidance, *files, id)


@given('the decision "{question}" was corrected with "{guidance}" and "{options}"')
@when('the decision "{question}" is corrected with "{guidance}" and "{options}"')
def _(context, question, guidance, options):
    world = context.world
    correct(world, decision(world, question), guidance, "--yes", *shlex.split(options))


@when('the decision "{question}" is corrected with "{guidance}"')
def _(context, question, guidance):
    correct(context.world, decision(context.world, question), guidance, "--yes")


@when('the decision "{question}" is corrected without being asked')
def _(context, question):
    correct(context.world, decision(context.world, question), "g")


@when('the correction of "{question}" with "{guidance}" is tried without doing it')
def _(context, question, guidance):
    correct(context.world, decision(context.world, question), guidance, "--dry-run")
    context.world.kept["dry run"] = context.world.data


@when('the guidance "{guidance}" is corrected with "{other}"')
def _(context, guidance, other):
    given = [d["id"] for d in decisions(context.world) if d["chosen"] == guidance]
    correct(context.world, given[-1], other, "--yes")


@given('the decision "{question}" is remembered')
def _(context, question):
    context.world.kept["decision"] = decision(context.world, question)


@when('the remembered decision is corrected with "{guidance}"')
def _(context, guidance):
    correct(context.world, context.world.kept["decision"], guidance, "--yes")


@when("a prefix that both decisions have is corrected")
def _(context):
    first, second = (d["id"] for d in decisions(context.world))
    length = next(n for n in range(26) if first[n] != second[n])
    correct(context.world, first[:length], "g", "--yes")


@when("work is appended to the remembered decision")
def _(context):
    id = context.world.kept["decision"]
    context.world.run("plan", "correct", "--mode", "append", "--guidance", "g", "--yes", id)


def appending(world, question, guidance, options):
    """The words that append work to a decision."""
    files = [str(world.plans / w) if w.endswith(".yaml") else w for w in shlex.split(options)]
    id = decision(world, question)
    return ("plan", "correct", "--mode", "append", "--guidance", guidance, "--yes", *files, id)


@when('work is appended to the decision "{question}" with "{guidance}" and "{options}"')
def _(context, question, guidance, options):
    context.world.run(*appending(context.world, question, guidance, options))


@when('work is being appended to the decision "{question}" with "{guidance}" and "{options}" and holds')
def _(context, question, guidance, options):
    context.world.start(*appending(context.world, question, guidance, options))


@when("the plan is being executed on and holds")
def _(context):
    context.world.start("plan", "execute", context.world.plan)


@when("the attempts before and after the correction are compared")
def _(context):
    world = context.world
    id = world.status()["corrections"][0]["correction_id"]
    world.run("plan", "diff", "--correction", id)


@when("the plan is rolled back to the attempt before the correction")
def _(context):
    world = context.world
    kept = [c for c in world.checkpoints(superseded=True) if c["metadata"]["reason"] == "correction"]
    world.run("plan", "rollback", "--yes", world.plan, kept[-1]["checkpoint_id"])


@then("it corrects what was shown")
def _(context):
    shown, done = context.world.kept["dry run"], context.world.data
    assert shown["dry_run"]
    assert not done["dry_run"]
    assert done["pre_rollback_checkpoint"]
    assert shown["pre_rollback_checkpoint"] is None
    for part in ("changes_reverted", "impact"):
        assert shown[part] == done[part], (shown[part], done[part])
    ids = ("correction_id", "intervention_id")
    assert all(done["correction"][name] for name in ids)
    assert shown["correction"] | {name: done["correction"][name] for name in ids} == done["correction"]


@then("the correction superseded: {words}")
def _(context, words):
    known = context.world.kept["decisions"]
    found = [known[id] for id in context.world.data["correction"]["superseded_decisions"]]
    assert found == [word.strip() for word in words.split(",")], found
    assert context.world.data["correction"]["cancelled_child_plans"] == []


@then("the plan is in attempt {number:d}")
def _(context, number):
    status = context.world.status()
    assert status["attempt"] == number, status
    assert [c["attempt"] for c in status["corrections"]] == [*range(2, number + 1)], status


@then("the answer tells of attempt {number:d}")
def _(context, number):
    assert context.world.data["correction"]["attempt"] == number, context.world.told
    assert context.world.data["attempt"] == number, context.world.told


@then('the decision "{question}" is now "{chosen}", not "{other}", because of "{why}"')
def _(context, question, chosen, other, why):
    found = [d for d in decisions(context.world) if d["question"] == question][-1]
    assert (found["decision_type"], found["chosen"], found["rationale"]) == ("choice", chosen, why), found
    assert other in found["alternatives"], found
    assert chosen not in found["alternatives"], found


@then("the difference is")
def _(context):
    found = [(f["path"], f["status"]) for f in context.world.data["files"]]
    assert found == [(row["path"], row["status"]) for row in context.table], found
