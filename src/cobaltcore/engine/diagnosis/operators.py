"""Whether the operators themselves run. Pure."""

from cobaltcore.api.foreign.kubernetes import DEPLOYMENT
from cobaltcore.engine.diagnosis.facts import Facts, Named


def stopped(facts: Facts) -> list[Named]:
    """Deployments of operators of which no pod is ready."""
    return [each for each in facts.platform if not _ready_pods(facts, each)]


def _ready_pods(facts: Facts, named: Named) -> int:
    found = facts.get(DEPLOYMENT, named.key) or {}
    ready: int = (found.get("status") or {}).get("readyReplicas", 0)
    return ready
