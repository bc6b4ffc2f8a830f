"""The steps of a plan file: tools, decisions, milestones and child plans."""

import pytest

from mulligan.domain.plans.decision import Choice
from mulligan.domain.plans.step import (
    ChildPlan,
    MergeStrategy,
    Milestone,
    Step,
    SubplanMode,
    Subplans,
    ToolUse,
)
from tests.support.planfiles import place, read, refused, with_step


def steps(text: str) -> tuple[Step, ...]:
    return read(f"name: p\nsteps:\n{text}").steps


def test_a_tool_step_is_read_with_all_its_keys() -> None:
    (step,) = read(
        with_step(
            "{name: test, tool: shell, resource: workspace, args: {command: make}, timeout: 1.5, retries: 2,"
            " checkpoint: tested}"
        )
    ).steps
    assert step == Step(
        name="test",
        action=ToolUse(tool="shell", resource="workspace", args={"command": "make"}),
        label="tested",
        timeout=1.5,
        retries=2,
    )


def test_a_decision_is_read() -> None:
    (step, short) = steps(
        """\
- name: choose
  decision: {question: Which?, chosen: 3.10, alternatives: [3.9, yes], rationale: new}
- decision: {question: Why?, chosen: because}
"""
    )
    assert step.action == Choice(
        question="Which?", chosen="3.10", alternatives=("3.9", "yes"), rationale="new"
    )
    assert short.action == Choice(question="Why?", chosen="because", alternatives=(), rationale=None)


def test_a_milestone_takes_a_labelled_checkpoint() -> None:
    (step,) = read(with_step("{checkpoint: before release}")).steps
    assert step.action == Milestone()
    assert step.label == "before release"


def test_steps_without_a_name_are_called_after_their_place() -> None:
    text = "- {tool: tidy}\n- {tool: tidy, name: x}\n- {tool: tidy}\n"
    assert [step.name for step in steps(text)] == ["step-1", "x", "step-3"]


@pytest.mark.parametrize(
    ("step", "column", "path", "reason"),
    [
        ("tidy", 5, "steps[0]", "expected a mapping, found 'tidy'"),
        ("{}", 5, "steps[0]", "a step needs one of tool, run, decision, subplans and checkpoint"),
        ("{name: a}", 5, "steps[0]", "a step needs one of tool, run, decision, subplans and checkpoint"),
        ("{name: '', tool: tidy}", 12, "steps[0].name", "the name '' is empty"),
        (
            "{tool: tidy, timeout: 0}",
            27,
            "steps[0].timeout",
            "expected more than 0 and at most 1000000000 seconds",
        ),
        ("{tool: tidy, timeout: -1}", 27, "steps[0].timeout", "expected more than 0"),
        ("{tool: tidy, timeout: 1e400}", 27, "steps[0].timeout", "expected more than 0"),
        (
            "{tool: tidy, timeout: 5x}",
            27,
            "steps[0].timeout",
            "expected a number of seconds, or a duration such",
        ),
        (
            "{tool: tidy, timeout: 0s}",
            27,
            "steps[0].timeout",
            "expected more than 0 and at most 1000000000 seconds",
        ),
        ("{tool: tidy, timeout: .inf}", 27, "steps[0].timeout", "expected a number of seconds"),
        (
            "{tool: tidy, timeout: '5'}",
            27,
            "steps[0].timeout",
            "expected a number of seconds, or a duration such as 90s, 5m or 1h, found the text '5'",
        ),
        (
            "{tool: tidy, retries: -1}",
            27,
            "steps[0].retries",
            "expected a whole number from 0 to 1000, found '-1'",
        ),
        ("{tool: tidy, retries: 1.5}", 27, "steps[0].retries", "expected a whole number, found '1.5'"),
        ("{tool: tidy, retries: {}}", 27, "steps[0].retries", "expected a whole number, found a mapping"),
        ("{tool: tidy, checkpoint: ''}", 30, "steps[0].checkpoint", "the name '' is empty"),
        (
            "{tool: tidy, checkpoint: first}",
            30,
            "steps[0].checkpoint",
            "the name 'first' means another checkpoint each time",
        ),
        (
            "{tool: tidy, decision: {question: a, chosen: b}}",
            28,
            "steps[0].decision",
            "a step has one of tool, run, decision and subplans; this has tool, too",
        ),
        (
            "{decision: {question: a, chosen: b}, checkpoint: c}",
            54,
            "steps[0].checkpoint",
            "`checkpoint` does not go with `decision`",
        ),
        (
            "{decision: {question: a, chosen: b}, retries: 1}",
            51,
            "steps[0].retries",
            "`retries` does not go with `decision`",
        ),
        ("{checkpoint: a, timeout: 5}", 30, "steps[0].timeout", "`timeout` does not go with `checkpoint`"),
        (
            "{decision: {question: a, rationale: b}}",
            41,
            "steps[0].decision.rationale",
            "`rationale` needs `chosen`: without it, the reason comes with the answer",
        ),
        ("{run: a, args: {command: b}}", 20, "steps[0].args", "`args` does not go with `run`"),
        (
            "{run: a, tool: tidy}",
            11,
            "steps[0].run",
            "a step has one of tool, run, decision and subplans; this has tool, too",
        ),
        (
            "{decision: {question: a, chosen: b, alternatives: c}}",
            55,
            "steps[0].decision.alternatives",
            "expected a list, found 'c'",
        ),
        (
            "{subplans: {plans: [{name: a, steps: [{tool: tidy}]}]}, checkpoint: c}",
            73,
            "steps[0].checkpoint",
            "`checkpoint` does not go with `subplans`",
        ),
        (
            "{tool: sql, args: {statements: [a]}}",
            12,
            "steps[0].tool",
            "sql works on sqlite; 'workspace' is of type fs-directory",
        ),
    ],
)
def test_a_step_that_cannot_be_is_refused_at_its_place(
    step: str, column: int, path: str, reason: str
) -> None:
    error = refused(with_step(step))
    assert place(error) == (3, column, path)
    assert str(error.facts["reason"]).startswith(reason)


@pytest.mark.parametrize(
    ("step", "path", "nearest"),
    [
        ("{tool: shel}", "steps[0].tool", "shell"),
        ("{tool: Write-File}", "steps[0].tool", "write_file"),
        ("{tool: zzz}", "steps[0].tool", None),
        ("{tool: bash}", "steps[0].tool", "shell"),
        ("{shell: ls}", "steps[0].shell", "run"),
        ("{cmd: ls}", "steps[0].cmd", "run"),
        ("{run: ls, retry: 3}", "steps[0].retry", "retries"),
        ("{toool: tidy}", "steps[0].toool", "tool"),
        ("{tool: tidy, resource: worksapce}", "steps[0].resource", "workspace"),
        ("{tool: shell, args: {comand: a}}", "steps[0].args.comand", "command"),
        ("{decision: {question: a, choosen: b}}", "steps[0].decision.choosen", "chosen"),
        ("{subplans: {mode: paralel, plans: []}}", "steps[0].subplans.mode", "parallel"),
        ("{subplans: {merge_strategy: 3way, plans: []}}", "steps[0].subplans.merge_strategy", None),
        (
            "{subplans: {merge_strategy: three-way, plans: []}}",
            "steps[0].subplans.merge_strategy",
            "three_way",
        ),
    ],
)
def test_a_mistyped_word_is_refused_with_the_nearest(step: str, path: str, nearest: str | None) -> None:
    error = refused(with_step(step))
    assert error.facts["path"] == path
    assert error.facts.get("nearest") == nearest


def test_an_unknown_tool_is_refused_with_the_tools_there_are() -> None:
    assert "(known: shell, write_file, delete_file" in str(refused(with_step("{tool: zzz}")))


def test_two_steps_of_one_name_are_refused() -> None:
    error = refused("name: p\nsteps:\n- {name: a, tool: tidy}\n- {tool: tidy, name: a}\n")
    assert place(error) == (4, 22, "steps[1].name")
    assert error.facts["reason"] == "there is already a step 'a', in line 3"


def test_a_name_that_a_later_step_gets_by_its_place_is_refused() -> None:
    error = refused("name: p\nsteps:\n- {name: step-2, tool: tidy}\n- {tool: tidy}\n")
    assert place(error) == (4, 3, "steps[1]")


def test_names_whose_outputs_would_share_a_variable_are_refused() -> None:
    error = refused("name: p\nsteps:\n- {name: bump it, tool: tidy}\n- {name: Bump-It, tool: tidy}\n")
    assert place(error) == (4, 10, "steps[1].name")
    assert "'bump it' and 'Bump-It' would share the environment variable MULLIGAN_OUTPUT_BUMP_IT" in str(
        error
    )


def test_names_of_steps_without_output_cannot_collide() -> None:
    assert len(steps("- {name: bump it, tool: tidy}\n- {name: bump-it, checkpoint: x}\n")) == 2


@pytest.mark.parametrize(
    ("step", "path"),
    [
        ("{tool: tidy, retries: 1}", "steps[0].retries"),
        ("{tool: tidy, checkpoint: a}", "steps[0].checkpoint"),
        ("{checkpoint: a}", "steps[0].checkpoint"),
        (
            "{subplans: {max_retries: 1, plans: [{name: a, steps: [{tool: tidy}]}]}}",
            "steps[0].subplans.max_retries",
        ),
    ],
)
def test_without_checkpoints_nothing_that_needs_them_is_taken(step: str, path: str) -> None:
    error = refused(f"{with_step(step)}rollback_policy: {{enabled: false}}\n")
    assert error.facts["path"] == path
    assert "needs checkpoints, and rollback_policy.enabled is false" in str(error)
    assert read(with_step(step)).rollback_policy.enabled


def test_without_checkpoints_no_retries_are_fine() -> None:
    assert read(f"{with_step('{tool: tidy, retries: 0}')}rollback_policy: {{enabled: false}}\n").steps


# --- child plans -------------------------------------------------------------------------------------------


def test_child_plans_are_read_with_their_defaults() -> None:
    (step,) = read(with_step("{name: parts, subplans: {plans: [{name: a, steps: [{tool: tidy}]}]}}")).steps
    child = Step(
        name="step-1",
        action=ToolUse(tool="tidy", resource=None, args={}),
        label=None,
        timeout=None,
        retries=0,
    )
    assert step.action == Subplans(
        mode=SubplanMode.PARALLEL,
        max_parallel=None,
        merge_strategy=MergeStrategy.THREE_WAY,
        fail_fast=False,
        max_retries=0,
        plans=(ChildPlan(name="a", depends_on=(), steps=(child,)),),
    )


def test_child_plans_are_read_with_all_their_keys() -> None:
    (step,) = steps(
        """\
- name: parts
  subplans:
    mode: dependency_ordered
    max_parallel: 50
    merge_strategy: sequential_apply
    fail_fast: true
    max_retries: 3
    plans:
      - name: client
        depends_on: [docs, api, docs]
        steps: [{tool: tidy}]
      - {name: docs, steps: [{tool: tidy}]}
      - {name: api, depends_on: [docs], steps: [{subplans: {plans: [{name: deep, steps: [{tool: tidy}]}]}}]}
"""
    )
    assert isinstance(step.action, Subplans)
    assert step.action.mode is SubplanMode.DEPENDENCY_ORDERED
    assert step.action.max_parallel == 50
    assert step.action.merge_strategy is MergeStrategy.SEQUENTIAL_APPLY
    assert step.action.fail_fast
    assert step.action.max_retries == 3
    assert [(child.name, child.depends_on) for child in step.action.plans] == [
        ("client", ("docs", "api")),
        ("docs", ()),
        ("api", ("docs",)),
    ]
    inner = step.action.plans[2].steps[0].action
    assert isinstance(inner, Subplans)
    assert inner.plans[0].name == "deep"


ORDERED = "mode: dependency_ordered, plans:"
TIDY = "steps: [{tool: tidy}]"


def dependent(name: str, on: str) -> str:
    return f"{{name: {name}, depends_on: [{on}], {TIDY}}}"


@pytest.mark.parametrize(
    ("subplans", "path", "reason"),
    [
        ("{}", "", "the key `plans` is missing"),
        ("{plans: []}", ".plans", "`subplans` needs at least one plan"),
        ("{plans: [{name: a}]}", ".plans[0]", "the key `steps` is missing"),
        (f"{{plans: [{{{TIDY}}}]}}", ".plans[0]", "the key `name` is missing"),
        ("{plans: [{name: a, steps: []}]}", ".plans[0].steps", "a plan needs at least one step"),
        ("{plans: [{name: a, steps: [{tool: nope}]}]}", ".plans[0].steps[0].tool", "there is no tool 'nope'"),
        (
            f"{{max_parallel: 0, plans: [{{name: a, {TIDY}}}]}}",
            ".max_parallel",
            "expected a whole number from 1 to 50",
        ),
        (
            f"{{max_parallel: 51, plans: [{{name: a, {TIDY}}}]}}",
            ".max_parallel",
            "expected a whole number from 1",
        ),
        (
            f"{{fail_fast: 1, plans: [{{name: a, {TIDY}}}]}}",
            ".fail_fast",
            "expected true or false, found '1'",
        ),
        (
            f"{{merge_strategy: sequential_apply, plans: [{{name: a, {TIDY}}}]}}",
            ".merge_strategy",
            "sequential_apply needs `mode: sequential` or dependency_ordered",
        ),
        (
            f"{{plans: [{{name: a, {TIDY}}}, {{name: a, {TIDY}}}]}}",
            ".plans[1].name",
            "there is already a plan 'a', in line 3",
        ),
        (
            f"{{plans: [{{name: a, {TIDY}}}, {{name: b, depends_on: [a], {TIDY}}}]}}",
            ".plans[1].depends_on",
            "`depends_on` needs `mode: dependency_ordered`",
        ),
        (
            f"{{{ORDERED} [{{name: docs, {TIDY}}}, {{name: b, depends_on: [dosc], {TIDY}}}]}}",
            ".plans[1].depends_on[0]",
            "there is no plan 'dosc' (known: docs, b); did you mean `docs`?",
        ),
        (
            f"{{{ORDERED} [{{name: a, depends_on: [a], {TIDY}}}]}}",
            ".plans[0].depends_on[0]",
            "'a' cannot depend on itself",
        ),
        (
            f"{{{ORDERED} [{dependent('a', 'b')}, {dependent('b', 'c')}, {dependent('c', 'a')}]}}",
            None,
            "the plans depend on each other: ",
        ),
    ],
)
def test_child_plans_that_cannot_be_are_refused(subplans: str, path: str | None, reason: str) -> None:
    error = refused(with_step(f"{{subplans: {subplans}}}"))
    assert path is None or error.facts["path"] == f"steps[0].subplans{path}"
    assert str(error.facts["reason"]).startswith(reason)


def test_a_cycle_is_named_from_plan_to_plan() -> None:
    plans = f"[{{name: a, depends_on: [b], {TIDY}}}, {{name: b, depends_on: [a], {TIDY}}}]"
    error = refused(with_step(f"{{subplans: {{{ORDERED} {plans}}}}}"))
    assert error.facts["reason"] in (
        "the plans depend on each other: a -> b -> a",
        "the plans depend on each other: b -> a -> b",
    )
