"""Reports about a command that runs once."""

from cobaltcore.api.foreign.kubernetes import POD
from cobaltcore.engine import jobs
from cobaltcore.engine.definition import Task
from cobaltcore.engine.verdict import Waiting
from cobaltcore.runtime.meta import Object
from tests.support import planning

PREPARE = Task("prepare", ("prepare-databases",), before_keystone=True)


def message_of(*pods: Object) -> str:
    scope = planning.scope(planning.an_object("Nova"), *((POD, pod) for pod in pods))
    verdict = jobs.run_once(scope, PREPARE, running="Preparing").verdict
    assert isinstance(verdict, Waiting)
    return verdict.message


def test_a_job_whose_pod_does_not_fit_anywhere_is_reported() -> None:
    meta = {"name": "nova-prepare-1", "namespace": "openstack", "creationTimestamp": "2026-01-01"}
    full = {"type": "PodScheduled", "status": "False", "message": "1 Insufficient cpu"}
    pod = {"metadata": meta, "status": {"conditions": [full]}}
    assert message_of(pod).endswith(
        "is running; pod 'nova-prepare-1': not scheduled: 1 Insufficient cpu"
    )


def test_a_running_job_reports_nothing_more() -> None:
    assert message_of().endswith(" is running")
