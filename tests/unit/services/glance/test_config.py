from cobaltcore.api.foreign.kubernetes import DEPLOYMENT, JOB, PERSISTENT_VOLUME_CLAIM
from tests.support import openstack, planning

FILE = {"backend": "file", "file": {"size": "20Gi", "storageClass": "shared"}}


def test_images_in_ceph_are_cloned_by_others() -> None:
    found = planning.options(planning.facts(planning.an_object("Glance")), "glance-api.conf")
    assert found["DEFAULT"]["enabled_backends"] == "rbd:rbd"
    assert found["DEFAULT"]["show_image_direct_url"] == "true"
    assert found["rbd"] == {
        "rbd_store_pool": "images",
        "rbd_store_user": "glance",
        "rbd_store_ceph_conf": "/etc/ceph/ceph.conf",
        "rbd_store_chunk_size": "8",
    }


def test_the_key_is_in_a_secret_and_the_monitors_beside_it() -> None:
    carried = planning.carried(planning.facts(planning.an_object("Glance")))
    files = planning.secret_texts(carried.secret_files["/etc/ceph"])
    assert files["ceph.keyring"] == f"[client.glance]\nkey = {openstack.CEPH_KEY}\n"
    assert "mon_host = 10.0.0.1:6789" in files["ceph.conf"]
    assert "keyring = /etc/ceph/ceph.keyring" in files["ceph.conf"]
    assert openstack.CEPH_KEY not in str(carried.config_map)


def test_access_to_the_pool_is_proven_with_the_services_own_key() -> None:
    found = planning.everything(planning.facts(planning.an_object("Glance")))
    jobs = planning.of_kind(found, JOB)
    (name,) = [each for each in jobs if "ceph-check" in each]
    pod = jobs[name]["spec"]["template"]["spec"]
    assert pod["containers"][0]["command"] == [
        "python", "/etc/glance/ceph_probe.py", "/etc/ceph/ceph.conf:glance:images",
    ]  # fmt: skip
    assert {"name": "ceph", "secret": {"secretName": "glance-ceph", "defaultMode": 0o440}} in pod[
        "volumes"
    ]


def test_images_on_a_volume_outlive_glance() -> None:
    facts = planning.facts(planning.an_object("Glance", storage=FILE))
    wanted = planning.everything(facts)
    (claim,) = [each for each in wanted if each.kind == PERSISTENT_VOLUME_CLAIM]
    assert claim.kept
    assert claim.body["spec"] == {
        "accessModes": ["ReadWriteMany"],
        "resources": {"requests": {"storage": "20Gi"}},
        "storageClassName": "shared",
    }
    pod = planning.of_kind(wanted, DEPLOYMENT)["glance-api"]["spec"]["template"]["spec"]
    claims = [each for each in pod["volumes"] if "persistentVolumeClaim" in each]
    assert claims[0]["persistentVolumeClaim"]["claimName"] == "glance-images"
    store = planning.options(facts, "glance-api.conf")["file"]
    assert store["filesystem_store_datadir"] == "/var/lib/glance/images"


def test_monitors_come_from_rook_where_the_secret_does_not_name_them() -> None:
    obj = planning.an_object("Glance")
    facts = planning.facts(obj)
    for content in facts.observed.contents.values():
        content["data"].pop("mon_host", None)
    files = planning.secret_texts(planning.carried(facts).secret_files["/etc/ceph"])
    assert "mon_host = 10.0.0.1:6789,10.0.0.2:6789" in files["ceph.conf"]
