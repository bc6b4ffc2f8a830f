"""All of a plan file but its steps: name, resources, config, policy and variables."""

import pytest

from mulligan.domain.plans.plan import OnFailure, RollbackPolicy
from mulligan.domain.resources.resource import Resource, ResourceType, Strategy
from tests.support.planfiles import WORKSPACE, place, read, refused, with_head


def test_the_smallest_plan_has_the_documented_defaults() -> None:
    plan = read("name: p\nsteps: [{tool: tidy}]\n")
    assert plan.name == "p"
    assert plan.description == ""
    assert plan.resources == (WORKSPACE,)
    assert plan.config == {}
    assert plan.rollback_policy == RollbackPolicy(
        enabled=True, require_checkpoints=True, on_failure=OnFailure.LAST_CHECKPOINT
    )
    assert plan.variables == {}
    (step,) = plan.steps
    assert (step.name, step.label, step.timeout, step.retries) == ("step-1", None, None, 0)


def test_text_is_taken_as_it_is_written() -> None:
    plan = read(
        with_head("description: 2.10\nvariables: {version: 2.10, on: yes, mode: 0644, big: 0x1F, t: true}")
    )
    assert plan.description == "2.10"
    assert plan.variables == {"version": "2.10", "on": "yes", "mode": "0644", "big": "0x1F", "t": "true"}


@pytest.mark.parametrize(
    ("text", "where", "reason"),
    [
        ("name: p\n", (1, 1, "document"), "the key `steps` is missing"),
        ("steps: [{tool: tidy}]\n", (1, 1, "document"), "the key `name` is missing"),
        ("name:\nsteps: [{tool: tidy}]", (1, 6, "name"), "expected text, found nothing"),
        ("name: ~\nsteps: [{tool: tidy}]", (1, 7, "name"), "expected text, found nothing"),
        ("name: [p]\nsteps: [{tool: tidy}]", (1, 7, "name"), "expected text, found a list"),
        ("name: ''\nsteps: [{tool: tidy}]", (1, 7, "name"), "the name '' is empty"),
        (
            "name: latest\nsteps: [{tool: tidy}]",
            (1, 7, "name"),
            "the name 'latest' means another plan each time",
        ),
        (
            'name: "a\\nb"\nsteps: [{tool: tidy}]',
            (1, 7, "name"),
            "the name 'a\\nb' holds the character U+000A, which",
        ),
        ("name: p\nsteps:\n", (2, 7, "steps"), "expected a list, found nothing"),
        ("name: p\nsteps: {tool: tidy}\n", (2, 8, "steps"), "expected a list, found a mapping"),
        (with_head("description: {a: b}"), (1, 14, "description"), "expected text, found a mapping"),
        (with_head("resources:"), (1, 11, "resources"), "expected a mapping, found nothing"),
        (with_head("variables: [a]"), (1, 12, "variables"), "expected a mapping, found a list"),
    ],
)
def test_a_fault_at_the_top_is_refused_at_its_place(
    text: str, where: tuple[int, int, str], reason: str
) -> None:
    error = refused(text)
    assert place(error) == where
    assert str(error.facts["reason"]).startswith(reason)
    assert error.exit_code == 2
    assert error.next_step == "correct the plan file at that place and try again"


def test_an_unknown_key_is_refused_with_the_nearest() -> None:
    error = refused("name: p\nstpes: []\n")
    assert place(error) == (2, 1, "stpes")
    assert error.facts["nearest"] == "steps"
    assert "there is no key 'stpes'" in str(error.facts["reason"])
    assert str(error.facts["reason"]).endswith("did you mean `steps`?")
    assert error.next_step == "write `steps` at that place if that was meant, and try again"


# --- resources ---------------------------------------------------------------------------------------------


def resource(
    name: str,
    kind: ResourceType,
    location: str,
    strategy: Strategy | None = None,
    from_revision: str | None = None,
    create: bool = False,
) -> Resource:
    return Resource(
        name=name,
        type=kind,
        location=location,
        strategy=strategy,
        from_revision=from_revision,
        create=create,
    )


def test_resources_are_kept_in_order() -> None:
    plan = read(
        with_head(
            """\
resources:
  app: {type: git-checkout, location: ./app/, strategy: git_worktree, from: v1.0}
  data: {type: sqlite, location: app/var/app.db, create: true}
  docs: {type: fs-directory, location: /home/user/project/docs, strategy: in_place}
"""
        )
    )
    assert plan.resources == (
        resource("app", ResourceType.GIT_CHECKOUT, "app", Strategy.GIT_WORKTREE, "v1.0"),
        resource("data", ResourceType.SQLITE, "app/var/app.db", create=True),
        resource("docs", ResourceType.FS_DIRECTORY, "docs", Strategy.IN_PLACE),
    )


@pytest.mark.parametrize(
    ("resources", "where", "reason"),
    [
        ("{}", (1, 12, "resources"), "expected 1 to 100 resources, found 0"),
        ("{a: {type: sqlite}}", (1, 16, "resources.a"), "the key `location` is missing"),
        ("{a: {location: x}}", (1, 16, "resources.a"), "the key `type` is missing"),
        ("{a: {type: sqlite, location: ''}}", (1, 41, "resources.a.location"), "'' is not inside"),
        ("{a: {type: sqlite, location: ../x}}", (1, 41, "resources.a.location"), "'../x' is not inside"),
        ("{a: {type: sqlite, location: /etc}}", (1, 41, "resources.a.location"), "'/etc' is not inside"),
        (
            '{a: {type: sqlite, location: "a\\0"}}',
            (1, 41, "resources.a.location"),
            "'a\\x00' is not inside",
        ),
        (
            "{a: {type: fs-directory, location: a/../.mulligan}}",
            (1, 47, "resources.a.location"),
            "the location of 'a' is the project home",
        ),
        (
            "{a: {type: sqlite, location: .}}",
            (1, 41, "resources.a.location"),
            "the location of 'a' is the project folder; a database is a file",
        ),
        (
            "{a: {type: fs-directory, location: x}, b: {type: sqlite, location: ./x}}",
            (1, 79, "resources.b.location"),
            "the location of 'b' has the same location as 'a'",
        ),
        (
            "{a: {type: fs-directory, location: x}, b: {type: git-checkout, location: x/y}}",
            (1, 85, "resources.b.location"),
            "the location of 'b' overlaps with 'a': x/y lies inside x",
        ),
        ("{a: {type: git-remote, url: /x}}", (1, 16, "resources.a"), "the key `ref` is missing"),
        (
            "{a: {type: git-remote, url: /x, ref: main, location: x}}",
            (1, 65, "resources.a.location"),
            "`location` is not for a git-remote",
        ),
        (
            "{a: {type: sqlite, location: x, url: /x}}",
            (1, 49, "resources.a.url"),
            "`url` is not for a sqlite",
        ),
        (
            "{a: {type: git-remote, url: 'https://me:word@host/x', ref: main}}",
            (1, 40, "resources.a.url"),
            "the address has a password in it",
        ),
        (
            "{a: {type: git-remote, url: /x, ref: refs/tags/v1}}",
            (1, 49, "resources.a.ref"),
            "'refs/tags/v1' is not a branch",
        ),
        (
            "{a: {type: git-remote, url: /x, ref: main}, b: {type: git-remote, url: /x, ref: refs/heads/main}}",
            (1, 83, "resources.b.url"),
            "'b' has the same address and branch as 'a'",
        ),
        (
            "{a: {type: git-remote, url: /x, ref: main, strategy: in_place}}",
            (1, 65, "resources.a.strategy"),
            "in_place does not work for a resource of type git-remote",
        ),
        ("{a/b: {type: sqlite, location: x}}", (1, 13, "resources['a/b']"), "the name 'a/b' holds a slash"),
        (
            "{a: {type: fs-directory, location: x, create: true}}",
            (1, 58, "resources.a.create"),
            "`create` is for databases; 'a' is of type fs-directory",
        ),
        (
            "{a: {type: fs-directory, location: x, from: v1}}",
            (1, 56, "resources.a.from"),
            "`from` is for a git-checkout that is not worked on in place",
        ),
        (
            "{a: {type: git-checkout, location: x, strategy: in_place, from: v1}}",
            (1, 76, "resources.a.from"),
            "`from` is for a git-checkout that is not worked on in place",
        ),
        (
            "{a: {type: git-checkout, location: x, from: --upload-pack=x}}",
            (1, 56, "resources.a.from"),
            "'--upload-pack=x' is not a revision",
        ),
        (
            "{a: {type: git-checkout, location: x, from: ''}}",
            (1, 56, "resources.a.from"),
            "'' is not a revision",
        ),
        (
            "{a: {type: fs-directory, location: x, strategy: git_worktree}}",
            (1, 60, "resources.a.strategy"),
            "git_worktree does not work for a resource of type fs-directory",
        ),
        (
            "{a: {type: git-checkout, location: x, strategy: filesystem_copy}}",
            (1, 60, "resources.a.strategy"),
            "filesystem_copy does not work for a resource of type git-checkout",
        ),
        (
            "{a: {type: sqlite, location: x, strategy: in_place}}",
            (1, 54, "resources.a.strategy"),
            "in_place does not work for a resource of type sqlite",
        ),
        (
            "{a: {type: sqlite, location: x, create: 'true'}}",
            (1, 52, "resources.a.create"),
            "expected true or false, found the text 'true'",
        ),
    ],
)
def test_a_resource_that_cannot_be_is_refused(
    resources: str, where: tuple[int, int, str], reason: str
) -> None:
    error = refused(with_head(f"resources: {resources}"))
    assert place(error) == where
    assert str(error.facts["reason"]).startswith(reason)


@pytest.mark.parametrize(
    ("resources", "nearest"),
    [
        ("{a: {type: git-checkuot, location: x}}", "git-checkout"),
        ("{a: {type: fs_directory, location: x}}", "fs-directory"),
        ("{a: {type: sqlite, location: x, strategy: filesystem-copy}}", "filesystem_copy"),
        ("{a: {type: sqlite, locaton: x}}", "location"),
    ],
)
def test_a_mistyped_word_of_a_resource_is_refused_with_the_nearest(resources: str, nearest: str) -> None:
    error = refused(with_head(f"resources: {resources}"))
    assert error.facts["nearest"] == nearest
    assert f"did you mean `{nearest}`?" in str(error)


def test_there_is_a_bound_for_resources() -> None:
    many = ", ".join(f"r{i}: {{type: sqlite, location: d{i}}}" for i in range(101))
    assert "found 101" in str(refused(with_head(f"resources: {{{many}}}")))


# --- config ------------------------------------------------------------------------------------------------


def test_settings_are_checked_and_made_canonical() -> None:
    plan = read(
        with_head(
            """\
config:
  sandbox.checkpoint.auto-create-on: [on_error, before_tool_execute]
  max_checkpoints_per_plan: 20
  sandbox.isolate: off
  sandbox.include-ignored: false
  sandbox.writable: [~/.cache, /srv]
"""
        )
    )
    assert plan.config == {
        "sandbox.checkpoint.auto-create-on": ["on_tool_write", "on_error"],
        "sandbox.checkpoint.max-checkpoints-per-plan": 20,
        "sandbox.isolate": "off",
        "sandbox.include-ignored": False,
        "sandbox.writable": ["~/.cache", "/srv"],
    }


@pytest.mark.parametrize(
    ("line", "where", "reason", "nearest"),
    [
        (
            "sandbox.stratgy: auto",
            (2, 3, "config.sandbox.stratgy"),
            "there is no setting 'sandbox.stratgy'",
            "sandbox.strategy",
        ),
        ("zzz: auto", (2, 3, "config.zzz"), "there is no setting 'zzz'", None),
        (
            "core.format: json",
            (2, 3, "config.core.format"),
            "core.format is not for plan files; it is a setting of the project",
            None,
        ),
        (
            "sandbox.cleanup: on_aply",
            (2, 20, "config.sandbox.cleanup"),
            "'on_aply' is not an allowed word (allowed: on_apply, on_terminal, manual)",
            "on_apply",
        ),
        (
            "plan.max-parallel: 51",
            (2, 22, "config.plan.max-parallel"),
            "51 is out of range (allowed: a whole number from 1 to 50)",
            None,
        ),
        (
            "sandbox.checkpoint.auto-create-on: [on_error, on_eror]",
            (2, 49, "config.sandbox.checkpoint.auto-create-on[1]"),
            "there is no trigger 'on_eror'",
            "on_error",
        ),
        (
            "sandbox.checkpoint.auto-create-on: on_error",
            (2, 38, "config.sandbox.checkpoint.auto-create-on"),
            "'on_error' is not a list",
            None,
        ),
        (
            "plan.max-parallel: [5]",
            (2, 22, "config.plan.max-parallel"),
            "[5] is not a whole number",
            None,
        ),
        (
            "max_checkpoints_per_plan: 5\n  sandbox.checkpoint.max-checkpoints-per-plan: 5",
            (3, 3, "config.sandbox.checkpoint.max-checkpoints-per-plan"),
            "sandbox.checkpoint.max-checkpoints-per-plan is set twice, once under its short name",
            None,
        ),
    ],
)
def test_a_wrong_setting_is_refused_at_its_place(
    line: str, where: tuple[int, int, str], reason: str, nearest: str | None
) -> None:
    error = refused(with_head(f"config:\n  {line}"))
    found_line, column, path = where
    assert error.facts["path"] == path
    assert error.facts["line"] == found_line
    assert str(error.facts["reason"]).startswith(reason)
    assert error.facts.get("nearest") == nearest
    assert error.facts["column"] == column


# --- rollback policy and variables -------------------------------------------------------------------------


def test_the_rollback_policy_is_read() -> None:
    plan = read(with_head("rollback_policy: {enabled: false, require_checkpoints: False, on_failure: keep}"))
    assert plan.rollback_policy == RollbackPolicy(
        enabled=False, require_checkpoints=False, on_failure=OnFailure.KEEP
    )


@pytest.mark.parametrize(
    ("policy", "path", "nearest"),
    [
        ("{enabled: yes}", "rollback_policy.enabled", "true"),
        ("{enabled: Off}", "rollback_policy.enabled", "false"),
        ("{enabled: maybe}", "rollback_policy.enabled", None),
        ("{enabled: [true]}", "rollback_policy.enabled", None),
        ("{on_failure: last_checkpiont}", "rollback_policy.on_failure", "last_checkpoint"),
        ("{on_failure: explode}", "rollback_policy.on_failure", None),
        ("{on-failure: keep}", "rollback_policy.on-failure", "on_failure"),
    ],
)
def test_a_wrong_policy_is_refused(policy: str, path: str, nearest: str | None) -> None:
    error = refused(with_head(f"rollback_policy: {policy}"))
    assert error.facts["path"] == path
    assert error.facts.get("nearest") == nearest


@pytest.mark.parametrize(
    ("variables", "path", "reason"),
    [
        ("{a b: x}", "variables['a b']", "'a b' cannot be a variable's name"),
        ("{'': x}", "variables['']", "'' cannot be a variable's name"),
        ("{" + "a" * 201 + ": x}", None, "cannot be a variable's name"),
        ("{guidance: x}", "variables.guidance", "a variable cannot be called guidance"),
        ("{steps: x}", "variables.steps", "a variable cannot be called steps"),
        ("{a: [x]}", "variables.a", "expected text, found a list"),
        ("{a: null}", "variables.a", "expected text, found nothing"),
        (
            "{a-b: x, A_B: y}",
            "variables.A_B",
            "'a-b' and 'A_B' would share the environment variable MULLIGAN_VAR_A_B",
        ),
        (
            "{a: x, a_file: y}",
            "variables.a_file",
            "'a' and 'a_file' would share the environment variable MULLIGAN_VAR_A_FILE; rename one",
        ),
        (
            "{a_file: x, a: y}",
            "variables.a",
            "'a_file' and 'a' would share the environment variable MULLIGAN_VAR_A_FILE; rename one",
        ),
    ],
)
def test_a_variable_that_cannot_be_is_refused(variables: str, path: str | None, reason: str) -> None:
    error = refused(with_head(f"variables: {variables}"))
    assert path is None or error.facts["path"] == path
    assert reason in str(error.facts["reason"])
