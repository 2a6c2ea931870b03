"""CephClient: a user of Ceph whose key is in a Secret."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

import msgspec

from cobaltcore.api.foreign import manifest
from cobaltcore.api.foreign.kubernetes import SECRET
from cobaltcore.api.foreign.rook import CEPH_CLIENT, CephClientSpec, CephClientStatus
from cobaltcore.lab.ceph import commands, identity, userspec
from cobaltcore.lab.ceph.commands import Refused
from cobaltcore.lab.ceph.surroundings import Surroundings, is_going
from cobaltcore.lab.providers import provider
from cobaltcore.runtime import events, finalizers, status
from cobaltcore.runtime.apply import Applier, ForeignObject
from cobaltcore.runtime.controller import Controller, Source, itself, owner
from cobaltcore.runtime.meta import Key, Object, Scope, key_of

FINALIZER = "cephclient.ceph.rook.io"
ASK_AGAIN = timedelta(seconds=15)


@dataclass(frozen=True, slots=True)
class _Known:
    """The key of a user, and for which spec and cluster Ceph told it."""

    seen: str
    key: str = field(repr=False)


class Clients:
    """The controller of CephClients."""

    def __init__(self, around: Surroundings) -> None:
        setting = around.setting
        self._around = around
        self._cluster = setting.cluster
        self._applier = Applier(setting.cluster, manager=provider.MANAGER)
        self._events = events.Recorder(
            setting.cluster,
            component="rook-ceph-client-controller",
            instance=setting.instance,
            clock=setting.clock,
        )
        self._known: dict[Key, _Known] = {}
        self.controller = Controller(
            "cephclient",
            self.reconcile,
            [
                Source(CEPH_CLIENT, itself),
                Source(SECRET, owner(CEPH_CLIENT), Scope(metadata_only=True)),
                *around.wakes(CEPH_CLIENT),
            ],
            clock=setting.clock,
        )

    async def reconcile(self, key: Key) -> timedelta | None:
        """Make the user and its Secret, or remove the user."""
        live = self._cluster.informer(CEPH_CLIENT).get(key)
        if live is None:
            self._known.pop(key, None)
            return None
        if is_going(live):
            return await self._remove(live)
        return await self._keep(live)

    async def _keep(self, live: Object) -> timedelta | None:
        key, spec = key_of(live), manifest.spec_of(live, CephClientSpec)
        refused = userspec.refusal(_name(live, spec), spec)
        if refused:
            return await self._fail(live, refused)
        seen = self._around.fingerprint(live)
        known = self._known.get(key)
        if known is None or known.seen != seen:
            if not self._around.is_reachable(key.namespace):
                return await self._wait(live)
            live = await finalizers.add(self._cluster, CEPH_CLIENT, live, FINALIZER)
            try:
                known = _Known(seen, await self._ask_for_key(live, spec))
            except Refused as error:
                await self._fail(live, error.message)
                return ASK_AGAIN
            self._known[key] = known
        await self._publish(live, spec, known.key)
        return None

    async def _ask_for_key(self, live: Object, spec: CephClientSpec) -> str:
        namespace, name = live["metadata"]["namespace"], _name(live, spec)
        wanted = userspec.creation(name, spec)
        report = await self._around.ceph.ask(namespace, wanted)
        if report.answers[0].code == userspec.CAPS_DIFFER:
            wanted = userspec.changes(name, spec)
            report = await self._around.ceph.ask(namespace, wanted)
        return userspec.key(commands.expect(wanted, report)[-1].output)

    async def _publish(self, live: Object, spec: CephClientSpec, secret_key: str) -> None:
        key = Key(live["metadata"]["namespace"], _secret_name(live, spec))
        wanted = []
        if not spec.remove_secret:
            wanted = [identity.client_secret(key, _name(live, spec), secret_key)]
        try:
            await self._applier.apply(wanted, owner=live)
        except ForeignObject as error:
            await self._fail(live, f"{error.message}: {error.hint}")
            return
        keep = {(SECRET, each.key) for each in wanted}
        await self._applier.prune(live, [SECRET], keep=keep)
        info = {"secretName": key.name} if wanted else {}
        await self._report(live, "Ready", info)

    async def _remove(self, live: Object) -> timedelta | None:
        """Remove the user; one whose cluster goes, too, stays in the data of that."""
        key = key_of(live)
        if not finalizers.present(live, FINALIZER):
            return None
        cluster = self._around.cluster_of(key.namespace)
        if cluster is not None and not is_going(cluster):
            if not self._around.is_reachable(key.namespace):
                return None
            wanted = [userspec.deletion(_name(live, manifest.spec_of(live, CephClientSpec)))]
            commands.expect(wanted, await self._around.ceph.ask(key.namespace, wanted))
        await finalizers.remove(self._cluster, CEPH_CLIENT, live, FINALIZER)
        return None

    async def _wait(self, live: Object) -> timedelta | None:
        if manifest.status_of(live, CephClientStatus).phase != "Ready":
            await self._report(live, "Progressing", {})
        return None

    async def _fail(self, live: Object, message: str) -> timedelta | None:
        await self._events.warning(live, "ReconcileFailed", message)
        await self._report(live, "Failure", {"error": message})
        return None

    async def _report(self, live: Object, phase: str, info: Mapping[str, str]) -> None:
        after = CephClientStatus(
            phase=phase,
            info=dict(info),
            observed_generation=live["metadata"]["generation"],
        )
        built = msgspec.to_builtins(after)
        await status.write(self._cluster, CEPH_CLIENT, live, built, manager=provider.MANAGER)


def _name(live: Object, spec: CephClientSpec) -> str:
    return spec.name or str(live["metadata"]["name"])


def _secret_name(live: Object, spec: CephClientSpec) -> str:
    return spec.secret_name or f"rook-ceph-client-{_name(live, spec)}"
