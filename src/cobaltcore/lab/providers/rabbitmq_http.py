"""The management API of a broker: what topology objects mean there, and the way to it.

Everything is put or deleted under a path, so each request is idempotent.
"""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import aiohttp
import msgspec
import yarl

from cobaltcore.api.foreign.rabbitmq import PermissionSpec, PolicySpec, UserSpec, VhostSpec
from cobaltcore.lab.providers.things import Refused

PORT = 15672
TIMEOUT = aiohttp.ClientTimeout(total=30, connect=5)
NOT_FOUND = 404


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a broker is managed, and as whom."""

    url: str
    username: str
    password: str


@dataclass(frozen=True, slots=True)
class Entry:
    """Something that the broker keeps under a path."""

    path: Sequence[str]
    body: Mapping[str, Any] = field(default_factory=dict)


def vhost(spec: VhostSpec) -> Entry:
    """A name space of queues and exchanges."""
    body = {"default_queue_type": spec.default_queue_type} if spec.default_queue_type else {}
    return Entry(("vhosts", spec.name), body)


def user(spec: UserSpec, *, username: str, password: str) -> Entry:
    """An account."""
    return Entry(("users", username), {"password": password, "tags": ",".join(spec.tags)})


def permission(spec: PermissionSpec, *, username: str) -> Entry:
    """What an account may do; what is not said is forbidden."""
    given = spec.permissions
    body = {
        "configure": given.configure or "",
        "write": given.write or "",
        "read": given.read or "",
    }
    return Entry(("permissions", spec.vhost, username), body)


def policy(spec: PolicySpec) -> Entry:
    """Settings of queues or exchanges."""
    body = {
        "pattern": spec.pattern,
        "definition": spec.definition,
        "priority": spec.priority,
        "apply-to": spec.apply_to,
    }
    return Entry(("policies", spec.vhost, spec.name), body)


def definitions(username: str, password: str) -> str:
    """What a broker reads when it starts: its administrator, whatever it kept."""
    account = {
        "name": username,
        "password_hash": password_hash(username, password),
        "hashing_algorithm": "rabbit_password_hashing_sha256",
        "tags": ["administrator"],
    }
    rights = {"user": username, "vhost": "/", "configure": ".*", "write": ".*", "read": ".*"}
    found = {"users": [account], "vhosts": [{"name": "/"}], "permissions": [rights]}
    return msgspec.json.encode(found).decode()


def password_hash(username: str, password: str) -> str:
    """A password as a broker keeps it; the salt is the same for the same password."""
    salt = hashlib.sha256(f"{username}\0{password}".encode()).digest()[:4]
    return base64.b64encode(salt + hashlib.sha256(salt + password.encode()).digest()).decode()


async def put(endpoint: Endpoint, entry: Entry) -> None:
    """Make the broker keep it."""
    await _request(endpoint, "PUT", entry)


async def delete(endpoint: Endpoint, entry: Entry) -> None:
    """Make the broker forget it."""
    await _request(endpoint, "DELETE", entry)


async def _request(endpoint: Endpoint, method: str, entry: Entry) -> None:
    path = "/".join(quote(part, safe="") for part in entry.path)
    url = yarl.URL(f"{endpoint.url}/api/{path}", encoded=True)
    body = msgspec.json.encode(entry.body) if method == "PUT" else None
    login = base64.b64encode(f"{endpoint.username}:{endpoint.password}".encode()).decode()
    headers = {"Content-Type": "application/json", "Authorization": f"Basic {login}"}
    try:
        async with (
            aiohttp.ClientSession(timeout=TIMEOUT) as session,
            session.request(method, url, data=body, headers=headers) as response,
        ):
            if response.status >= 400 and not (
                method == "DELETE" and response.status == NOT_FOUND
            ):
                raise Refused(_reason(response.status, await response.read()))
    except (aiohttp.ClientError, TimeoutError) as error:
        raise Refused(f"no answer from {endpoint.url}: {error or 'timed out'}") from error


def _reason(status: int, body: bytes) -> str:
    try:
        told = msgspec.json.decode(body, type=dict[str, Any])
    except msgspec.MsgspecError:
        return f"the broker answered with {status}"
    return f"the broker answered with {status}: {told.get('reason') or told.get('error') or ''}"
