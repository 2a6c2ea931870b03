"""The agents that pass servers' requests for metadata on to Nova. Pure."""

from collections.abc import Iterator, Sequence

import msgspec

from cobaltcore.api.foreign.kubernetes import SECRET
from cobaltcore.api.neutron import NeutronSpec
from cobaltcore.engine import access
from cobaltcore.engine import workloads as pods
from cobaltcore.engine.definition import NodeAgent, SecretNeed, ServiceScope, Workload, asking
from cobaltcore.engine.desired import names, secret
from cobaltcore.engine.desired.volumes import Volume, host_path
from cobaltcore.runtime.meta import Key, Kind
from cobaltcore.services.neutron.steps import ovn

OVS_DIR = "/run/openvswitch"
OVS_SOCKET = f"{OVS_DIR}/db.sock"
AGENT = ("neutron", "metadata-agent")
COMPONENT = "metadata-agent"
NOVA = "nova"
"""The Nova whose metadata API is used where the spec names none."""


def secret_name(spec: NeutronSpec) -> str:
    """The Secret that agents and Nova share."""
    ref = spec.metadata_agent.shared_secret_ref
    return ref.name if ref is not None else names.metadata_secret(NOVA)


def secret_key(spec: NeutronSpec) -> str:
    """Its key in that Secret."""
    ref = spec.metadata_agent.shared_secret_ref
    return (ref.key if ref is not None else None) or names.METADATA_SECRET_KEY


def needs(spec: NeutronSpec) -> Iterator[SecretNeed]:
    """A Secret that the spec names has to be there; Nova's own may come later."""
    agent = spec.metadata_agent
    if agent.enabled and agent.shared_secret_ref is not None:
        yield SecretNeed(agent.shared_secret_ref.name, (secret_key(spec),), "metadata")


def references(key: Key, spec: NeutronSpec) -> Iterator[tuple[Kind, Key]]:
    """The Secret that Nova creates."""
    if spec.metadata_agent.enabled:
        yield SECRET, Key(key.namespace, secret_name(spec))


class Agent(msgspec.Struct):
    """An agent on a hypervisor as the API describes it."""

    host: str
    alive: bool
    agent_type: str


def agents_dead(scope: ServiceScope[NeutronSpec], rows: Sequence[msgspec.Struct]) -> str:
    """Which agents are not alive in the API although their node has a ready pod."""
    nodes = pods.nodes(scope, COMPONENT)
    found = [each for each in rows if isinstance(each, Agent) and each.host in nodes]
    dead = sorted((each.host, each.agent_type) for each in found if not each.alive)
    if not dead:
        return ""
    host, kind = dead[0]
    alive = f"{len(found) - len(dead)}/{len(found)} agents are alive"
    return f"{alive}: {kind!r} on {host!r} is not; the log of its pod has the cause"


def workloads(scope: ServiceScope[NeutronSpec]) -> Iterator[Workload]:
    """One agent on each hypervisor, as soon as it can prove itself to Nova."""
    shared = access.secret_content(scope, secret_name(scope.spec))
    is_known = secret.text(shared, secret_key(scope.spec)) is not None
    if scope.spec.metadata_agent.enabled and ovn.is_used(scope) and is_known:
        yield Workload(
            COMPONENT,
            command=("cobalt-agent", *AGENT, OVS_SOCKET),
            readiness=("cobalt-agent", "ready", *AGENT),
            condition="MetadataAgentsReady",
            config="agent",
            settings=scope.spec.metadata_agent,
            volumes=(
                host_path("openvswitch", OVS_DIR),
                Volume("namespaces", "/run/netns"),
            ),
            agent=NodeAgent(node_environment={"OS_DEFAULT__HOST": "spec.nodeName"}),
            resources=asking("20m", "192Mi"),
        )
