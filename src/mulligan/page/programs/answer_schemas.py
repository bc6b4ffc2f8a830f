"""JSON schemas of what operations return, made of their types; the values are those that `api/document.py` encodes."""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from enum import Enum
from functools import lru_cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, NewType, Union, get_args, get_origin, get_type_hints

from msgspec import Struct

Schema = dict[str, Any]
_PLAIN: Mapping[Any, Schema] = {
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    bytes: {"type": "string"},
    Path: {"type": "string"},
    datetime: {"type": "string", "format": "date-time"},
    NoneType: {"type": "null"},
}


class AnswerSchemas:
    """Schemas that refer to each other by the names of their types."""

    def __init__(self, reference: str) -> None:
        """`reference` is the place of a type, with its name as `{name}`."""
        self._reference = reference
        self.components: dict[str, Schema] = {}

    def returned_by(self, operation: Callable[..., Any]) -> Schema:
        """Return the schema of what an operation returns; of several values the first."""
        hints = get_type_hints(operation, _names_in(operation.__module__))
        kind = hints["return"]
        return self.of(get_args(kind)[0] if get_origin(kind) is tuple and ... not in get_args(kind) else kind)

    def of(self, kind: Any) -> Schema:
        """Return the schema of a type."""
        if kind in _PLAIN:
            return _PLAIN[kind]
        if isinstance(kind, NewType):
            return self.of(kind.__supertype__)
        origin, arguments = get_origin(kind), get_args(kind)
        if origin is Literal:
            return {"enum": list(arguments)}
        if origin in (Union, UnionType):
            return {"anyOf": [self.of(each) for each in arguments]}
        if isinstance(origin, type) and issubclass(origin, Mapping):
            return {"type": "object", "additionalProperties": self.of(arguments[1])}
        if isinstance(origin, type) and issubclass(origin, Sequence):
            return {"type": "array", "items": self.of(arguments[0])}
        if isinstance(kind, type) and issubclass(kind, Enum):
            return {"type": "string", "enum": [each.value for each in kind]}
        if isinstance(kind, type) and issubclass(kind, Struct):
            return self._struct(kind)
        if isinstance(kind, type) and issubclass(kind, str):
            return {"type": "string"}
        return {}  # any JSON value

    def _struct(self, kind: type[Struct]) -> Schema:
        name = kind.__name__
        if name not in self.components:
            self.components[name] = {}  # a type may hold itself
            names = dict[str, Any]()
            for base in reversed(kind.__mro__):
                if base.__module__.startswith("mulligan."):
                    names |= _names_in(base.__module__)
            hints = get_type_hints(kind, names)
            fields = kind.__struct_fields__
            self.components[name] = {
                "type": "object",
                "description": inspect.getdoc(kind) or "",
                "properties": {field: self.of(hints[field]) for field in fields},
                "required": list(fields),
            }
        return {"$ref": self._reference.format(name=name)}


@lru_cache(maxsize=256)
def _names_in(module: str) -> dict[str, Any]:
    """Return the names of a module, with those that it imports for annotations only."""
    loaded = sys.modules[module]
    names: dict[str, Any] = {"Json": Any, **vars(loaded)}
    for node in ast.parse(inspect.getsource(loaded)).body:
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            for line in node.body:
                if isinstance(line, ast.ImportFrom) and line.module:
                    source = importlib.import_module(line.module)
                    names |= {each.asname or each.name: getattr(source, each.name) for each in line.names}
    return names
