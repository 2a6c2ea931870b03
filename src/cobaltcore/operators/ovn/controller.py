"""OVNCluster: ask the southbound database, walk the parts, apply what may be applied, report."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import timedelta

import msgspec

from cobaltcore.api.foreign import certmanager
from cobaltcore.api.foreign.kubernetes import (
    CONFIG_MAP,
    DAEMON_SET,
    DEPLOYMENT,
    NODE,
    POD,
    POD_DISRUPTION_BUDGET,
    SECRET,
    SERVICE,
    STATEFUL_SET,
)
from cobaltcore.api.ovn import CHASSIS, CLUSTER, OVNCluster
from cobaltcore.engine import graph, trouble
from cobaltcore.engine.observe import Observed
from cobaltcore.engine.operator import Context
from cobaltcore.engine.sources import CONTENT, OPTIONAL, OURS, made_by
from cobaltcore.operators.ovn import certificate, databases, members, report, southbound
from cobaltcore.operators.ovn.databases import Database
from cobaltcore.operators.ovn.ovsdb import Address, DatabaseFault
from cobaltcore.operators.ovn.parts import PARTS
from cobaltcore.operators.ovn.view import OPERATOR, View
from cobaltcore.runtime import events, finalizers, status
from cobaltcore.runtime.apply import Applier, ForeignObject
from cobaltcore.runtime.controller import Controller, Source, itself, owner, referrers
from cobaltcore.runtime.meta import Key, Kind, Object, Scope, key_of
from cobaltcore.runtime.store import Change

MANAGER = members.MANAGER
FINALIZER = "ovn.c5c3.io/cluster"
CHILDREN: tuple[tuple[Kind, Scope], ...] = (
    (STATEFUL_SET, Scope()),
    (DEPLOYMENT, OURS),
    (DAEMON_SET, OURS),
    (SERVICE, OURS),
    (POD_DISRUPTION_BUDGET, OURS),
    (CONFIG_MAP, CONTENT),
    (certmanager.ISSUER, OPTIONAL),
    (certmanager.CERTIFICATE, OPTIONAL),
)
KEPT_CONFIG_MAPS = 9
LOOK_AGAIN = timedelta(seconds=15)
LOOK_SOON = timedelta(seconds=2)
CALL_EVERY = timedelta(seconds=25)


class ClusterController:
    """Brings OVNClusters in order. `route` says where an address really is, for tests."""

    def __init__(
        self, context: Context, *, route: Callable[[Address], Address] = lambda address: address
    ) -> None:
        self._cluster = context.cluster
        self._clock = context.clock
        self._route = route
        self._applier = Applier(context.cluster, manager=MANAGER)
        self._members = members.Members(context.cluster, self._applier)
        self._events = events.Recorder(
            context.cluster, component=MANAGER, instance=context.instance, clock=context.clock
        )
        self._cluster.informer(CLUSTER).add_index("secret", _secrets)
        trouble.index(self._cluster, OURS)
        self.controller = Controller(
            "ovncluster",
            self.reconcile,
            [
                Source(CLUSTER, itself),
                *(Source(kind, owner(CLUSTER), scope) for kind, scope in CHILDREN),
                Source(SECRET, referrers(self._cluster, CLUSTER, "secret"), CONTENT),
                Source(NODE, self._everyone),
                Source(POD, made_by(OPERATOR), OURS),
                Source(CHASSIS, self._of_namespace),
            ],
            clock=context.clock,
        )

    async def reconcile(self, key: Key) -> timedelta | None:
        """One pass over one OVNCluster."""
        live = self._cluster.informer(CLUSTER).get(key)
        if live is None:
            return None
        if live["metadata"].get("deletionTimestamp"):
            await self._end(live)
            return None
        live = await finalizers.add(self._cluster, CLUSTER, live, FINALIZER)
        view = await self._view(live)
        await self._members.keep(view)
        # With the objects that were made a moment ago.
        view = await self._ask(replace(view, chassis=self._members.known(key.namespace)))
        walk = graph.walk(PARTS, view)
        problem = await self._apply(live, walk)
        await self._members.report(view)
        told = report.status(view, walk, problem)
        await status.write(self._cluster, CLUSTER, live, told, manager=MANAGER)
        # Last, because a database may be between two leaders.
        await self._members.drain(view, self._southbound(view))
        await self._call_the_roll(view)
        if view.records is None and not databases.is_served(view, databases.SOUTHBOUND):
            return None
        return LOOK_AGAIN if walk.blocker is None else LOOK_SOON

    async def _view(self, live: Object) -> View:
        cluster = msgspec.convert(live, OVNCluster)
        namespace = cluster.metadata.namespace
        nodes = members.hypervisors(
            self._cluster.informer(NODE).objects(), cluster.spec.ovs.node_selector
        )
        everyone = self._cluster.informer(CLUSTER).objects()
        view = View(
            cluster,
            Observed(
                lambda kind, key: self._cluster.informer(kind).get(key),
                lambda kind, index, value: self._cluster.informer(kind).find(index, value),
            ),
            self._clock.now(),
            taken=members.taken(nodes, live, everyone),
            chassis=self._members.known(namespace),
        )
        free = [node for node in nodes if node["metadata"]["name"] not in view.taken]
        secret = await self._secret(view)
        contents = {(SECRET, key_of(secret)): secret} if secret else {}
        return replace(view, nodes=free, observed=replace(view.observed, contents=contents))

    async def _secret(self, view: View) -> Object | None:
        if not view.is_encrypted:
            return None
        return await self._cluster.read(SECRET, view.key(view.tls_secret))

    async def _ask(self, view: View) -> View:
        """What the southbound database knows; a silent one is reported, and asked again."""
        address = self._southbound(view)
        if address is None:
            return view
        try:
            return replace(view, records=await southbound.records(address))
        except DatabaseFault as fault:
            return replace(view, problem=fault.message)

    async def _call_the_roll(self, view: View) -> None:
        """Have hypervisors answer, if the last answers are old."""
        address = self._address(view, databases.NORTHBOUND)
        if address is None or view.records is None:
            return
        answers = [each.confirmed for each in view.records.values()]
        latest = max((each for each in answers if each is not None), default=None)
        if latest is None or None in answers or view.now - latest > CALL_EVERY:
            await southbound.call_the_roll(address)

    def _southbound(self, view: View) -> Address | None:
        return self._address(view, databases.SOUTHBOUND)

    def _address(self, view: View, database: Database) -> Address | None:
        """Where a database answers; None while no server of it does."""
        service = database.service(view)
        host = view.service_address(service.name)
        pair = certificate.pair(view.observed.content(SECRET, view.key(view.tls_secret)))
        if not host or not databases.is_served(view, database):
            return None
        if view.is_encrypted and pair is None:
            return None
        return self._route(Address(host, service.port, pair if view.is_encrypted else None))

    async def _apply(self, live: Object, walk: graph.Walk) -> str:
        """Apply and prune; return what stands in the way."""
        try:
            await self._applier.apply(walk.apply, owner=live)
        except ForeignObject as error:
            return error.message
        keep = {(each.kind, each.key) for each in (*walk.apply, *walk.expected)}
        keep |= {*self._recent_config_maps(live)}
        await self._applier.prune(live, [kind for kind, _ in CHILDREN], keep=keep)
        return ""

    def _recent_config_maps(self, live: Object) -> Iterable[tuple[Kind, Key]]:
        """A rollout that goes wrong needs the programs of the pods that still run."""
        owned = self._cluster.informer(CONFIG_MAP).find("owner", live["metadata"]["uid"])
        newest = sorted(owned, key=lambda o: o["metadata"]["creationTimestamp"], reverse=True)
        return [(CONFIG_MAP, key_of(each)) for each in newest[:KEPT_CONFIG_MAPS]]

    async def _end(self, live: Object) -> None:
        """Let go of hypervisors, say what stays; the rest belongs to the object and goes with it."""
        if not finalizers.present(live, FINALIZER):
            return
        if not await self._members.release(key_of(live)):
            return
        view = await self._view(live)
        if view.spec.deletion_policy == "Retain":
            kept = ", ".join(key.name for key in databases.claims(view))
            note = f"the databases stay on the volumes of {kept}; delete the claims to remove them"
            await self._events.normal(live, "DataKept", note, action="Delete")
        await finalizers.remove(self._cluster, CLUSTER, live, FINALIZER)

    def _everyone(self, _: Change) -> Iterable[Key]:
        return [key_of(each) for each in self._cluster.informer(CLUSTER).objects()]

    def _of_namespace(self, change: Change) -> Iterable[Key]:
        found = self._cluster.informer(CLUSTER).objects(change.key.namespace)
        return [key_of(each) for each in found]


def _secrets(obj: Object) -> Iterable[str]:
    """The Secret with the certificate."""
    tls = (obj["spec"].get("tls") or {}).get("certSecretRef") or {}
    meta = obj["metadata"]
    yield str(Key(meta["namespace"], tls.get("name") or f"{meta['name']}-tls"))
