"""Arguments of tools, and the references in them, checked before anything runs."""

import pytest

from mulligan.domain.plans.step import Subplans, ToolUse
from tests.support.planfiles import place, read, refused, with_step


def args(step: str) -> object:
    action = read(with_step(step)).steps[0].action
    assert isinstance(action, ToolUse)
    return action.args


def test_arguments_of_every_kind_are_read() -> None:
    assert args("{tool: write_file, args: {path: a/../b, content: 42}}") == {
        "path": "a/../b",
        "content": "42",
    }
    assert args("{tool: edit_file, args: {path: a, old: yes, new: '', all: true}}") == {
        "path": "a",
        "old": "yes",
        "new": "",
        "all": True,
    }
    assert args("{tool: shell, args: {argv: [echo, 1.50, true], cwd: ., env: {A: 1, B: no}}}") == {
        "argv": ["echo", "1.50", "true"],
        "cwd": ".",
        "env": {"A": "1", "B": "no"},
    }
    assert args("{tool: python, args: {function: pkg.mod:run}}") == {"function": "pkg.mod:run"}


def test_values_of_any_kind_have_the_types_of_the_core_schema() -> None:
    written = (
        "{i: 1, o: 0o17, x: 0xff, n: -3, p: +4, z: 007, f: 1.5, e: 1e3, d: .5, t: True, no: FALSE, y: yes,"
        " on: on, u: , null: ~, s: '1', m: {a: [null, 'null']}, date: 2020-01-01, under: 1_000, time: 1:30}"
    )
    assert args(f"{{tool: python, args: {{function: m:f, kwargs: {written}}}}}") == {
        "function": "m:f",
        "kwargs": {
            "i": 1,
            "o": 15,
            "x": 255,
            "n": -3,
            "p": 4,
            "z": 7,
            "f": 1.5,
            "e": 1000.0,
            "d": 0.5,
            "t": True,
            "no": False,
            "y": "yes",
            "on": "on",
            "u": None,
            "null": None,
            "s": "1",
            "m": {"a": [None, "null"]},
            "date": "2020-01-01",
            "under": "1_000",
            "time": "1:30",
        },
    }
    assert args("{tool: notify, args: {payload: [1]}}") == {"payload": [1]}
    assert args("{tool: notify}") == {}


@pytest.mark.parametrize("mode", ["0644", "'0644'", "0o644", "644", '"644"', "00644"])
def test_a_mode_is_octal_however_it_is_written(mode: str) -> None:
    step = f"{{tool: write_file, args: {{path: a, content: b, mode: {mode}}}}}"
    assert args(step) == {"path": "a", "content": "b", "mode": "0644"}


@pytest.mark.parametrize(
    ("mode", "read_as"), [("0o0", "0000"), ("1755", "1755"), ("000", "0000"), ("0o7", "0007")]
)
def test_other_modes(mode: str, read_as: str) -> None:
    step = f"{{tool: write_file, args: {{path: a, content: b, mode: {mode}}}}}"
    assert args(step) == {"path": "a", "content": "b", "mode": read_as}


@pytest.mark.parametrize("mode", ["u+x", "0688", "0x1a4", "77777", "-644", "6", "''", "'${{ guidance }}'"])
def test_what_is_no_mode_is_refused(mode: str) -> None:
    error = refused(with_step(f"{{tool: write_file, args: {{path: a, content: b, mode: {mode}}}}}"))
    assert place(error)[2] == "steps[0].args.mode"
    assert "expected a file mode such as 0644" in str(error)


@pytest.mark.parametrize(
    ("step", "column", "path", "reason"),
    [
        ("{tool: delete_file}", 12, "tool", "delete_file needs the argument `path`"),
        ("{tool: delete_file, args: {}}", 31, "args", "delete_file needs the argument `path`"),
        ("{tool: delete_file, args: }", 31, "args", "expected a mapping, found nothing"),
        ("{tool: tidy, args: {a: 1}}", 25, "args.a", "there is no key 'a'"),
        ("{tool: delete_file, args: {path: }}", 38, "args.path", "expected text, found nothing"),
        ("{tool: delete_file, args: {path: ''}}", 38, "args.path", "'' is not a path"),
        ('{tool: delete_file, args: {path: "a\\0"}}', 38, "args.path", "'a\\x00' is not a path"),
        ("{tool: delete_file, args: {path: /etc}}", 38, "args.path", "'/etc' leads outside the sandbox"),
        ("{tool: delete_file, args: {path: ..}}", 38, "args.path", "'..' leads outside the sandbox"),
        (
            "{tool: delete_file, args: {path: a/../../b}}",
            38,
            "args.path",
            "'a/../../b' leads outside the sandbox",
        ),
        (
            "{tool: delete_file, args: {path: '/${{ guidance }}'}}",
            38,
            "args.path",
            "'/${{ guidance }}' leads outside the sandbox",
        ),
        ("{tool: shell}", 12, "tool", "shell needs one of `command`, `argv`; none is there"),
        (
            "{tool: shell, args: {command: a, argv: [b]}}",
            44,
            "args.argv",
            "shell needs one of `command`, `argv`; more than one is there",
        ),
        ("{tool: shell, args: {command: ' '}}", 35, "args.command", "the command is empty"),
        ('{tool: shell, args: {command: "a\\0"}}', 35, "args.command", "a command cannot hold NUL"),
        ("{tool: shell, args: {command: [a]}}", 35, "args.command", "expected text, found a list"),
        ("{tool: shell, args: {argv: echo a}}", 32, "args.argv", "expected a list, found 'echo a'"),
        ("{tool: shell, args: {argv: []}}", 32, "args.argv", "the list is empty"),
        ("{tool: shell, args: {argv: [a, ~]}}", 36, "args.argv[1]", "expected text, found nothing"),
        ("{tool: shell, args: {command: a, env: [A=1]}}", 43, "args.env", "expected a mapping, found a list"),
        ("{tool: shell, args: {command: a, env: {A: [1]}}}", 47, "args.env.A", "expected text, found a list"),
        ("{tool: python, args: {function: run}}", 37, "args.function", "expected a function as module:name"),
        (
            "{tool: python, args: {function: 'a b:run'}}",
            37,
            "args.function",
            "expected a function as module:name",
        ),
        (
            "{tool: python, args: {function: 'a:b:c'}}",
            37,
            "args.function",
            "expected a function as module:name",
        ),
        (
            "{tool: python, args: {function: 'm:f', kwargs: [a]}}",
            52,
            "args.kwargs",
            "expected a mapping, found a",
        ),
        (
            "{tool: notify, args: {payload: {a: [1e999]}}}",
            41,
            "args.payload.a[0]",
            "a number without end cannot be recorded",
        ),
        (
            "{tool: notify, args: {payload: -.inf}}",
            36,
            "args.payload",
            "a number without end cannot be recorded",
        ),
        (
            "{tool: notify, args: {payload: .NaN}}",
            36,
            "args.payload",
            "a number without end cannot be recorded",
        ),
        (
            "{tool: edit_file, args: {path: a, old: b, new: c, all: 'yes'}}",
            60,
            "args.all",
            "expected true or false, found the text 'yes'",
        ),
    ],
)
def test_a_wrong_argument_is_refused_at_its_place(step: str, column: int, path: str, reason: str) -> None:
    error = refused(with_step(step))
    assert place(error) == (3, column, f"steps[0].{path}")
    assert str(error.facts["reason"]).startswith(reason)


# --- references --------------------------------------------------------------------------------------------

REFERRING = """\
name: p
variables: {version: 2.10, target: out}
steps:
  - {name: first one, tool: tidy}
  - {name: pick, decision: {question: a, chosen: b}}
  - {name: mark, checkpoint: here}
  - name: parts
    subplans:
      plans:
        - name: child
          steps:
            - {name: in child, tool: notify, args: {payload: "${{ steps.pick.output }}"}}
            - {name: pick, tool: notify, args: {payload: "${{ steps.in child.output }}"}}
  - {name: self, tool: notify, args: {payload: [{a: "%s"}]}}
  - {name: after, tool: tidy}
"""


@pytest.mark.parametrize(
    "text",
    [
        "${{ version }}",
        "${{version}}/${{ target }}",
        "${{ steps.first one.output }}",
        "${{ steps.pick.output }}",
        "${{ guidance }}",
        "$version ${version}",
    ],
)
def test_known_references_are_kept_for_the_run(text: str) -> None:
    action = read(REFERRING % text).steps[4].action
    assert isinstance(action, ToolUse)
    assert action.args == {"payload": [{"a": text}]}


@pytest.mark.parametrize(
    ("text", "reason", "nearest"),
    [
        ("${{ versoin }}", "there is no variable 'versoin' (known: version, target, guidance)", "version"),
        ("${{ Guidance }}", "there is no variable 'Guidance'", "guidance"),
        ("${{ steps.frist one.output }}", "there is no step 'frist one'", "first one"),
        ("${{ steps.after.output }}", "the step 'after' does not come before this one", None),
        ("${{ steps.self.output }}", "the step 'self' does not come before this one", None),
        ("${{ steps.mark.output }}", "the step 'mark' has no output; only tools and decisions have", None),
        ("${{ steps.parts.output }}", "the step 'parts' has no output; only tools and decisions have", None),
        ("${{ steps.in child.output }}", "there is no step 'in child'", None),
        ("${{ github.ref }}", "`${{ github.ref }}` is none of", None),
        ("${{ version", "a `${{` has no `}}`; to mean `${{` as it is, put the text into a variable", None),
    ],
)
def test_an_unknown_reference_is_refused_before_anything_runs(
    text: str, reason: str, nearest: str | None
) -> None:
    error = refused(REFERRING % text)
    assert place(error) == (14, 53, "steps[4].args.payload[0].a")
    assert str(error.facts["reason"]).startswith(reason)
    assert error.facts.get("nearest") == nearest


def test_steps_of_a_child_see_those_before_their_parent_step_and_their_own() -> None:
    action = read(REFERRING % "").steps[3].action
    assert isinstance(action, Subplans)
    assert [step.name for step in action.plans[0].steps] == ["in child", "pick"]


def test_children_do_not_see_each_others_steps() -> None:
    child = "{{name: {0}, steps: [{{name: s{0}, tool: notify, args: {{payload: '{1}'}}}}]}}"
    plans = f"{child.format('a', '')}, {child.format('b', '${{ steps.sa.output }}')}"
    error = refused(with_step(f"{{subplans: {{plans: [{plans}]}}}}"))
    assert error.facts["path"] == "steps[0].subplans.plans[1].steps[0].args.payload"


def test_a_childs_step_cannot_share_a_variable_with_one_around_it() -> None:
    error = refused(
        "name: p\nsteps:\n- {name: a b, tool: tidy}\n"
        "- {subplans: {plans: [{name: c, steps: [{name: a-b, tool: tidy}]}]}}\n"
    )
    assert place(error) == (4, 48, "steps[1].subplans.plans[0].steps[0].name")


def test_references_in_paths_are_checked_and_kept() -> None:
    assert args("{tool: delete_file, args: {path: 'a/${{ guidance }}'}}") == {"path": "a/${{ guidance }}"}
    error = refused(with_step("{tool: delete_file, args: {path: '${{ x }}'}}"))
    assert error.facts["path"] == "steps[0].args.path"


@pytest.mark.parametrize(
    ("command", "nearest"),
    [
        ("echo ${{ version }}", "$MULLIGAN_VAR_VERSION"),
        ("echo ${{ steps.first one.output }} ${{ version }}", "$MULLIGAN_OUTPUT_FIRST_ONE"),
        ("echo ${{ guidance }}", "$MULLIGAN_GUIDANCE"),
    ],
)
def test_a_command_is_refused_with_the_variable_to_use_instead(command: str, nearest: str) -> None:
    error = refused(
        "name: p\nvariables: {version: '2'}\nsteps:\n- {name: first one, tool: tidy}\n"
        f"- tool: shell\n  args:\n    command: {command}\n"
    )
    assert place(error) == (7, 14, "steps[1].args.command")
    assert error.facts["nearest"] == nearest
    assert f"did you mean `{nearest}`?" in str(error)
    assert "where a value could become code" in str(error)


def test_a_command_with_an_unknown_name_is_refused_with_the_nearest() -> None:
    error = refused(
        "name: p\nvariables: {version: '2'}\nsteps: [{tool: shell, args: {command: 'echo ${{ versoin }}'}}]\n"
    )
    assert error.facts["nearest"] == "version"


def test_a_command_that_means_something_else_learns_of_the_environment() -> None:
    error = refused(with_step("{tool: shell, args: {command: 'echo ${{ github.ref }}'}}"))
    assert "use MULLIGAN_VAR_NAME, MULLIGAN_OUTPUT_STEP or MULLIGAN_GUIDANCE" in str(error)


def test_what_belongs_to_the_shell_is_left_alone() -> None:
    assert args("{tool: shell, args: {command: 'echo $X ${X}'}}") == {"command": "echo $X ${X}"}


def test_numbers_and_lists_are_what_they_say() -> None:
    assert args("{tool: measure, args: {whole: -7, number: 2, list: [1, {a: b}]}}") == {
        "whole": -7,
        "number": 2,
        "list": [1, {"a": "b"}],
    }
    assert args("{tool: measure, args: {number: .5, list: []}}") == {"number": 0.5, "list": []}


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("whole: 1.5", "expected a whole number, found '1.5'"),
        ("whole: '1'", "expected a whole number, found the text '1'"),
        ("number: true", "expected a number, found 'true'"),
        ("number: '1'", "expected a number, found the text '1'"),
        ("number: [1]", "expected a number, found a list"),
        ("list: a", "expected a list, found 'a'"),
        ("list: ['${{ nobody }}']", "there is no variable 'nobody'"),
    ],
)
def test_other_than_numbers_and_lists_is_refused(given: str, reason: str) -> None:
    error = refused(with_step(f"{{tool: measure, args: {{{given}}}}}"))
    assert reason in error.text
