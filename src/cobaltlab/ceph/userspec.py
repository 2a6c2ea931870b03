"""A CephClient as requests to Ceph. Pure."""

import re
from typing import Any

from cobaltcore.api.foreign.rook import CephClientSpec
from cobaltlab.ceph.commands import Request, command

CAPS_DIFFER = -22
_RESERVED = re.compile(
    r"admin|rgw.*|rbd-mirror|osd\.\d*|bootstrap-(mds|mgr|mon|osd|rgw|rbd-mirror)"
)


def invalid(name: str, spec: CephClientSpec) -> str:
    """Why there can be no such user; empty if there can be one."""
    if _RESERVED.fullmatch(name):
        return f"spec.name {name!r} is reserved by Ceph: choose another one"
    if not spec.caps:
        return "spec.caps is empty: set capabilities, for example mon: profile rbd"
    return ""


def creation(name: str, spec: CephClientSpec) -> list[Request]:
    """Create the user or get its key; fails if it has other capabilities."""
    return [command("auth get-or-create", entity=_entity(name), caps=_caps(spec))]


def changes(name: str, spec: CephClientSpec) -> list[Request]:
    """Change the capabilities and get the key."""
    return [
        command("auth caps", entity=_entity(name), caps=_caps(spec)),
        command("auth get", entity=_entity(name)),
    ]


def key(output: Any) -> str:
    """The key in the output of a request."""
    return str(output[0]["key"])


def deletion(name: str) -> Request:
    return command("auth rm", entity=_entity(name))


def _entity(name: str) -> str:
    return f"client.{name}"


def _caps(spec: CephClientSpec) -> list[str]:
    return [part for daemon_cap in sorted(spec.caps.items()) for part in daemon_cap]
