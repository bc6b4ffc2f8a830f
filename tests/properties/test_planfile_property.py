"""Whatever a plan file holds, it gives a plan or an error with a place in it, and soon."""

import time

import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mulligan.domain.plans.decision import Choice
from mulligan.domain.plans.interpolation import RunValues, replace_references, run_environment
from mulligan.domain.plans.plan import PlanDefinition
from mulligan.domain.plans.step import Step, Subplans, ToolUse
from mulligan.domain.text.json_value import Json
from mulligan.errors import PlanFileInvalid
from tests.support.long_run import LONGER
from tests.support.planfiles import TOOLS, read

EXAMPLES = settings(max_examples=60 * LONGER, deadline=None)

VALID = """\
name: upgrade-api
description: Move the API to v2
resources:
  app:  {type: git-checkout, location: .}
  data: {type: sqlite, location: var/app.db}
config:
  sandbox.checkpoint.auto-create-on: [before_step, on_tool_write, on_error]
rollback_policy: {enabled: true, require_checkpoints: true, on_failure: last_checkpoint}
variables: {version: "2.0"}
steps:
  - name: bump
    tool: write_file
    args: {path: VERSION, content: "${{ version }}\\n", mode: 0644}
  - name: choose parser
    decision: {question: Which parser?, chosen: lark, alternatives: [ply, by hand], rationale: "Messages"}
  - {name: migrate, tool: sql, resource: data, args: {script: migrations/002.sql}}
  - name: test
    tool: shell
    args: {command: python -m pytest -q}
    timeout: 600
    retries: 1
  - name: parts
    subplans:
      mode: dependency_ordered
      max_parallel: 5
      plans:
        - name: docs
          steps: [&tidy {tool: tidy}, {tool: notify, args: {payload: [1, {a: "${{ steps.bump.output }}"}]}}]
        - {name: client, depends_on: [docs], steps: [*tidy]}
  - {name: milestone, checkpoint: before release}
"""

FRAGMENTS = [
    *(
        "name",
        "steps",
        "tool",
        "args",
        "subplans",
        "plans",
        "config",
        "variables",
        "resources",
        "location",
        "checkpoint",
    ),
    *(
        ": ",
        ":\n",
        "\n  - ",
        "\n- ",
        "{",
        "}",
        "[",
        "]",
        ", ",
        "&a ",
        "*a",
        "!!str ",
        "!",
        "<<: *a",
        "---\n",
        "...\n",
    ),
    *(
        "|\n",
        ">-\n",
        '"',
        "'",
        "\\",
        "#",
        "? ",
        "%",
        "@",
        "`",
        "\t",
        "\r",
        "\x00",
        "\x85",
        "\u2028",
        "\ufeff",
        "\ud7ff",
    ),
    *(
        "~",
        "null",
        "true",
        "yes",
        "0",
        "-1",
        "1e999",
        ".nan",
        "9" * 5000,
        "${{",
        "}}",
        "${{ version }}",
        "..",
        "/",
    ),
    *("\\ud800", "\\0", "😀", "a" * 300, "latest", "step-1", ".mulligan"),
]


def plan_or_place(text: str | bytes) -> PlanDefinition | None:
    """Read it: a plan, or None where it was refused with a place that exists."""
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    start = time.process_time()
    try:
        plan = read(data)
    except PlanFileInvalid as error:
        plan, refusal = None, error
    else:
        refusal = None
    assert time.process_time() - start < 30
    if refusal is not None:
        line, column, path = (refusal.facts[name] for name in ("line", "column", "path"))
        assert isinstance(line, int)
        assert isinstance(column, int)
        assert 1 <= line <= len(data.decode("utf-8", "replace").splitlines()) + 1
        assert column >= 1
        assert path
        assert refusal.facts["reason"]
        assert refusal.next_step
    return plan


def test_the_example_itself_is_a_plan() -> None:
    assert plan_or_place(VALID) is not None


@EXAMPLES
@given(st.binary())
@example(b"\xff\xfe\x00")
@example(b"\xef\xbb\xbf")
def test_any_bytes(data: bytes) -> None:
    plan_or_place(data)


@EXAMPLES
@given(st.text())
def test_any_text(text: str) -> None:
    plan_or_place(text)


@EXAMPLES
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=40).map("".join))
def test_any_pieces_of_yaml(text: str) -> None:
    plan_or_place(text)


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """The valid file with some places replaced, cut out or filled."""
    text = VALID
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 12)))
        text = text[:start] + draw(st.one_of(st.sampled_from(FRAGMENTS), st.text(max_size=5))) + text[end:]
    return text


@settings(max_examples=100 * LONGER, deadline=None)
@given(mutated())
def test_a_valid_file_with_mistakes_in_it(text: str) -> None:
    plan_or_place(text)


@EXAMPLES
@given(
    st.sampled_from(
        [("[", "]"), ("{a: ", "}"), ("- ", ""), ("? ", ""), ("a:\n", ""), ("&a [", "]"), ("!x ", "")]
    ),
    st.sampled_from([1, 39, 40, 41, 1000, 200_000]),
    st.booleans(),
)
def test_any_depth(brackets: tuple[str, str], depth: int, closed: bool) -> None:
    opening, closing = brackets
    text = opening * depth + (closing * depth if closed else "")
    plan_or_place(text)
    plan_or_place(f"name: p\nsteps:\n- tool: notify\n  args:\n    payload: {text}")


DOCUMENTS = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.sampled_from(FRAGMENTS)
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(
                ["name", "steps", "tool", "args", "path", "content", "decision", "plans", "subplans", "x"]
            ),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=15,
)


@EXAMPLES
@given(DOCUMENTS)
def test_any_structure_in_the_place_of_a_plan_or_of_its_parts(document: object) -> None:
    plan_or_place(yaml.safe_dump(document, allow_unicode=True))
    for key in ("resources", "config", "rollback_policy", "variables", "steps"):
        plan = {"name": "p", "steps": [{"tool": "tidy"}], key: document}
        plan_or_place(yaml.safe_dump(plan, allow_unicode=True))
    plan_or_place(yaml.safe_dump({"name": "p", "steps": [document]}, allow_unicode=True))


# --- what is written is what is read -----------------------------------------------------------------------

NAMES = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=12)
TEXTS = st.text(st.characters(codec="utf-8")).filter(lambda text: "${{" not in text)
VALUES = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), TEXTS
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=8,
)
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
ACTIONS = st.one_of(
    st.fixed_dictionaries(
        {"tool": st.just("write_file"), "args": st.fixed_dictionaries({"path": PATHS, "content": TEXTS})},
        optional={"retries": st.integers(1, 1000), "timeout": st.floats(0.1, 1e6)},
    ),
    st.fixed_dictionaries(
        {"tool": st.just("notify"), "args": st.fixed_dictionaries({"payload": VALUES})},
    ),
    st.fixed_dictionaries(
        {
            "decision": st.fixed_dictionaries(
                {"question": TEXTS, "chosen": TEXTS, "alternatives": st.lists(TEXTS, max_size=3)}
            )
        }
    ),
)
STEPS = st.lists(ACTIONS, min_size=1, max_size=4)
PLANS = st.fixed_dictionaries(
    {
        "name": NAMES.filter(lambda name: name != "latest"),
        "steps": st.one_of(
            STEPS, STEPS.map(lambda steps: [{"subplans": {"plans": [{"name": "child", "steps": steps}]}}])
        ),
    },
    optional={"description": TEXTS},
)


class Quoting(yaml.SafeDumper):
    """Writes every text in quotes: which plain ones are text differs between versions of YAML."""


Quoting.add_representer(str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, '"'))


def written(step: Step) -> dict[str, object]:
    """The step as it would be written."""
    document: dict[str, object] = {}
    match step.action:
        case ToolUse():
            document |= {"tool": step.action.tool, "args": dict(step.action.args)}
        case Choice():
            choice = step.action
            document["decision"] = {
                "question": choice.question,
                "chosen": choice.chosen,
                "alternatives": list(choice.alternatives),
            }
        case Subplans():
            plans = [
                {"name": child.name, "steps": [written(inner) for inner in child.steps]}
                for child in step.action.plans
            ]
            document["subplans"] = {"plans": plans}
        case _:
            raise AssertionError(step)
    if step.retries:
        document["retries"] = step.retries
    if step.timeout is not None:
        document["timeout"] = step.timeout
    return document


@EXAMPLES
@given(PLANS)
def test_what_is_written_is_what_is_read(plan: dict[str, object]) -> None:
    read_back = read(yaml.dump(plan, Dumper=Quoting))
    again: dict[str, object] = {"name": read_back.name, "steps": [written(step) for step in read_back.steps]}
    if "description" in plan:
        again["description"] = read_back.description
    assert again == plan


# --- references --------------------------------------------------------------------------------------------


@EXAMPLES
@given(
    st.dictionaries(NAMES.filter(str.isidentifier), st.text(), max_size=4),
    st.dictionaries(NAMES, VALUES),
    st.text(),
)
def test_every_value_of_a_run_reaches_a_command_once(
    variables: dict[str, str], outputs: dict[str, Json], guidance: str
) -> None:
    values = RunValues(variables=variables, outputs=outputs, guidance=guidance)
    environment = run_environment(values, {})
    names = (
        {f"var {name.upper()}" for name in variables}
        | {f"out {name.upper()}" for name in outputs}
        | {"guidance"}
    )
    assert len(environment.variables) + len(environment.files) == len(names)
    assert not any("\0" in value for value in environment.variables.values())


@EXAMPLES
@given(st.text(), st.text())
def test_a_replaced_value_is_put_in_as_it_is(value: str, other: str) -> None:
    values = RunValues(variables={"v": value}, outputs={"s": other}, guidance="")
    args: dict[str, Json] = {"payload": ["<${{ v }}|${{ steps.s.output }}>"]}
    assert replace_references(args, TOOLS["notify"], values) == {"payload": [f"<{value}|{other}>"]}
