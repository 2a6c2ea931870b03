"""CustomResourceDefinitions of third-party kinds without a schema: every field is kept. Pure.

Tests validate what our operators send against the real schemas; the lab's CRDs must only accept
everything that the real ones accept.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from cobaltcore.runtime.meta import Kind, Object

CRD = Kind(
    "apiextensions.k8s.io",
    "v1",
    "CustomResourceDefinition",
    "customresourcedefinitions",
    namespaced=False,
)
LABEL = "c5c3.io/lab-provider"
APPROVED = "api-approved.kubernetes.io"


def manifests(kinds: Iterable[Kind], *, provider: str) -> list[Object]:
    """One CRD per kind, with all its versions; the first version is stored."""
    return [
        _manifest(list(versions), provider)
        for _, versions in groupby(kinds, key=lambda kind: (kind.group, kind.plural))
    ]


def _manifest(versions: Sequence[Kind], provider: str) -> Object:
    stored = versions[0]
    metadata: Object = {"name": f"{stored.plural}.{stored.group}", "labels": {LABEL: provider}}
    if stored.group.endswith((".k8s.io", ".kubernetes.io")):
        # The API server asks for it in groups of the Kubernetes project.
        metadata["annotations"] = {APPROVED: "unapproved, every field is kept"}
    return {
        "apiVersion": CRD.api_version,
        "kind": CRD.kind,
        "metadata": metadata,
        "spec": {
            "group": stored.group,
            "scope": "Namespaced" if stored.namespaced else "Cluster",
            "names": {
                "kind": stored.kind,
                "listKind": f"{stored.kind}List",
                "plural": stored.plural,
                "singular": stored.kind.lower(),
            },
            "versions": [_version(kind, stored=kind is stored) for kind in versions],
        },
    }


def _version(kind: Kind, *, stored: bool) -> dict[str, Any]:
    any_object = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
        "properties": {"spec": any_object, "status": any_object},
    }
    ready = '.status.conditions[?(@.type=="Ready")]'
    return {
        "name": kind.version,
        "served": True,
        "storage": stored,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
        "additionalPrinterColumns": [
            {"name": "Ready", "type": "string", "jsonPath": f"{ready}.status"},
            {"name": "Status", "type": "string", "jsonPath": f"{ready}.message"},
            {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
        ],
    }
