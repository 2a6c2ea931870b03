"""Storage on a Ceph that Rook runs."""

from cobaltcore.api.foreign import rook
from cobaltcore.engine.verdict import Blocked, Ready, Waiting
from tests.support.control_planes import NAMESPACE, a_control_plane, a_ready_one, key
from tests.support.simulation import Simulation

NAME = "rook-ceph"


def with_ceph(plane: Simulation) -> Simulation:
    meta = {"name": NAME, "namespace": NAMESPACE, "generation": 1, "uid": NAME}
    plane.add(rook.CEPH_CLUSTER, {"metadata": meta})
    plane.converge()
    return plane


def test_missing_ceph_cluster_is_named() -> None:
    plane = a_ready_one(storage__ceph__clusterRef__name=NAME)
    assert plane.plan().verdict == Waiting(
        "CephClusterMissing",
        "ceph: CephCluster 'rook-ceph' (storage.ceph.clusterRef) does not exist in namespace "
        "'openstack'",
    )


def test_ceph_cluster_of_another_namespace_blocks() -> None:
    reference = {"name": NAME, "namespace": "elsewhere"}
    verdict = a_ready_one(storage__ceph__clusterRef=reference).plan().verdict
    assert isinstance(verdict, Blocked)
    assert verdict.reason == "OtherNamespace"


def test_services_get_pools_and_keys() -> None:
    plane = with_ceph(a_control_plane(storage__ceph__clusterRef__name=NAME))
    assert isinstance(plane.plan().verdict, Ready)
    pools = {each.name for kind, each in plane.desired if kind == rook.CEPH_BLOCK_POOL}
    clients = {each.name for kind, each in plane.desired if kind == rook.CEPH_CLIENT}
    assert (pools, clients) == ({"images", "volumes", "vms"}, {"glance", "cinder", "nova"})


def test_nova_writes_snapshots_of_servers_to_the_pool_of_images() -> None:
    plane = with_ceph(a_control_plane(storage__ceph__clusterRef__name=NAME))
    capabilities = plane.objects[rook.CEPH_CLIENT, key("nova")]["spec"]["caps"]["osd"]
    assert "profile rbd pool=images" in capabilities.split(", ")


def test_pool_that_is_not_ready_is_named_with_its_phase() -> None:
    plane = with_ceph(a_control_plane(storage__ceph__clusterRef__name=NAME))
    plane.objects[rook.CEPH_BLOCK_POOL, key("images")]["status"]["phase"] = "Progressing"
    assert plane.plan().verdict == Waiting(
        "CephNotReady", "ceph: CephBlockPool 'images' is Progressing"
    )
