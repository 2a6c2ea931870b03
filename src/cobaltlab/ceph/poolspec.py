"""A CephBlockPool as requests to Ceph. Pure."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from cobaltcore.api.foreign.rook import CephBlockPoolSpec, Quotas
from cobaltlab.ceph.commands import Request, command, init_images

PLACEMENT_GROUPS = 8
OSDS = 1
_UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
_UNITS |= {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50}
_QUANTITY = re.compile(r"(\d+(?:\.\d+)?)(\w*)")


def unsupported(spec: CephBlockPoolSpec) -> str:
    """Why the lab does not support a pool; empty if it does."""
    if spec.erasure_coded is not None and spec.replicated is None:
        return f"spec.erasureCoded needs several OSDs and the lab has {OSDS}: use spec.replicated"
    try:
        max_bytes(spec.quotas or Quotas())
    except ValueError as error:
        return f"spec.quotas.maxSize: {error}"
    return ""


def reduction(spec: CephBlockPoolSpec) -> str:
    """Replicas that the lab does not create; empty if it creates all."""
    size = spec.replicated.size if spec.replicated else OSDS
    return f"{OSDS} of {size} copies, because the lab has {OSDS} OSD" if size > OSDS else ""


def creation(name: str) -> list[Request]:
    """Create the pool unless it exists, and list all pools."""
    create = command("osd pool create", pool=name, pg_num=PLACEMENT_GROUPS, pool_type="replicated")
    return [create, init_images(name), listing()]


def listing() -> Request:
    return command("osd pool ls", detail="detail")


def find(name: str, listed: Any) -> Mapping[str, Any] | None:
    """A pool in the output of `listing`."""
    return next((each for each in listed if each["pool_name"] == name), None)


def changes(name: str, spec: CephBlockPoolSpec, found: Mapping[str, Any]) -> list[Request]:
    """Requests for the settings that differ from the spec."""
    quotas = spec.quotas or Quotas()
    desired = {"max_bytes": max_bytes(quotas), "max_objects": quotas.max_objects or 0}
    return [
        *(
            command("osd pool set-quota", pool=name, field=field, val=str(value))
            for field, value in desired.items()
            if found.get(f"quota_{field}", 0) != value
        ),
        *_parameters(name, spec.parameters, found),
    ]


def deletion(name: str) -> Request:
    """Delete a pool with all its data."""
    return command("osd pool delete", pool=name, pool2=name, yes_i_really_really_mean_it=True)


def max_bytes(quotas: Quotas) -> int:
    """The limit in bytes, 0 for none; raises ValueError."""
    if quotas.max_size is None:
        return quotas.max_bytes or 0
    parts = _QUANTITY.fullmatch(quotas.max_size)
    if parts is None or parts[2] not in _UNITS:
        raise ValueError(f"{quotas.max_size!r} is not a quantity such as 10Gi")
    return int(float(parts[1]) * _UNITS[parts[2]])


def _parameters(
    name: str, parameters: Mapping[str, str], found: Mapping[str, Any]
) -> Iterator[Request]:
    known = {**found, **found.get("options", {})}
    for parameter, value in parameters.items():
        if str(known.get(parameter)) != value:
            yield command("osd pool set", pool=name, var=parameter, val=value)
