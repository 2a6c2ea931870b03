from cobaltcore.api.foreign.kubernetes import DEPLOYMENT, JOB
from cobaltcore.engine import ceph
from tests.support import planning


def test_each_backend_is_a_section_and_a_volume_type() -> None:
    scope = planning.scope(planning.an_object("Cinder"))
    found = planning.options(scope, "cinder.conf")
    assert found["DEFAULT"]["enabled_backends"] == "ceph-rbd,nfs"
    assert found["DEFAULT"]["default_volume_type"] == "ceph-rbd"
    assert found["ceph-rbd"] == {
        "volume_driver": "cinder.volume.drivers.rbd.RBDDriver",
        "volume_backend_name": "ceph-rbd",
        "rbd_pool": "volumes",
        "rbd_user": "cinder",
        "rbd_ceph_conf": "/etc/ceph/ceph-rbd.conf",
        "rbd_cluster_name": "ceph-rbd",
        "rbd_secret_uuid": ceph.libvirt_secret("openstack", "cinder"),
        "rbd_flatten_volume_from_snapshot": "false",
        "report_discard_supported": "true",
    }
    assert found["nfs"]["nfs_shares_config"] == "/etc/cinder/nfs_shares"
    jobs = planning.of_kind(planning.everything(scope), JOB)
    (types,) = [body for name, body in jobs.items() if "volume-types" in name]
    command = types["spec"]["template"]["spec"]["containers"][0]["command"]
    assert command == ["cobalt-agent", "cinder", "volume-types", "ceph-rbd", "nfs"]


def test_os_brick_finds_the_keyring_by_the_names_of_cluster_and_user() -> None:
    rendered = planning.rendered(planning.scope(planning.an_object("Cinder")))
    files = planning.secret_texts(rendered.secret_files["/etc/ceph"])
    section = planning.options(planning.scope(planning.an_object("Cinder")), "cinder.conf")
    cluster, user = (section["ceph-rbd"][key] for key in ("rbd_cluster_name", "rbd_user"))
    assert f"[client.{user}]\nkey = " in files[f"{cluster}.client.{user}.keyring"]


def test_without_backends_there_is_nobody_to_talk_to_them() -> None:
    obj = planning.an_object("Cinder", backends=[])
    obj["spec"].pop("defaultVolumeType")
    found = planning.of_kind(planning.everything(planning.scope(obj)), DEPLOYMENT)
    assert sorted(found) == ["cinder-api", "cinder-scheduler"]


def test_several_volume_pods_form_a_cluster_and_share_their_locks() -> None:
    cache = {"servers": ["memcached-0:11211", "memcached-1:11211"]}
    scope = planning.scope(planning.an_object("Cinder", volume={"replicas": 2}, cache=cache))
    found = planning.options(scope, "cinder.conf")
    assert found["DEFAULT"]["cluster"] == "cinder"
    assert found["coordination"]["backend_url"] == "memcached://memcached-0:11211"


def test_only_volume_pods_may_become_root_in_their_container() -> None:
    found = planning.of_kind(
        planning.everything(planning.scope(planning.an_object("Cinder"))), DEPLOYMENT
    )
    allowed = {
        name: body["spec"]["template"]["spec"]["containers"][0]["securityContext"][
            "allowPrivilegeEscalation"
        ]
        for name, body in found.items()
    }
    assert allowed == {"cinder-api": False, "cinder-scheduler": False, "cinder-volume": True}
