"""Nova as a part of a ControlPlane. Pure."""

import msgspec

from cobaltcore.api.barbican import KeyManager
from cobaltcore.api.blocks import Dependency
from cobaltcore.api.nova import (
    Cell,
    Compute,
    Console,
    ConsoleSettings,
    EphemeralStorage,
    Metadata,
    NovaDatabase,
    NovaSettings,
    NovaSpec,
    Scheduler,
)
from cobaltcore.api.pods import Workload
from cobaltcore.engine.part import (
    METADATA_SECRET,
    CatalogEntry,
    CephAccess,
    Listener,
    Parent,
    ServicePart,
)
from cobaltcore.services.nova.steps import console, metadata


def project(parent: Parent[NovaSettings]) -> NovaSpec:
    settings = parent.settings
    proxies = settings.console or ConsoleSettings()
    storage = EphemeralStorage()
    if parent.rbd is not None:
        storage = EphemeralStorage(backend="rbd", rbd=parent.rbd)
    return NovaSpec(
        api=parent.workload(settings.api, Workload),
        scheduler=parent.workload(settings.scheduler, Scheduler),
        conductor=parent.workload(settings.conductor, Workload),
        metadata=msgspec.structs.replace(
            parent.workload(settings.metadata, Metadata),
            shared_secret_ref=METADATA_SECRET.reference(),
        ),
        console=msgspec.structs.replace(
            parent.workload(proxies, Console),
            enabled=proxies.enabled,
            public_endpoint=proxies.public_endpoint,
        ),
        compute=settings.compute or Compute(),
        database=NovaDatabase(**parent.database),
        messaging=parent.messaging,
        cells=settings.cells or [Cell(name="cell1")],
        # A nova-compute that cannot report to Placement when it starts retries a minute later.
        depends_on=[Dependency(kind="Placement", name="placement")]
        if parent.enabled("placement")
        else None,
        storage=storage,
        cache=parent.cache,
        key_manager=KeyManager() if parent.enabled("barbican") else None,
        **parent.common,
    )


PART = ServicePart(
    block=NovaSettings,
    phase="Compute",
    project=project,
    # Neutron hides segments and requests for resources from services, Cinder has no rules for them.
    roles=("admin", "service"),
    needs=("rabbitmq", "ceph", "placement", "glance"),
    catalog=CatalogEntry("compute", "Servers", "/v2.1"),
    uses_messaging=True,
    messaging_from_nodes=True,
    calls=("placement", "glance", "neutron", "cinder", "barbican"),
    listeners=(Listener(metadata.PORT), Listener(console.PORT, public=True)),
    secrets=(METADATA_SECRET,),
    # Snapshots of servers are written to the images' pool without a copy through Glance.
    ceph=CephAccess("ephemeral", writes=("volumes", "images")),
)
