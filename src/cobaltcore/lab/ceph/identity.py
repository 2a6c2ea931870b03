"""Who a Ceph cluster is: its id and first keys, in the Secrets and under the names of Rook. Pure.

The Secret `rook-ceph-mon` is made once and stays with the data: without it the data is lost.
"""

import base64
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

import msgspec

from cobaltcore.api.foreign.kubernetes import CONFIG_MAP, SECRET
from cobaltcore.lab.ceph import config, keys
from cobaltcore.lab.ceph.keys import Holder
from cobaltcore.runtime.meta import Desired, Key, Object

NAME = "rook-ceph-mon"
SECRET_TYPE = "kubernetes.io/rook"  # noqa: S105 a type
ADMIN = "client.admin"
MON_ID = MGR_ID = "a"
ENDPOINTS = "rook-ceph-mon-endpoints"


@dataclass(frozen=True, slots=True)
class Identity:
    """What makes a cluster the same cluster."""

    fsid: str
    mon: str = field(repr=False)
    admin: str = field(repr=False)
    mgr: str = field(repr=False)
    bootstrap_osd: str = field(repr=False)


def new(now: datetime) -> Identity:
    """A cluster that does not exist yet."""
    mon, admin, mgr, bootstrap_osd = (keys.generate(now) for _ in range(4))
    return Identity(str(uuid.uuid4()), mon, admin, mgr, bootstrap_osd)


def secret(identity: Identity, namespace: str) -> Desired:
    """Where it is written down."""
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
    """Read it back; a KeyError names what is missing."""
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
    admin = Holder(identity.admin, keys.EVERYTHING)
    mgr = Holder(identity.mgr, {"mon": "allow profile mgr", "osd": "allow *", "mds": "allow *"})
    bootstrap = Holder(identity.bootstrap_osd, {"mon": "allow profile bootstrap-osd"})
    everyone = {
        "mon.": Holder(identity.mon, {"mon": "allow *"}),
        ADMIN: admin,
        f"mgr.{MGR_ID}": mgr,
        "client.bootstrap-osd": bootstrap,
    }
    files = {
        "rook-ceph-mons-keyring": everyone,
        "rook-ceph-admin-keyring": {ADMIN: admin},
        f"rook-ceph-mgr-{MGR_ID}-keyring": {f"mgr.{MGR_ID}": mgr},
        "rook-ceph-osd-keyring": {"client.bootstrap-osd": bootstrap},
    }
    return [
        Desired(SECRET, _secret(Key(namespace, name), {"keyring": keys.keyring(holders)}))
        for name, holders in files.items()
    ]


def endpoints(namespace: str, address: str) -> list[Desired]:
    """Where the monitor is, for clients: the ConfigMap and the Secret that Rook keeps."""
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
