"""CephClient: a user of Ceph whose key is in a Secret."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from cobaltcore.api.foreign import manifest
from cobaltcore.api.foreign.kubernetes import SECRET
from cobaltcore.api.foreign.rook import CEPH_CLIENT, CephClientSpec, CephClientStatus
from cobaltcore.runtime.apply import ResourceConflict
from cobaltcore.runtime.controller import Source, itself, owner
from cobaltcore.runtime.meta import Key, Object, WatchScope, key_of
from cobaltlab.ceph import commands, identity, userspec
from cobaltlab.ceph.environment import Environment
from cobaltlab.providers.failures import Blocked, Failure
from cobaltlab.providers.reconciler import Reconciler, is_deleting


@dataclass(frozen=True, slots=True)
class _User:
    """The key of a user, and the spec and cluster that it is for."""

    fingerprint: str
    key: str = field(repr=False)


class CephClientReconciler(Reconciler):
    """The controller of CephClients."""

    finalizer = "cephclient.ceph.rook.io"
    blocking = (ResourceConflict,)

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._users: dict[Key, _User] = {}
        super().__init__(
            environment.context,
            CEPH_CLIENT,
            [
                Source(CEPH_CLIENT, itself),
                Source(SECRET, owner(CEPH_CLIENT), WatchScope(metadata_only=True)),
                *environment.watches(CEPH_CLIENT),
            ],
            component="rook-ceph-client-controller",
        )

    def forget(self, key: Key) -> None:
        self._users.pop(key, None)

    async def apply(self, live: Object) -> timedelta | None:
        key, spec = key_of(live), manifest.spec_of(live, CephClientSpec)
        invalid = userspec.invalid(_name(live, spec), spec)
        if invalid:
            raise Blocked(invalid)
        fingerprint = self._environment.fingerprint(live)
        user = self._users.get(key)
        if user is None or user.fingerprint != fingerprint:
            if not self._environment.is_reachable(key.namespace):
                await self._wait(live)
                return None
            live = await self.hold(live)
            user = _User(fingerprint, await self._create(live, spec))
            self._users[key] = user
        await self._publish(live, spec, user.key)
        return None

    async def _create(self, live: Object, spec: CephClientSpec) -> str:
        """Create or update the user; return its key."""
        namespace, name = live["metadata"]["namespace"], _name(live, spec)
        requests = userspec.creation(name, spec)
        response = await self._environment.ceph.execute(namespace, requests)
        if response.results[0].code == userspec.CAPS_DIFFER:
            requests = userspec.changes(name, spec)
            response = await self._environment.ceph.execute(namespace, requests)
        return userspec.key(commands.expect(requests, response)[-1].output)

    async def _publish(self, live: Object, spec: CephClientSpec, secret_key: str) -> None:
        key = Key(live["metadata"]["namespace"], _secret_name(live, spec))
        desired = []
        if not spec.remove_secret:
            desired = [identity.client_secret(key, _name(live, spec), secret_key)]
        await self._applier.apply(desired, owner=live)
        await self._applier.prune(live, [SECRET], keep={(SECRET, each.key) for each in desired})
        await self._report(live, "Ready", {"secretName": key.name} if desired else {})

    async def teardown(self, live: Object) -> bool:
        """Delete the user; while its cluster is being deleted, too, it stays in the data."""
        key = key_of(live)
        cluster = self._environment.cluster_of(key.namespace)
        if cluster is not None and not is_deleting(cluster):
            if not self._environment.is_reachable(key.namespace):
                return False
            name = _name(live, manifest.spec_of(live, CephClientSpec))
            requests = [userspec.deletion(name)]
            response = await self._environment.ceph.execute(key.namespace, requests)
            commands.expect(requests, response)
        return True

    async def report_failure(self, live: Object, failure: Failure) -> bool:
        return await self._report(live, "Failure", {"error": failure.message})

    async def _wait(self, live: Object) -> None:
        if manifest.status_of(live, CephClientStatus).phase != "Ready":
            await self._report(live, "Progressing", {})

    async def _report(self, live: Object, phase: str, info: Mapping[str, str]) -> bool:
        after = CephClientStatus(
            phase=phase,
            info=dict(info),
            observed_generation=live["metadata"]["generation"],
        )
        return await self.write_status(live, after)


def _name(live: Object, spec: CephClientSpec) -> str:
    return spec.name or str(live["metadata"]["name"])


def _secret_name(live: Object, spec: CephClientSpec) -> str:
    return spec.secret_name or f"rook-ceph-client-{_name(live, spec)}"
