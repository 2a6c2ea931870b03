"""CephCluster: daemons in pods, readiness, health, and a deletion that keeps the data."""

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
from cobaltcore.runtime import diff
from cobaltcore.runtime.apply import ResourceConflict
from cobaltcore.runtime.controller import Source, itself, owner
from cobaltcore.runtime.meta import Key, Kind, Object, WatchScope, key_of
from cobaltcore.runtime.store import Change
from cobaltlab.ceph import commands, config, daemons, health, identity, phases
from cobaltlab.ceph.commands import CephUnreachable
from cobaltlab.ceph.environment import DEPENDENTS, Environment
from cobaltlab.providers.failures import Blocked, Failure
from cobaltlab.providers.reconciler import Reconciler, is_deleting

CHECK_INTERVAL = timedelta(seconds=60)
UNHEALTHY_CHECK_INTERVAL = timedelta(seconds=10)
REQUEUE = timedelta(seconds=1)
CLEAN_TIMEOUT = timedelta(seconds=5)


@dataclass(frozen=True, slots=True)
class _Check:
    """The last health check, and the state of the daemons at that time."""

    daemons: str
    due: float
    health: CephHealth
    version: str = ""
    blockers: str = ""
    """What keeps the cluster from being clean; empty if it is."""


class CephClusterReconciler(Reconciler):
    """The controller of CephClusters."""

    finalizer = "cephcluster.ceph.rook.io"
    blocking = (ResourceConflict,)
    observes_generation = False

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._configured: dict[Key, str] = {}
        self._checks: dict[Key, _Check] = {}
        children = (DEPLOYMENT, SERVICE, CONFIG_MAP)
        super().__init__(
            environment.context,
            CEPH_CLUSTER,
            [
                Source(CEPH_CLUSTER, environment.in_namespace(CEPH_CLUSTER)),
                Source(CEPH_CLUSTER, itself),
                *(Source(kind, owner(CEPH_CLUSTER)) for kind in children),
                Source(SECRET, self._of_secret, WatchScope(metadata_only=True)),
                Source(PERSISTENT_VOLUME_CLAIM, self._of_claim),
                *(Source(kind, self._of_dependent) for kind in DEPENDENTS),
            ],
            component="rook-ceph-cluster-controller",
        )

    def forget(self, key: Key) -> None:
        self._checks.pop(key, None)
        self._configured.pop(key, None)

    async def apply(self, live: Object) -> timedelta | None:
        self._validate(live)
        live = await self.hold(live)
        fsid = await self._create(live)
        return await self._check_daemons(live, fsid)

    def _validate(self, live: Object) -> None:
        spec, key = manifest.spec_of(live, CephClusterSpec), key_of(live)
        first = self._environment.cluster_of(key.namespace)
        if first is not None and key_of(first) != key:
            raise Blocked(
                f"a namespace has one CephCluster, and namespace {key.namespace!r} already has "
                f"{key_of(first).name!r}",
                "delete one of the two",
            )
        if (spec.external or External()).enable:
            raise Blocked("spec.external.enable is not supported in the lab: set it to false")
        if not self._image(spec):
            raise Blocked(
                "spec.cephVersion.image is not set and the lab has no image for 'ceph'",
                "set it, or start `cobalt providers` with --image ceph=REFERENCE",
            )

    def _image(self, spec: CephClusterSpec) -> str:
        """The image of the lab; the one of the spec cannot be pulled there."""
        configured = spec.ceph_version.image if spec.ceph_version else ""
        return self._environment.context.images.get("ceph", configured)

    async def _create(self, live: Object) -> str:
        """Apply all objects of the cluster; return its fsid."""
        namespace = live["metadata"]["namespace"]
        spec = manifest.spec_of(live, CephClusterSpec)
        own = await self._identity(namespace)
        service = await self._applier.apply([daemons.service(namespace)], owner=live)
        address = str((service.entries[0].live or {})["spec"]["clusterIP"])
        configuration = daemons.config_map(namespace, own.fsid, address)
        await self._applier.apply(daemons.claims(namespace))
        await self._applier.apply(
            [
                *identity.keyrings(own, namespace),
                *identity.endpoints(namespace, address),
                configuration,
                *daemons.deployments(configuration, self._image(spec), own.fsid, address),
            ],
            owner=live,
        )
        return own.fsid

    async def _identity(self, namespace: str) -> identity.Identity:
        """The identity in the Secret next to the data, or a new one."""
        key = Key(namespace, identity.NAME)
        found = await self._cluster.read(SECRET, key)
        if found is None:
            claims = self._cluster.informer(PERSISTENT_VOLUME_CLAIM)
            if claims.get(daemons.key(daemons.MON, namespace)) is not None:
                raise Blocked(
                    f"PersistentVolumeClaim {daemons.key(daemons.MON, namespace)} has the data of "
                    f"a cluster whose Secret {key} does not exist",
                    "restore the Secret, or delete the PersistentVolumeClaims of the daemons",
                )
            desired = identity.secret(identity.new(self._clock.now()), namespace)
            created = await self._applier.apply([desired])
            found = created.entries[0].live
        try:
            return identity.read(found or {})
        except KeyError as error:
            raise Blocked(
                f"Secret {key} has no key {error}: it does not belong to a cluster of the lab",
                "delete or rename that Secret",
            ) from error

    # --- health -------------------------------------------------------------------------------

    async def _check_daemons(self, live: Object, fsid: str) -> timedelta | None:
        namespace = live["metadata"]["namespace"]
        for daemon in daemons.ALL:
            if not daemons.is_available(self._deployment(daemon, namespace)):
                await self._wait_for(live, daemon, fsid)
                return None
            if daemon is daemons.MON:
                await self._configure(live, fsid)
        check = await self._check(live, fsid)
        if check.blockers and not phases.is_created(live):
            await self._report(live, phases.progressing(daemons.OSD, check.blockers))
            # A cluster that responds has already been waited for, in the monitor's pod.
            return REQUEUE if check.health.health == health.ERROR else timedelta()
        await self._report(live, phases.CREATED, check)
        await self._announce(live)
        return timedelta(seconds=max(0.0, check.due - self._clock.monotonic()))

    async def _wait_for(self, live: Object, daemon: daemons.Daemon, fsid: str) -> None:
        if not phases.is_created(live):
            await self._report(live, phases.progressing(daemon, ""))
            return
        # The phase of a cluster that was ready stays; its health is reported.
        down = health.unreachable(fsid, f"Deployment {daemon.name} is not available")
        self._checks.pop(key_of(live), None)
        await self._report(live, phases.CREATED, _Check("", 0, down))

    async def _configure(self, live: Object, fsid: str) -> None:
        """Write the configuration database of the monitor, once per generation."""
        spec = manifest.spec_of(live, CephClusterSpec)
        sections = {**config.FOR_CLIENTS, **spec.ceph_config}
        fingerprint, key = diff.digest([fsid, sections]), key_of(live)
        if self._configured.get(key) == fingerprint:
            return
        requests = [
            commands.command("config set", who=who, name=name, value=value)
            for who, options in sections.items()
            for name, value in options.items()
        ]
        try:
            response = await self._environment.ceph.execute(key.namespace, requests)
        except CephUnreachable:
            # The health check follows and reports it.
            return
        failed = commands.failure(requests, response)
        if failed is not None:
            await self._events.warning(live, "ConfigRefused", failed.message)
        self._configured[key] = fingerprint

    async def _check(self, live: Object, fsid: str) -> _Check:
        """Check the health, unless the last check is recent and no daemon has changed since."""
        key, now = key_of(live), self._clock.monotonic()
        state = diff.digest([_state(self._deployment(d, key.namespace)) for d in daemons.ALL])
        last = self._checks.get(key)
        if last is not None and last.daemons == state and now < last.due:
            return last
        due = now + UNHEALTHY_CHECK_INTERVAL.total_seconds()
        try:
            response = await self._environment.ceph.execute(
                key.namespace,
                [commands.command("version")],
                until="clean",
                wait_for=CLEAN_TIMEOUT,
            )
        except CephUnreachable as error:
            down = health.unreachable(fsid, error.message)
            return _Check(state, due, down, blockers=error.message)
        current = health.reported(fsid, response.status)
        if not response.results:
            blockers = health.blockers(response.status) or "the cluster is not clean"
            return _Check(state, due, current, blockers=blockers)
        due = self._clock.monotonic() + CHECK_INTERVAL.total_seconds()
        check = _Check(state, due, current, health.version(response.results[0].output))
        self._checks[key] = check
        return check

    def _deployment(self, daemon: daemons.Daemon, namespace: str) -> Object | None:
        return self._cluster.informer(DEPLOYMENT).get(daemons.key(daemon, namespace))

    async def _announce(self, live: Object) -> None:
        if phases.is_created(live):
            return
        spec = manifest.spec_of(live, CephClusterSpec)
        await self._events.normal(live, "ReconcileSucceeded", phases.CREATED.message)
        if spec.mon and (spec.mon.count or 1) > 1:
            note = f"spec.mon.count is {spec.mon.count}: the lab runs 1 monitor, 1 manager, 1 OSD"
            await self._events.normal(live, "LabScale", note)

    # --- deletion -----------------------------------------------------------------------------

    async def teardown(self, live: Object) -> bool:
        """Stop the daemons in order; data is deleted only if the spec confirms it."""
        key = key_of(live)
        first = self._environment.cluster_of(key.namespace)
        if first is None or key_of(first) != key:
            return True
        dependents = self._environment.dependents_of(key.namespace)
        if dependents:
            await self._report(live, phases.blocked(key, dependents))
            return False
        await self._report(live, phases.DELETING)
        if await self._is_stopping(live):
            return False
        await self._release_data(live)
        return True

    async def _is_stopping(self, live: Object) -> bool:
        """Delete the next Deployment; False once all are deleted."""
        for daemon in daemons.STOP_ORDER:
            found = self._deployment(daemon, live["metadata"]["namespace"])
            if found is not None and _is_owned(found, live):
                if not is_deleting(found):
                    await self._cluster.client.delete(
                        DEPLOYMENT,
                        key_of(found),
                        uid=found["metadata"]["uid"],
                        propagation="Foreground",
                    )
                return True
        return False

    async def _release_data(self, live: Object) -> None:
        namespace = live["metadata"]["namespace"]
        policy = manifest.spec_of(live, CephClusterSpec).cleanup_policy or CleanupPolicy()
        data = [(PERSISTENT_VOLUME_CLAIM, each.key) for each in daemons.claims(namespace)]
        data.append((SECRET, Key(namespace, identity.NAME)))
        existing = [(kind, key) for kind, key in data if self._exists(kind, key)]
        if policy.confirmation == DESTROY_DATA:
            for kind, key in existing:
                await self._cluster.client.delete(kind, key)
        elif existing:
            names = ", ".join(f"{kind.kind} {key.name}" for kind, key in existing)
            await self._events.normal(live, "DataKept", f"kept for the next CephCluster: {names}")

    def _exists(self, kind: Kind, key: Key) -> bool:
        found = self._cluster.informer(kind).get(key)
        return found is not None and not is_deleting(found)

    # --- status -------------------------------------------------------------------------------

    async def report_failure(self, live: Object, failure: Failure) -> bool:
        return await self._report(live, phases.failed(failure.message))

    async def _report(
        self, live: Object, phase: phases.Phase, check: _Check | None = None
    ) -> bool:
        before = manifest.status_of(live, CephClusterStatus)
        after = CephClusterStatus(
            phase=phase.name,
            state=phase.state(before),
            message=phase.message,
            conditions=self.merged(live, phase.conditions(before)),
            ceph=self._with_transition(before.ceph, check.health) if check else before.ceph,
            version=before.version,
            observed_generation=live["metadata"]["generation"],
        )
        if check is not None and check.version:
            image = self._image(manifest.spec_of(live, CephClusterSpec))
            running = RunningVersion(image=image, version=check.version)
            after = msgspec.structs.replace(after, version=running)
        return await self.write_status(live, after)

    def _with_transition(self, before: CephHealth | None, current: CephHealth) -> CephHealth:
        transition = health.transition(before, current, self._clock.now())
        return msgspec.structs.replace(current, **transition)

    # --- watches ------------------------------------------------------------------------------

    def _of_secret(self, change: Change) -> Iterable[Key]:
        if change.key.name == identity.NAME:
            yield from self._environment.in_namespace(CEPH_CLUSTER)(change)
        yield from owner(CEPH_CLUSTER)(change)

    def _of_claim(self, change: Change) -> Iterable[Key]:
        if change.key.name in {daemon.name for daemon in daemons.ALL}:
            yield from self._environment.in_namespace(CEPH_CLUSTER)(change)

    def _of_dependent(self, change: Change) -> Iterable[Key]:
        """The end of the last dependent unblocks the deletion of the cluster."""
        if change.new is None:
            yield from self._environment.in_namespace(CEPH_CLUSTER)(change)


def _state(deployment: Object | None) -> Any:
    if deployment is None:
        return None
    return [deployment["metadata"]["uid"], deployment.get("status")]


def _is_owned(child: Object, parent: Object) -> bool:
    references = child["metadata"].get("ownerReferences") or ()
    return any(each["uid"] == parent["metadata"]["uid"] for each in references)
