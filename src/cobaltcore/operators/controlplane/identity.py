"""How K-ORC logs in, and what Keystone's bootstrap created that others refer to. Pure."""

from collections.abc import Iterator
from typing import Any

from cobaltcore.api.foreign import korc
from cobaltcore.engine.desired import clouds, names, secret
from cobaltcore.engine.desired import service as address
from cobaltcore.engine.verdict import Ready, Verdict
from cobaltcore.operators.controlplane import available, certificates
from cobaltcore.operators.controlplane.view import View, is_ready
from cobaltcore.runtime.meta import Desired, Kind, Struct

KEYSTONE = "keystone"
KEYSTONE_PORT = 5000
DOMAIN = "default"
SERVICE_PROJECT = "service"
FURTHER_ROLES = ("manager", "member", "reader")


def auth_url(view: View) -> str:
    """Keystone as everything inside the cluster reaches it."""
    scheme = "https" if certificates.is_on(view) else "http"
    return f"{scheme}://{address.host(view.sibling(KEYSTONE))}:{KEYSTONE_PORT}/v3"


def credentials(view: View) -> korc.CloudCredentialsRef:
    """How K-ORC objects name their login."""
    ref = view.spec.korc.cloud_credentials_ref
    return korc.CloudCredentialsRef(cloud_name=ref.cloud_name, secret_name=ref.secret_name)


def objects(view: View) -> Iterator[Desired]:
    """The login, imports of what exists, and the project that service users belong to."""
    yield from _login(view)
    yield imported(view, korc.DOMAIN, DOMAIN, korc.NameFilter(name="Default"))
    imports = view.spec.korc.bootstrap_resources
    if "projects" in imports:
        yield imported(view, korc.PROJECT, "admin", korc.ScopedNameFilter(name="admin"))
    further = FURTHER_ROLES if "roles" in imports else ()
    for role in dict.fromkeys((*available.roles(), *further)):
        yield imported(view, korc.ROLE, role, korc.ScopedNameFilter(name=role))
    yield managed(
        view,
        korc.PROJECT,
        SERVICE_PROJECT,
        korc.ProjectResource(
            name=SERVICE_PROJECT, domain_ref=DOMAIN, description="OpenStack's own services"
        ),
    )


def _login(view: View) -> Iterator[Desired]:
    """With the password that Keystone has; while it has none that is known the Secret stays as it is."""
    password = secret.text(view.content(names.admin_login(KEYSTONE)), "password")
    if password is None:
        return
    ref = credentials(view)
    login = clouds.Login(
        auth_url=auth_url(view),
        username="admin",
        password=password,
        project="admin",
        region=view.spec.global_.region,
        ca_bundle=certificates.ca_bundle(view),
    )
    labels = view.labels("korc")
    yield clouds.clouds(view.sibling(ref.secret_name), ref.cloud_name, login, labels=labels)


def ready(view: View) -> Verdict:
    """Whether everything that others refer to is known."""
    wanted = [(korc.DOMAIN, DOMAIN), (korc.PROJECT, SERVICE_PROJECT)]
    wanted += [(korc.ROLE, role) for role in available.roles()]
    return all_available(view, wanted)


def all_available(view: View, wanted: list[tuple[Kind, str]]) -> Verdict:
    """Whether K-ORC reports all of these objects as available; else the first that is not."""
    for kind, name in wanted:
        verdict = is_ready(view, kind, name, condition="Available")
        if not isinstance(verdict, Ready):
            return verdict
    return Ready("Available")


def imported(view: View, kind: Kind, name: str, chosen: Struct) -> Desired:
    """Something that exists in Keystone already, as an object."""
    spec: korc.Spec[Any, Any] = korc.Spec(
        cloud_credentials_ref=credentials(view),
        management_policy="unmanaged",
        import_=korc.Import(filter=chosen),
        resync_period=korc.RESYNC_PERIOD,
    )
    return view.child(kind, name, spec, "korc")


def managed(view: View, kind: Kind, name: str, resource: Struct) -> Desired:
    """Something that K-ORC keeps in Keystone."""
    spec: korc.Spec[Any, Any] = korc.Spec(
        cloud_credentials_ref=credentials(view),
        resource=resource,
        resync_period=korc.RESYNC_PERIOD,
    )
    return view.child(kind, name, spec, "korc")


def assignment(view: View, name: str, resource: korc.RoleAssignmentResource) -> Desired:
    """A role for a user in a project."""
    spec = korc.RoleAssignmentSpec(
        cloud_credentials_ref=credentials(view),
        resource=resource,
        resync_period=korc.RESYNC_PERIOD,
    )
    return view.child(korc.ROLE_ASSIGNMENT, name, spec, "korc")
