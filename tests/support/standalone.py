"""What a platform engineer provides by hand for OpenStack services that no ControlPlane looks after.

The objects are those that a ControlPlane would make, from the same builders; the ControlPlane itself
is never in the cluster.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from cobaltcore.api.blocks import IssuerRef, Tls
from cobaltcore.api.controlplane import ControlPlane, ControlPlaneSpec, Global
from cobaltcore.api.foreign import mariadb, rabbitmq
from cobaltcore.api.foreign.certmanager import CERTIFICATE
from cobaltcore.api.foreign.kubernetes import NAMESPACE
from cobaltcore.engine import releases
from cobaltcore.engine.desired import database, messaging, secret
from cobaltcore.engine.observe import Observed
from cobaltcore.engine.verdict import Ready, Verdict
from cobaltcore.operators.controlplane import identity, infrastructure, sharing
from cobaltcore.operators.controlplane.controller import CHILDREN
from cobaltcore.operators.controlplane.parts import PARTS
from cobaltcore.operators.controlplane.view import View
from cobaltcore.runtime.meta import Desired, Key, Kind, Object, ObjectMeta, key_of
from tests.support import lab_examples, lab_providers, workloads
from tests.support.lab import Lab, eventually
from tests.support.lab_ceph import LabCeph

SPACE = "openstack"
OVN_SPACE = "ovn-system"
CEPH_SPACE = "rook-ceph"
MARIADB = Key(SPACE, infrastructure.MARIADB)
RABBITMQ = Key(SPACE, infrastructure.RABBITMQ)
CEPH_USERS = ("glance", "cinder")
DATABASES = ("database", "apiDatabase", "cellDatabase")
ACCOUNTS = (
    *(mariadb.DATABASE, mariadb.USER, mariadb.GRANT),
    *(rabbitmq.USER, rabbitmq.PERMISSION),
)
LABELS = {"app.kubernetes.io/managed-by": "engineer"}
PLANE = ControlPlane(
    metadata=ObjectMeta(name="by-hand", namespace=SPACE),
    spec=ControlPlaneSpec(
        global_=Global(
            replicas=1, tls=Tls(enabled=True, issuer_ref=IssuerRef(name=lab_examples.ISSUER))
        )
    ),
)
"""What the builders are told."""


@dataclass(frozen=True)
class Engineer:
    """Somebody with kubectl and a plan."""

    lab: Lab

    def prepare(self, examples: Iterable[Object]) -> None:
        """Everything that the examples need, but for what needs a Keystone."""
        spaces = (SPACE, OVN_SPACE, CEPH_SPACE)
        self.apply(Desired(NAMESPACE, {"metadata": {"name": each}}) for each in spaces)
        self._send(lab_providers.example("certificates"))
        self.apply(_certificate(space) for space in (SPACE, OVN_SPACE))
        ceph = LabCeph(self.lab, CEPH_SPACE, {})
        ceph.create()
        view = self.view()
        services = [each for each in examples if "database" in each["spec"]]
        self.make(view, _logins(view, services))
        self.have("mariadb", "rabbitmq", "memcached")
        self.make(view, _accounts(services))
        self._wait_for_accounts()
        ceph.wait()
        self.make(view, map(self._ceph_key, CEPH_USERS))

    def identify(self) -> None:
        """What Keystone has to know: the catalogue, and a user with a credential for each service."""
        users = [each.name for each in PARTS if each.name.endswith("-credentials")]
        self.have("trust", "korc", "catalogue", *users)

    def have(self, *names: str) -> None:
        """Make the objects of these parts of a control plane, and wait until they serve."""
        parts = [each for each in PARTS if each.name in names]
        told: dict[str, Verdict] = {}

        def stand() -> bool:
            view = self.view()
            self.make(view, (each for part in parts for each in part.objects(view)))
            told.update({part.name: part.ready(view) for part in parts})
            return all(isinstance(each, Ready) for each in told.values())

        try:
            eventually(stand, f"{', '.join(names)} are there")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{told}") from error

    def view(self) -> View:
        """The cluster as builders look at it."""
        kinds = {(kind.api_version, kind.kind): kind for kind, _ in CHILDREN}
        listed = self.lab.get(",".join(map(str, kinds.values())), "-n", SPACE).get("items", [])
        found: dict[tuple[Kind, Key], Object] = {
            (kinds[each["apiVersion"], each["kind"]], key_of(each)): each for each in listed
        }
        observed = Observed(lambda kind, key: found.get((kind, key)), lambda *_: (), found)
        return View(PLANE, observed, os.urandom, releases.image_tag)

    def make(self, view: View, wanted: Iterable[Desired]) -> None:
        """Apply what is not there yet: passwords are made once."""
        self.apply(each for each in wanted if view.observed.get(each.kind, each.key) is None)

    def apply(self, wanted: Iterable[Desired]) -> None:
        """Apply objects, wherever they belong."""
        self._send(
            {"apiVersion": each.kind.api_version, "kind": each.kind.kind, **each.body}
            for each in wanted
        )

    def _send(self, given: Iterable[Any]) -> None:
        if text := workloads.text(*given):
            self.lab.kubectl("apply", "-f", "-", input=text)

    def _wait_for_accounts(self) -> None:
        wait = ("wait", "-n", SPACE, "--all", "--for=condition=Ready", "--timeout=60s")
        eventually(
            lambda: self.lab.attempt(*wait, ",".join(map(str, ACCOUNTS))),
            "databases and accounts are there",
        )

    def _ceph_key(self, user: str) -> Desired:
        """The key of a Ceph user, where pods of services can read it."""
        found = self.lab.get("secret", "-n", CEPH_SPACE, f"rook-ceph-client-{user}")
        key = Key(SPACE, f"{user}-ceph-credentials")
        return secret.secret(key, secret.texts(found), labels=LABELS)


def _logins(view: View, services: Iterable[Object]) -> Iterator[Desired]:
    """Names and passwords, made up on the spot."""
    yield infrastructure.login(view, identity.ADMIN_SECRET, "admin")
    for each in services:
        name = each["metadata"]["name"]
        yield infrastructure.password(
            view,
            sharing.database_secret(name),
            "password",
            username=name,
            host=f"{MARIADB.name}.{MARIADB.namespace}.svc",
        )
        if "messaging" in each["spec"]:
            yield infrastructure.login(view, sharing.messaging_secret(name), name)


def _accounts(services: Iterable[Object]) -> Iterator[Desired]:
    """Databases with their owners, and users of the broker's first virtual host."""
    for each in services:
        name, spec = each["metadata"]["name"], each["spec"]
        wanted = database.Wanted(name, sharing.database_secret(name), keep=True)
        yield database.user(MARIADB, name, wanted, LABELS)
        for called in (spec["database"][way] for way in DATABASES if way in spec["database"]):
            yield from database.objects(MARIADB, called.replace("_", "-"), called, wanted, LABELS)
        if "messaging" in spec:
            yield messaging.user(RABBITMQ, name, sharing.messaging_secret(name), LABELS)
            made = messaging.objects(RABBITMQ, name, virtual_host="/", user=name, labels=LABELS)
            # The virtual host of examples without one is there from the start.
            yield from (each for each in made if each.kind != rabbitmq.VHOST)


def _certificate(space: str) -> Desired:
    """OVN's certificate, for its own pods or for Neutron's: it is the authority that counts."""
    spec = {
        "secretName": lab_examples.OVN_CERTIFICATE,
        "dnsNames": [f"{name}.{OVN_SPACE}" for name in ("ovn-nb", "ovn-sb")],
        "usages": ["digital signature", "key encipherment", "server auth", "client auth"],
        "privateKey": {"algorithm": "ECDSA", "size": 256},
        "issuerRef": {"name": lab_examples.ISSUER, "kind": "ClusterIssuer"},
    }
    meta = {"name": lab_examples.OVN_CERTIFICATE, "namespace": space}
    return Desired(CERTIFICATE, {"metadata": meta, "spec": spec})
