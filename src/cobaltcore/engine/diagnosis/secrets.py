"""Secrets: whether they exist, and whether the certificate in them is still valid. Pure."""

from collections.abc import Iterator

from cobaltcore.api.credentials import AGGREGATE, ROTATION
from cobaltcore.api.foreign import certmanager, eso
from cobaltcore.engine.diagnosis import commands
from cobaltcore.engine.diagnosis.facts import Cause, Facts, Inspection, Named, named
from cobaltcore.runtime.meta import Kind
from cobaltcore.runtime.timestamps import timestamp

WRITERS: tuple[tuple[Kind, tuple[str, ...]], ...] = (
    (AGGREGATE, ("spec", "target", "name")),
    (certmanager.CERTIFICATE, ("spec", "secretName")),
    (eso.EXTERNAL_SECRET, ("spec", "target", "name")),
    (ROTATION, ("metadata", "name")),
)
"""Kinds whose objects write a Secret, and the path of its name."""


def inspect(facts: Facts, secret: Named) -> Inspection | None:
    if facts.get(secret.kind, secret.key) is None:
        text = f"{secret} does not exist"
        command = commands.kubectl(secret, "get", "secrets")
        return Inspection(Cause(secret, "NotFound", text, command), list(_writers(facts, secret)))
    until = facts.expiries.get(secret.key)
    if until is None or until > facts.now:
        return None
    text = f"the certificate in {secret} expired at {timestamp(until)}"
    command = commands.describe(secret)
    return Inspection(Cause(secret, "Expired", text, command), list(_writers(facts, secret)))


def _writers(facts: Facts, secret: Named) -> Iterator[Named]:
    for kind, path in WRITERS:
        for each in facts.of(kind, secret.key.namespace):
            value: object = each
            for step in path:
                value = value.get(step) if isinstance(value, dict) else None
            if value == secret.key.name:
                yield named(kind, each)
