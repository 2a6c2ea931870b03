from cobaltcore.runtime.client import Client
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.meta import key_of
from tests.support.control_plane import ControlPlaneHarness
from tests.support.operating import eventually, operating, transport
from tests.support.scenario import Life

AGENT = "converged-operator"


async def test_a_converged_reconcile_makes_no_api_request(
    control_plane: ControlPlaneHarness, client: Client, namespace: str, ledger: str
) -> None:
    life = Life(client, namespace, ledger)
    await life.create()
    wire = transport(control_plane, AGENT)
    async with operating(wire, namespace=namespace, ledger=ledger) as running:
        await eventually(life.is_created, "the sample is created")
        await eventually(running.rests, "the operator rests")
        before, mark = running.reconciles(life.key), control_plane.mark()
        running.operator.controller.queue.add(life.key)
        await eventually(running.rests, "the reconcile is done")
        assert running.reconciles(life.key) == before + 1
        assert control_plane.audit(since=mark, agent=AGENT) == []


async def test_a_restarted_operator_only_reads(
    control_plane: ControlPlaneHarness, client: Client, namespace: str, ledger: str
) -> None:
    life = Life(client, namespace, ledger)
    await life.create()
    first = transport(control_plane, AGENT)
    async with operating(first, namespace=namespace, ledger=ledger) as running:
        await eventually(life.is_created, "the sample is created")
        await eventually(running.rests, "the operator rests")
    mark = control_plane.mark()
    second = transport(control_plane, f"{AGENT}-2")
    async with operating(second, namespace=namespace, ledger=ledger) as running:
        await eventually(running.rests, "the operator rests")
        assert running.reconciles(life.key) >= 1
    requests = control_plane.audit(since=mark, agent=f"{AGENT}-2")
    watches = [each for each in requests if each.verb == "watch"]
    writes = [each for each in requests if each.verb not in ("watch", "get")]
    assert len(watches) == 4
    # One value of the Deployment is returned in another spelling: sent once more, changing nothing.
    assert [each.object.resource for each in writes] == ["deployments"]


async def test_a_converged_deployment_keeps_its_version_over_a_restart(
    control_plane: ControlPlaneHarness, client: Client, namespace: str, ledger: str
) -> None:
    life = Life(client, namespace, ledger)
    await life.create()
    versions = []
    for number in range(2):
        wire = transport(control_plane, f"{AGENT}-v{number}")
        async with operating(wire, namespace=namespace, ledger=ledger) as running:
            await eventually(life.is_created, "the sample is created")
            await eventually(running.rests, "the operator rests")
            versions.append(_versions(running.cluster))
    assert versions[0] == versions[1]


def _versions(cluster: Cluster) -> dict[str, str]:
    return {
        f"{informer.kind.kind} {key_of(obj)}": obj["metadata"]["resourceVersion"]
        for informer in cluster.informers
        for obj in informer.objects()
    }
