"""What a CephClient asks of Ceph. Pure."""

import re
from typing import Any

from cobaltcore.api.foreign.rook import CephClientSpec
from cobaltcore.lab.ceph.commands import Request, command

CAPS_DIFFER = -22
_RESERVED = re.compile(
    r"admin|rgw.*|rbd-mirror|osd\.\d*|bootstrap-(mds|mgr|mon|osd|rgw|rbd-mirror)"
)


def refusal(name: str, spec: CephClientSpec) -> str:
    """Why there can be no such user; empty if there can."""
    if _RESERVED.fullmatch(name):
        return f"the name {name!r} is reserved by Ceph: choose another"
    if not spec.caps:
        return "spec.caps is empty: say what the user may do, for example mon: profile rbd"
    return ""


def creation(name: str, spec: CephClientSpec) -> list[Request]:
    """Make the user, or tell the key that it has; refused if it may do something else."""
    return [command("auth get-or-create", entity=_entity(name), caps=_caps(spec))]


def changes(name: str, spec: CephClientSpec) -> list[Request]:
    """Change what the user may do, and tell its key."""
    return [
        command("auth caps", entity=_entity(name), caps=_caps(spec)),
        command("auth get", entity=_entity(name)),
    ]


def key(output: Any) -> str:
    """The key in what was told."""
    return str(output[0]["key"])


def deletion(name: str) -> Request:
    """Remove the user."""
    return command("auth rm", entity=_entity(name))


def _entity(name: str) -> str:
    return f"client.{name}"


def _caps(spec: CephClientSpec) -> list[str]:
    return [word for daemon, cap in sorted(spec.caps.items()) for word in (daemon, cap)]
