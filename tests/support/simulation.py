"""Plans of any planner without a server: every applied object reports that it is ready.

Secrets of other writers appear with a marker for each value, so that a reader sees where
a value comes from.
"""

import base64
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import msgspec

from cobaltcore.api.credentials import AGGREGATE
from cobaltcore.api.foreign import certmanager, eso
from cobaltcore.api.foreign.gateway import REFERENCE_GRANT
from cobaltcore.api.foreign.kubernetes import CONFIG_MAP, ENDPOINT_SLICE, SECRET, SERVICE
from cobaltcore.engine import grants
from cobaltcore.engine.observed import Observed
from cobaltcore.engine.plan import Plan
from cobaltcore.engine.planner import Planner
from cobaltcore.engine.scope import Answer
from cobaltcore.engine.service import ServicePlanner
from cobaltcore.runtime.meta import Desired, Key, Kind, Object, key_of, owner_reference
from cobaltcore.runtime.timestamps import timestamp
from tests.support import openstack, structural

NOW = datetime(2026, 1, 1, tzinfo=UTC)
RANDOM = "RANDOM"
"""Random values consist of this word."""
PUBLIC = ("username", "host", "mon_host", "tls.crt", "ca.crt")
"""Keys of Secrets whose values are not secret."""
MOST_PLANS = 20

Objects = dict[tuple[Kind, Key], Object]


@dataclass
class Simulation:
    """One object of ours, its planner, and everything else that exists."""

    planner: Planner[Any]
    live: Object
    objects: Objects = field(default_factory=dict)
    answers: Mapping[str, Answer[Any]] = field(default_factory=dict)
    desired: dict[tuple[Kind, Key], Desired] = field(default_factory=dict)
    """What has been applied."""
    now: datetime = NOW

    def scope(self) -> Any:
        """What a reconcile would know."""
        return self.planner.scope(
            live=self.live,
            resource=msgspec.convert(self.live, self.planner.resource),
            observed=Observed(self._get, self._find, self._list, self._contents(), self._permit),
            now=self.now,
            random=random,
            answers=self.answers,
        )

    def plan(self) -> Plan[Any]:
        return self.planner.plan(self.scope())

    def teardown(self) -> Plan[Any]:
        return self.planner.teardown(self.scope())

    def apply(self, plan: Plan[Any]) -> None:
        """Create what a plan wants, ready at once, and what follows from it."""
        for each in plan.objects:
            assert each.key.namespace == self.live["metadata"]["namespace"], each.key
            known = (each.kind, each.key)
            if each.once and known in self.desired:
                continue
            self.desired[known] = each
            self.add(each.kind, ready(each, owner=None if each.kept else self.live))
            for name in _issued_secrets(each):
                self.add_secret(Key(each.key.namespace, name))

    def converge(self) -> Plan[Any]:
        """Plan and apply until nothing changes."""
        plan = self.plan()
        for _ in range(MOST_PLANS):
            before = dict(self.desired)
            self.apply(plan)
            self._provide()
            after, plan = plan, self.plan()
            if self.desired == before and after.verdict == plan.verdict:
                return plan
        raise AssertionError(f"not converged after {MOST_PLANS} plans: {plan.verdict}")

    def add(self, kind: Kind, obj: Object) -> None:
        self.objects[kind, key_of(obj)] = obj

    def grant(self, namespace: str, *kinds: Kind) -> None:
        """Let objects of the planner's kind refer to objects of another namespace."""
        own = self.planner.kind
        here = self.live["metadata"]["namespace"]
        spec = {
            "from": [{"group": own.group, "kind": own.kind, "namespace": here}],
            "to": [{"group": kind.group, "kind": kind.kind} for kind in kinds],
        }
        meta = {"name": "granted", "namespace": namespace}
        self.add(REFERENCE_GRANT, {"metadata": meta, "spec": spec})

    def add_secret(self, key: Key) -> None:
        """A Secret of another writer."""
        self.objects.setdefault((SECRET, key), external_secret(key))

    def _provide(self) -> None:
        """Create what the planner reads and no other writer has created."""
        scope = self.scope()
        own = self._generated()
        for kind, key in self.planner.contents(scope):
            if kind == SECRET and (kind, key.name) not in own:
                self.add_secret(key)
        for kind, key in self.planner.references(scope.key, scope.spec):
            if kind not in (SECRET, CONFIG_MAP) and (kind, key) not in self.objects:
                self.add(kind, ready(_referenced(kind, key), owner=None))

    def _generated(self) -> set[tuple[Kind, str]]:
        """Secrets that the planner creates when it comes to that."""
        if not isinstance(self.planner, ServicePlanner):
            return set()
        return set(self.planner.service.generated(self.live["metadata"]["name"]))

    def _permit(self, kind: Kind, key: Key) -> None:
        namespace = self.live["metadata"]["namespace"]
        if grants.crosses(namespace, kind, key):
            found = self._list(REFERENCE_GRANT, key.namespace)
            grants.check(self.planner.kind, namespace, kind, key, found)

    def _get(self, kind: Kind, key: Key) -> Object | None:
        return self.objects.get((kind, key))

    def _list(self, kind: Kind, namespace: str) -> list[Object]:
        every = [*self.objects.items(), ((self.planner.kind, key_of(self.live)), self.live)]
        return [
            obj
            for (of, key), obj in every
            if of == kind and (not namespace or key.namespace == namespace)
        ]

    def _find(self, kind: Kind, index: str, value: str) -> Iterable[Object]:
        if kind == ENDPOINT_SLICE:
            namespace, _, name = value.partition("/")
            exists = (SERVICE, Key(namespace, name)) in self.objects
            return [{"endpoints": [{"conditions": {"ready": True}}]}] if exists else []
        if index == "owner":
            return [obj for obj in self._list(kind, "") if _is_owned(obj, value)]
        return self._list(kind, "") if index == "every" else []

    def _contents(self) -> Objects:
        return {each: obj for each, obj in self.objects.items() if each[0] in (SECRET, CONFIG_MAP)}


def random(number: int) -> bytes:
    """Bytes whose base64 text is easy to recognise."""
    text = (RANDOM * number)[: -(-number // 3) * 4]
    return base64.b64decode(text)[:number]


def marker(name: str, key: str) -> str:
    """The value of a key of a Secret of another writer."""
    return "SECRET" + hashlib.sha256(f"{name}/{key}".encode()).hexdigest()[:16]


def external_secret(key: Key, keys: Iterable[str] = tuple(openstack.CONTENT)) -> Object:
    """A Secret of another writer; by default with every key that a spec may name."""
    values = {k: openstack.CONTENT[k] if k in PUBLIC else marker(key.name, k) for k in keys}
    data = {k: base64.b64encode(v.encode()).decode() for k, v in values.items()}
    meta = {"name": key.name, "namespace": key.namespace, "uid": key.name, "generation": 1}
    return {"metadata": meta, "data": data}


def ready(desired: Desired, *, owner: Object | None) -> Object:
    """An object as its controller would report it when it is ready."""
    body = dict(desired.body)
    kind, key = desired.kind, desired.key
    uid = f"{kind.kind}/{key.name}"
    stored = {
        "uid": uid,
        "generation": 1,
        "creationTimestamp": timestamp(NOW),
        "ownerReferences": [owner_reference(owner)] if owner else [],
    }
    spec = body.get("spec") or {}
    if kind == SERVICE:
        body["spec"] = {"clusterIP": "10.96.0.7", **spec}
    return {
        **body,
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {**body["metadata"], **stored},
        "status": _status(uid, spec.get("replicas", 1)),
    }


def _status(uid: str, replicas: int) -> Object:
    """Enough for every kind that we wait for."""
    types = ("Ready", "Available", "AllReplicasReady", "Complete")
    counts = ("replicas", "readyReplicas", "updatedReplicas", "availableReplicas")
    nodes = ("desiredNumberScheduled", "numberReady", "updatedNumberScheduled")
    return {
        "observedGeneration": 1,
        "phase": "Ready",
        "id": uid,
        **dict.fromkeys(counts, replicas),
        **dict.fromkeys(nodes, 1),
        "conditions": [
            {"type": each, "status": "True", "reason": "Simulated", "observedGeneration": 1}
            for each in types
        ],
    }


def _issued_secrets(desired: Desired) -> Iterable[str]:
    """Secrets that the controller of an object creates for it."""
    spec = desired.body.get("spec") or {}
    if desired.kind == certmanager.CERTIFICATE:
        yield spec["secretName"]
    if desired.kind in (AGGREGATE, eso.EXTERNAL_SECRET):
        yield spec["target"]["name"]


def _referenced(kind: Kind, key: Key) -> Desired:
    """An object that another one names: our example, if it is of one of our kinds."""
    documents = (each for each in structural.examples() if each["kind"] == kind.kind)
    example = next(documents, {"spec": {"serviceName": key.name}})
    meta = {"name": key.name, "namespace": key.namespace}
    return Desired(kind, {"metadata": meta, "spec": example["spec"]})


def _is_owned(obj: Object, ownership: str) -> bool:
    namespace, _, uid = ownership.partition("/")
    references = obj["metadata"].get("ownerReferences") or ()
    return obj["metadata"].get("namespace", "") == namespace and any(
        each["uid"] == uid for each in references
    )
