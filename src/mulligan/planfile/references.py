"""Names that `${{ … }}` may use at one place of a plan file, checked before anything runs."""

from collections import ChainMap
from collections.abc import Collection, Iterable

from msgspec import Struct, field

from mulligan.domain.plans.interpolation import (
    OPENING,
    Reference,
    ReferenceKind,
    file_variable,
    is_variable_name,
    output_of,
    references,
    variable,
)
from mulligan.domain.text.names import LONGEST_NAME
from mulligan.errors import ReferenceInvalid
from mulligan.planfile.document_value import Value
from mulligan.planfile.yaml_document import Entries, Items, shorten

_TAKEN = ("guidance", "steps")  # words that mean something else in a reference


class Names(Struct, eq=False):
    """The variables of a plan and the steps that come before, those of the plans around it included.

    Grows while the steps of a plan are read in order.
    """

    variables: dict[str, None] = field(default_factory=dict[str, None])
    has_output: ChainMap[str, bool] = field(default_factory=ChainMap[str, bool])  # by step
    taken: ChainMap[str, Reference] = field(
        default_factory=ChainMap[str, Reference]
    )  # by environment variable
    of_this_plan: Collection[str] = ()  # steps

    @staticmethod
    def known(variables: Iterable[str], steps: Iterable[str]) -> "Names":
        """Return the names of a plan that was read before: these variables, and steps that came to an end."""
        names = Names(dict.fromkeys(variables), ChainMap(dict.fromkeys(steps, True)))
        for reference in (*map(variable, variables), *map(output_of, steps)):
            name = reference.environment_name
            names.taken |= {name: reference, file_variable(name): reference}
        return names

    def inside(self, steps: Collection[str]) -> "Names":
        """Return the names for the steps of a plan, which see those before the step that holds them."""
        return Names(self.variables, self.has_output.new_child(), self.taken.new_child(), steps)

    def add_variable(self, key: Value) -> str:
        """Take up a variable of the plan."""
        name = key.key_text
        if not is_variable_name(name) or len(name) > LONGEST_NAME:
            raise key.wrong(f"{shorten(name)} cannot be a variable's name: letters, digits, - and _ only")
        if name in _TAKEN:
            raise key.wrong(f"a variable cannot be called {name}, which means something else in `{OPENING}`")
        self._take(variable(name), key)
        self.variables[name] = None
        return name

    def add_step(self, step: str, place: Value, *, has_output: bool) -> None:
        """Take up a step that was read: the ones after it may name it."""
        if has_output:
            self._take(output_of(step), place)
        self.has_output[step] = has_output

    def _take(self, reference: Reference, place: Value) -> None:
        """Keep for the reference the environment variables that its value may come in."""
        name = reference.environment_name
        for wanted in (name, file_variable(name)):
            other = self.taken.get(wanted)
            if other is not None and other != reference:
                both = f"{shorten(other.name)} and {shorten(reference.name)}"
                raise place.wrong(f"{both} would share the environment variable {wanted}; rename one")
            self.taken[wanted] = reference

    def check_all(self, value: Value) -> None:
        """Check every reference in a value and the values inside it."""
        if isinstance(value.node, Items):
            for item in value.items():
                self.check_all(item)
        elif isinstance(value.node, Entries):
            for _, entry in value.entries():
                self.check_all(entry)
        else:
            self.check(value)

    def check(self, value: Value) -> Iterable[Reference]:
        """Give every reference in a text, all of them known."""
        try:
            found = list(references(value.key_text))
        except ReferenceInvalid as error:
            raise value.wrong(
                f"{error.text}; to mean `{OPENING}` as it is, put the text into a variable"
            ) from None
        for reference in found:
            if reference.kind is ReferenceKind.VARIABLE and reference.name not in self.variables:
                raise value.unknown("variable", reference.name, [*self.variables, "guidance"])
            if reference.kind is ReferenceKind.OUTPUT:
                self._check_step(value, reference.name)
        return found

    def _check_step(self, value: Value, step: str) -> None:
        has_output = self.has_output.get(step)
        if has_output is None and step in self.of_this_plan:
            raise value.wrong(f"the step {shorten(step)} does not come before this one")
        if has_output is None:
            raise value.unknown("step", step, self.has_output)
        if not has_output:
            raise value.wrong(f"the step {shorten(step)} has no output; only tools and decisions have")
