"""A plan with children is applied as a whole; a child never by itself."""

import pytest

from mulligan.domain.plans.plan import State
from mulligan.errors import PlanNotReady
from tests.subplans.families import Family, children, shell


def test_what_children_made_reaches_the_real_folder_with_their_parent(family: Family) -> None:
    parts = {name: [shell(f"echo {name} > {name}")] for name in "ab"}
    family.project().execute(family.write(children(parts)))
    sandboxes = [family.sandbox(name) for name in ("p", "a", "b")]
    with pytest.raises(PlanNotReady, match="child plan"):
        family.project().apply("a")

    status, _ = family.project().apply("p")

    assert status.state is State.APPLIED
    assert (family.real / "a").read_text() == "a\n"
    assert (family.real / "b").read_text() == "b\n"
    assert not any(path.exists() for path in sandboxes)
    assert family.states() == {"p": "apply/applied", "a": "execute/complete", "b": "execute/complete"}


def test_after_an_unapply_nothing_but_a_correction_needs_the_sandboxes_of_children(family: Family) -> None:
    parts = {name: [shell(f"echo {name} > {name}")] for name in "ab"}
    family.project().execute(family.write(children(parts)))
    family.project().apply("p")
    family.project().unapply("p")
    assert not (family.real / "a").exists()
    assert (family.sandbox("p") / "b").read_text() == "b\n"
    status, _ = family.project().apply("p")
    assert (status.state, (family.real / "a").read_text()) == (State.APPLIED, "a\n")

    family.project().unapply("p")
    family.project().rollback("p", "first")
    assert not (family.sandbox("p") / "a").exists()
    family.project().resume("p")  # runs the children again, in sandboxes of their own
    family.project().apply("p")
    assert ((family.real / "a").read_text(), (family.real / "b").read_text()) == ("a\n", "b\n")


def test_unresolved_conflicts_are_not_applied(family: Family) -> None:
    parts = {name: [shell(f"echo {name} > text")] for name in "ab"}
    family.project().execute(family.write(children(parts)))
    with pytest.raises(PlanNotReady):
        family.project().apply("p")
