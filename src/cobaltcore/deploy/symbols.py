"""Objects with open places: one definition that is rendered here, and by Helm. Pure.

A place is text («name argument») within a string, a `Value` as a field, or a `When` in a list. The
table of functions has each of them in both languages; a test compares what both render.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

from cobaltcore.runtime.meta import Desired

PLACE = re.compile("«([a-z]+) ([^»]*)»")


@dataclass(frozen=True, slots=True)
class Scope:
    """What places are filled with."""

    namespace: str
    values: Mapping[str, Any]

    def at(self, path: str) -> Any:
        """The value of a path, for example `image.tag`."""
        found: Any = self.values
        for key in path.split("."):
            found = found[key]
        return found

    def holds(self, condition: str) -> bool:
        """Whether a path has a value that is not empty; with `!` whether it has not."""
        path = condition.removeprefix("!")
        return bool(self.at(path)) == (path == condition)


@dataclass(frozen=True, slots=True)
class Value:
    """A field whose content is a value."""

    path: str
    optional: bool = False
    """Leave the field out if the value is empty."""


@dataclass(frozen=True, slots=True)
class When:
    """An item of a list that is there on a condition."""

    condition: str
    item: str


@dataclass(frozen=True, slots=True)
class Part:
    """An object that exists if all conditions hold."""

    desired: Desired
    conditions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Function:
    """A place in a string: as a template of Helm, with the argument as %s, and as a function."""

    template: str
    evaluate: Callable[[Scope, str], str]


def _image(scope: Scope, _: str) -> str:
    image = scope.at("image")
    suffix = f"@{image['digest']}" if image["digest"] else f":{image['tag']}"
    return f"{image['repository']}{suffix}"


def _cel(scope: Scope, path: str, suffix: str = "") -> str:
    """A list in CEL; the schema of values keeps quotes out of it."""
    return "[" + ", ".join(f"'{each}{suffix}'" for each in scope.at(path)) + "]"


_NOTHING = "none: nothing is allowed"

FUNCTIONS: Mapping[str, Function] = {
    "namespace": Function("{{ $.Release.Namespace }}", lambda scope, _: scope.namespace),
    "value": Function("{{ $v.%s }}", lambda scope, path: str(scope.at(path))),
    "image": Function(
        "{{ $v.image.repository }}{{ if $v.image.digest }}@{{ $v.image.digest }}"
        "{{ else }}:{{ $v.image.tag }}{{ end }}",
        _image,
    ),
    "account": Function(
        '{{ $v.serviceAccount.name | default "%s" }}',
        lambda scope, name: scope.at("serviceAccount.name") or name,
    ),
    "list": Function('{{ join "," $v.%s }}', lambda scope, path: ",".join(scope.at(path))),
    "words": Function(
        f'{{{{ join " or " $v.%s | default "{_NOTHING}" }}}}',
        lambda scope, path: " or ".join(scope.at(path)) or _NOTHING,
    ),
    "cel": Function(
        "[{{ range $i, $each := $v.%s }}{{ if $i }}, {{ end }}'{{ $each }}'{{ end }}]",
        _cel,
    ),
    "celpaths": Function(
        "[{{ range $i, $each := $v.%s }}{{ if $i }}, {{ end }}'{{ $each }}/'{{ end }}]",
        lambda scope, path: _cel(scope, path, "/"),
    ),
}

NAMESPACE = "«namespace »"
WATCHED = "«value watchNamespace»"
IMAGE = "«image »"


def place(function: str, argument: str) -> str:
    """The text of a place in a string."""
    return f"«{function} {argument}»"


def render(parts: Iterable[Part], scope: Scope) -> Iterator[Desired]:
    """The objects that exist with these values."""
    for part in parts:
        if all(map(scope.holds, part.conditions)):
            yield part.desired._replace(body=evaluate(part.desired.body, scope))


def evaluate(node: Any, scope: Scope) -> Any:
    """Fill the places of a part of an object."""
    if isinstance(node, str):
        return PLACE.sub(lambda found: FUNCTIONS[found[1]].evaluate(scope, found[2]), node)
    if isinstance(node, Value):
        return deepcopy(scope.at(node.path))
    if isinstance(node, Mapping):
        return {key: evaluate(each, scope) for key, each in node.items() if _exists(each, scope)}
    if isinstance(node, list | tuple):
        return [evaluate(_item(each), scope) for each in node if _exists(each, scope)]
    return node


def _exists(node: Any, scope: Scope) -> bool:
    if isinstance(node, When):
        return scope.holds(node.condition)
    return not (isinstance(node, Value) and node.optional) or bool(scope.at(node.path))


def _item(node: Any) -> Any:
    return node.item if isinstance(node, When) else node


def conditional(part: Part, *conditions: str) -> Part:
    """The part with further conditions."""
    return replace(part, conditions=(*conditions, *part.conditions))
