"""Text of kinds and fields, read from the docstrings in their source. Pure: no I/O of its own."""

import ast
import functools
import inspect
import sys
from types import ModuleType


def of_class(cls: type) -> str:
    """The class docstring as one paragraph; empty if it has none of its own."""
    return _one_paragraph(vars(cls).get("__doc__") or "")


def of_field(cls: type, field: str) -> str:
    """The docstring below a field, looked up through the base classes."""
    for base in cls.__mro__:
        module = sys.modules.get(base.__module__)
        if module is None or base.__module__ == "builtins":
            continue
        text = _fields_of_module(module).get(base.__qualname__, {}).get(field)
        if text:
            return text
    return ""


@functools.cache
def _fields_of_module(module: ModuleType) -> dict[str, dict[str, str]]:
    try:
        source = inspect.getsource(module)
    except (OSError, TypeError):  # built-in or compiled
        return {}
    found: dict[str, dict[str, str]] = {}
    _collect(ast.parse(source).body, prefix="", found=found)
    return found


def _collect(body: list[ast.stmt], *, prefix: str, found: dict[str, dict[str, str]]) -> None:
    for node in body:
        if isinstance(node, ast.ClassDef):
            name = f"{prefix}{node.name}"
            found[name] = _documented_fields(node)
            _collect(node.body, prefix=f"{name}.", found=found)
        elif isinstance(node, ast.FunctionDef):
            _collect(node.body, prefix=f"{prefix}{node.name}.<locals>.", found=found)


def _documented_fields(node: ast.ClassDef) -> dict[str, str]:
    documented = {}
    for statement, following in zip(node.body, node.body[1:], strict=False):
        if (
            isinstance(statement, ast.AnnAssign)
            and isinstance(statement.target, ast.Name)
            and isinstance(following, ast.Expr)
            and isinstance(following.value, ast.Constant)
            and isinstance(following.value.value, str)
        ):
            documented[statement.target.id] = _one_paragraph(following.value.value)
    return documented


def _one_paragraph(text: str) -> str:
    return " ".join(text.split())
