"""Which fields of our kinds the code reads: found in its syntax trees, nothing is run.

Expressions get a set of possible structs: from annotations, from `.spec` in the folder that serves
a kind, from fields of known structs, through assignments and loops. A struct remembers the field
that holds it, so that `database.secretRef.key` and `bootstrap.adminPasswordSecretRef.key` differ.
A struct that is passed on (argument, result, element) counts as read where functions that take
its class read it.
"""

import ast
import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import inspect

SOURCE = Path(__file__).resolve().parents[2] / "src" / "cobaltcore"
FOLDERS = ("agents", "api", "deploy", "engine", "operators", "services")
BUILDS = ("to_builtins",)
"""Functions that read a struct with everything below it."""
PASSES = ("dict", "enumerate", "iter", "list", "next", "reversed", "set", "sorted", "tuple", "zip")
"""Functions whose result holds their arguments."""


class Value(NamedTuple):
    """A struct, and the field (`Class.field`) that it is the value of; empty: any."""

    struct: type[msgspec.Struct]
    held_by: str = ""


Values = frozenset[Value]
NOTHING: Values = frozenset()


def structs_in(info: inspect.Type) -> Iterator[type[msgspec.Struct]]:
    """Structs of a type, through lists, maps and unions."""
    match info:
        case inspect.StructType():
            yield info.cls
        case inspect.Metadata(type=inner):
            yield from structs_in(inner)
        case inspect.UnionType(types=members):
            for member in members:
                yield from structs_in(member)
        case inspect.ListType(item_type=item):
            yield from structs_in(item)
        case inspect.DictType(value_type=value):
            yield from structs_in(value)


def holder(struct: type, name: str) -> str:
    """A field, named by the class that declares it."""
    declaring = next(
        each for each in struct.__mro__ if name in vars(each).get("__annotations__", {})
    )
    return f"{declaring.__name__}.{name}"


def wire_name(struct: type[msgspec.Struct], name: str) -> str:
    """A field as YAML spells it."""
    return struct.__struct_encode_fields__[struct.__struct_fields__.index(name)]


@functools.cache
def fields(struct: type[msgspec.Struct]) -> dict[str, list[type[msgspec.Struct]]]:
    """Python names of the fields, with the structs that each may hold."""
    info = inspect.type_info(struct)
    assert isinstance(info, inspect.StructType)
    return {each.name: list(structs_in(each.type)) for each in info.fields}


@dataclass
class Reads:
    """What was seen in the code."""

    marks: set[tuple[str, type, str]] = field(default_factory=set)
    """Holder, struct and field of every read."""
    passed_on: set[str] = field(default_factory=set)
    """Fields whose struct is passed on."""
    built: set[Value] = field(default_factory=set)
    """Structs that are read with everything below them."""

    def covers(self, value: Value, name: str) -> bool:
        """Whether a field of a struct is read, in the place where this struct is."""
        family = value.struct.__mro__
        if any((value.held_by, each, name) in self.marks for each in family):
            return True
        return value.held_by in self.passed_on and any(
            read == name and struct in family for _, struct, read in self.marks
        )

    def builds(self, value: Value) -> bool:
        """Whether a struct is read as a whole."""
        return value in self.built or (
            value.held_by in self.passed_on
            and any(each.struct in value.struct.__mro__ for each in self.built)
        )

    def unread(self, spec: type[msgspec.Struct]) -> Iterator[str]:
        """Fields below a spec that nothing reads, as `Class.field` with the path that leads there."""
        yield from self._unread(Value(spec), "spec")

    def _unread(self, value: Value, path: str) -> Iterator[str]:
        if self.builds(value):
            return
        for name, inner in fields(value.struct).items():
            if not self.covers(value, name):
                yield f"{path}.{wire_name(value.struct, name)}"
                continue
            for each in inner:
                held = Value(each, holder(value.struct, name))
                yield from self._unread(held, f"{path}.{wire_name(value.struct, name)}")


class Code:
    """All modules, and what the annotations in them say."""

    def __init__(
        self,
        structs: Iterable[type[msgspec.Struct]],
        specs: Mapping[str, Any],
        trees: Mapping[Path, ast.Module] | None = None,
        settings: Mapping[str, type[msgspec.Struct]] | None = None,
    ) -> None:
        self.by_name: dict[str, set[type[msgspec.Struct]]] = {}
        for each in structs:
            self.by_name.setdefault(each.__name__, set()).add(each)
        self.specs = specs
        """Structs that `.spec` may be, by folder (`services/nova`); "" for all others."""
        self.settings = settings or {}
        """Blocks of `spec.services` that `.settings` may be, by folder."""
        self.trees = trees or dict(modules())
        self.results: dict[str, dict[str, Values]] = {}
        """Annotated results of functions and types of attributes: folder to name to structs."""
        for path, tree in self.trees.items():
            if folder(path) != "api":
                self._add_results(self.results.setdefault(folder(path), {}), tree)

    def _add_results(self, known: dict[str, Values], tree: ast.Module) -> None:
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                name, found = node.name, self.annotated(node.returns)
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                name, found = node.target.id, self.annotated(node.annotation)
            else:
                continue
            if found:
                known[name] = known.get(name, NOTHING) | found

    def annotated(self, annotation: ast.expr | None) -> Values:
        """Our structs that an annotation names."""
        if annotation is None:
            return NOTHING
        if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
            annotation = ast.parse(annotation.value, mode="eval").body
        if isinstance(annotation, ast.Subscript) and _is_carrier(annotation.value):
            return NOTHING
        names = {each.id for each in ast.walk(annotation) if isinstance(each, ast.Name)}
        names |= {each.attr for each in ast.walk(annotation) if isinstance(each, ast.Attribute)}
        return frozenset(Value(s) for name in names for s in self.by_name.get(name, ()))

    def named(self, path: Path, name: str) -> Values:
        """What a function or attribute of this name gives, in this folder or in the engine."""
        for where in (folder(path), "engine"):
            if found := self.results.get(where, {}).get(name):
                return found
        return NOTHING

    def spec(self, path: Path) -> Values:
        """What `.spec` is in a module."""
        found = self.specs.get(folder(path), self.specs[""])
        return frozenset(map(Value, found))

    def reads(self) -> Reads:
        """Everything that the code reads."""
        seen = Reads()
        for path, tree in self.trees.items():
            _Module(self, path, seen).visit(tree)
        return seen


def _is_carrier(generic: ast.expr) -> bool:
    """Whether a generic class has the struct as its `.spec` or `.settings`."""
    return isinstance(generic, ast.Name) and generic.id.endswith(("Scope", "Parent"))


def folder(path: Path) -> str:
    """The part of the tree that a module belongs to, for example `services/nova`."""
    parts = path.relative_to(SOURCE).parts
    return "/".join(parts[: 2 if parts[0] in ("operators", "services") else 1])


def modules() -> Iterator[tuple[Path, ast.Module]]:
    """The modules that may read and write objects of our kinds."""
    for name in FOLDERS:
        for path in sorted((SOURCE / name).rglob("*.py")):
            if "foreign" not in path.parts:
                yield path, ast.parse(path.read_text())


class _Module(ast.NodeVisitor):
    """Walks one module; `known` holds what the names of the current function may be."""

    def __init__(self, code: Code, path: Path, seen: Reads) -> None:
        self.code, self.path, self.seen = code, path, seen
        self.known: dict[str, Values] = {}
        self.own: Values = NOTHING
        self.texts: set[str] = set()

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        before, self.own = self.own, frozenset(map(Value, self.code.by_name.get(node.name, ())))
        self.generic_visit(node)
        self.own = before

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        before, self.known = self.known, dict(self.known)
        self._arguments(node.args)
        self._texts(node)
        for each in node.body:
            self.visit(each)
        self.known = before

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815

    def visit_Lambda(self, node: ast.Lambda) -> None:
        before, self.known = self.known, dict(self.known)
        self._arguments(node.args)
        self._pass_on(self.of(node.body))
        self.known = before

    def _arguments(self, arguments: ast.arguments) -> None:
        starred = (arguments.vararg, arguments.kwarg)
        listed = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        for each in (*listed, *(each for each in starred if each is not None)):
            found = self.code.annotated(each.annotation)
            untyped = each.annotation is None or ast.unparse(each.annotation) == "Any"
            if untyped and each.arg == "spec":
                found = self.code.spec(self.path)
            if each.arg == "self":
                found = self.own
            self.known[each.arg] = found

    def _texts(self, node: ast.AST) -> None:
        """Texts of a function that reads attributes whose names are in variables."""
        self.texts = {
            each.value
            for each in ast.walk(node)
            if isinstance(each, ast.Constant) and isinstance(each.value, str)
        }

    def visit_Assign(self, node: ast.Assign) -> None:
        found = self.of(node.value)
        for target in node.targets:
            self._bind(target, node.value, found)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        found = self.of(node.value) if node.value else NOTHING
        self._bind(node.target, node.value, found or self.code.annotated(node.annotation))

    def _bind(self, target: ast.expr, value: ast.expr | None, found: Values) -> None:
        if isinstance(target, ast.Tuple | ast.List):
            each = value.elts if isinstance(value, ast.Tuple) else [None] * len(target.elts)
            for inner, part in zip(target.elts, each, strict=False):
                self._bind(inner, part, self.of(part) if part is not None else found)
        elif isinstance(target, ast.Starred):
            self._bind(target.value, value, found)
        elif isinstance(target, ast.Name):
            self.known[target.id] = self.known.get(target.id, NOTHING) | found
        else:
            self._pass_on(found)

    def visit_For(self, node: ast.For) -> None:
        self._bind(node.target, None, self.of(node.iter))
        for each in (*node.body, *node.orelse):
            self.visit(each)

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None:
            self._pass_on(self.of(node.value))

    def visit_Expr(self, node: ast.Expr) -> None:
        self.of(node.value)

    def generic_visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.expr):
            self.of(node)
        else:
            super().generic_visit(node)

    def of(self, node: ast.expr | None) -> Values:
        """What an expression may be; marks what it reads."""
        if node is None:
            return NOTHING
        known = getattr(self, f"_of_{type(node).__name__.lower()}", self._of_parts)
        found: Values = known(node)
        return found

    def _of_parts(self, node: ast.AST) -> Values:
        self._elements(node)
        return NOTHING

    def _elements(self, node: ast.AST) -> Values:
        parts = (each for each in ast.iter_child_nodes(node) if isinstance(each, ast.expr))
        return frozenset().union(*map(self.of, parts))

    _of_boolop = _of_tuple = _of_list = _of_set = _of_dict = _elements
    _of_starred = _of_await = _of_formattedvalue = _elements

    def _of_name(self, node: ast.Name) -> Values:
        return self.known.get(node.id, NOTHING)

    def _of_ifexp(self, node: ast.IfExp) -> Values:
        self.of(node.test)
        return self.of(node.body) | self.of(node.orelse)

    def _of_namedexpr(self, node: ast.NamedExpr) -> Values:
        found = self.of(node.value)
        self._bind(node.target, node.value, found)
        return found

    def _of_subscript(self, node: ast.Subscript) -> Values:
        self.of(node.slice)
        return self.of(node.value)

    def _of_lambda(self, node: ast.Lambda) -> Values:
        self.visit_Lambda(node)
        return NOTHING

    def _of_yield(self, node: ast.Yield | ast.YieldFrom) -> Values:
        self._pass_on(self.of(node.value))
        return NOTHING

    _of_yieldfrom = _of_yield

    def _of_attribute(self, node: ast.Attribute) -> Values:
        base = self.of(node.value)
        if base:
            return self._read(base, node.attr)
        if node.attr == "spec":
            return self.code.named(self.path, "spec") | self.code.spec(self.path)
        if node.attr == "settings" and folder(self.path) in self.code.settings:
            return frozenset({Value(self.code.settings[folder(self.path)])})
        return self.code.named(self.path, node.attr)

    def _read(self, base: Values, name: str) -> Values:
        found: set[Value] = set()
        for value in base:
            held = fields(value.struct)
            if name in held:
                self.seen.marks.add((value.held_by, value.struct, name))
                where = holder(value.struct, name)
                found |= {Value(each, where) for each in held[name]}
            else:
                self._pass_on(frozenset({value}))
        return frozenset(found)

    def _of_call(self, node: ast.Call) -> Values:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        name = node.func.id if isinstance(node.func, ast.Name) else name
        values = [*node.args, *(each.value for each in node.keywords)]
        if name == "getattr":
            return self._getattr(*node.args[:2])
        arguments: Values = frozenset().union(*map(self.of, values))
        if name in PASSES:
            return arguments
        if name in BUILDS:
            self.seen.built |= arguments
        self._pass_on(arguments)
        if name == "replace":
            return arguments
        if isinstance(node.func, ast.Attribute) and name in ("values", "items", "get"):
            return self.of(node.func.value)
        if isinstance(node.func, ast.Attribute):
            self.of(node.func)
        created = frozenset(map(Value, self.code.by_name.get(name, ())))
        return created or self.code.named(self.path, name) or arguments

    def _getattr(self, base: ast.expr, name: ast.expr) -> Values:
        """A name in a variable is one of the function's texts, or any field with a struct."""
        if isinstance(name, ast.Constant):
            return self._of_attribute(ast.Attribute(base, str(name.value), ast.Load()))
        pattern = ""
        if isinstance(name, ast.JoinedStr):
            parts = [p.value if isinstance(p, ast.Constant) else None for p in name.values]
            pattern = "".join(".*" if part is None else re.escape(str(part)) for part in parts)
        found: Values = NOTHING
        for value in self.of(base):
            for each, structs in fields(value.struct).items():
                if re.fullmatch(pattern, each) or each in self.texts or (structs and not pattern):
                    found |= self._read(frozenset({value}), each)
        return found

    def _of_listcomp(
        self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp
    ) -> Values:
        before, self.known = self.known, dict(self.known)
        for each in node.generators:
            self._bind(each.target, None, self.of(each.iter))
            for condition in each.ifs:
                self.of(condition)
        if isinstance(node, ast.DictComp):
            self.of(node.key)
            found = self.of(node.value)
        else:
            found = self.of(node.elt)
        self.known = before
        return found

    _of_setcomp = _of_generatorexp = _of_dictcomp = _of_listcomp

    def _pass_on(self, values: Values) -> None:
        self.seen.passed_on |= {each.held_by for each in values}
