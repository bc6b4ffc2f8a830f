"""Steps that make plans, run them, and look at where they stand."""

from behave import given, then, when


@given('a plan "{name}"')
def _(context, name):
    context.world.write_plan(name, context.text)


@given('a plan "{name}" of {count:d} steps')
def _(context, name, count):
    steps = [
        f"- {{name: s{n}, tool: write_file, args: {{path: f{n}, content: '{n}'}}}}" for n in range(count)
    ]
    context.world.write_plan(name, "\n".join(["steps:", *steps]))


@given("the plan was executed")
@when("the plan is executed")
def _(context):
    context.world.run("plan", "execute", context.world.plan_file())


@when("the plan is executed on")
def _(context):
    context.world.release()
    context.world.run("plan", "execute", context.world.plan)


@when("the plan is created")
def _(context):
    context.world.run("plan", "create", context.world.plan_file())


@when("the plan is cancelled")
def _(context):
    context.world.run("plan", "cancel", context.world.plan, "--reason", "not needed")


@when('the user types "{line}"')
def _(context, line):
    context.world.say(line)


@then('the plan is "{phase}/{state}"')
def _(context, phase, state):
    status = context.world.status()
    assert (status["phase"], status["state"]) == (phase, state), status


@then("the answer is that of plan status")
def _(context):
    status = context.world.status()
    for field in ("plan_id", "phase", "state", "attempt", "steps", "last_checkpoint_id", "sandboxes"):
        assert context.world.data[field] == status[field], field


@then("the steps are {words}")
def _(context, words):
    found = [step["status"] for step in context.world.status()["steps"]]
    assert found == [word.strip() for word in words.split(",")], found


@then("the steps ran: {words}")
def _(context, words):
    found = context.world.tally()
    assert found == [word.strip() for word in words.split(",")], found


@then("no step ran")
def _(context):
    assert context.world.tally() == []


@then("no plan is recorded")
def _(context):
    """Also where nothing was, so that there is no project either."""
    kept = context.world.code, context.world.answer
    context.world.run("plan", "list")
    if context.world.code != 0:
        assert context.world.error["kind"] == "project_not_found", context.world.told
        assert not (context.world.folder / ".mulligan").exists()
    else:
        assert context.world.data["plans"] == []
    context.world.code, context.world.answer = kept


@then("the counts of the execution are")
def _(context):
    found = context.world.status()["execution"]
    for row in context.table:
        assert found[row["count of"]] == int(row["is"]), found


@then('the log tells "{text}"')
def _(context, text):
    events = context.world.ask("plan", "log", context.world.plan)["events"]
    assert any(text in str(event["data"]) for event in events), events


@then("the log is in order")
def _(context):
    events = context.world.ask("plan", "log", context.world.plan)["events"]
    assert [e["seq"] for e in events] == sorted({e["seq"] for e in events})


@when("someone mends the cause")
def _(context):
    (context.world.notes / "mended").touch()


@then('the log names "{text}" before the first step')
def _(context, text):
    events = context.world.ask("plan", "log", context.world.plan)["events"]
    named = next(e["seq"] for e in events if text in str(e["data"]))
    assert named < next(e["seq"] for e in events if e["type"] == "step_started"), events


@then("the tree is")
def _(context):
    found = "\n".join(_drawn(context.world.data["tree"], 0))
    assert found == context.text.strip(), found


def _drawn(node, depth):
    words = {
        "plan": lambda: node["name"],
        "decision": lambda: f"{node['question']} {node['chosen']}",
        "checkpoint": lambda: node["checkpoint_type"],
    }
    text = f"{node['type']} {words[node['type']]()}"
    yield "  " * depth + (f"({text})" if node["superseded"] else text)
    for child in node["children"]:
        yield from _drawn(child, depth + 1)


@given("the durations of the steps are remembered")
def _(context):
    context.world.kept["durations"] = _durations(context)


@then("the durations of the steps are as remembered")
def _(context):
    assert _durations(context) == context.world.kept["durations"] != [None, None]


def _durations(context):
    return [step["duration_ms"] for step in context.world.status()["steps"]]


@then('it waits for an answer to "{question}" with "{alternatives}"')
def _(context, question, alternatives):
    assert context.world.code == 4, context.world.answer
    assert context.world.answer["error"]["kind"] == "question_open"
    waiting = context.world.status()["waiting"]
    assert waiting["reason"] == "question", waiting
    assert (waiting["question"], ", ".join(waiting["alternatives"])) == (question, alternatives), waiting


@then('the plans that wait are "{names}"')
@then('the plans that wait are ""')
def _(context, names=""):
    assert " ".join(plan["handle"] for plan in context.world.data["plans"]) == names


@then('the decision "{question}" is "{chosen}" because of "{rationale}"')
def _(context, question, chosen, rationale):
    tree = context.world.ask("plan", "tree", context.world.plan)["tree"]
    assert [question, chosen, rationale] in list(_decisions(tree)), tree


def _decisions(node):
    if node.get("question"):
        yield [node["question"], node["chosen"], node["rationale"]]
    for child in node.get("children", []):
        yield from _decisions(child)
