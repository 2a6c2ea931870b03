"""The record of a lab (instance.json): what is decided once and kept with its data.

Standard library only.
"""

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path

FILE = "instance.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """One lab on this machine."""

    name: str
    index: int
    """Number of its address block; see `subnets`."""
    nodes: int
    audit: bool = False
    images: str = ""
    """The OCI layout that nodes pull images from."""
    dev: bool = False
    """Whether operators and providers run from the source tree on the host."""
    network_policies: bool = False
    """Whether nodes enforce NetworkPolicies."""
    merged_into: str = ""
    """The kubeconfig of a user that has a context for this lab."""


def read(directory: Path) -> Instance:
    """Read the record; raises FileNotFoundError. Unknown fields (of a newer release) are ignored."""
    known = {each.name for each in fields(Instance)}
    found = json.loads((directory / FILE).read_text())
    return Instance(**{name: value for name, value in found.items() if name in known})


def write(directory: Path, instance: Instance) -> None:
    fresh = directory / f".{FILE}.new"
    fresh.write_text(json.dumps(asdict(instance), indent=1) + "\n")
    fresh.replace(directory / FILE)
