"""What is told about a command that runs once."""

from cobaltcore.api.foreign.kubernetes import POD
from cobaltcore.engine import tasks
from cobaltcore.engine.definition import Task
from cobaltcore.engine.verdict import Waiting
from cobaltcore.runtime.meta import Object
from tests.support import planning

PREPARE = Task("prepare", ("prepare-databases",), prepares=True)


def told(*pods: Object) -> str:
    facts = planning.facts(planning.an_object("Nova"), *((POD, pod) for pod in pods))
    verdict = tasks.run_once(facts, PREPARE, running="Preparing").verdict
    assert isinstance(verdict, Waiting)
    return verdict.message


def test_a_job_whose_pod_does_not_fit_anywhere_says_so() -> None:
    meta = {"name": "nova-prepare-1", "namespace": "openstack", "creationTimestamp": "2026-01-01"}
    full = {"type": "PodScheduled", "status": "False", "message": "1 Insufficient cpu"}
    pod = {"metadata": meta, "status": {"conditions": [full]}}
    assert told(pod).endswith("runs; pod 'nova-prepare-1': not scheduled: 1 Insufficient cpu")


def test_a_job_that_gets_on_says_nothing_more() -> None:
    assert told().endswith(" runs")
