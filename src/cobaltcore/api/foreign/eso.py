"""External Secrets Operator (`external-secrets.io`): the fields that we set and read."""

from typing import Literal

from cobaltcore.api.foreign.manifest import Conditions
from cobaltcore.runtime.meta import Kind, Struct

EXTERNAL_SECRET = Kind("external-secrets.io", "v1", "ExternalSecret", "externalsecrets")
PUSH_SECRET = Kind("external-secrets.io", "v1alpha1", "PushSecret", "pushsecrets")
SECRET_STORE = Kind("external-secrets.io", "v1", "SecretStore", "secretstores")
CLUSTER_SECRET_STORE = Kind(
    "external-secrets.io", "v1", "ClusterSecretStore", "clustersecretstores", namespaced=False
)

StoreKind = Literal["SecretStore", "ClusterSecretStore"]


class StoreRef(Struct):
    """The store that secrets are read from or written to."""

    name: str
    kind: StoreKind | None = None


class RemoteRef(Struct):
    """A value in the store."""

    key: str
    property: str | None = None
    version: str | None = None


class ExternalSecretData(Struct):
    """One key of the Secret and where its value comes from."""

    secret_key: str
    remote_ref: RemoteRef


class FindName(Struct):
    """A regular expression for keys of the store."""

    regexp: str


class Find(Struct):
    """Which values of the store are meant."""

    name: FindName


class ExternalSecretDataFrom(Struct):
    """All properties of one value in the store, or all values that are found; one is set."""

    extract: RemoteRef | None = None
    find: Find | None = None


class TemplateMetadata(Struct):
    """Labels and annotations of the Secret."""

    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class Template(Struct):
    """Shape of the Secret, with the values of the store filled in."""

    type: str | None = None
    engine_version: Literal["v2"] = "v2"
    merge_policy: Literal["Replace", "Merge"] = "Replace"
    metadata: TemplateMetadata | None = None
    data: dict[str, str] = {}


class ExternalSecretTarget(Struct):
    """The Secret that is written."""

    name: str | None = None
    creation_policy: Literal["Owner", "Orphan", "Merge", "None", "CreateOrMerge"] = "Owner"
    deletion_policy: Literal["Delete", "Merge", "Retain"] = "Retain"
    template: Template | None = None


class ExternalSecretSpec(Struct):
    """A Secret whose values come from a store."""

    secret_store_ref: StoreRef
    refresh_interval: str | None = None
    refresh_policy: Literal["CreatedOnce", "Periodic", "OnChange"] | None = None
    target: ExternalSecretTarget | None = None
    data: list[ExternalSecretData] = []
    data_from: list[ExternalSecretDataFrom] = []


class SyncStatus(Conditions):
    """When values were last synced; the condition `Ready` is the result."""

    refresh_time: str | None = None
    synced_resource_version: str = ""


class SecretBinding(Struct):
    """The Secret that holds the values."""

    name: str


class ExternalSecretStatus(SyncStatus):
    """How far an ExternalSecret is."""

    binding: SecretBinding | None = None


class PushRemoteRef(Struct):
    """Where in the store a value is written."""

    remote_key: str
    property: str | None = None


class PushMatch(Struct):
    """One key of the Secret, or all of it, and where it is written."""

    secret_key: str | None = None
    remote_ref: PushRemoteRef


class PushSecretData(Struct):
    """One value to write."""

    match: PushMatch


class PushSource(Struct):
    """The Secret that is read."""

    name: str


class PushSelector(Struct):
    """What is written to the store."""

    secret: PushSource


class PushSecretSpec(Struct):
    """A Secret whose values are pushed to a store."""

    secret_store_refs: list[StoreRef]
    selector: PushSelector
    data: list[PushSecretData]
    refresh_interval: str | None = None
    deletion_policy: Literal["Delete", "None"] = "None"
    update_policy: Literal["Replace", "IfNotExists"] = "Replace"


class PushSecretStatus(SyncStatus):
    """How far a PushSecret is, and what it wrote: by store, then by key and property."""

    synced_push_secrets: dict[str, dict[str, PushSecretData]] = {}


class SecretKeyRef(Struct):
    """One key of a Secret; cluster-scoped stores also need the namespace."""

    name: str
    key: str | None = None
    namespace: str | None = None


class ServiceAccountRef(Struct):
    """The ServiceAccount whose token proves who asks."""

    name: str
    namespace: str | None = None


class VaultKubernetesAuth(Struct):
    """Login with a token of this cluster."""

    mount_path: str
    role: str
    service_account_ref: ServiceAccountRef | None = None


class VaultAppRoleAuth(Struct):
    """Login with a role id and a secret id."""

    path: str
    role_id: str | None = None
    secret_ref: SecretKeyRef


class VaultAuth(Struct):
    """How the operator logs in to the store."""

    kubernetes: VaultKubernetesAuth | None = None
    app_role: VaultAppRoleAuth | None = None
    token_secret_ref: SecretKeyRef | None = None


class CAProvider(Struct):
    """Where the certificate authority of the server is."""

    type: Literal["Secret", "ConfigMap"]
    name: str
    key: str | None = None
    namespace: str | None = None


class Vault(Struct):
    """A server with the Vault API, such as OpenBao."""

    server: str
    path: str | None = None
    version: Literal["v1", "v2"] = "v2"
    auth: VaultAuth | None = None
    ca_provider: CAProvider | None = None


class KubernetesServer(Struct):
    """The API server of another cluster."""

    url: str | None = None
    ca_provider: CAProvider | None = None


class KubernetesServiceAccountAuth(Struct):
    """Login as a ServiceAccount."""

    service_account: ServiceAccountRef


class KubernetesStore(Struct):
    """Secrets of a namespace as the store."""

    remote_namespace: str | None = None
    server: KubernetesServer | None = None
    auth: KubernetesServiceAccountAuth | None = None


class StoreProvider(Struct):
    """The system behind a store; exactly one is set."""

    vault: Vault | None = None
    kubernetes: KubernetesStore | None = None


class StoreCondition(Struct):
    """Namespaces that may use a cluster-scoped store."""

    namespaces: list[str] = []
    namespace_regexes: list[str] = []


class SecretStoreSpec(Struct):
    """A system that secrets are read from and written to."""

    provider: StoreProvider
    conditions: list[StoreCondition] = []
    refresh_interval: int | str | None = None


class SecretStoreStatus(Conditions):
    """Whether the operator can use the store."""

    capabilities: str = ""
