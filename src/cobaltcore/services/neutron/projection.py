"""Neutron as a part of a ControlPlane. Pure."""

from cobaltcore.api.neutron import MetadataAgent, Ml2, NeutronSettings, NeutronSpec, Ovn
from cobaltcore.api.pods import Workload
from cobaltcore.engine.part import METADATA_SECRET, CatalogEntry, Parent, ServicePart


def project(parent: Parent[NeutronSettings]) -> NeutronSpec:
    return NeutronSpec(
        api=parent.workload(parent.settings.api, Workload),
        database=parent.main_database,
        messaging=parent.messaging,
        ovn=Ovn(cluster_ref=parent.ovn),
        ml2=parent.settings.ml2 or Ml2(),
        metadata_agent=MetadataAgent(shared_secret_ref=METADATA_SECRET.reference()),
        cache=parent.cache,
        **parent.common,
    )


PART = ServicePart(
    block=NeutronSettings,
    phase="Compute",
    project=project,
    # Nova drops events of services about servers of other projects.
    roles=("admin", "service"),
    needs=("rabbitmq", "ovn"),
    catalog=CatalogEntry("network", "Networks"),
    uses_messaging=True,
    calls=("nova", "placement"),
    secrets=(METADATA_SECRET,),
)
