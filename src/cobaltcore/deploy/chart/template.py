"""Parts as templates of Helm. Pure.

YAML is written with markers for fields and items with places; markers are lines of their own, so
that they become actions of the template.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from cobaltcore.deploy.symbols import FUNCTIONS, PLACE, Part, Value, When
from cobaltcore.runtime.meta import Desired

_MARKED = re.compile(r"^(?P<indent> *)(?P<name>- |[^:]+: )(?P<marker>§\d+§)$")


def documents(parts: Iterable[Part]) -> str:
    """All parts, each a document on its conditions."""
    return "".join(map(_document, parts))


def escaped(text: str) -> str:
    """Text that Helm must not read as actions."""
    return text.replace("{{", "{{ `{{` }}")


def _document(part: Part) -> str:
    text = f"---\n{_yaml(part.desired)}"
    for condition in reversed(part.conditions):
        text = f"{{{{- if {_condition(condition)} }}}}\n{text}{{{{- end }}}}\n"
    return text


def _condition(condition: str) -> str:
    path = f"$v.{condition.removeprefix('!')}"
    return f"not {path}" if condition.startswith("!") else path


@dataclass(slots=True)
class _Markers:
    """The place of each marker in the YAML."""

    found: list[Value | When] = field(default_factory=list)

    def marked(self, node: Any) -> Any:
        """The node with a marker for each Value and When."""
        if isinstance(node, Value | When):
            self.found.append(node)
            return f"§{len(self.found) - 1}§"
        if isinstance(node, Mapping):
            return {key: self.marked(each) for key, each in node.items()}
        if isinstance(node, list | tuple):
            return [self.marked(each) for each in node]
        return node

    def line(self, text: str) -> str:
        """A line of YAML as lines of the template."""
        found = _MARKED.match(text)
        if not found:
            return _filled(text)
        node = self.found[int(found["marker"][1:-1])]
        start = found["indent"] + found["name"]
        if isinstance(node, When):
            item = f"{start}{_filled(_quoted(node.item))}"
            return f"{{{{- if {_condition(node.condition)} }}}}\n{item}\n{{{{- end }}}}"
        if node.optional:
            action = f"{start}{{{{ toJson . }}}}"
            return f"{{{{- with $v.{node.path} }}}}\n{action}\n{{{{- end }}}}"
        return f"{start}{{{{ $v.{node.path} | toJson }}}}"


def _yaml(desired: Desired) -> str:
    markers = _Markers()
    kind = {"apiVersion": desired.kind.api_version, "kind": desired.kind.kind}
    body = markers.marked({**kind, **desired.body})
    text = yaml.dump(body, Dumper=_Dumper, sort_keys=False, width=10**6, allow_unicode=True)
    return "".join(f"{markers.line(line)}\n" for line in escaped(text).splitlines())


def _quoted(text: str) -> str:
    return f'"{text}"'


def _filled(text: str) -> str:
    """Places as actions."""

    def action(found: re.Match[str]) -> str:
        template = FUNCTIONS[found[1]].template
        return template.replace("%s", found[2])

    return PLACE.sub(action, text)


class _Dumper(yaml.SafeDumper):
    """Quotes strings with places: their content may look like another type."""

    def ignore_aliases(self, _data: object) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = '"' if PLACE.search(text) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)
