"""A whole service in one file: what adding one takes."""

from cobaltcore.api.base import Definition, Resource
from cobaltcore.api.blocks import Database, Image, KeystoneAuth, ServiceSpec, ServiceStatus
from cobaltcore.api.pods import Replicas
from cobaltcore.engine import oslo
from cobaltcore.engine.definition import Config, Facts, Service, Workload
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


def render(facts: Facts) -> Config:
    """Options that all services have, and one of its own."""
    options = inifile.merge(
        oslo.shared_options(facts), oslo.token_options(facts), {"water": {"degrees": "100"}}
    )
    return Config(
        {"kettle.conf": inifile.render(options)},
        {
            **oslo.database_environment(facts),
            **oslo.login_environment(facts, "keystone_authtoken"),
        },
    )


DEFINITION = Definition(KIND, Kettle)
SERVICE = Service(
    name="kettle",
    kind=KIND,
    resource=Kettle,
    port=8888,
    config=render,
    migration=lambda spec: ("kettle-manage", "db", "sync"),
    workloads=lambda facts: (
        Workload("api", lambda spec: spec.replicas, module="kettle.wsgi.api"),
    ),
)
