"""A whole service in one file: what adding one takes."""

from cobaltcore.api.base import Definition, Resource
from cobaltcore.api.blocks import Database, Image, KeystoneAuth, ServiceSpec, ServiceStatus
from cobaltcore.api.pods import Replicas
from cobaltcore.engine import oslo
from cobaltcore.engine.definition import Config, Service, ServiceScope, Workload
from cobaltcore.engine.desired import inifile
from cobaltcore.runtime.meta import Kind

KIND = Kind("kettle.openstack.c5c3.io", "v1alpha1", "Kettle", "kettles")


class KettleSpec(ServiceSpec):
    """The Kettle that should run."""

    replicas: Replicas = 1
    """How many API pods run."""
    image: Image
    """Container image."""
    database: Database
    """Where data is kept."""
    keystone: KeystoneAuth
    """How it logs in to Keystone."""


class Kettle(Resource[KettleSpec, ServiceStatus]):
    """A service that boils water."""


Kettle.definition = Definition(KIND, Kettle)


def render(scope: ServiceScope[KettleSpec]) -> Config:
    """Options that all services have, and one of its own."""
    options = inifile.merge(
        oslo.shared_options(scope), oslo.token_options(scope), {"water": {"degrees": "100"}}
    )
    return Config(
        {"kettle.conf": inifile.render(options)},
        inifile.merge(oslo.database_secrets(scope), oslo.token_secrets(scope)),
    )


SERVICE = Service(
    name="kettle",
    resource=Kettle,
    status=ServiceStatus,
    port=8888,
    config=render,
    migration=lambda scope: ("kettle-manage", "db", "sync"),
    workloads=lambda scope: (Workload("api", scope.spec.replicas, module="kettle.wsgi.api"),),
)
