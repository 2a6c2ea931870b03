"""K-ORC (`openstack.k-orc.cloud`) for the lab: resources of any Keystone as objects.

Managed and imported domains, projects, roles, groups, services, endpoints, users, application
credentials and role assignments. The parts are in `cobaltlab.korc`.
"""

from collections.abc import Iterator
from datetime import timedelta

from cobaltcore.api.foreign.kubernetes import SECRET
from cobaltcore.engine.rights import Rule
from cobaltcore.runtime.controller import Controller
from cobaltcore.runtime.meta import WatchScope
from cobaltlab.korc import keystone, kinds, references
from cobaltlab.korc.access import Access
from cobaltlab.korc.reconciler import IMPORT_POLL, CredentialsReconciler, ResourceReconciler
from cobaltlab.providers.provider import Context, Provider


def controllers(
    context: Context,
    *,
    namespace: str = "",
    connect: keystone.Connect = keystone.connect,
    import_poll: timedelta = IMPORT_POLL,
) -> Iterator[Controller]:
    """One controller per kind, and one for the Secrets they hold; for one namespace or all."""
    for row in kinds.TABLE:
        references.add_indexes(context.cluster, row, namespace)
    access = Access(context.cluster, context.clock, connect)
    secrets = WatchScope(namespace, metadata_only=True)
    for row in kinds.TABLE:
        yield ResourceReconciler(
            context, row, access, secrets=secrets, import_poll=import_poll
        ).controller
    yield CredentialsReconciler(context, secrets).controller


PROVIDER = Provider(
    "korc",
    tuple(row.kind for row in kinds.TABLE),
    controllers,
    # Finalizers on Secrets in use.
    extra_rules=(Rule(SECRET.group, (SECRET.plural,), ("patch",)),),
)
