"""Topology objects in RabbitMQ's HTTP management API, and a client of it.

Every request is a PUT or DELETE of a path and so idempotent.
"""

import base64
import hashlib
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import aiohttp
import msgspec
import yarl

from cobaltcore.api.foreign.rabbitmq import PermissionSpec, PolicySpec, UserSpec, VhostSpec
from cobaltlab.providers.server_objects import ServerError

PORT = 15672
TLS_PORT = 15671
TIMEOUT = aiohttp.ClientTimeout(total=30, connect=5)
NOT_FOUND = 404


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Management API of a broker, and the account to use."""

    url: str
    username: str
    password: str
    authority: str = ""
    """The CA of its certificate, in PEM; empty: what the host trusts."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A resource of the management API."""

    path: Sequence[str]
    body: Mapping[str, Any] = field(default_factory=dict)


def vhost(spec: VhostSpec) -> Entry:
    body = {"default_queue_type": spec.default_queue_type} if spec.default_queue_type else {}
    return Entry(("vhosts", spec.name), body)


def user(spec: UserSpec, *, username: str, password: str) -> Entry:
    return Entry(("users", username), {"password": password, "tags": ",".join(spec.tags)})


def permission(spec: PermissionSpec, *, username: str) -> Entry:
    """Permissions of an account; unset ones are denied."""
    permissions = spec.permissions
    body = {
        "configure": permissions.configure or "",
        "write": permissions.write or "",
        "read": permissions.read or "",
    }
    return Entry(("permissions", spec.vhost, username), body)


def policy(spec: PolicySpec) -> Entry:
    body = {
        "pattern": spec.pattern,
        "definition": spec.definition,
        "priority": spec.priority,
        "apply-to": spec.apply_to,
    }
    return Entry(("policies", spec.vhost, spec.name), body)


def definitions(username: str, password: str) -> str:
    """The definitions file that a broker loads at every start: its default user."""
    account = {
        "name": username,
        "password_hash": password_hash(username, password),
        "hashing_algorithm": "rabbit_password_hashing_sha256",
        "tags": ["administrator"],
    }
    permissions = {"user": username, "vhost": "/", "configure": ".*", "write": ".*", "read": ".*"}
    found = {"users": [account], "vhosts": [{"name": "/"}], "permissions": [permissions]}
    return msgspec.json.encode(found).decode()


def password_hash(username: str, password: str) -> str:
    """RabbitMQ's salted hash; deterministic, so that the definitions do not change."""
    salt = hashlib.sha256(f"{username}\0{password}".encode()).digest()[:4]
    return base64.b64encode(salt + hashlib.sha256(salt + password.encode()).digest()).decode()


async def put(endpoint: Endpoint, entry: Entry) -> None:
    await _request(endpoint, "PUT", entry)


async def delete(endpoint: Endpoint, entry: Entry) -> None:
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
            session.request(
                method, url, data=body, headers=headers, ssl=_trusted(endpoint)
            ) as response,
        ):
            if response.status >= 400 and not (
                method == "DELETE" and response.status == NOT_FOUND
            ):
                raise ServerError(_message(response.status, await response.read()))
    except (aiohttp.ClientError, TimeoutError) as error:
        raise ServerError(
            f"RabbitMQ at {endpoint.url} does not respond: {error or 'timed out'}"
        ) from error


def _trusted(endpoint: Endpoint) -> ssl.SSLContext | bool:
    """A broker is addressed by its IP address, which its certificate does not have."""
    if not endpoint.authority:
        return True
    context = ssl.create_default_context(cadata=endpoint.authority)
    context.check_hostname = False
    return context


def _message(status: int, body: bytes) -> str:
    try:
        response = msgspec.json.decode(body, type=dict[str, Any])
    except msgspec.MsgspecError:
        return f"RabbitMQ responded with HTTP {status}"
    return (
        f"RabbitMQ responded with HTTP {status}: {response.get('reason') or response.get('error')}"
    )
