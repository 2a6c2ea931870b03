"""One node of a lab: its name, its number and the subnets that its addresses come from."""

from dataclasses import dataclass

from cobaltlab import subnets


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSpec:
    """What is decided about a node before it starts."""

    instance: str
    name: str
    number: int
    subnets: subnets.Subnets
