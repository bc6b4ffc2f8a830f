"""Where resources may lie."""

import pytest

from mulligan.domain.resources.placement import location_problem, location_within, overlap, stays_inside
from mulligan.domain.resources.resource import Resource, ResourceType

GIT, FOLDER, DATABASE = ResourceType.GIT_CHECKOUT, ResourceType.FS_DIRECTORY, ResourceType.SQLITE


def at(location: str, kind: ResourceType = FOLDER, name: str = "it") -> Resource:
    return Resource(name=name, type=kind, location=location, strategy=None, from_revision=None, create=False)


@pytest.mark.parametrize(
    ("location", "inside"),
    [
        (".", "."),
        ("./a/../b/", "b"),
        ("/home/user/project", "."),
        ("/home/user/project/a", "a"),
        ("../project/a", "a"),
        ("..", None),
        ("a/../../b", None),
        ("/home/user/project2", None),
        ("/", None),
        ("..a", "..a"),
    ],
)
def test_a_location_is_made_relative_to_the_project(location: str, inside: str | None) -> None:
    assert location_within("/home/user/project", location) == inside


@pytest.mark.parametrize("path", ["a", "a/../b", ".", "..a/b", "a/.."])
def test_paths_that_stay_inside(path: str) -> None:
    assert stays_inside(path)


@pytest.mark.parametrize("path", ["..", "../a", "a/../../b", "/a", "/", "//a"])
def test_paths_that_lead_outside(path: str) -> None:
    assert not stays_inside(path)


@pytest.mark.parametrize("location", [".mulligan", ".mulligan/sandboxes"])
def test_the_project_home_is_no_resource(location: str) -> None:
    assert location_problem(at(location)) == "is the project home, where mulligan keeps its own files"


def test_a_database_is_a_file() -> None:
    assert location_problem(at(".", DATABASE)) == "is the project folder; a database is a file"
    assert location_problem(at(".", GIT)) is None
    assert location_problem(at(".mulligans")) is None


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (at("a"), at("b")),
        (at("a"), at("ab")),
        (at(".", GIT), at("var/app.db", DATABASE)),
        (at("var/app.db", DATABASE), at("var")),
        (at("a.db", DATABASE), at("b.db", DATABASE)),
    ],
)
def test_resources_that_do_not_get_in_each_others_way(first: Resource, second: Resource) -> None:
    assert overlap(first, second) is None
    assert overlap(second, first) is None


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (at("a"), at("a", DATABASE)),
        (at("."), at("a", GIT)),
        (at("a"), at("a/b/c")),
        (at("a.db", DATABASE), at("a.db/b")),
        (at("a.db", DATABASE), at("a.db/b", DATABASE)),
        (at("a.db", DATABASE), at("a.db-wal", DATABASE)),
        (at("a.db", DATABASE), at("a.db-journal")),
    ],
)
def test_resources_that_overlap(first: Resource, second: Resource) -> None:
    assert overlap(first, second) is not None
    assert overlap(second, first) is not None
