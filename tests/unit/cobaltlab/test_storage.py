from typing import Any

from cobaltlab import manifests, storage


def a_claim(**changes: Any) -> dict[str, Any]:
    claim: dict[str, Any] = {
        "metadata": {
            "name": "data",
            "namespace": "default",
            "uid": "1-2",
            "annotations": {storage.SELECTED_NODE: "hypervisor-1"},
        },
        "spec": {
            "storageClassName": manifests.STORAGE_CLASS,
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    for part, fields in changes.items():
        claim[part] |= fields
    return claim


def test_a_volume_is_bound_to_its_claim_and_its_node() -> None:
    volume = storage.volume(a_claim(), node="hypervisor-1")
    assert volume["metadata"]["name"] == "pvc-1-2"
    assert volume["spec"]["claimRef"]["uid"] == "1-2"
    assert volume["spec"]["capacity"] == {"storage": "1Gi"}
    (term,) = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    assert term["matchExpressions"][0]["values"] == ["hypervisor-1"]


def test_a_claim_is_pending_with_a_selected_node_and_no_volume() -> None:
    assert storage._is_pending(a_claim())
    assert not storage._is_pending(a_claim(metadata={"annotations": {}}))
    assert not storage._is_pending(a_claim(metadata={"deletionTimestamp": "now"}))
    assert not storage._is_pending(a_claim(spec={"volumeName": "pvc-1"}))
    assert not storage._is_pending(a_claim(spec={"storageClassName": "other"}))


def test_only_own_released_volumes_with_policy_delete_are_deleted() -> None:
    released = {
        **storage.volume(a_claim(), node="hypervisor-1"),
        "status": {"phase": "Released"},
    }
    assert storage._is_released(released)
    assert not storage._is_released({**released, "status": {"phase": "Bound"}})
    retained = {**released["spec"], "persistentVolumeReclaimPolicy": "Retain"}
    assert not storage._is_released({**released, "spec": retained})
    foreign = {**released["metadata"], "annotations": {}}
    assert not storage._is_released({**released, "metadata": foreign})
