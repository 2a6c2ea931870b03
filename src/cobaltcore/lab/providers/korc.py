"""K-ORC (`openstack.k-orc.cloud`): Keystone's resources as objects, against any Keystone.

Managed and imported domains, projects, roles, groups, services, endpoints, users, application
credentials and role assignments. The parts are in `cobaltcore.lab.korc`.
"""

from collections.abc import Iterator
from datetime import timedelta

from cobaltcore.api.foreign.kubernetes import SECRET
from cobaltcore.engine.rights import Rule
from cobaltcore.lab.korc import keystone, kinds, references
from cobaltcore.lab.korc.access import Access
from cobaltcore.lab.korc.reconcile import IMPORT_POLL, Reconciler, SecretGuard
from cobaltcore.lab.providers.provider import Provider, Setting
from cobaltcore.runtime.controller import Controller
from cobaltcore.runtime.meta import Scope


def controllers(
    setting: Setting,
    *,
    namespace: str = "",
    dial: keystone.Dial = keystone.dial,
    import_poll: timedelta = IMPORT_POLL,
) -> Iterator[Controller]:
    """One controller per kind, and one for the Secrets they hold; for one namespace or all."""
    cluster, clock = setting.cluster, setting.clock
    for row in kinds.TABLE:
        references.add_indexes(cluster, row, namespace)
    access = Access(cluster, clock, dial)
    secrets = Scope(namespace, metadata_only=True)
    for row in kinds.TABLE:
        yield Reconciler(
            cluster, row, access, clock=clock, secrets=secrets, import_poll=import_poll
        ).controller
    yield SecretGuard(cluster, secrets, clock=clock).controller


PROVIDER = Provider(
    "korc",
    tuple(row.kind for row in kinds.TABLE),
    controllers,
    # Secrets in use are held by finalizers.
    extra=(Rule(SECRET.group, (SECRET.plural,), ("patch",)),),
)
