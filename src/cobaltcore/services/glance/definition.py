"""Glance: the image service."""

from cobaltcore.api import glance
from cobaltcore.engine import ceph
from cobaltcore.engine.definition import Service, Step, Workload
from cobaltcore.services.glance import config
from cobaltcore.services.glance.steps import storage

SERVICE = Service(
    name="glance",
    kind=glance.KIND,
    resource=glance.Glance,
    port=9292,
    secrets=lambda spec: [ceph.need(spec.storage.rbd, "glance")] if spec.storage.rbd else [],
    config=config.render,
    migration=lambda facts: ("glance-manage", "db_sync"),
    mounts=storage.mounts,
    steps=(
        Step("CephConnected", storage.connected, when=storage.is_ceph, needs=("ConfigReady",)),
        Step("StorageReady", storage.claimed, when=storage.is_volume, needs=("ConfigReady",)),
    ),
    workloads=lambda facts: (
        Workload(
            "api", lambda spec: spec.replicas, module="glance.wsgi.api", health="/healthcheck"
        ),
    ),
)
