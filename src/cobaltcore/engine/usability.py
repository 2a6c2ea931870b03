"""Whether an API is usable: as whom it is asked, and what follows from its responses. Pure.

An API is usable if its own user gets a token, finds it in the catalogue and may read its lists.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from urllib import parse

import msgspec

from cobaltcore.api.foreign.kubernetes import ENDPOINT_SLICE, SECRET
from cobaltcore.engine import access, uwsgi
from cobaltcore.engine.definition import AnyScope
from cobaltcore.engine.desired import names, secret, service
from cobaltcore.engine.scope import Answer
from cobaltcore.engine.verdict import Ready, Verdict, Waiting
from cobaltcore.openstack.auth import ApplicationCredential
from cobaltcore.openstack.catalog import TYPES as KNOWN_TYPES
from cobaltcore.openstack.catalog import ServiceType
from cobaltcore.openstack.cloud import Cloud
from cobaltcore.runtime.meta import Key

PROBE = "api"
ATTEMPT = timedelta(seconds=8)
LIMIT = timedelta(seconds=20)
"""Of one login and all lists."""
CALM, BUSY = timedelta(seconds=60), timedelta(seconds=5)
"""How often an API is asked while it is usable, and while it is not."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What an answer is about: another login or other pods are another subject."""

    cloud: Cloud
    addresses: frozenset[str]
    """Of the pods that serve the API."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What the API responded."""

    reason: str = ""
    """Why it is not usable; empty if it responded to everything."""
    message: str = ""
    rows: tuple[msgspec.Struct, ...] = ()
    """Of the lists that are judged."""


def subject(scope: AnyScope) -> Subject | None:
    """Whom to ask; None while there is nothing that could answer."""
    if scope.service.check is None:
        return None
    addresses = frozenset(served(scope, scope.key))
    found = cloud(scope) if addresses else None
    return Subject(found, addresses) if found is not None else None


def verdict(scope: AnyScope) -> Verdict:
    """Whether the API is usable, from the answer; without a question it counts as usable."""
    usable = Ready("Serving")
    check, answer = scope.service.check, scope.answers.get(PROBE)
    if check is None or answer is None:
        return usable
    if answer.fault:
        return Waiting("Unreachable", answer.fault)
    if not isinstance(answer.value, Finding):
        return Waiting("Asking", "waits for the first response of the API to its own user")
    if answer.value.reason:
        return Waiting(answer.value.reason, answer.value.message)
    problem = check.problem(scope, answer.value.rows)
    return Waiting("NotUsable", problem) if problem else usable


def period(scope: AnyScope, answer: Answer[object]) -> timedelta:
    """How soon to ask again."""
    found = verdict(replace(scope, answers={PROBE: answer}))
    return CALM if isinstance(found, Ready) else BUSY


def type_of(scope: AnyScope) -> ServiceType:
    """The service's type in the catalogue."""
    part, check = scope.service.part, scope.service.check
    own = check.type if check is not None else ""
    name = own or (part.catalog.type if part is not None and part.catalog is not None else "")
    return KNOWN_TYPES.get(name) or ServiceType(name)


def cloud(scope: AnyScope) -> Cloud | None:
    """The cloud as the service's own user; None while its Secrets are incomplete."""
    check, keystone = scope.service.check, scope.spec.keystone
    if check is not None and check.cloud is not None:
        return check.cloud(scope)
    if keystone is None:
        return None
    login = secret.texts(access.secret_content(scope, keystone.app_credential_ref.secret))
    id_, value = (login.get(f"application_credential_{each}") for each in ("id", "secret"))
    if not id_ or not value:
        return None
    return Cloud(
        auth_url=_qualified(scope, keystone.auth_url),
        credentials=ApplicationCredential(id_.strip(), value.strip()),
        region=access.region(scope),
        ca_certificates=_trusted(scope),
        timeout=ATTEMPT,
    )


def own_authority(scope: AnyScope) -> str:
    """The CA that signed the certificate of the service's endpoint."""
    if not uwsgi.is_encrypted(scope):
        return ""
    content = scope.observed.content(SECRET, certificate_key(scope))
    return secret.texts(content).get("ca.crt", "")


def certificate_key(scope: AnyScope) -> Key:
    """The Secret with the certificate of the endpoint."""
    tls = scope.spec.tls
    external = tls.secret_ref if tls is not None else None
    return scope.sibling(external.name if external else names.certificate_secret(scope.name))


def served(scope: AnyScope, key: Key) -> Iterator[str]:
    """Addresses of the ready pods behind a Service."""
    for each in scope.observed.find(ENDPOINT_SLICE, "service", str(key)):
        for endpoint in each.get("endpoints") or ():
            if (endpoint.get("conditions") or {}).get("ready", True):
                yield ",".join(endpoint.get("addresses") or ("unknown",))


def _trusted(scope: AnyScope) -> str:
    """That of Keystone and that of the service itself, which may be another one."""
    keystone = scope.spec.keystone
    reference = keystone.ca_secret_ref if keystone is not None else None
    if keystone is None or (reference is None and keystone.auth_url.startswith("https:")):
        return ""
    bundle = ""
    if reference is not None:
        content = secret.texts(access.secret_content(scope, reference.name))
        bundle = content.get(reference.key or "ca.crt", "")
    return "\n".join(filter(None, dict.fromkeys((bundle, own_authority(scope)))))


def _qualified(scope: AnyScope, url: str) -> str:
    """A name of one word is a Service next to the object, not one next to the operator."""
    found = parse.urlsplit(url)
    host = found.hostname or ""
    if "." in host or ":" in host or not host or host == "localhost":
        return url
    port = f":{found.port}" if found.port else ""
    return found._replace(netloc=f"{service.host(scope.sibling(host))}{port}").geturl()
