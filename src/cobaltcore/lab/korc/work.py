"""Make Keystone fit an object: manage or import its resource, and remove it in the end."""

from datetime import timedelta

from cobaltcore.api.foreign import korc
from cobaltcore.lab.korc import clouds, keystone, kinds, references, verdict
from cobaltcore.lab.korc.access import Access, SecretValue
from cobaltcore.lab.korc.keystone import Keystone
from cobaltcore.lab.korc.kinds import Attributes, Inputs, Row
from cobaltcore.lab.korc.references import Referred
from cobaltcore.lab.korc.resources import Resources, resources
from cobaltcore.lab.korc.subject import Subject
from cobaltcore.lab.korc.verdict import Terminal, Waiting
from cobaltcore.runtime import finalizers, log
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.meta import Key, Object, key_of

APPLIED_PASSWORD = "c5c3.io/applied-password"  # noqa: S105 the name of an annotation
DEFAULT_DOMAIN = "default"
# Only their references say where these are in Keystone.
_PLACED_BY_REFERENCES = (korc.APPLICATION_CREDENTIAL, korc.ROLE_ASSIGNMENT)

_log = log.get("korc")


class Work:
    """What is done for the objects of one kind."""

    def __init__(
        self, cluster: Cluster, row: Row, access: Access, *, import_poll: timedelta
    ) -> None:
        self._cluster = cluster
        self._row = row
        self._access = access
        self._import_poll = import_poll

    async def converge(self, subject: Subject, *, resync: bool) -> None:
        """Bring the resource in order, or find it."""
        namespace = subject.key.namespace
        cloud = await self._access.cloud(self._row, namespace, subject.spec.cloud_credentials_ref)
        new = not (subject.id or subject.told)
        referred = references.find(self._cluster, self._row, namespace, subject.fields, new=new)
        if subject.is_managed:
            await self._hold(subject)
        subject.live = await finalizers.add(
            self._cluster, self._row.kind, subject.live, self._row.finalizer
        )
        async with self._access.connect(cloud) as access:
            if subject.is_managed:
                await self._manage(subject, access, referred, resync=resync)
            else:
                await self._import(subject, access, referred)

    async def remove(self, subject: Subject) -> None:
        """Remove the resource; what was never made needs no Keystone to be gone."""
        namespace = subject.key.namespace
        try:
            referred = references.find(
                self._cluster, self._row, namespace, subject.fields, new=False
            )
        except Waiting:
            # References are held before anything is made, so nothing was.
            if not subject.id and not subject.told:
                return
            if self._row.kind in _PLACED_BY_REFERENCES:
                raise
            referred = {}
        cloud = await self._access.cloud(self._row, namespace, subject.spec.cloud_credentials_ref)
        async with self._access.connect(cloud) as access:
            wanted = kinds.attributes(self._row, _inputs(subject, referred, None))
            store = resources(access, self._row, user_id=wanted.get("user_id", ""))
            live = await self._remaining(subject, access, store, wanted)
            if live is None:
                return
            if subject.resource.get("enabled") is False and live.get("enabled"):
                # Keystone deletes a domain only when it is disabled.
                await store.update(live, {"enabled": False})
            await store.delete(live)
            _log.info("resource deleted", id=live.get("id", ""))

    async def _hold(self, subject: Subject) -> None:
        for reference, name in kinds.references(self._row, subject.resource):
            key = Key(subject.key.namespace, name)
            if not await self._access.hold(reference.kind, key, self._row):
                raise Waiting(f"Waiting for {reference.kind.kind}/{name} to be created")

    async def _manage(
        self, subject: Subject, access: Keystone, referred: Referred, *, resync: bool
    ) -> None:
        secret = await self._secret(subject, needed=not subject.id)
        wanted = kinds.attributes(self._row, _inputs(subject, referred, secret))
        store = resources(access, self._row, user_id=wanted.get("user_id", ""))
        live = await store.get(subject.id) if subject.id else None
        if live is None:
            live = await self._adopt(subject, access, store, wanted)
        made = live is None
        if live is None:
            secret = await self._secret(subject, needed=True)
            wanted = kinds.attributes(self._row, _inputs(subject, referred, secret))
            live = await self._create(subject, access, referred, wanted)
        subject.seen = live
        subject.seen = await self._update(store, wanted, live)
        if self._row.kind == korc.USER and secret is not None:
            await self._password(subject, access, secret, made=made, resync=resync)

    async def _import(self, subject: Subject, access: Keystone, referred: Referred) -> None:
        wanted = kinds.filter_attributes(self._row, subject.fields, referred)
        user_id = wanted.get("user_id", "")
        if self._row.kind == korc.APPLICATION_CREDENTIAL and not user_id:
            user_id = (await access.whoami()).user_id
        store = resources(access, self._row, user_id=user_id)
        given = subject.spec.import_.id if subject.spec.import_ else None
        if given or subject.id:
            subject.seen = await store.get(given or subject.id)
            if subject.seen is None:
                raise Terminal(verdict.UNRECOVERABLE_ERROR, _gone(subject))
            return
        found = await store.find(wanted)
        if len(found) > 1:
            raise Terminal(
                verdict.INVALID_CONFIGURATION,
                "found more than one matching OpenStack resource during import",
            )
        if not found and subject.told:
            raise Terminal(verdict.UNRECOVERABLE_ERROR, _gone(subject))
        if not found:
            raise Waiting(
                "Waiting for OpenStack resource to be created externally", after=self._import_poll
            )
        subject.seen = found[0]

    async def _secret(self, subject: Subject, *, needed: bool) -> SecretValue | None:
        """The password or secret of the resource; once applied it need not be there any more."""
        reference = self._row.secret
        name = subject.resource.get(reference.field) if reference else None
        if reference is None or not isinstance(name, str):
            return None
        try:
            return await self._access.secret(subject.key.namespace, name, reference.key)
        except Waiting:
            is_applied = subject.told.get("appliedPasswordRef") == name
            if needed or (self._row.kind == korc.USER and not is_applied):
                raise
            return None

    async def _adopt(
        self, subject: Subject, access: Keystone, store: Resources, wanted: Attributes
    ) -> Attributes | None:
        """A resource that is there already, from a pass that could not tell of it."""
        found = await self._candidates(access, store, wanted)
        if len(found) > 1:
            raise Terminal(
                verdict.INVALID_CONFIGURATION,
                "found more than one matching OpenStack resource during adoption",
            )
        if not found:
            return None
        manager = self._manager(subject, found[0])
        if manager:
            raise Terminal(
                verdict.INVALID_CONFIGURATION,
                f"{self._row.kind.kind}/{manager} manages this OpenStack resource already",
            )
        if self._row.kind == korc.APPLICATION_CREDENTIAL:
            await self._check_credential(access, found[0], wanted)
        return found[0]

    async def _candidates(
        self, access: Keystone, store: Resources, wanted: Attributes
    ) -> list[Attributes]:
        identity = kinds.identity(self._row, wanted)
        if self._row.in_default_domain and "domain_id" not in identity:
            identity["domain_id"] = (await access.whoami()).domain_id or DEFAULT_DOMAIN
        return await store.find(identity)

    def _manager(self, subject: Subject, found: Attributes) -> str:
        """The other object, if there is one, that this resource belongs to."""
        mine = (subject.key.namespace, subject.spec.cloud_credentials_ref)
        for other in self._cluster.informer(self._row.kind).find(
            references.IDS, str(found.get("id"))
        ):
            if key_of(other) != subject.key and _claims(other) == mine:
                return str(other["metadata"]["name"])
        return ""

    async def _remaining(
        self, subject: Subject, access: Keystone, store: Resources, wanted: Attributes
    ) -> Attributes | None:
        """The resource to remove; of several that could be it, none is."""
        if subject.id:
            return await store.get(subject.id)
        found = await self._candidates(access, store, wanted)
        ours = len(found) == 1 and not self._manager(subject, found[0])
        return found[0] if ours else None

    async def _check_credential(
        self, access: Keystone, found: Attributes, wanted: Attributes
    ) -> None:
        login = clouds.as_application_credential(
            access.cloud, id_=found["id"], secret=wanted.get("secret", "")
        )
        if not await access.accepts(login):
            raise Terminal(
                verdict.INVALID_CONFIGURATION,
                f"an application credential {found['name']!r} exists and has another secret or "
                "has expired: delete it, or choose another name",
            )

    async def _create(
        self, subject: Subject, access: Keystone, referred: Referred, wanted: Attributes
    ) -> Attributes:
        user_id = wanted.get("user_id", "")
        if self._row.kind == korc.APPLICATION_CREDENTIAL:
            access = await self._owner(access, referred["userRef"][0], user_id)
        try:
            made = await resources(access, self._row, user_id=user_id).create(wanted)
        except keystone.Conflict as conflict:
            raise _invalid("creating", conflict) from conflict
        except keystone.Forbidden as error:
            if self._row.kind != korc.APPLICATION_CREDENTIAL:
                raise
            raise keystone.KeystoneError(
                "application credentials are only made by their own user: give "
                f"User/{subject.resource['userRef']} a passwordRef, or use a clouds.yaml of that "
                f"user ({error.message})"
            ) from error
        _log.info("resource created", id=made.get("id", ""))
        return made

    async def _update(self, store: Resources, wanted: Attributes, live: Attributes) -> Attributes:
        changes = kinds.changes(self._row, wanted, live)
        if not changes:
            return live
        try:
            updated = await store.update(live, changes)
        except keystone.Conflict as conflict:
            raise _invalid("updating", conflict) from conflict
        _log.info("resource updated", id=live.get("id", ""), fields=sorted(changes))
        return updated

    async def _owner(self, access: Keystone, user: Object, user_id: str) -> Keystone:
        """Keystone as the user itself: nobody else may make application credentials for it."""
        login = await access.whoami()
        resource = (user.get("spec") or {}).get("resource") or {}
        name = resource.get("passwordRef")
        if login.user_id == user_id or not name:
            return access
        password = await self._access.secret(user["metadata"]["namespace"], name, "password")
        project_id = (user["status"].get("resource") or {}).get("defaultProjectID", "")
        cloud = clouds.as_user(
            access.cloud,
            user_id=user_id,
            password=password.value,
            project_id=project_id or login.project_id,
        )
        return self._access.become(access, cloud)

    async def _password(
        self, subject: Subject, access: Keystone, secret: SecretValue, *, made: bool, resync: bool
    ) -> None:
        """Give the user the password of the Secret, if it has another one."""
        live = subject.seen or {}
        annotations = subject.live["metadata"].get("annotations") or {}
        is_current = annotations.get(APPLIED_PASSWORD) == secret.version
        if not made and (not is_current or (resync and live.get("enabled"))):
            login = clouds.as_user(access.cloud, user_id=live["id"], password=secret.value)
            if not await access.accepts(login):
                store = resources(access, self._row)
                subject.seen = await store.update(live, {"password": secret.value})
                _log.info("password changed", id=live["id"])
        if not is_current:
            subject.live = await self._remember(subject, secret)
        subject.applied_password = secret.version.partition("/")[0]

    async def _remember(self, subject: Subject, secret: SecretValue) -> Object:
        # With the version, so that what is told later is of the generation that was worked on.
        meta = subject.live["metadata"]
        metadata = {
            "resourceVersion": meta["resourceVersion"],
            "annotations": {APPLIED_PASSWORD: secret.version},
        }
        result = await self._cluster.client.patch(
            self._row.kind, subject.key, {"metadata": metadata}
        )
        self._cluster.observe(self._row.kind, result)
        return result


def _inputs(subject: Subject, referred: Referred, secret: SecretValue | None) -> Inputs:
    return Inputs(subject.name, subject.resource, referred, secret.value if secret else "")


def _claims(other: Object) -> tuple[str, korc.CloudCredentialsRef] | None:
    """Whose resources a managed object's is among; None for one that only looks on."""
    spec = other.get("spec") or {}
    given = spec.get("cloudCredentialsRef") or {}
    if spec.get("managementPolicy", "managed") != "managed":
        return None
    reference = korc.CloudCredentialsRef(
        cloud_name=given.get("cloudName", ""), secret_name=given.get("secretName", "")
    )
    return other["metadata"]["namespace"], reference


def _gone(subject: Subject) -> str:
    if subject.id or subject.told:
        return "resource has been deleted from OpenStack"
    return "referenced resource does not exist in OpenStack"


def _invalid(what: str, conflict: keystone.Conflict) -> Terminal:
    message = f"invalid configuration {what} resource: {conflict.message}"
    return Terminal(verdict.INVALID_CONFIGURATION, message)
