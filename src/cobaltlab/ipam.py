"""IP address management: allocates the /14 block and the bridge of a lab by a number."""

from collections.abc import Collection, Mapping
from ipaddress import IPv4Network

from cobaltlab import errors, network, record, statedir, subnets


def allocate(state_dir: statedir.StateDir, environment: Mapping[str, str]) -> int:
    """Allocate the number of a lab: the one in its record, or the first that is free."""
    known = state_dir.read_record()
    if known is not None:
        return _reallocate(state_dir, known)
    own = next((each.index for each in network.bridge_owners() if _is_of(each, state_dir)), None)
    reserved = {each.index for each in _records(state_dir, environment)}
    for index in candidates(network.foreign_routes(), reserved=reserved, first=own):
        if network.claim_bridge(network.BridgeOwner(state_dir.name, index, state_dir.directory)):
            return index
    raise errors.LabError(
        f"all {len(subnets.BLOCKS)} address blocks of {subnets.SHARED_SPACE} are in use by routes of this "
        "machine or by labs",
        hint="remove conflicting routes (`ip route`), or a lab: cobalt down --purge --name NAME",
    )


def candidates(
    routes: Collection[IPv4Network], *, reserved: Collection[int], first: int | None = None
) -> list[int]:
    """Numbers whose addresses are unused, in the order to try. Pure."""
    order = [] if first is None else [first]
    order += [index for index in range(len(subnets.BLOCKS)) if index != first]
    return [
        index
        for index in order
        if index not in reserved and not conflicts(subnets.BLOCKS[index], routes)
    ]


def conflicts(block: IPv4Network, routes: Collection[IPv4Network]) -> list[IPv4Network]:
    """Routes that overlap with a block. Pure."""
    return [route for route in routes if route.overlaps(block)]


def _reallocate(state_dir: statedir.StateDir, known: record.Instance) -> int:
    block = subnets.Subnets(known.index).block
    overlapping = conflicts(block, network.foreign_routes())
    if overlapping:
        raise errors.LabError(
            f'addresses {block} of lab "{state_dir.name}" are in use: this machine has a '
            f"route to {', '.join(map(str, overlapping))}",
            hint="remove that route (`ip route del`), or recreate the lab with other addresses: "
            f"cobalt down --purge --name {state_dir.name}",
        )
    if not network.claim_bridge(
        network.BridgeOwner(state_dir.name, known.index, state_dir.directory)
    ):
        other = next(each for each in network.bridge_owners() if each.index == known.index)
        raise errors.LabError(
            f'addresses {block} of lab "{state_dir.name}" are in use by lab "{other.name}" '
            f"in {other.directory}",
            hint=f"stop the other lab: cobalt down --name {other.name}",
        )
    return known.index


def _is_of(owner: network.BridgeOwner, state_dir: statedir.StateDir) -> bool:
    return owner.name == state_dir.name and owner.directory == state_dir.directory


def _records(
    state_dir: statedir.StateDir, environment: Mapping[str, str]
) -> list[record.Instance]:
    """Records of other labs, which keep their addresses while they are stopped."""
    others = [each for each in statedir.find_all(environment) if each.name != state_dir.name]
    return [found for each in others if (found := each.read_record())]
