"""fsid and initial keys of a cluster, in Secrets with the names of Rook. Pure.

The Secret `rook-ceph-mon` is created once and kept with the data, which is lost without it.
"""

import base64
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

import msgspec

from cobaltcore.api.foreign.kubernetes import CONFIG_MAP, SECRET
from cobaltcore.runtime.meta import Desired, Key, Object
from cobaltlab.ceph import config, keys
from cobaltlab.ceph.keys import Entity

NAME = "rook-ceph-mon"
SECRET_TYPE = "kubernetes.io/rook"  # noqa: S105 a type
ADMIN = "client.admin"
MON_ID = MGR_ID = "a"
ENDPOINTS = "rook-ceph-mon-endpoints"


@dataclass(frozen=True, slots=True)
class Identity:
    """fsid and keys of a cluster."""

    fsid: str
    mon: str = field(repr=False)
    admin: str = field(repr=False)
    mgr: str = field(repr=False)
    bootstrap_osd: str = field(repr=False)


def new(now: datetime) -> Identity:
    """Generate the identity of a new cluster."""
    mon, admin, mgr, bootstrap_osd = (keys.generate(now) for _ in range(4))
    return Identity(str(uuid.uuid4()), mon, admin, mgr, bootstrap_osd)


def secret(identity: Identity, namespace: str) -> Desired:
    """The Secret `rook-ceph-mon`."""
    content = {
        "fsid": identity.fsid,
        "cluster-name": namespace,
        "mon-secret": identity.mon,
        "ceph-username": ADMIN,
        "ceph-secret": identity.admin,
        "mgr-secret": identity.mgr,
        "bootstrap-osd-secret": identity.bootstrap_osd,
    }
    return Desired(SECRET, _secret(Key(namespace, NAME), content), once=True)


def read(found: Object) -> Identity:
    """Read the Secret; a KeyError names a missing key."""
    data = {name: base64.b64decode(value).decode() for name, value in found["data"].items()}
    return Identity(
        data["fsid"],
        data["mon-secret"],
        data["ceph-secret"],
        data["mgr-secret"],
        data["bootstrap-osd-secret"],
    )


def keyrings(identity: Identity, namespace: str) -> list[Desired]:
    """The keyrings that daemons and administrators mount, one Secret each."""
    admin = Entity(identity.admin, keys.ALL_CAPS)
    mgr = Entity(identity.mgr, {"mon": "allow profile mgr", "osd": "allow *", "mds": "allow *"})
    bootstrap = Entity(identity.bootstrap_osd, {"mon": "allow profile bootstrap-osd"})
    all_entities = {
        "mon.": Entity(identity.mon, {"mon": "allow *"}),
        ADMIN: admin,
        f"mgr.{MGR_ID}": mgr,
        "client.bootstrap-osd": bootstrap,
    }
    files = {
        "rook-ceph-mons-keyring": all_entities,
        "rook-ceph-admin-keyring": {ADMIN: admin},
        f"rook-ceph-mgr-{MGR_ID}-keyring": {f"mgr.{MGR_ID}": mgr},
        "rook-ceph-osd-keyring": {"client.bootstrap-osd": bootstrap},
    }
    return [
        Desired(SECRET, _secret(Key(namespace, name), {"keyring": keys.keyring(entities)}))
        for name, entities in files.items()
    ]


def endpoints(namespace: str, address: str) -> list[Desired]:
    """The monitor's address for clients: Rook's ConfigMap and Secret."""
    monitors = [{"clusterID": namespace, "namespace": namespace, "monitors": [f"{address}:6789"]}]
    config_map = {
        "metadata": {"name": ENDPOINTS, "namespace": namespace},
        "data": {
            "data": f"{MON_ID}={address}:6789",
            "maxMonId": "0",
            "mapping": '{"node":{}}',
            "outOfQuorum": "",
            "csi-cluster-config-json": msgspec.json.encode(monitors).decode(),
        },
    }
    content = {"mon_host": config.mon_host(address), "mon_initial_members": MON_ID}
    return [
        Desired(CONFIG_MAP, config_map),
        Desired(SECRET, _secret(Key(namespace, "rook-ceph-config"), content)),
    ]


def client_secret(key: Key, entity: str, secret_key: str) -> Desired:
    """The Secret of a CephClient."""
    content = {entity: secret_key, "userID": entity, "userKey": secret_key}
    return Desired(SECRET, _secret(key, content))


def _secret(key: Key, content: Mapping[str, str]) -> Object:
    return {
        "metadata": {"name": key.name, "namespace": key.namespace},
        "type": SECRET_TYPE,
        "data": {name: base64.b64encode(text.encode()).decode() for name, text in content.items()},
    }
