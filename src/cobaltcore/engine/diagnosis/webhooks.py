"""Admission webhooks that do not answer. Pure."""

import re
from collections.abc import Iterator

from cobaltcore.api.foreign.kubernetes import (
    MUTATING_WEBHOOK_CONFIGURATION,
    SERVICE,
    VALIDATING_WEBHOOK_CONFIGURATION,
)
from cobaltcore.engine.diagnosis import commands
from cobaltcore.engine.diagnosis.facts import Cause, Facts, Inspection, Named, named
from cobaltcore.runtime.meta import Key, Object

CONFIGURATIONS = (MUTATING_WEBHOOK_CONFIGURATION, VALIDATING_WEBHOOK_CONFIGURATION)
_CALLED = re.compile(r'failed calling webhook \\?"([^"\\]+)')


def called_in(facts: Facts, message: str) -> list[Named]:
    """Configurations of webhooks that the API server failed to call, by its message."""
    called = set(_CALLED.findall(message))
    return [
        named(kind, obj)
        for kind in CONFIGURATIONS
        for obj in facts.of(kind)
        if called & {each["name"] for each in obj.get("webhooks") or ()}
    ]


def inspect(facts: Facts, configuration: Named) -> Inspection | None:
    """Asked only for those whose call has failed."""
    found = facts.get(configuration.kind, configuration.key) or {}
    text = f"the webhook of {configuration} does not answer at {_address(found)}"
    cause = Cause(configuration, "WebhookFailed", text, commands.describe(configuration))
    return Inspection(cause, list(_services(found)))


def _address(found: Object) -> str:
    for each in found.get("webhooks") or ():
        config = each.get("clientConfig") or {}
        if config.get("url"):
            return str(config["url"])
        service = config.get("service") or {}
        return f"Service {service.get('namespace')}/{service.get('name')}"
    return "its address"


def _services(found: Object) -> Iterator[Named]:
    for each in found.get("webhooks") or ():
        service = (each.get("clientConfig") or {}).get("service")
        if service:
            yield Named(SERVICE, Key(service["namespace"], service["name"]))
