"""Keys of cephx, as `ceph-authtool` makes them, and keyrings. Pure, but for new keys."""

import base64
import secrets
import struct
from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

_AES, _LENGTH = 1, 16

EVERYTHING = {"mon": "allow *", "osd": "allow *", "mgr": "allow *", "mds": "allow *"}


class Holder(NamedTuple):
    """A key and what it allows."""

    key: str
    caps: Mapping[str, str]


def generate(now: datetime) -> str:
    """Make a new key."""
    header = struct.pack("<HIIH", _AES, int(now.timestamp()), 0, _LENGTH)
    return base64.b64encode(header + secrets.token_bytes(_LENGTH)).decode()


def keyring(holders: Mapping[str, Holder]) -> str:
    """A keyring file of entities such as client.admin."""
    return "".join(_section(entity, holder) for entity, holder in holders.items())


def _section(entity: str, holder: Holder) -> str:
    caps = "".join(f'\tcaps {daemon} = "{cap}"\n' for daemon, cap in holder.caps.items())
    return f"[{entity}]\n\tkey = {holder.key}\n{caps}"
