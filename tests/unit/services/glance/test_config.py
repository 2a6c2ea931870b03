from cobaltcore.api.foreign.kubernetes import DEPLOYMENT, JOB, PERSISTENT_VOLUME_CLAIM
from tests.support import openstack, planning

FILE = {"backend": "file", "file": {"size": "20Gi", "storageClass": "shared"}}


def test_images_in_ceph_are_cloned_by_others() -> None:
    found = planning.options(planning.scope(planning.an_object("Glance")), "glance-api.conf")
    assert found["DEFAULT"]["enabled_backends"] == "rbd:rbd"
    assert found["DEFAULT"]["show_image_direct_url"] == "true"
    assert found["rbd"] == {
        "rbd_store_pool": "images",
        "rbd_store_user": "glance",
        "rbd_store_ceph_conf": "/etc/ceph/ceph.conf",
        "rbd_store_chunk_size": "8",
    }


def test_the_key_is_in_a_secret_with_the_monitors() -> None:
    rendered = planning.rendered(planning.scope(planning.an_object("Glance")))
    files = planning.secret_texts(rendered.secret_files["/etc/ceph"])
    assert files["ceph.client.glance.keyring"] == f"[client.glance]\nkey = {openstack.CEPH_KEY}\n"
    assert "mon_host = 10.0.0.1:6789" in files["ceph.conf"]
    assert "keyring = /etc/ceph/ceph.client.glance.keyring" in files["ceph.conf"]
    assert openstack.CEPH_KEY not in str(rendered.config_map)


def test_images_can_be_deleted_while_volumes_were_cloned_from_them() -> None:
    rendered = planning.rendered(planning.scope(planning.an_object("Glance")))
    files = planning.secret_texts(rendered.secret_files["/etc/ceph"])
    assert "rbd_default_clone_format = 2" in files["ceph.conf"].partition("[client.glance]")[2]


def test_uploads_may_pause_longer_than_a_socket() -> None:
    rendered = planning.rendered(planning.scope(planning.an_object("Glance")))
    uwsgi = rendered.config_map.body["data"]["uwsgi-api.ini"]
    assert "chunked-input-timeout = 60" in uwsgi


def test_metadata_definitions_of_the_release_are_loaded_into_the_database() -> None:
    found = planning.of_kind(
        planning.everything(planning.scope(planning.an_object("Glance"))), JOB
    )
    (job,) = [body for name, body in found.items() if name.startswith("glance-metadefs")]
    assert job["spec"]["template"]["spec"]["containers"][0]["command"] == [
        "glance-manage", "db", "load_metadefs",
        "--path", "/var/lib/openstack/etc/glance/metadefs", "--merge",
    ]  # fmt: skip


def test_access_to_the_pool_is_proven_with_the_services_own_key() -> None:
    found = planning.everything(planning.scope(planning.an_object("Glance")))
    jobs = planning.of_kind(found, JOB)
    (name,) = [each for each in jobs if "ceph-check" in each]
    pod = jobs[name]["spec"]["template"]["spec"]
    assert pod["containers"][0]["command"] == [
        "cobalt-agent", "ceph", "check", "/etc/ceph/ceph.conf:glance:images",
    ]  # fmt: skip
    assert {"name": "ceph", "secret": {"secretName": "glance-ceph", "defaultMode": 0o440}} in pod[
        "volumes"
    ]


def test_images_on_a_volume_outlive_glance() -> None:
    scope = planning.scope(planning.an_object("Glance", storage=FILE))
    wanted = planning.everything(scope)
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
    store = planning.options(scope, "glance-api.conf")["file"]
    assert store["filesystem_store_datadir"] == "/var/lib/glance/images"


def test_monitors_come_from_rook_where_the_secret_does_not_name_them() -> None:
    obj = planning.an_object("Glance")
    scope = planning.scope(obj)
    for content in scope.observed.contents.values():
        content["data"].pop("mon_host", None)
    files = planning.secret_texts(planning.rendered(scope).secret_files["/etc/ceph"])
    assert "mon_host = 10.0.0.1:6789,10.0.0.2:6789" in files["ceph.conf"]


def test_monitors_of_the_spec_come_before_those_of_rook() -> None:
    storage = {"storage__rbd__monitors": ["10.1.0.1:6789", "10.1.0.2:6789"]}
    files = planning.rendered(planning.scope(planning.an_object("Glance", **storage))).secret_files
    text = planning.secret_texts(files["/etc/ceph"])["ceph.conf"]
    assert "mon_host = 10.1.0.1:6789,10.1.0.2:6789" in text


def test_the_ceph_client_is_the_user_unless_another_is_named() -> None:
    obj = planning.an_object("Glance", storage__rbd__cephClientRef={"name": "images"})
    obj["spec"]["storage"]["rbd"].pop("user", None)
    found = planning.options(planning.scope(obj), "glance-api.conf")
    assert found["rbd"]["rbd_store_user"] == "images"
