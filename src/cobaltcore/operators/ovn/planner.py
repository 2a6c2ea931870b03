"""OVNCluster: databases, northd, and a chassis for every hypervisor. Pure but for its probe."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from cobaltcore.api.foreign import certmanager
from cobaltcore.api.foreign.kubernetes import (
    CONFIG_MAP,
    DAEMON_SET,
    DEPLOYMENT,
    NODE,
    POD_DISRUPTION_BUDGET,
    SECRET,
    SERVICE,
    STATEFUL_SET,
)
from cobaltcore.api.ovn import CHASSIS, OVNCluster, OVNClusterSpec, OVNClusterStatus
from cobaltcore.engine import graph, watches
from cobaltcore.engine.context import Context
from cobaltcore.engine.plan import Action, Event, Plan, Release, Removal
from cobaltcore.engine.planner import Child, Planner, Probe
from cobaltcore.engine.verdict import Ready, Waiting
from cobaltcore.engine.watches import CONTENT, OPTIONAL, OURS
from cobaltcore.operators.ovn import certificate, databases, members, report, southbound
from cobaltcore.operators.ovn.databases import Database
from cobaltcore.operators.ovn.ovsdb import Address
from cobaltcore.operators.ovn.parts import PARTS
from cobaltcore.operators.ovn.view import OPERATOR, RECORDS, View
from cobaltcore.runtime import finalizers
from cobaltcore.runtime.meta import EVERYTHING, Key, Kind

LOOK_AGAIN = timedelta(seconds=15)
LOOK_SOON = timedelta(seconds=2)
CONFIRM_EVERY = timedelta(seconds=25)
PAUSE = timedelta(seconds=60)
"""So long without a look is a pause: a restart, an election, a database that did not answer."""


class OVNPlanner(Planner[View]):
    """Plans OVNClusters. `route` maps an address to where it is reachable, for tests."""

    name = "ovncluster"
    manager = "ovn-operator"
    resource = OVNCluster
    scope = View
    finalizer = "ovn.c5c3.io/cluster"
    teardown_spec: Mapping[str, object] = {
        name: {"repository": "unknown", "tag": "unknown"} for name in ("ovnImage", "ovsImage")
    }
    reads_own_status = True
    children = (
        Child(STATEFUL_SET),
        Child(DEPLOYMENT, OURS),
        Child(DAEMON_SET, OURS),
        Child(SERVICE, OURS),
        Child(POD_DISRUPTION_BUDGET, OURS),
        Child(CONFIG_MAP, CONTENT),
        Child(certmanager.ISSUER, OPTIONAL),
        Child(certmanager.CERTIFICATE, OPTIONAL),
        # They belong to their Nodes, and are removed one by one.
        Child(CHASSIS, EVERYTHING, pruned=False),
    )
    watches = (
        watches.referenced(SECRET, CONTENT),
        watches.everyone(NODE),
        watches.pods(OPERATOR),
        watches.in_namespace(CHASSIS),
    )

    def __init__(self, *, route: Callable[[Address], Address] = lambda address: address) -> None:
        self._route = route
        self.probes = (Probe(RECORDS, self._records),)
        self._asking: dict[Key, tuple[datetime, datetime]] = {}
        """When the southbound database was first and last read without a pause."""

    def references(self, key: Key, spec: OVNClusterSpec) -> Iterable[tuple[Kind, Key]]:
        external = spec.tls.cert_secret_ref
        name = external.name if external else f"{key.name}-tls"
        yield SECRET, Key(key.namespace, name)

    def contents(self, scope: View) -> Iterable[tuple[Kind, Key]]:
        if scope.is_encrypted:
            yield SECRET, scope.sibling(scope.tls_secret)

    def plan(self, scope: View) -> Plan[OVNClusterStatus]:
        walk = graph.walk(PARTS, scope)
        verdict, conditions = report.conditions(walk)
        actions, releases = members.drained(scope, self._southbound(scope))
        return Plan(
            verdict=verdict,
            conditions=conditions,
            status=report.status(scope),
            objects=[*members.desired(scope), *walk.apply],
            links=walk.links,
            keep={(each.kind, each.key) for each in walk.expected},
            prune=True,
            removals=list(members.removals(scope)),
            reports=list(members.reports(scope)),
            actions=[*actions, *self._confirmation(scope)],
            releases=releases,
            after=self._after(scope, walk),
        )

    def teardown(self, scope: View) -> Plan[OVNClusterStatus]:
        """Release the chassis and report what is kept; the rest is garbage-collected."""
        left = members.of_cluster(scope)
        if left:
            held = [each for each in left if finalizers.present(each, members.FINALIZER)]
            return Plan(
                verdict=Waiting("Deleting", f"{len(left)} OVNChassis are being deleted"),
                removals=[Removal(CHASSIS, scope.sibling(e["metadata"]["name"])) for e in left],
                releases=[
                    Release(CHASSIS, each, members.FINALIZER)
                    for each in held
                    if each["metadata"].get("deletionTimestamp")
                ],
            )
        events = []
        if scope.spec.deletion_policy == "Retain":
            kept = ", ".join(key.name for key in databases.claims(scope))
            note = f"kept volumes of the databases: {kept}; delete the claims to remove the data"
            events.append(Event("Normal", "DataKept", note))
        return Plan(verdict=Ready("Deleted"), events=events, done=True)

    async def _records(self, scope: View, context: Context) -> object:
        address = self._southbound(scope)
        if address is None:
            return None
        found = await southbound.records(address)
        first, last = self._asking.get(scope.key, (scope.now, scope.now))
        since = first if scope.now - last < PAUSE else scope.now
        self._asking[scope.key] = (since, scope.now)
        return {name: replace(each, asked_since=since) for name, each in found.items()}

    def _confirmation(self, scope: View) -> Iterable[Action]:
        """Ask all ovn-controllers to confirm, if the last confirmations are old."""
        address = self._address(scope, databases.NORTHBOUND)
        if address is None or scope.records is None:
            return
        answers = [each.confirmed for each in scope.records.values()]
        latest = max((each for each in answers if each is not None), default=None)
        if latest is None or None in answers or scope.now - latest > CONFIRM_EVERY:
            yield Action(
                "ask ovn-controllers to confirm",
                lambda _: southbound.request_confirmation(address),
            )

    def _after(self, scope: View, walk: graph.Walk) -> timedelta | None:
        if scope.records is None and not databases.is_served(scope, databases.SOUTHBOUND):
            return None
        return LOOK_AGAIN if walk.blocker is None else LOOK_SOON

    def _southbound(self, scope: View) -> Address | None:
        return self._address(scope, databases.SOUTHBOUND)

    def _address(self, scope: View, database: Database) -> Address | None:
        """Where a database answers; None while no server of it is ready."""
        service = database.service(scope)
        host = scope.service_address(service.name)
        client = certificate.client_certificate(scope.tls_content)
        if not host or not databases.is_served(scope, database):
            return None
        if scope.is_encrypted and client is None:
            return None
        return self._route(Address(host, service.port, client if scope.is_encrypted else None))
