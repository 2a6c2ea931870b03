"""The Keystone user of each service, its roles, and the credential that the service logs in with. Pure."""

from collections.abc import Iterator, Mapping, Sequence

from cobaltcore.api.blocks import Ref
from cobaltcore.api.controlplane import IdentityReport, ServiceUser, UserCredential
from cobaltcore.api.credentials import (
    AGGREGATE,
    ROTATION,
    CredentialRotationSpec,
    SecretAggregateSpec,
    Source,
    Target,
)
from cobaltcore.api.foreign import eso, korc
from cobaltcore.api.foreign.kubernetes import SECRET
from cobaltcore.engine.verdict import Ready, Verdict, Waiting
from cobaltcore.operators.controlplane import identity, infrastructure
from cobaltcore.operators.controlplane.view import View, is_ready
from cobaltcore.runtime.meta import Desired

REFRESH = "1h"


def user_name(service: str) -> str:
    """The K-ORC User of a service."""
    return f"{service}-service-user"


def issued_secret(service: str) -> str:
    """The Secret with the credential in use, as the rotation hands it out."""
    return f"{service}-app-credential"


def credentials_secret(service: str) -> str:
    """The Secret that the service reads its credential from."""
    return f"{service}-keystone-credentials"


def objects(view: View, service: str, roles: Sequence[str]) -> Iterator[Desired]:
    """Password, user, roles, rotation, and the Secret that the service reads."""
    password = f"{service}-service-password"
    yield infrastructure.login(view, password, service)
    yield identity.managed(
        view,
        korc.USER,
        user_name(service),
        korc.UserResource(
            name=service,
            description=f"OpenStack's own service {service}",
            domain_ref=identity.DOMAIN,
            default_project_ref=identity.SERVICE_PROJECT,
            password_ref=password,
        ),
    )
    for role in roles:
        yield identity.assignment(
            view,
            f"{service}-{role}",
            korc.RoleAssignmentResource(
                role_ref=role,
                user_ref=user_name(service),
                project_ref=identity.SERVICE_PROJECT,
            ),
        )
    yield view.child(
        ROTATION,
        issued_secret(service),
        CredentialRotationSpec(target_service_user=user_name(service)),
        "credentials",
    )
    yield from _delivery(view, service)


def ready(view: View, service: str, roles: Sequence[str]) -> Verdict:
    """Whether the service can log in."""
    for verdict in (
        _user_ready(view, service, roles),
        is_ready(view, ROTATION, issued_secret(service)),
        _delivery_ready(view, service),
    ):
        if not isinstance(verdict, Ready):
            return verdict
    if view.get(SECRET, credentials_secret(service)) is None:
        return Waiting("NotIssued", f"Secret {credentials_secret(service)!r} does not exist yet")
    return Ready("Issued")


def report(view: View, services: Mapping[str, Sequence[str]]) -> IdentityReport:
    """A summary of users and credentials; `services`: their roles by name."""
    users = []
    for service, roles in services.items():
        verdict = ready(view, service, roles)
        user = view.get(korc.USER, user_name(service)) or {}
        rotation = view.get(ROTATION, issued_secret(service)) or {}
        current = (rotation.get("status") or {}).get("currentCredential") or {}
        credential = UserCredential(
            status="Active" if current else "Pending",
            credential_id=current.get("id"),
            expires_at=current.get("expiresAt"),
        )
        users.append(
            ServiceUser(
                name=service,
                status="Ready" if isinstance(verdict, Ready) else verdict.reason,
                user_id=(user.get("status") or {}).get("id"),
                application_credential=credential,
            )
        )
    done = all(each.status == "Ready" for each in users)
    return IdentityReport(phase="Ready" if done else "Credentials", service_users=users)


def _user_ready(view: View, service: str, roles: Sequence[str]) -> Verdict:
    assignments = [(korc.ROLE_ASSIGNMENT, f"{service}-{r}") for r in roles]
    return identity.all_available(view, [(korc.USER, user_name(service)), *assignments])


def _delivery(view: View, service: str) -> Iterator[Desired]:
    store = view.spec.global_.secret_store_ref
    source, target = issued_secret(service), credentials_secret(service)
    if store is None:
        yield view.child(
            AGGREGATE,
            target,
            SecretAggregateSpec(
                sources=[Source(secret_ref=Ref(name=source))], target=Target(name=target)
            ),
            "credentials",
        )
        return
    remote = f"openstack/{view.namespace}/{service}/app-credential"
    reference = eso.StoreRef(name=store.name, kind=store.kind)
    yield view.child(
        eso.PUSH_SECRET,
        source,
        eso.PushSecretSpec(
            secret_store_refs=[reference],
            selector=eso.PushSelector(secret=eso.PushSource(name=source)),
            refresh_interval=REFRESH,
            data=[
                eso.PushSecretData(
                    match=eso.PushMatch(
                        secret_key=key,
                        remote_ref=eso.PushRemoteRef(remote_key=remote, property=key),
                    )
                )
                for key in ("application_credential_id", "application_credential_secret")
            ],
        ),
        "credentials",
    )
    yield view.child(
        eso.EXTERNAL_SECRET,
        target,
        eso.ExternalSecretSpec(
            secret_store_ref=reference,
            refresh_interval=REFRESH,
            target=eso.ExternalSecretTarget(name=target),
            data_from=[eso.ExternalSecretDataFrom(extract=eso.RemoteRef(key=remote))],
        ),
        "credentials",
    )


def _delivery_ready(view: View, service: str) -> Verdict:
    if view.spec.global_.secret_store_ref is None:
        return is_ready(view, AGGREGATE, credentials_secret(service))
    pushed = is_ready(view, eso.PUSH_SECRET, issued_secret(service))
    if not isinstance(pushed, Ready):
        return pushed
    return is_ready(view, eso.EXTERNAL_SECRET, credentials_secret(service))
