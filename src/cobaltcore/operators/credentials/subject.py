"""Whose credential is rotated: the user as K-ORC has it, and how it logs in. Pure."""

from collections.abc import Iterable, Iterator

from cobaltcore.api.credentials import CredentialRotationSpec, CredentialRotationStatus
from cobaltcore.api.foreign import korc
from cobaltcore.api.foreign.kubernetes import SECRET
from cobaltcore.engine import readiness
from cobaltcore.engine.desired import clouds, names, secret
from cobaltcore.engine.scope import Scope
from cobaltcore.engine.verdict import DependencyPending
from cobaltcore.operators.credentials import generations
from cobaltcore.operators.credentials.generations import Subject
from cobaltcore.runtime.meta import Desired, Key, Kind, Object

RotationScope = Scope[CredentialRotationSpec, CredentialRotationStatus]
NOT_ISSUED = "NotIssued"


def pending(message: str) -> DependencyPending:
    """Something that a credential is created from does not exist yet."""
    return DependencyPending(NOT_ISSUED, message)


def contents(scope: RotationScope) -> Iterator[tuple[Kind, Key]]:
    """Secrets with the user's password and with K-ORC's login."""
    user = scope.observed.get(korc.USER, scope.sibling(scope.spec.target_service_user))
    if user is None:
        return
    password = (user["spec"].get("resource") or {}).get("passwordRef")
    if password:
        yield SECRET, scope.sibling(password)
    yield SECRET, scope.sibling(user["spec"]["cloudCredentialsRef"]["secretName"])


def of(scope: RotationScope) -> tuple[Subject, Desired]:
    """The user, and a login of its own derived from K-ORC's."""
    user = _user(scope)
    name = scope.spec.target_service_user
    resource = user["spec"].get("resource") or {}
    username = resource.get("name") or name
    if not resource.get("passwordRef") or not resource.get("defaultProjectRef"):
        raise pending(f"User {name!r} needs passwordRef and defaultProjectRef")
    entry, ca_bundle = _cloud(scope, user)
    labels = names.labels("credentials", scope.name)
    subject = Subject(
        scope.key,
        name,
        username,
        f"{username}-clouds-yaml",
        labels,
        _roles(scope, user),
    )
    login = clouds.Login(
        auth_url=entry["auth"]["auth_url"],
        username=username,
        password=_password(scope, resource["passwordRef"]),
        project=_project_name(scope, resource["defaultProjectRef"]),
        region=str(entry.get("region_name", "")),
        ca_bundle=ca_bundle,
    )
    key = scope.sibling(subject.login)
    return subject, clouds.clouds(key, generations.CLOUD, login, labels=labels)


def roles_in(project: str | None, assigned: Iterable[Object]) -> frozenset[str]:
    """Ids of the roles in a project: a credential is for one, and never has roles of another."""
    here = (each for each in assigned if each["spec"]["resource"].get("projectRef") == project)
    ids = ((each["status"].get("resource") or {}).get("roleID") for each in here)
    return frozenset(id_ for id_ in ids if id_)


def _user(scope: RotationScope) -> Object:
    name = scope.spec.target_service_user
    user = scope.observed.get(korc.USER, scope.sibling(name))
    if user is None:
        raise pending(f"User {name!r} does not exist")
    return user


def _roles(scope: RotationScope, user: Object) -> frozenset[str]:
    """A credential has the roles that its user has when it is created: wait for all of them."""
    name = user["metadata"]["name"]
    assigned = [
        each
        for each in scope.observed.list(korc.ROLE_ASSIGNMENT, scope.namespace)
        if each["spec"]["resource"].get("userRef") == name
    ]
    for each in (user, *assigned):
        if not readiness.is_true(each, "Available"):
            raise pending(f"{each['kind']} {each['metadata']['name']!r} is not Available yet")
    return roles_in((user["spec"].get("resource") or {}).get("defaultProjectRef"), assigned)


def _password(scope: RotationScope, name: str) -> str:
    found = secret.text(scope.observed.content(SECRET, scope.sibling(name)), "password")
    if found is None:
        raise pending(f"Secret {name!r} has no key 'password'")
    return found


def _cloud(scope: RotationScope, user: Object) -> tuple[dict[str, dict[str, str]], str]:
    reference = user["spec"]["cloudCredentialsRef"]
    content = scope.observed.content(SECRET, scope.sibling(reference["secretName"]))
    found = clouds.entry_of(content, reference["cloudName"])
    if found is None:
        raise pending(
            f"Secret {reference['secretName']!r} has no cloud {reference['cloudName']!r}"
        )
    return found


def _project_name(scope: RotationScope, name: str) -> str:
    found = scope.observed.get(korc.PROJECT, scope.sibling(name))
    if found is None:
        raise pending(f"Project {name!r} does not exist")
    resource = found["spec"].get("resource") or {}
    imported = (found["spec"].get("import") or {}).get("filter") or {}
    return str(resource.get("name") or imported.get("name") or name)
