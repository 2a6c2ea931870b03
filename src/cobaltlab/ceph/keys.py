"""cephx keys in the format of `ceph-authtool`, and keyrings."""

import base64
import secrets
import struct
from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

_AES, _LENGTH = 1, 16

ALL_CAPS = {"mon": "allow *", "osd": "allow *", "mgr": "allow *", "mds": "allow *"}


class Entity(NamedTuple):
    """A key and its capabilities."""

    key: str
    caps: Mapping[str, str]


def generate(now: datetime) -> str:
    header = struct.pack("<HIIH", _AES, int(now.timestamp()), 0, _LENGTH)
    return base64.b64encode(header + secrets.token_bytes(_LENGTH)).decode()


def keyring(entities: Mapping[str, Entity]) -> str:
    """A keyring file of entities such as client.admin."""
    return "".join(_section(name, entity) for name, entity in entities.items())


def _section(name: str, entity: Entity) -> str:
    caps = "".join(f'\tcaps {daemon} = "{cap}"\n' for daemon, cap in entity.caps.items())
    return f"[{name}]\n\tkey = {entity.key}\n{caps}"
