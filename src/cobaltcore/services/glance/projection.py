"""Glance as a part of a ControlPlane. Pure."""

from cobaltcore.api.glance import FileStore, GlanceSettings, GlanceSpec, GlanceStorage
from cobaltcore.engine.part import CatalogEntry, CephAccess, Parent, ServicePart


def project(parent: Parent[GlanceSettings]) -> GlanceSpec:
    """Images go to Ceph if there is one."""
    storage = GlanceStorage(backend="file", file=FileStore())
    if parent.rbd is not None:
        storage = GlanceStorage(backend="rbd", rbd=parent.rbd)
    return GlanceSpec(
        replicas=parent.replicas(parent.settings.replicas),
        database=parent.main_database,
        storage=storage,
        cache=parent.cache,
        **parent.common,
    )


PART = ServicePart(
    block=GlanceSettings,
    phase="Core",
    project=project,
    # The check of the API lists what the user may read.
    roles=("reader", "service"),
    needs=("ceph",),
    catalog=CatalogEntry("image", "Images"),
    ceph=CephAccess("images"),
)
