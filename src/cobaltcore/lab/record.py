"""What is decided once for an instance and kept with its data: its number and its nodes.

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
    """Which block of addresses it uses; see `ranges`."""
    nodes: int
    audit: bool = False
    images: str = ""
    """The OCI layout from which nodes pull images."""
    dev: bool = False
    """Whether operators and providers run from the source tree on the host."""
    merged_into: str = ""
    """The kubeconfig of a user that has an entry for this instance."""


def read(directory: Path) -> Instance:
    """Read the record of an instance; raises FileNotFoundError if there is none.

    What a newer release wrote and this one does not know is left out.
    """
    known = {each.name for each in fields(Instance)}
    found = json.loads((directory / FILE).read_text())
    return Instance(**{name: value for name, value in found.items() if name in known})


def write(directory: Path, instance: Instance) -> None:
    """Write the record as a whole."""
    fresh = directory / f".{FILE}.new"
    fresh.write_text(json.dumps(asdict(instance), indent=1) + "\n")
    fresh.replace(directory / FILE)
