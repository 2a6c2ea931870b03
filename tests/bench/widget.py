"""The kind that the operators of the runtime bench handle: about one kilobyte, with a status."""

import time

from cobaltcore.runtime.meta import Kind, Object

WIDGET = Kind("bench.c5c3.io", "v1", "Widget", "widgets")
_SETTINGS = {f"option{number:02}": f"value of option {number}" for number in range(20)}


def _schema() -> Object:
    whole = {"type": "integer", "format": "int64"}
    texts = {"type": "object", "additionalProperties": {"type": "string"}}
    spec = {"round": whole, "sentNs": whole, "settings": texts}
    status = {
        "type": "object",
        "properties": {"observed": whole},
        "x-kubernetes-preserve-unknown-fields": True,
    }
    return {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": spec}, "status": status},
    }


CRD: Object = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"{WIDGET.plural}.{WIDGET.group}"},
    "spec": {
        "group": WIDGET.group,
        "scope": "Namespaced",
        "names": {"kind": WIDGET.kind, "plural": WIDGET.plural, "singular": "widget"},
        "versions": [
            {
                "name": WIDGET.version,
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": _schema()},
                "subresources": {"status": {}},
            }
        ],
    },
}


def a_widget(name: str, namespace: str, *, number: int) -> Object:
    """A widget in its `number`-th round."""
    return {
        "apiVersion": WIDGET.api_version,
        "kind": WIDGET.kind,
        "metadata": {"name": name, "namespace": namespace, "labels": {"app": "bench"}},
        "spec": {**a_change(number=number)["spec"], "settings": _SETTINGS},
    }


def a_change(*, number: int) -> Object:
    """A merge patch that moves a widget to a round, stamped with the time of writing."""
    return {"spec": {"round": number, "sentNs": time.time_ns()}}
