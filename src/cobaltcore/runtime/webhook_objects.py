"""Webhook configurations: the registration of a webhook server at the API server. Pure."""

import base64
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from cobaltcore.runtime import admission
from cobaltcore.runtime.meta import Kind, Object

NAMESPACE_LABEL = "kubernetes.io/metadata.name"
_GROUP = "admissionregistration.k8s.io"
MUTATING = Kind(
    _GROUP,
    "v1",
    "MutatingWebhookConfiguration",
    "mutatingwebhookconfigurations",
    namespaced=False,
)
VALIDATING = Kind(
    _GROUP,
    "v1",
    "ValidatingWebhookConfiguration",
    "validatingwebhookconfigurations",
    namespaced=False,
)


@dataclass(frozen=True, slots=True)
class Service:
    """A Service in front of the webhook server."""

    namespace: str
    name: str
    port: int = 443


@dataclass(frozen=True, slots=True)
class Target:
    """How the API server reaches the webhook server: a Service, or a URL without path."""

    at: Service | str
    authority: bytes
    """The caBundle: PEM certificates that the server's certificate is verified with."""

    def client_config(self, path: str) -> dict[str, Any]:
        """The clientConfig of one path."""
        bundle = base64.b64encode(self.authority).decode()
        if isinstance(self.at, str):
            return {"url": f"{self.at.rstrip('/')}{path}", "caBundle": bundle}
        service = {
            "namespace": self.at.namespace,
            "name": self.at.name,
            "path": path,
            "port": self.at.port,
        }
        return {"service": service, "caBundle": bundle}


@dataclass(frozen=True, slots=True)
class Options:
    """Settings of all webhooks of a configuration."""

    failure_policy: Literal["Fail", "Ignore"] = "Fail"
    timeout_seconds: int = 10
    labels: dict[str, str] = field(default_factory=dict)
    owners: Sequence[Object] = ()
    namespace: str = ""
    """Objects of this namespace only; kinds without namespaces are never called for then."""


def mutating(
    name: str, kinds: Iterable[Kind], target: Target, *, options: Options | None = None
) -> Object:
    """Call the defaulting webhook for every created or updated object of `kinds`."""
    options = options or Options()
    entries = [
        {
            "name": _name("default", kind),
            "clientConfig": target.client_config(admission.default_path(kind)),
            "rules": [_rule(kind, "CREATE", "UPDATE")],
        }
        for kind in kinds
        if kind.namespaced or not options.namespace
    ]
    return _configuration(MUTATING, name, entries, options)


def validating(
    name: str,
    kinds: Iterable[Kind],
    target: Target,
    *,
    optional: Collection[Kind] = (),
    options: Options | None = None,
) -> Object:
    """Call the validating webhook for every created, updated or deleted object of `kinds`.

    Objects of `optional` kinds are accepted without an answer.
    """
    options = options or Options()
    entries = [
        {
            "name": _name("validate", kind),
            "clientConfig": target.client_config(admission.validate_path(kind)),
            "rules": [_rule(kind, "CREATE", "UPDATE", "DELETE")],
            **({"failurePolicy": "Ignore", "timeoutSeconds": 2} if kind in optional else {}),
        }
        for kind in kinds
        if kind.namespaced or not options.namespace
    ]
    return _configuration(VALIDATING, name, entries, options)


def conversion(target: Target) -> Object:
    """The `spec.conversion` of a CRD whose versions our webhook server converts."""
    return {
        "strategy": "Webhook",
        "webhook": {
            "clientConfig": target.client_config(admission.CONVERT_PATH),
            "conversionReviewVersions": ["v1"],
        },
    }


def _name(verb: str, kind: Kind) -> str:
    """A webhook's name has at least three parts, also for kinds without a group."""
    return f"{verb}.{kind.plural}.{kind.group or 'core'}"


def _rule(kind: Kind, *operations: admission.Operation) -> Object:
    return {
        "apiGroups": [kind.group],
        "apiVersions": [kind.version],
        "resources": [kind.plural],
        "operations": list(operations),
        "scope": "Namespaced" if kind.namespaced else "Cluster",
    }


def _configuration(kind: Kind, name: str, entries: list[Object], options: Options) -> Object:
    shared: Object = {
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "matchPolicy": "Equivalent",
        "failurePolicy": options.failure_policy,
        "timeoutSeconds": options.timeout_seconds,
    }
    if options.namespace:
        shared["namespaceSelector"] = {"matchLabels": {NAMESPACE_LABEL: options.namespace}}
    metadata: Object = {"name": name}
    if options.labels:
        metadata["labels"] = dict(options.labels)
    if options.owners:
        metadata["ownerReferences"] = list(options.owners)
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": metadata,
        "webhooks": [{**shared, **entry} for entry in entries],
    }
