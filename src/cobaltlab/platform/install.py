"""The step `operators` of `cobalt up`: CRDs, RBAC, operators and lab providers."""

import asyncio
from collections.abc import Mapping

from cobaltcore.cli import phases
from cobaltlab import record, statedir, subnets
from cobaltlab.platform import apply, development, rbac, readiness, workloads
from cobaltlab.providers import provider

OPERATORS_IMAGE = "cobaltcore"
PROVIDERS_IMAGE = "cobaltlab"


def needed_images(*, dev: bool) -> set[str]:
    """Images of the providers' servers, and of operators and providers unless they run on the host."""
    servers = {name for each in provider.discover().values() for name in each.images}
    return servers if dev else servers | {OPERATORS_IMAGE, PROVIDERS_IMAGE}


def install(
    state_dir: statedir.StateDir,
    instance: record.Instance,
    references: Mapping[str, str],
    *,
    progress: phases.Phases,
) -> None:
    """Install or upgrade operators and providers with these images, and wait until they are ready."""
    asyncio.run(_install(state_dir, instance, references, progress))


async def _install(
    state_dir: statedir.StateDir,
    instance: record.Instance,
    references: Mapping[str, str],
    progress: phases.Phases,
) -> None:
    servers = {name: references[name] for name in needed_images(dev=True)}
    async with apply.connected(state_dir) as client:
        with progress.phase("CRDs and RBAC"):
            await apply.crds(client)
            await apply.apply(client, [workloads.namespace()])
            objects = list(rbac.objects())
            await apply.apply(client, objects)
            await apply.prune_roles(client, objects)
        with progress.phase("operators and providers") as phase:
            if instance.dev:
                phase.detail("removing pods")
                await apply.remove_workloads(client)
                await asyncio.to_thread(development.start, state_dir, instance, servers)
                await readiness.host_processes(state_dir, subnets.Subnets(instance.index), phase)
            else:
                await asyncio.to_thread(development.stop, state_dir)
                await apply.apply(
                    client,
                    [
                        *workloads.operators(references[OPERATORS_IMAGE]),
                        *workloads.providers(references[PROVIDERS_IMAGE], servers),
                    ],
                )
                await readiness.deployments(client, phase)
