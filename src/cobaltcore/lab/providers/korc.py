"""K-ORC (`openstack.k-orc.cloud`): Keystone's resources as objects, against any Keystone.

Managed and imported domains, projects, roles, groups, services, endpoints, users, application
credentials and role assignments. The parts are in `cobaltcore.lab.korc`.
"""

from collections.abc import Iterator
from datetime import timedelta

from cobaltcore.lab.korc import keystone, kinds
from cobaltcore.lab.korc.access import Access
from cobaltcore.lab.korc.reconcile import IMPORT_POLL, Reconciler, SecretGuard
from cobaltcore.lab.providers.provider import Provider, Setting
from cobaltcore.runtime.controller import Controller


def controllers(
    setting: Setting, *, dial: keystone.Dial = keystone.dial, import_poll: timedelta = IMPORT_POLL
) -> Iterator[Controller]:
    """One controller per kind, with shared logins, and one for the Secrets they hold."""
    cluster, clock = setting.cluster, setting.clock
    access = Access(cluster, clock, dial)
    for row in kinds.TABLE:
        yield Reconciler(cluster, row, access, clock=clock, import_poll=import_poll).controller
    yield SecretGuard(cluster, clock=clock).controller


PROVIDER = Provider("korc", tuple(row.kind for row in kinds.TABLE), controllers)
