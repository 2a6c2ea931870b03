"""Cinder as a part of a ControlPlane. Pure."""

from cobaltcore.api.barbican import KeyManager
from cobaltcore.api.cinder import Backend, CinderSettings, CinderSpec, VolumeWorkload
from cobaltcore.api.pods import Workload
from cobaltcore.api.toggles import WorkloadSettings
from cobaltcore.engine.part import CatalogEntry, CephAccess, Parent, ServicePart

RBD_BACKEND = "rbd"


def project(parent: Parent[CinderSettings]) -> CinderSpec:
    """With Ceph its pool is the one backend."""
    settings, rbd = parent.settings, parent.rbd
    volume = settings.volume or WorkloadSettings()
    return CinderSpec(
        api=parent.workload(settings.api, Workload),
        scheduler=parent.workload(settings.scheduler, Workload),
        # Pods that serve one backend together need coordination: one unless asked for.
        volume=VolumeWorkload(replicas=volume.replicas or 1, resources=volume.resources),
        database=parent.main_database,
        messaging=parent.messaging,
        backends=[Backend(name=RBD_BACKEND, rbd=rbd)] if rbd else None,
        default_volume_type=RBD_BACKEND if rbd else None,
        cache=parent.cache,
        key_manager=KeyManager() if parent.enabled("barbican") else None,
        **parent.common,
    )


PART = ServicePart(
    block=CinderSettings,
    phase="Compute",
    project=project,
    # Nova drops events of services about servers of other projects.
    roles=("admin", "service"),
    needs=("rabbitmq", "ceph", "glance"),
    catalog=CatalogEntry("block-storage", "Volumes", "/v3"),
    uses_messaging=True,
    calls=("glance", "nova", "barbican"),
    ceph=CephAccess("volumes", reads=("images",)),
)
