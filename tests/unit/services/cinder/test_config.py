import base64
import string
from urllib.parse import urlsplit

import pytest

from cobaltcore.api.cinder import CinderSpec
from cobaltcore.api.foreign.kubernetes import DEPLOYMENT, JOB, SECRET
from cobaltcore.engine import ceph
from cobaltcore.engine.definition import ServiceScope
from cobaltcore.engine.verdict import InputInvalid
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


def with_password(password: str) -> ServiceScope[CinderSpec]:
    obj = planning.with_external_database(planning.an_object("Cinder", volume={"replicas": 2}))
    scope = planning.scope(obj)
    login = scope.observed.contents[SECRET, scope.sibling(scope.spec.database.secret_ref.name)]
    login["data"]["password"] = base64.b64encode(password.encode()).decode()
    return scope


@pytest.mark.parametrize("password", ["generated-_pass=", "a:b@c%d e", "a$b"])
def test_several_volume_pods_form_a_cluster_and_lock_each_other_out(password: str) -> None:
    scope = with_password(password)
    found = planning.options(scope, "cinder.conf")
    assert found["DEFAULT"]["cluster"] == "cinder"
    assert "coordination" not in found
    url = planning.secret_options(scope)["coordination"]["backend_url"]
    # As oslo.config and tooz read it.
    parsed = urlsplit(string.Template(url).substitute())
    assert parsed.scheme == "mysql"
    assert (parsed.username, parsed.password) == ("someone", password)
    assert (parsed.hostname, parsed.port, parsed.path) == ("db.example", 3306, "/cinder")


def test_one_volume_pod_locks_with_files() -> None:
    scope = planning.scope(planning.an_object("Cinder"))
    found = planning.options(scope, "cinder.conf")["coordination"]
    assert found["backend_url"].startswith("file:///var/lib/")
    assert "coordination" not in planning.secret_options(scope)


@pytest.mark.parametrize("password", ["a/b", "a?b", "a#b", "a[b", "ä"])
def test_login_that_locks_cannot_have_is_refused(password: str) -> None:
    with pytest.raises(InputInvalid, match=r"has one of /\?#\[\] or is not ASCII"):
        planning.rendered(with_password(password))


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
