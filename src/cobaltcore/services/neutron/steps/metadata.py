"""The agents that pass servers' requests for metadata on to Nova. Pure."""

from collections.abc import Iterator
from typing import Any

from cobaltcore.api.foreign.kubernetes import SECRET
from cobaltcore.engine import access, program
from cobaltcore.engine.definition import Facts, NodeAgent, SecretNeed, Workload
from cobaltcore.engine.desired import names, secret
from cobaltcore.engine.desired.mounts import Mount
from cobaltcore.runtime.meta import Key, Kind
from cobaltcore.services.neutron.steps import ovn

SWITCH_DIR = "/run/openvswitch"
SWITCH = f"{SWITCH_DIR}/db.sock"
CONFIG_DIR = "/etc/neutron"
PROGRAM = "metadata_agent.py"
NOVA = "nova"
"""The Nova whose metadata API is used where the spec names none."""


def secret_name(spec: Any) -> str:
    """The Secret that agents and Nova share."""
    given = spec.metadata_agent.shared_secret_ref
    return given.name if given is not None else names.metadata_secret(NOVA)


def needs(spec: Any) -> Iterator[SecretNeed]:
    """A Secret that the spec names has to be there; Nova's own may come later."""
    agent = spec.metadata_agent
    if agent.enabled and agent.shared_secret_ref is not None:
        keys = (names.METADATA_SECRET_KEY,)
        yield SecretNeed(agent.shared_secret_ref.name, keys, "metadata")


def references(key: Key, spec: Any) -> Iterator[tuple[Kind, Key]]:
    """The Secret that Nova makes."""
    if spec.metadata_agent.enabled:
        yield SECRET, Key(key.namespace, secret_name(spec))


def program_file() -> dict[str, str]:
    """The program that runs the agent, for its ConfigMap."""
    return {PROGRAM: program.text("cobaltcore.services.neutron.programs", PROGRAM)}


def workloads(facts: Facts) -> Iterator[Workload]:
    """One agent on each hypervisor, as soon as it can prove itself to Nova."""
    shared = access.secret_content(facts, secret_name(facts.spec))
    is_known = secret.text(shared, names.METADATA_SECRET_KEY) is not None
    if facts.spec.metadata_agent.enabled and ovn.is_used(facts) and is_known:
        yield Workload(
            "metadata-agent",
            command=("python", f"{CONFIG_DIR}/{PROGRAM}", SWITCH),
            condition="MetadataAgentsReady",
            config="agent",
            settings=lambda spec: spec.metadata_agent,
            mounts=lambda facts: (
                Mount("openvswitch", SWITCH_DIR, host=SWITCH_DIR),
                Mount("namespaces", "/run/netns"),
            ),
            agent=NodeAgent(values={"OS_DEFAULT__HOST": "spec.nodeName"}),
        )
