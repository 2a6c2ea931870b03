"""Objects that a hostile user might create: values from our schemas, metadata and foreign kinds.

All follow from one seed, so that a failure can be repeated.
"""

import copy
import random
from collections.abc import Iterator
from typing import Any

from tests.support import structural

ODD = ("\u00a0", "a\u00a0b", "\u2028", "\ufeff", "\U0001f4a5", "a\tb", "$(reboot)", "%s%n", "../..",
       "-", "0", "a" * 63, "a" * 253, "null", "1e999", "{{ }}", "A.B", "", " ")  # fmt: skip
ODD_NUMBERS = (0, -1, 1, 2, 7, 2**31, 2**63 - 1)
ODD_QUANTITIES = ("1", 1, "0.5m", "1Ei", "999999999999Ei", "1.5Gi", 2**31)
SHAPES: tuple[Any, ...] = (
    None,
    [],
    {},
    "text",
    7,
    True,
    {"a": None},
    [None],
    {"conditions": "no"},
)
OURS = "app.kubernetes.io"
LABELS = (
    {f"{OURS}/name": "c5c3", f"{OURS}/part-of": "cobaltcore"},
    {f"{OURS}/name": "nova", f"{OURS}/instance": "", f"{OURS}/part-of": "cobaltcore"},
    {f"{OURS}/instance": "x", f"{OURS}/part-of": "cobaltcore"},
    {f"{OURS}/name": "ovn", f"{OURS}/instance": "A.B", f"{OURS}/part-of": "cobaltcore"},
    {"batch.kubernetes.io/job-name": "x", f"{OURS}/part-of": "cobaltcore"},
    {"kubernetes.io/service-name": "x", f"{OURS}/part-of": "cobaltcore"},
)
NAMES = ("a", "a.b", "0", "a" * 40, "a" * 63, "x--y", "a.b.c.d", "1-2")


class Hostile:
    """A source of objects."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._schemas = structural.schemas()
        self._examples = list(structural.examples())
        self._count = 0

    def specs(self) -> Iterator[dict[str, Any]]:
        """Our kinds in turn, with a few values replaced or left out; never ends."""
        while True:
            for example in self._examples:
                yield self._changed(example)

    def labelled(self, kind: str, api_version: str, body: dict[str, Any]) -> dict[str, Any]:
        """An object of another kind with labels that look like ours."""
        return {"apiVersion": api_version, "kind": kind, "metadata": self._metadata(), **body}

    def shape(self) -> Any:
        """Anything but what is expected."""
        return copy.deepcopy(self._random.choice(SHAPES))

    def _changed(self, example: dict[str, Any]) -> dict[str, Any]:
        found = copy.deepcopy(example)
        found["metadata"] = self._metadata()
        schema = self._schemas[found["apiVersion"], found["kind"]]["properties"]["spec"]
        for _ in range(self._random.randint(0, 3)):
            self._mutate(found["spec"], schema)
        return found

    def _metadata(self) -> dict[str, Any]:
        self._count += 1
        name = self._random.choice(NAMES)
        found: dict[str, Any] = {
            "name": f"{name[:35]}{self._count}",
            "labels": dict(self._random.choice(LABELS)),
            "annotations": {"example.com/a": self._random.choice(ODD) * 100},
        }
        if self._random.random() < 0.2:
            odd = self._random.choice(ODD) or "x"
            owner = {"apiVersion": "a/b/c", "kind": odd, "name": odd, "uid": odd}
            found["ownerReferences"] = [owner]
        return found

    def _mutate(self, value: dict[str, Any], schema: structural.Schema) -> None:
        """Replace, remove or add one value somewhere below."""
        known = schema.get("properties", {})
        if not known:
            if schema.get("additionalProperties"):
                value[self._random.choice(ODD)] = self._value(schema["additionalProperties"])
            return
        name = self._random.choice(sorted(known))
        below, current = known[name], value.get(name)
        if isinstance(current, dict) and self._random.random() < 0.7:
            self._mutate(current, below)
        elif isinstance(current, list) and current and isinstance(current[0], dict):
            self._mutate(current[0], below["items"])
        elif current is not None and self._random.random() < 0.2:
            del value[name]
        else:
            value[name] = self._value(below)

    def _value(self, schema: structural.Schema) -> Any:
        if "enum" in schema:
            return self._random.choice(schema["enum"])
        if schema.get("x-kubernetes-int-or-string"):
            return self._random.choice(ODD_QUANTITIES)
        make = getattr(self, f"_{schema.get('type', 'object')}")
        return make(schema)

    def _string(self, _: structural.Schema) -> str:
        return self._random.choice(ODD)

    def _integer(self, _: structural.Schema) -> int:
        return self._random.choice(ODD_NUMBERS)

    _number = _integer

    def _boolean(self, _: structural.Schema) -> bool:
        return self._random.random() < 0.5

    def _array(self, schema: structural.Schema) -> list[Any]:
        return [self._value(schema["items"]) for _ in range(self._random.randint(0, 2))]

    def _object(self, schema: structural.Schema) -> dict[str, Any]:
        if "additionalProperties" in schema:
            return {self._random.choice(ODD): self._value(schema["additionalProperties"])}
        known = schema.get("properties", {})
        return {name: self._value(known[name]) for name in schema.get("required", ())}
