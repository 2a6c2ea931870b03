"""CephCluster: daemons in pods, the strict gate, health, and an end that keeps the data."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import msgspec

from cobaltcore.api.foreign import manifest
from cobaltcore.api.foreign.kubernetes import (
    CONFIG_MAP,
    DEPLOYMENT,
    PERSISTENT_VOLUME_CLAIM,
    SECRET,
    SERVICE,
)
from cobaltcore.api.foreign.rook import (
    CEPH_CLUSTER,
    DESTROY_DATA,
    CephClusterSpec,
    CephClusterStatus,
    CephHealth,
    CleanupPolicy,
    External,
    RunningVersion,
)
from cobaltcore.lab.ceph import commands, config, daemons, health, identity, phases
from cobaltcore.lab.ceph.commands import Silent
from cobaltcore.lab.ceph.surroundings import MEMBERS, Surroundings, is_going
from cobaltcore.lab.providers import provider
from cobaltcore.runtime import diff, events, finalizers, status
from cobaltcore.runtime.apply import Applier, ForeignObject
from cobaltcore.runtime.controller import Controller, Source, itself, owner
from cobaltcore.runtime.meta import Key, Kind, Object, Scope, key_of
from cobaltcore.runtime.store import Change

FINALIZER = "cephcluster.ceph.rook.io"
CHECK_EVERY = timedelta(seconds=60)
CHECK_SOON = timedelta(seconds=10)
RETRY = timedelta(seconds=1)
WAIT_FOR_GATE = timedelta(seconds=5)


@dataclass(frozen=True, slots=True)
class _Check:
    """The last look at a cluster, and what was true then of its daemons."""

    daemons: str
    due: float
    health: CephHealth
    version: str = ""
    waits_for: str = ""
    """What the strict gate waits for; empty if it is open."""


class Clusters:
    """The controller of CephClusters."""

    def __init__(self, around: Surroundings) -> None:
        setting = around.setting
        self._around = around
        self._cluster = setting.cluster
        self._clock = setting.clock
        self._applier = Applier(setting.cluster, manager=provider.MANAGER)
        self._events = events.Recorder(
            setting.cluster,
            component="rook-ceph-cluster-controller",
            instance=setting.instance,
            clock=setting.clock,
        )
        self._configured: dict[Key, str] = {}
        self._checks: dict[Key, _Check] = {}
        children = (DEPLOYMENT, SERVICE, CONFIG_MAP)
        self.controller = Controller(
            "cephcluster",
            self.reconcile,
            [
                Source(CEPH_CLUSTER, around.beside(CEPH_CLUSTER)),
                Source(CEPH_CLUSTER, itself),
                *(Source(kind, owner(CEPH_CLUSTER)) for kind in children),
                Source(SECRET, self._of_secret, Scope(metadata_only=True)),
                Source(PERSISTENT_VOLUME_CLAIM, self._of_claim),
                *(Source(kind, self._of_member) for kind in MEMBERS),
            ],
            clock=setting.clock,
        )

    async def reconcile(self, key: Key) -> timedelta | None:
        """Bring the cluster up, look after it, or take it down."""
        live = self._cluster.informer(CEPH_CLUSTER).get(key)
        if live is None:
            self._checks.pop(key, None)
            self._configured.pop(key, None)
            return None
        if is_going(live):
            return await self._take_down(live)
        try:
            refused = self._refusal(live)
            if refused:
                await self._report(live, phases.failed(refused))
                return None
            live = await finalizers.add(self._cluster, CEPH_CLUSTER, live, FINALIZER)
            fsid = await self._make(live)
        except ForeignObject as error:
            await self._report(live, phases.failed(f"{error.message}: {error.hint}"))
            return None
        return await self._look(live, fsid)

    def _refusal(self, live: Object) -> str:
        spec = manifest.spec_of(live, CephClusterSpec)
        first = self._around.cluster_of(live["metadata"]["namespace"])
        if first is not None and key_of(first) != key_of(live):
            return f"a namespace has one CephCluster, and here it is {key_of(first).name!r}"
        if (spec.external or External()).enable:
            return "external clusters are not served in the lab"
        if not self._image(spec):
            return "spec.cephVersion.image is not set, and neither is the lab's image of ceph"
        return ""

    def _image(self, spec: CephClusterSpec) -> str:
        """The lab's own image: the one that the spec names cannot be fetched there."""
        named = spec.ceph_version.image if spec.ceph_version else ""
        return self._around.setting.images.get("ceph", named)

    async def _make(self, live: Object) -> str:
        """Make everything that is not there; return the id of the cluster."""
        namespace = live["metadata"]["namespace"]
        spec = manifest.spec_of(live, CephClusterSpec)
        who = await self._identity(namespace)
        made = await self._applier.apply([daemons.service(namespace)], owner=live)
        address = str((made.entries[0].live or {})["spec"]["clusterIP"])
        programs = daemons.programs(namespace, who.fsid, address)
        await self._applier.apply(daemons.claims(namespace))
        await self._applier.apply(
            [
                *identity.keyrings(who, namespace),
                *identity.endpoints(namespace, address),
                programs,
                *daemons.deployments(programs, self._image(spec), who.fsid, address),
            ],
            owner=live,
        )
        return who.fsid

    async def _identity(self, namespace: str) -> identity.Identity:
        """Who the cluster is: as written down beside its data, or somebody new."""
        key = Key(namespace, identity.NAME)
        found = await self._cluster.read(SECRET, key)
        if found is None:
            claims = self._cluster.informer(PERSISTENT_VOLUME_CLAIM)
            if claims.get(daemons.key(daemons.MON, namespace)) is not None:
                raise ForeignObject(
                    f"PersistentVolumeClaim {daemons.key(daemons.MON, namespace)} has the data of "
                    f"a cluster whose Secret {key} is gone",
                    hint="put the Secret back, or delete the claims of the daemons",
                )
            wanted = identity.secret(identity.new(self._clock.now()), namespace)
            made = await self._applier.apply([wanted])
            found = made.entries[0].live
        try:
            return identity.read(found or {})
        except KeyError as error:
            raise ForeignObject(
                f"Secret {key} is not of a cluster of the lab: it lacks {error}",
                hint="delete or rename that Secret",
            ) from error

    # --- looking after it ---------------------------------------------------------------------

    async def _look(self, live: Object, fsid: str) -> timedelta | None:
        namespace = live["metadata"]["namespace"]
        for daemon in daemons.ALL:
            if not daemons.is_available(self._deployment(daemon, namespace)):
                return await self._wait_for(live, daemon, fsid)
            if daemon is daemons.MON:
                await self._configure(live, fsid)
        check = await self._check(live, fsid)
        if check.waits_for and not phases.is_created(live):
            await self._report(live, phases.progressing(daemons.OSD, check.waits_for))
            # Where Ceph answers, the waiting was done there.
            return RETRY if check.health.health == health.ERROR else timedelta()
        await self._report(live, phases.CREATED, check)
        await self._tell_created(live)
        return timedelta(seconds=max(0.0, check.due - self._clock.monotonic()))

    async def _wait_for(self, live: Object, daemon: daemons.Daemon, fsid: str) -> timedelta | None:
        if not phases.is_created(live):
            await self._report(live, phases.progressing(daemon, ""))
            return None
        # It was ready before: the cluster is there, and not well.
        gone = health.silent(fsid, f"Deployment {daemon.name} is not available")
        self._checks.pop(key_of(live), None)
        await self._report(live, phases.CREATED, _Check("", 0, gone))
        return None

    async def _configure(self, live: Object, fsid: str) -> None:
        """Set what the monitor tells others, once per version of the spec."""
        spec = manifest.spec_of(live, CephClusterSpec)
        wanted = {**config.FOR_CLIENTS, **spec.ceph_config}
        fingerprint, key = diff.digest([fsid, wanted]), key_of(live)
        if self._configured.get(key) == fingerprint:
            return
        requests = [
            commands.command("config set", who=who, name=name, value=value)
            for who, settings in wanted.items()
            for name, value in settings.items()
        ]
        try:
            report = await self._around.ceph.ask(key.namespace, requests)
        except Silent:
            # What follows asks again, and tells about it.
            return
        refused = commands.refusal(requests, report)
        if refused is not None:
            await self._events.warning(live, "ConfigRefused", refused.message)
        self._configured[key] = fingerprint

    async def _check(self, live: Object, fsid: str) -> _Check:
        """Ask Ceph, unless that was done lately and no daemon was replaced since."""
        key, now = key_of(live), self._clock.monotonic()
        seen = diff.digest([_state(self._deployment(d, key.namespace)) for d in daemons.ALL])
        known = self._checks.get(key)
        if known is not None and known.daemons == seen and now < known.due:
            return known
        try:
            report = await self._around.ceph.ask(
                key.namespace,
                [commands.command("version")],
                until="clean",
                patience=WAIT_FOR_GATE,
            )
        except Silent as error:
            found = health.silent(fsid, error.message)
            return _Check(seen, now + CHECK_SOON.total_seconds(), found, waits_for=error.message)
        found = health.told(fsid, report.status)
        if not report.answers:
            waits_for = health.blockers(report.status) or "the strict gate"
            return _Check(seen, now + CHECK_SOON.total_seconds(), found, waits_for=waits_for)
        due = self._clock.monotonic() + CHECK_EVERY.total_seconds()
        check = _Check(seen, due, found, health.version(report.answers[0].output))
        self._checks[key] = check
        return check

    def _deployment(self, daemon: daemons.Daemon, namespace: str) -> Object | None:
        return self._cluster.informer(DEPLOYMENT).get(daemons.key(daemon, namespace))

    async def _tell_created(self, live: Object) -> None:
        if phases.is_created(live):
            return
        spec = manifest.spec_of(live, CephClusterSpec)
        await self._events.normal(live, "ReconcileSucceeded", phases.CREATED.message)
        if spec.mon and (spec.mon.count or 1) > 1:
            note = f"the lab runs 1 monitor of {spec.mon.count}, 1 manager and 1 OSD"
            await self._events.normal(live, "LabScale", note)

    # --- taking it down -----------------------------------------------------------------------

    async def _take_down(self, live: Object) -> timedelta | None:
        """Stop the daemons, one after the other; volumes and keys go only if that is confirmed."""
        key = key_of(live)
        if not finalizers.present(live, FINALIZER):
            return None
        first = self._around.cluster_of(key.namespace)
        if first is not None and key_of(first) == key:
            members = self._around.members_of(key.namespace)
            if members:
                await self._report(live, phases.blocked(key, members))
                return None
            await self._report(live, phases.DELETING)
            if await self._still_runs(live):
                return None
            await self._let_go_of_data(live)
        await finalizers.remove(self._cluster, CEPH_CLUSTER, live, FINALIZER)
        return None

    async def _still_runs(self, live: Object) -> bool:
        for daemon in daemons.STOP_ORDER:
            found = self._deployment(daemon, live["metadata"]["namespace"])
            if found is not None and _belongs(found, live):
                if not is_going(found):
                    await self._cluster.client.delete(
                        DEPLOYMENT,
                        key_of(found),
                        uid=found["metadata"]["uid"],
                        propagation="Foreground",
                    )
                return True
        return False

    async def _let_go_of_data(self, live: Object) -> None:
        namespace = live["metadata"]["namespace"]
        policy = manifest.spec_of(live, CephClusterSpec).cleanup_policy or CleanupPolicy()
        data = [(PERSISTENT_VOLUME_CLAIM, each.key) for each in daemons.claims(namespace)]
        data.append((SECRET, Key(namespace, identity.NAME)))
        there = [(kind, key) for kind, key in data if self._is_there(kind, key)]
        if policy.confirmation == DESTROY_DATA:
            for kind, key in there:
                await self._cluster.client.delete(kind, key)
        elif there:
            names = ", ".join(f"{kind.kind} {key.name}" for kind, key in there)
            await self._events.normal(live, "DataKept", f"kept for the next CephCluster: {names}")

    def _is_there(self, kind: Kind, key: Key) -> bool:
        found = self._cluster.informer(kind).get(key)
        return found is not None and not is_going(found)

    # --- reporting ----------------------------------------------------------------------------

    async def _report(
        self, live: Object, phase: phases.Phase, check: _Check | None = None
    ) -> None:
        before = manifest.status_of(live, CephClusterStatus)
        spec = manifest.spec_of(live, CephClusterSpec)
        after = CephClusterStatus(
            phase=phase.name,
            state=phase.state(before),
            message=phase.message,
            conditions=self._around.merged(before.conditions, phase.conditions(before), live),
            ceph=self._dated(before.ceph, check.health) if check else before.ceph,
            version=before.version,
            observed_generation=live["metadata"]["generation"],
        )
        if check is not None and check.version:
            running = RunningVersion(image=self._image(spec), version=check.version)
            after = msgspec.structs.replace(after, version=running)
        built: dict[str, Any] = msgspec.to_builtins(after)
        await status.write(self._cluster, CEPH_CLUSTER, live, built, manager=provider.MANAGER)

    def _dated(self, before: CephHealth | None, found: CephHealth) -> CephHealth:
        since = health.since(before, found, self._clock.now())
        return msgspec.structs.replace(found, **since)

    # --- whom a change concerns ---------------------------------------------------------------

    def _of_secret(self, change: Change) -> Iterable[Key]:
        if change.key.name == identity.NAME:
            yield from self._around.beside(CEPH_CLUSTER)(change)
        yield from owner(CEPH_CLUSTER)(change)

    def _of_claim(self, change: Change) -> Iterable[Key]:
        if change.key.name in {daemon.name for daemon in daemons.ALL}:
            yield from self._around.beside(CEPH_CLUSTER)(change)

    def _of_member(self, change: Change) -> Iterable[Key]:
        """A member concerns the cluster when it is the last that holds it back."""
        if change.new is None:
            yield from self._around.beside(CEPH_CLUSTER)(change)


def _state(deployment: Object | None) -> Any:
    if deployment is None:
        return None
    return [deployment["metadata"]["uid"], deployment.get("status")]


def _belongs(child: Object, parent: Object) -> bool:
    references = child["metadata"].get("ownerReferences") or ()
    return any(each["uid"] == parent["metadata"]["uid"] for each in references)
