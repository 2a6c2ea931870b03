"""The stage `operators` of `cobalt up`: kinds, accounts, and the processes that serve them."""

import asyncio
from collections.abc import Mapping

from cobaltcore.lab import home, phases, ranges, record
from cobaltcore.lab.platform import accounts, development, install, waiting, workloads
from cobaltcore.lab.providers import provider

OWN_IMAGE = "cobaltcore"


def needed_images(*, dev: bool) -> set[str]:
    """Images of the servers that providers start, and ours unless it runs on the host."""
    servers = {name for each in provider.discover().values() for name in each.images}
    return servers if dev else servers | {OWN_IMAGE}


def bring_up(
    place: home.Home,
    instance: record.Instance,
    references: Mapping[str, str],
    *,
    shown: phases.Phases,
) -> None:
    """Have operators and providers work in a cluster that stands, from these images."""
    asyncio.run(_bring_up(place, instance, references, shown))


async def _bring_up(
    place: home.Home,
    instance: record.Instance,
    references: Mapping[str, str],
    shown: phases.Phases,
) -> None:
    servers = {name: references[name] for name in needed_images(dev=True)}
    async with install.connected(place) as client:
        with shown.phase("kinds and accounts"):
            await install.kinds(client)
            await install.apply(client, [workloads.namespace()])
            objects = list(accounts.objects())
            await install.apply(client, objects)
            await install.prune_roles(client, objects)
        with shown.phase("operators and providers") as phase:
            if instance.dev:
                phase.detail("removing pods")
                await install.remove_workloads(client)
                await asyncio.to_thread(development.start, place, instance, servers)
                await waiting.hosted(place, ranges.Ranges(instance.index), phase)
            else:
                await asyncio.to_thread(development.stop, place)
                await install.apply(client, workloads.objects(references[OWN_IMAGE], servers))
                await waiting.deployed(client, phase)
