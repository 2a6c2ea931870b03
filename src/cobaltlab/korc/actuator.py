"""What is done in Keystone for an object: manage or import its resource, delete it in the end."""

from datetime import timedelta

from cobaltcore.api.foreign import korc
from cobaltcore.runtime import finalizers, log
from cobaltcore.runtime.cluster import Cluster
from cobaltcore.runtime.meta import Key, Object, key_of
from cobaltlab.korc import clouds, keystone, kinds, references, verdict
from cobaltlab.korc.access import Access, SecretValue
from cobaltlab.korc.keystone import Keystone
from cobaltlab.korc.kinds import Attributes, Inputs, Row
from cobaltlab.korc.references import Referred
from cobaltlab.korc.resources import Resources, resources
from cobaltlab.korc.scope import Scope, is_settled
from cobaltlab.providers.failures import Blocked, Waiting

APPLIED_PASSWORD = "c5c3.io/applied-password"  # noqa: S105 the name of an annotation
DEFAULT_DOMAIN = "default"
# Their path in Keystone needs the ids of their references.
_LOCATED_BY_REFERENCES = (korc.APPLICATION_CREDENTIAL, korc.ROLE_ASSIGNMENT)

_log = log.get("korc")


class Actuator:
    """Acts on Keystone for the objects of one kind."""

    def __init__(
        self, cluster: Cluster, row: Row, access: Access, *, import_poll: timedelta
    ) -> None:
        self._cluster = cluster
        self._row = row
        self._access = access
        self._import_poll = import_poll

    async def reconcile(self, scope: Scope, *, resync: bool) -> None:
        """Create, update or import the resource."""
        namespace = scope.key.namespace
        cloud = await self._access.cloud(self._row, namespace, scope.spec.cloud_credentials_ref)
        new = not (scope.id or scope.reported)
        referred = references.find(self._cluster, self._row, namespace, scope.fields, new=new)
        if scope.is_managed:
            await self._hold(scope)
        scope.live = await finalizers.add(
            self._cluster, self._row.kind, scope.live, self._row.finalizer
        )
        async with self._access.connect(cloud) as access:
            if scope.is_managed:
                await self._manage(scope, access, referred, resync=resync)
            else:
                await self._import(scope, access, referred)

    async def delete(self, scope: Scope) -> None:
        """Delete the resource; one that was never created needs no request."""
        namespace = scope.key.namespace
        try:
            referred = references.find(
                self._cluster, self._row, namespace, scope.fields, new=False
            )
        except Waiting:
            # Dependencies are held before anything is created, so nothing was.
            if not scope.id and not scope.reported:
                return
            if self._row.kind in _LOCATED_BY_REFERENCES:
                raise
            referred = {}
        cloud = await self._access.cloud(self._row, namespace, scope.spec.cloud_credentials_ref)
        async with self._access.connect(cloud) as access:
            desired = kinds.attributes(self._row, _inputs(scope, referred, None))
            store = resources(access, self._row, user_id=desired.get("user_id", ""))
            live = await self._remaining(scope, access, store, desired)
            if live is None:
                return
            if scope.resource.get("enabled") is False and live.get("enabled"):
                # Keystone deletes a domain only when it is disabled.
                await store.update(live, {"enabled": False})
            await store.delete(live)
            _log.info("resource deleted", id=live.get("id", ""))

    async def _hold(self, scope: Scope) -> None:
        for reference, name in kinds.references(self._row, scope.resource):
            key = Key(scope.key.namespace, name)
            if not await self._access.hold(reference.kind, key, self._row):
                raise Waiting(f"Waiting for {reference.kind.kind}/{name} to be created")

    async def _manage(
        self, scope: Scope, access: Keystone, referred: Referred, *, resync: bool
    ) -> None:
        secret = await self._secret(scope, needed=not scope.id)
        desired = kinds.attributes(self._row, _inputs(scope, referred, secret))
        store = resources(access, self._row, user_id=desired.get("user_id", ""))
        live = await store.get(scope.id) if scope.id else None
        if live is None:
            live = await self._adopt(scope, access, store, desired)
        created = live is None
        if live is None:
            secret = await self._secret(scope, needed=True)
            desired = kinds.attributes(self._row, _inputs(scope, referred, secret))
            live = await self._create(scope, access, referred, desired)
        scope.observed = live
        scope.observed, changed = await self._update(store, desired, live)
        if is_settled(scope.live):
            is_another = created or live.get("id", "") != scope.id
            scope.drift = _drift(scope, changed, is_another=is_another)
        if self._row.kind == korc.USER and secret is not None:
            await self._password(scope, access, secret, created=created, resync=resync)

    async def _import(self, scope: Scope, access: Keystone, referred: Referred) -> None:
        desired = kinds.filter_attributes(self._row, scope.fields, referred)
        user_id = desired.get("user_id", "")
        if self._row.kind == korc.APPLICATION_CREDENTIAL and not user_id:
            user_id = (await access.whoami()).user_id
        store = resources(access, self._row, user_id=user_id)
        id_ = scope.spec.import_.id if scope.spec.import_ else None
        if id_ or scope.id:
            scope.observed = await store.get(id_ or scope.id)
            if scope.observed is None:
                raise Blocked(_missing(scope), reason=verdict.UNRECOVERABLE_ERROR)
            return
        found = await store.find(desired)
        if len(found) > 1:
            raise Blocked(
                "found more than one matching OpenStack resource during import",
                reason=verdict.INVALID_CONFIGURATION,
            )
        if not found and scope.reported:
            raise Blocked(_missing(scope), reason=verdict.UNRECOVERABLE_ERROR)
        if not found:
            raise Waiting(
                "Waiting for OpenStack resource to be created externally", after=self._import_poll
            )
        scope.observed = found[0]

    async def _secret(self, scope: Scope, *, needed: bool) -> SecretValue | None:
        """The password or secret of the resource; not needed any more once it is applied."""
        reference = self._row.secret
        name = scope.resource.get(reference.field) if reference else None
        if reference is None or not isinstance(name, str):
            return None
        try:
            return await self._access.secret(scope.key.namespace, name, reference.key)
        except Waiting:
            is_applied = scope.reported.get("appliedPasswordRef") == name
            if needed or (self._row.kind == korc.USER and not is_applied):
                raise
            return None

    async def _adopt(
        self, scope: Scope, access: Keystone, store: Resources, desired: Attributes
    ) -> Attributes | None:
        """An existing resource, also one from a reconcile that ended before its report."""
        found = await self._candidates(access, store, desired)
        if len(found) > 1:
            raise Blocked(
                "found more than one matching OpenStack resource during adoption",
                reason=verdict.INVALID_CONFIGURATION,
            )
        if not found:
            return None
        manager = self._manager(scope, found[0])
        if manager:
            raise Blocked(
                f"{self._row.kind.kind}/{manager} already manages this OpenStack resource: "
                "delete one of the two objects or choose another name",
                reason=verdict.INVALID_CONFIGURATION,
            )
        if self._row.kind == korc.APPLICATION_CREDENTIAL:
            await self._check_credential(access, found[0], desired)
        return found[0]

    async def _candidates(
        self, access: Keystone, store: Resources, desired: Attributes
    ) -> list[Attributes]:
        identity = kinds.identity(self._row, desired)
        if self._row.in_default_domain and "domain_id" not in identity:
            identity["domain_id"] = (await access.whoami()).domain_id or DEFAULT_DOMAIN
        return await store.find(identity)

    def _manager(self, scope: Scope, found: Attributes) -> str:
        """Name of another object that manages this resource, or empty."""
        own = (scope.key.namespace, scope.spec.cloud_credentials_ref)
        for other in self._cluster.informer(self._row.kind).find(
            references.IDS, str(found.get("id"))
        ):
            if key_of(other) != scope.key and _claims(other) == own:
                return str(other["metadata"]["name"])
        return ""

    async def _remaining(
        self, scope: Scope, access: Keystone, store: Resources, desired: Attributes
    ) -> Attributes | None:
        """The resource to delete; None if several match."""
        if scope.id:
            return await store.get(scope.id)
        found = await self._candidates(access, store, desired)
        is_ours = len(found) == 1 and not self._manager(scope, found[0])
        return found[0] if is_ours else None

    async def _check_credential(
        self, access: Keystone, found: Attributes, desired: Attributes
    ) -> None:
        login = clouds.as_application_credential(
            access.cloud, id_=found["id"], secret=desired.get("secret", "")
        )
        if not await access.accepts(login):
            raise Blocked(
                f"application credential {found['name']!r} exists in Keystone and has another "
                "secret or has expired: delete it there, or choose another name",
                reason=verdict.INVALID_CONFIGURATION,
            )

    async def _create(
        self, scope: Scope, access: Keystone, referred: Referred, desired: Attributes
    ) -> Attributes:
        user_id = desired.get("user_id", "")
        if self._row.kind == korc.APPLICATION_CREDENTIAL:
            access = await self._owner(access, referred["userRef"][0], user_id)
        try:
            created = await resources(access, self._row, user_id=user_id).create(desired)
        except keystone.Conflict as conflict:
            raise _invalid("creating", conflict) from conflict
        except keystone.Forbidden as error:
            if self._row.kind != korc.APPLICATION_CREDENTIAL:
                raise
            raise keystone.KeystoneError(
                "Keystone lets only the user itself create an application credential "
                f"({error.message})",
                f"set passwordRef of User/{scope.resource['userRef']}, or use a clouds.yaml of "
                "that user",
            ) from error
        _log.info("resource created", id=created.get("id", ""))
        return created

    async def _update(
        self, store: Resources, desired: Attributes, live: Attributes
    ) -> tuple[Attributes, list[str]]:
        """The resource as it should be, and the fields that were not."""
        changes = kinds.changes(self._row, desired, live)
        if not changes:
            return live, []
        try:
            updated = await store.update(live, changes)
        except keystone.Conflict as conflict:
            raise _invalid("updating", conflict) from conflict
        _log.info("resource updated", id=live.get("id", ""), fields=sorted(changes))
        return updated, sorted(changes)

    async def _owner(self, access: Keystone, user: Object, user_id: str) -> Keystone:
        """Keystone as the user itself, which alone may create its application credentials."""
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
        return self._access.as_identity(access, cloud)

    async def _password(
        self, scope: Scope, access: Keystone, secret: SecretValue, *, created: bool, resync: bool
    ) -> None:
        """Set the password from the Secret if the user has another one."""
        live = scope.observed or {}
        annotations = scope.live["metadata"].get("annotations") or {}
        is_current = annotations.get(APPLIED_PASSWORD) == secret.version
        if not created and (not is_current or (resync and live.get("enabled"))):
            login = clouds.as_user(access.cloud, user_id=live["id"], password=secret.value)
            if not await access.accepts(login):
                store = resources(access, self._row)
                scope.observed = await store.update(live, {"password": secret.value})
                _log.info("password changed", id=live["id"])
        if not is_current:
            scope.live = await self._annotate(scope, secret)
        scope.applied_password = secret.version.partition("/")[0]

    async def _annotate(self, scope: Scope, secret: SecretValue) -> Object:
        # With the resourceVersion, so that the report belongs to the generation of this reconcile.
        meta = scope.live["metadata"]
        metadata = {
            "resourceVersion": meta["resourceVersion"],
            "annotations": {APPLIED_PASSWORD: secret.version},
        }
        result = await self._cluster.client.patch(
            self._row.kind, scope.key, {"metadata": metadata}
        )
        self._cluster.observe(self._row.kind, result)
        return result


def _inputs(scope: Scope, referred: Referred, secret: SecretValue | None) -> Inputs:
    return Inputs(scope.name, scope.resource, referred, secret.value if secret else "")


def _claims(other: Object) -> tuple[str, korc.CloudCredentialsRef] | None:
    """Namespace and credentials of a managed object; None for an import."""
    spec = other.get("spec") or {}
    credentials = spec.get("cloudCredentialsRef") or {}
    if spec.get("managementPolicy", "managed") != "managed":
        return None
    reference = korc.CloudCredentialsRef(
        cloud_name=credentials.get("cloudName", ""), secret_name=credentials.get("secretName", "")
    )
    return other["metadata"]["namespace"], reference


def _missing(scope: Scope) -> str:
    if scope.id or scope.reported:
        return "resource has been deleted from OpenStack"
    return "referenced resource does not exist in OpenStack"


def _invalid(action: str, conflict: keystone.Conflict) -> Blocked:
    message = f"invalid configuration {action} resource: {conflict.message}"
    return Blocked(message, reason=verdict.INVALID_CONFIGURATION)


def _drift(scope: Scope, changed: list[str], *, is_another: bool) -> str:
    """What another writer did in Keystone, as a sentence; empty if nothing."""
    what = f"{scope.row.kind.kind} {scope.name!r}"
    if is_another:
        return f"{what} was deleted in Keystone: recreated"
    return f"{what} was changed in Keystone: reverted {', '.join(changed)}" if changed else ""
