"""Whose credential is rotated: the user as K-ORC knows it, and how it logs in."""

from collections.abc import Iterable

from cobaltcore.api.credentials import CredentialRotation
from cobaltcore.api.foreign import korc
from cobaltcore.api.foreign.kubernetes import SECRET
from cobaltcore.engine.desired import clouds, names, secret
from cobaltcore.operators.credentials import generations
from cobaltcore.operators.credentials.generations import Subject
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.meta import Desired, Key, Object


class Missing(Exception):
    """Something that a credential is made from is not there yet; the message names it."""


class Subjects:
    """Finds the users of rotations."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    async def of(self, rotation: CredentialRotation) -> tuple[Subject, Desired]:
        """The user as K-ORC knows it, and a login of its own made from K-ORC's."""
        namespace, name = rotation.metadata.namespace, rotation.spec.target_service_user
        user = self._cluster.informer(korc.USER).get(Key(namespace, name))
        if user is None:
            raise Missing(f"User {name!r} does not exist")
        roles = self._roles(user)
        resource = user["spec"].get("resource") or {}
        username = resource.get("name") or name
        passwords = resource.get("passwordRef")
        project = resource.get("defaultProjectRef")
        if not passwords or not project:
            raise Missing(f"User {name!r} needs passwordRef and defaultProjectRef")
        password = secret.text(await self._secret(namespace, passwords), "password")
        if password is None:
            raise Missing(f"Secret {passwords!r} has no key 'password'")
        given = user["spec"]["cloudCredentialsRef"]
        found = clouds.entry_of(
            await self._secret(namespace, given["secretName"]), given["cloudName"]
        )
        if found is None:
            raise Missing(f"Secret {given['secretName']!r} has no cloud {given['cloudName']!r}")
        entry, authority = found
        labels = names.labels("credentials", rotation.metadata.name)
        subject = Subject(
            Key(namespace, rotation.metadata.name),
            name,
            username,
            f"{username}-clouds-yaml",
            labels,
            roles,
        )
        login = clouds.Login(
            auth_url=entry["auth"]["auth_url"],
            username=username,
            password=password,
            project=self._project_name(namespace, project),
            region=str(entry.get("region_name", "")),
            authority=authority,
        )
        key = Key(namespace, subject.login)
        return subject, clouds.clouds(key, generations.CLOUD, login, labels=labels)

    def _roles(self, user: Object) -> frozenset[str]:
        """A credential has the roles that its user has when it is made: wait for all of them."""
        meta = user["metadata"]
        assigned = [
            each
            for each in self._cluster.informer(korc.ROLE_ASSIGNMENT).objects(meta["namespace"])
            if each["spec"]["resource"].get("userRef") == meta["name"]
        ]
        for each in (user, *assigned):
            if not _is_available(each):
                raise Missing(f"{each['kind']} {each['metadata']['name']!r} is not Available yet")
        return roles_in((user["spec"].get("resource") or {}).get("defaultProjectRef"), assigned)

    def _project_name(self, namespace: str, name: str) -> str:
        found = self._cluster.informer(korc.PROJECT).get(Key(namespace, name))
        if found is None:
            raise Missing(f"Project {name!r} does not exist")
        resource = found["spec"].get("resource") or {}
        imported = (found["spec"].get("import") or {}).get("filter") or {}
        told: str = resource.get("name") or imported.get("name") or name
        return told

    async def _secret(self, namespace: str, name: str) -> Object | None:
        return await self._cluster.read(SECRET, Key(namespace, name))


def roles_in(project: str | None, assigned: Iterable[Object]) -> frozenset[str]:
    """Ids of the roles in a project: a credential is for one, and never has roles of another."""
    here = (each for each in assigned if each["spec"]["resource"].get("projectRef") == project)
    told = ((each["status"].get("resource") or {}).get("roleID") for each in here)
    return frozenset(id_ for id_ in told if id_)


def _is_available(obj: Object) -> bool:
    known = (obj.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Available" and each["status"] == "True" for each in known)
