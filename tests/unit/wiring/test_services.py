"""The services of a project: each can be built, from what its constructor names."""

import inspect
from pathlib import Path

import pytest
from msgspec import Struct

from mulligan.wiring.adapters import Adapters
from mulligan.wiring.services import Lazy, Services
from tests.faults.projects import services_in

SERVICES = {name: part.made for name, part in vars(Services).items() if isinstance(part, Lazy)}


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_can_be_built_and_is_built_once(tmp_path: Path, name: str) -> None:
    services = services_in(tmp_path)
    built = getattr(services, name)
    assert type(built).__name__ == SERVICES[name] == Services.__annotations__.get(name, SERVICES[name])
    assert getattr(services, name) is built
    services.adapters.close()


@pytest.mark.parametrize("name", SERVICES)
def test_what_a_constructor_gets_is_of_the_class_that_it_names(tmp_path: Path, name: str) -> None:
    services = services_in(tmp_path)
    made = type(getattr(services, name))
    if issubclass(made, Struct):
        wanted = {field: made.__annotations__[field] for field in made.__struct_fields__}
    else:
        parameters = list(inspect.signature(made.__init__).parameters.values())[1:]
        assert all(parameter.kind is inspect.Parameter.KEYWORD_ONLY for parameter in parameters)
        wanted = {parameter.name: parameter.annotation for parameter in parameters}
    for parameter, annotation in wanted.items():
        if parameter in SERVICES:
            assert getattr(annotation, "__name__", annotation) == SERVICES[parameter]
        else:
            assert hasattr(Services, parameter) or hasattr(services.adapters, parameter)
    services.adapters.close()


def test_a_service_that_is_replaced_stays(tmp_path: Path) -> None:
    services = services_in(tmp_path)
    services.queries = queries = services_in(tmp_path).queries
    assert services.queries is queries


def test_apart_are_the_same_project_and_other_adapters(tmp_path: Path) -> None:
    services = services_in(tmp_path)
    other = services.apart(None)
    assert other.adapters.project == services.adapters.project
    assert isinstance(other.adapters, Adapters)
    assert other.adapters is not services.adapters
