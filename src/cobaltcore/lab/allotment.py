"""Which number, and so which addresses and which bridge, an instance gets."""

from collections.abc import Collection, Mapping
from ipaddress import IPv4Network

from cobaltcore.lab import errors, home, links, ranges, record


def allot(place: home.Home, environment: Mapping[str, str]) -> int:
    """Claim the number of an instance: the one it had, or the first that is free."""
    known = place.instance()
    if known is not None:
        return _claim_again(place, known)
    mine = next((each.index for each in links.owners() if _is_of(each, place)), None)
    reserved = {each.index for each in _records(place, environment)}
    for index in candidates(links.foreign_routes(), reserved=reserved, first=mine):
        if links.claim(links.Owner(place.name, index, place.directory)):
            return index
    raise errors.LabError(
        f"all address blocks of {ranges.SHARED} are in use by routes of this machine or by labs",
        hint="see `ip route`, or remove labs that are not needed with: cobalt down --purge --name NAME",
    )


def candidates(
    routes: Collection[IPv4Network], *, reserved: Collection[int], first: int | None = None
) -> list[int]:
    """Numbers whose addresses nobody uses, in the order to try. Pure."""
    order = [] if first is None else [first]
    order += [index for index in range(len(ranges.BLOCKS)) if index != first]
    return [
        index
        for index in order
        if index not in reserved and not conflicts(ranges.BLOCKS[index], routes)
    ]


def conflicts(block: IPv4Network, routes: Collection[IPv4Network]) -> list[IPv4Network]:
    """Routes of others that lead to addresses of a block. Pure."""
    return [route for route in routes if route.overlaps(block)]


def _claim_again(place: home.Home, known: record.Instance) -> int:
    block = ranges.Ranges(known.index).block
    taken = conflicts(block, links.foreign_routes())
    if taken:
        raise errors.LabError(
            f"the addresses of the lab {place.name} ({block}) are in use: this machine has a "
            f"route to {', '.join(map(str, taken))}",
            hint="remove that route, or give the lab other addresses by making it anew: "
            f"cobalt down --purge --name {place.name}",
        )
    if not links.claim(links.Owner(place.name, known.index, place.directory)):
        other = next(each for each in links.owners() if each.index == known.index)
        raise errors.LabError(
            f"the addresses of the lab {place.name} ({block}) are in use by the lab {other.name} "
            f"in {other.directory}",
            hint=f"stop that one with: cobalt down --name {other.name}",
        )
    return known.index


def _is_of(owner: links.Owner, place: home.Home) -> bool:
    return owner.name == place.name and owner.directory == place.directory


def _records(place: home.Home, environment: Mapping[str, str]) -> list[record.Instance]:
    """Records of other instances, which keep their addresses while they are stopped."""
    others = [each for each in home.all_homes(environment) if each.name != place.name]
    return [found for each in others if (found := each.instance())]
