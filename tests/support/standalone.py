"""Prerequisites of OpenStack services without a ControlPlane, as an administrator creates them.

The objects come from the builders of the ControlPlane operator; no ControlPlane exists in the cluster.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from cobaltcore.api import cinder, glance
from cobaltcore.api.blocks import IssuerRef
from cobaltcore.api.controlplane import ControlPlane, ControlPlaneSpec, Global, GlobalTls
from cobaltcore.api.foreign import kubernetes, mariadb, rabbitmq
from cobaltcore.api.foreign.certmanager import CERTIFICATE
from cobaltcore.api.foreign.gateway import REFERENCE_GRANT
from cobaltcore.engine import references
from cobaltcore.engine.desired import database, messaging, names, secret
from cobaltcore.engine.observed import Observed
from cobaltcore.engine.verdict import Ready, Verdict
from cobaltcore.operators.controlplane import infrastructure
from cobaltcore.operators.controlplane.children import CHILDREN
from cobaltcore.operators.controlplane.parts import PARTS
from cobaltcore.operators.controlplane.view import View
from cobaltcore.runtime.meta import Desired, Key, Kind, Object, ObjectMeta, key_of
from cobaltlab.providers import crds
from tests.support import lab_examples, lab_providers, workloads
from tests.support.lab import CommandFailed, Lab, eventually
from tests.support.lab_ceph import LabCeph

NAMESPACE = "openstack"
OVN_NAMESPACE = "ovn-system"
CEPH_NAMESPACE = "rook-ceph"
MARIADB = Key(NAMESPACE, names.MARIADB)
RABBITMQ = Key(NAMESPACE, names.RABBITMQ)
CEPH_USERS = ("glance", "cinder")
DATABASES = ("database", "apiDatabase", "cellDatabase")
ACCOUNTS = (
    *(mariadb.DATABASE, mariadb.USER, mariadb.GRANT),
    *(rabbitmq.USER, rabbitmq.PERMISSION),
)
LABELS = {"app.kubernetes.io/managed-by": "administrator"}
PLANE = ControlPlane(
    metadata=ObjectMeta(name="by-hand", namespace=NAMESPACE),
    spec=ControlPlaneSpec(
        global_=Global(replicas=1, tls=GlobalTls(issuer_ref=IssuerRef(name=lab_examples.ISSUER)))
    ),
)
"""Input of the builders."""


@dataclass(frozen=True)
class Administrator:
    """Creates prerequisites with kubectl."""

    lab: Lab

    def prepare(self, examples: Iterable[Object]) -> None:
        """Create what the examples need, except objects that need Keystone."""
        namespaces = (NAMESPACE, OVN_NAMESPACE, CEPH_NAMESPACE)
        self.apply(
            Desired(kubernetes.NAMESPACE, {"metadata": {"name": each}}) for each in namespaces
        )
        self._send(lab_providers.example("certificates"))
        self._grant_monitors()
        self.apply(_certificate(namespace) for namespace in (NAMESPACE, OVN_NAMESPACE))
        ceph = LabCeph(self.lab, CEPH_NAMESPACE, {})
        ceph.create()
        view = self.view()
        services = [each for each in examples if "database" in each["spec"]]
        self.create_missing(view, _logins(view, services))
        self.provide("certificates", "mariadb", "rabbitmq", "memcached")
        self.create_missing(view, _accounts(services))
        self._wait_for_accounts()
        ceph.wait()
        self.create_missing(view, map(self._ceph_key, CEPH_USERS))

    def identify(self) -> None:
        """Create the catalogue, and a user with a credential for each service, in Keystone."""
        users = [each.name for each in PARTS if each.name.endswith("-credentials")]
        self.provide("trust", "korc", "catalogue", *users)

    def provide(self, *names: str) -> None:
        """Create the objects of these parts of a control plane, and wait until they are Ready."""
        parts = [each for each in PARTS if each.name in names]
        verdicts: dict[str, Verdict] = {}

        def are_ready() -> bool:
            view = self.view()
            self.create_missing(view, (each for part in parts for each in part.objects(view)))
            verdicts.update({part.name: part.ready(view) for part in parts})
            return all(isinstance(each, Ready) for each in verdicts.values())

        try:
            eventually(are_ready, f"{', '.join(names)} are Ready")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{verdicts}") from error

    def view(self) -> View:
        """The cluster as input of the builders."""
        kinds = {(c.kind.api_version, c.kind.kind): c.kind for c in CHILDREN}
        listed = self.lab.get(",".join(map(str, kinds.values())), "-n", NAMESPACE).get("items", [])
        found: dict[tuple[Kind, Key], Object] = {
            (kinds[each["apiVersion"], each["kind"]], key_of(each)): each for each in listed
        }
        observed = Observed(
            lambda kind, key: found.get((kind, key)), lambda *_: (), contents=found
        )
        return View(
            live={}, resource=PLANE, observed=observed, now=datetime.now(UTC), random=os.urandom
        )

    def create_missing(self, view: View, wanted: Iterable[Desired]) -> None:
        """Apply objects that do not exist: passwords are generated once."""
        self.apply(each for each in wanted if view.observed.get(each.kind, each.key) is None)

    def apply(self, wanted: Iterable[Desired]) -> None:
        self._send(
            {"apiVersion": each.kind.api_version, "kind": each.kind.kind, **each.body}
            for each in wanted
        )

    def _send(self, objects: Iterable[Any]) -> None:
        if text := workloads.text(*objects):
            self.lab.kubectl("apply", "-f", "-", input=text)

    def _grant_monitors(self) -> None:
        """Let image and volume services read the monitors of the Ceph in another namespace."""
        self._send(crds.manifests([REFERENCE_GRANT], provider="administrator"))
        spec = {
            "from": [
                {"group": kind.group, "kind": kind.kind, "namespace": NAMESPACE}
                for kind in (glance.KIND, cinder.KIND)
            ],
            "to": [{"group": "", "kind": "ConfigMap", "name": references.MONITORS}],
        }
        meta = {"name": "monitors", "namespace": CEPH_NAMESPACE}
        grant = Desired(REFERENCE_GRANT, {"metadata": meta, "spec": spec})
        eventually(lambda: self._is_accepted(grant), "the grant is accepted")

    def _is_accepted(self, wanted: Desired) -> bool:
        """Whether an object could be created: its CRD may not be established yet."""
        try:
            self.apply([wanted])
        except CommandFailed:
            return False
        return True

    def _wait_for_accounts(self) -> None:
        wait = ("wait", "-n", NAMESPACE, "--all", "--for=condition=Ready", "--timeout=60s")
        eventually(
            lambda: self.lab.attempt(*wait, ",".join(map(str, ACCOUNTS))),
            "databases and accounts are Ready",
        )

    def _ceph_key(self, user: str) -> Desired:
        """The key of a Ceph user, in the namespace of the services."""
        found = self.lab.get("secret", "-n", CEPH_NAMESPACE, f"rook-ceph-client-{user}")
        key = Key(NAMESPACE, f"{user}-ceph-credentials")
        return secret.secret(key, secret.texts(found), labels=LABELS)


def _logins(view: View, services: Iterable[Object]) -> Iterator[Desired]:
    """Secrets with generated passwords."""
    yield infrastructure.login(view, names.ADMIN_SECRET, "admin")
    for each in services:
        name = each["metadata"]["name"]
        yield infrastructure.password(
            view,
            names.database_secret(name),
            "password",
            username=name,
            host=f"{MARIADB.name}.{MARIADB.namespace}.svc",
        )
        if "messaging" in each["spec"]:
            yield infrastructure.login(view, names.messaging_secret(name), name)


def _accounts(services: Iterable[Object]) -> Iterator[Desired]:
    """Databases with their owners, and users of the broker's first virtual host."""
    for each in services:
        name, spec = each["metadata"]["name"], each["spec"]
        wanted = database.Owner(name, names.database_secret(name), keep=True, encrypted=True)
        yield database.user(MARIADB, name, wanted, LABELS)
        for called in (spec["database"][way] for way in DATABASES if way in spec["database"]):
            yield from database.objects(MARIADB, called.replace("_", "-"), called, wanted, LABELS)
        if "messaging" in spec:
            yield messaging.user(RABBITMQ, name, names.messaging_secret(name), LABELS)
            created = messaging.objects(RABBITMQ, name, virtual_host="/", user=name, labels=LABELS)
            # The default virtual host of the examples exists already.
            yield from (each for each in created if each.kind != rabbitmq.VHOST)


def _certificate(namespace: str) -> Desired:
    """A certificate for OVN or for Neutron, of the same CA."""
    spec = {
        "secretName": lab_examples.OVN_CERTIFICATE,
        "dnsNames": [f"{name}.{OVN_NAMESPACE}" for name in ("ovn-nb", "ovn-sb")],
        "usages": ["digital signature", "key encipherment", "server auth", "client auth"],
        "privateKey": {"algorithm": "ECDSA", "size": 256},
        "issuerRef": {"name": lab_examples.ISSUER, "kind": "ClusterIssuer"},
    }
    meta = {"name": lab_examples.OVN_CERTIFICATE, "namespace": namespace}
    return Desired(CERTIFICATE, {"metadata": meta, "spec": spec})
