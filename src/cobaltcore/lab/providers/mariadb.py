"""mariadb-operator for the lab: MariaDB with a real server, Database, User and Grant on it.

A server reads its administrator's password from a Secret whenever it starts, so a changed Secret
replaces the pod, and a server that is made anew opens the volume that an earlier one left.
"""

import secrets
from collections.abc import Iterable
from datetime import timedelta

import msgspec

from cobaltcore.api.foreign import manifest
from cobaltcore.api.foreign.kubernetes import CONFIG_MAP, SECRET, SERVICE, STATEFUL_SET
from cobaltcore.api.foreign.mariadb import (
    DATABASE,
    GRANT,
    MARIADB,
    USER,
    MariaDBSpec,
    MariaDBStatus,
)
from cobaltcore.engine.desired import secret, workload
from cobaltcore.lab.providers import mariadb_objects, mariadb_server, mariadb_sql, provider
from cobaltcore.runtime import conditions, events, status
from cobaltcore.runtime.apply import Applier, ForeignObject
from cobaltcore.runtime.controller import Controller, Source, itself, owner, referrers
from cobaltcore.runtime.meta import Condition, Key, Object, Scope, key_of
from cobaltcore.runtime.store import Change

READY = "Ready"
FAILED = "Failed"
STATEFUL_SET_READY = "StatefulSetReady"
STATEFUL_SET_NOT_READY = "StatefulSetNotReady"
_CHILDREN = (CONFIG_MAP, SERVICE, STATEFUL_SET)


class CannotServe(Exception):
    """The object asks for something that is not there; the message says what to do."""


class Servers:
    """The controller of MariaDB objects."""

    def __init__(self, setting: provider.Setting) -> None:
        self._cluster = setting.cluster
        self._clock = setting.clock
        self._image = setting.images.get(mariadb_server.NAME, "")
        self._applier = Applier(setting.cluster, manager=provider.MANAGER)
        self._events = events.Recorder(
            setting.cluster, component="mariadb", instance=setting.instance, clock=setting.clock
        )
        setting.cluster.informer(MARIADB).add_index("secret", _root_secret)
        self.controller = Controller(
            "mariadb",
            self.reconcile,
            [
                Source(MARIADB, itself),
                *(Source(kind, owner(MARIADB)) for kind in _CHILDREN),
                Source(SECRET, self._of_secret, Scope(metadata_only=True)),
            ],
            clock=setting.clock,
        )

    async def reconcile(self, key: Key) -> timedelta | None:
        """Run the server that the object asks for, and report."""
        live = self._cluster.informer(MARIADB).get(key)
        if live is None or live["metadata"].get("deletionTimestamp"):
            return None
        try:
            await self._serve(live)
        except (CannotServe, msgspec.ValidationError) as error:
            await self._report(live, _failed(str(error)))
            return None
        except ForeignObject as error:
            await self._report(live, _failed(f"{error.message}: {error.hint}"))
            raise
        await self._report(live, self._readiness(key))
        return None

    async def _serve(self, live: Object) -> None:
        spec = manifest.spec_of(mariadb_server.defaulted(live), MariaDBSpec)
        image = self._image or spec.image
        if not image:
            raise CannotServe("there is no image: start the provider with --image mariadb=…")
        key = key_of(live)
        wanted = mariadb_server.objects(
            live,
            spec,
            image=image,
            password=await self._password(live, spec),
            known=self._cluster.informer(STATEFUL_SET).get(key),
        )
        changes = await self._applier.apply(wanted, owner=live)
        keep = {(entry.kind, entry.key) for entry in changes.entries}
        await self._applier.prune(live, _CHILDREN, keep=keep)
        if changes.changed:
            for note in _not_served(spec):
                await self._events.warning(live, "NotServedInLab", note)

    async def _password(self, live: Object, spec: MariaDBSpec) -> str:
        """The administrator's password, made up if the object wants that."""
        ref = spec.root_password_secret_key_ref
        key = Key(live["metadata"]["namespace"], ref.name)
        known = await self._cluster.read(SECRET, key)
        if known is None and ref.generate:
            values = {ref.key: secrets.token_urlsafe(24)}
            made = secret.secret(key, values, labels=mariadb_server.labels(live))
            await self._applier.apply([made._replace(once=True)], owner=live)
            known = await self._cluster.read(SECRET, key)
        found = secret.text(known, ref.key)
        if not found:
            raise CannotServe(
                f"the administrator's password is missing: make Secret {ref.name!r} with "
                f"the key {ref.key!r}, or set rootPasswordSecretKeyRef.generate"
            )
        return found

    def _readiness(self, key: Key) -> Condition:
        ready, wanted, settled = workload.progress(self._cluster.informer(STATEFUL_SET).get(key))
        if settled:
            return Condition(
                type=READY, status="True", reason=STATEFUL_SET_READY, message="Running"
            )
        return Condition(
            type=READY,
            status="False",
            reason=STATEFUL_SET_NOT_READY,
            message=f"{ready}/{wanted} pods ready",
        )

    async def _report(self, live: Object, told: Condition) -> None:
        before = manifest.status_of(live, MariaDBStatus)
        name, generation = live["metadata"]["name"], live["metadata"]["generation"]
        after = MariaDBStatus(
            conditions=conditions.merge(
                before.conditions, [told], now=self._clock.now(), generation=generation
            ),
            replicas=1 if told.reason == STATEFUL_SET_READY else 0,
            current_primary=f"{name}-0",
            current_primary_pod_index=0,
        )
        built = msgspec.to_builtins(after)
        await status.write(self._cluster, MARIADB, live, built, manager=provider.MANAGER)

    def _of_secret(self, change: Change) -> Iterable[Key]:
        yield from owner(MARIADB)(change)
        yield from referrers(self._cluster, MARIADB, "secret")(change)


def _root_secret(obj: Object) -> Iterable[str]:
    spec = mariadb_server.defaulted(obj)["spec"]
    name = (spec["rootPasswordSecretKeyRef"] or {}).get("name")
    yield str(Key(obj["metadata"]["namespace"], str(name)))


def _not_served(spec: MariaDBSpec) -> Iterable[str]:
    if spec.replicas > 1:
        yield f"{spec.replicas} replicas: the lab runs one"
    if spec.tls is not None and spec.tls.enabled:
        yield "tls: the lab's server speaks plain text"
    if spec.max_scale_ref is not None:
        yield "maxScaleRef: there is no MaxScale in the lab"


def _failed(message: str) -> Condition:
    return Condition(type=READY, status="False", reason=FAILED, message=message)


def controllers(
    setting: provider.Setting,
    *,
    address: mariadb_objects.Address = mariadb_objects.service_address,
    run: mariadb_sql.Run = mariadb_sql.run,
) -> Iterable[Controller]:
    """One controller of servers, and one for each kind of thing on them."""
    yield Servers(setting).controller
    for row in mariadb_objects.TABLE:
        yield mariadb_objects.Content(setting, row, address=address, run=run).controller


PROVIDER = provider.Provider("mariadb", (MARIADB, DATABASE, USER, GRANT), controllers)
