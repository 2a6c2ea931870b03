"""Examples of the kinds of K-ORC and the External Secrets Operator."""

from typing import Any

from cobaltcore.api.foreign import eso, korc, manifest
from cobaltcore.runtime.meta import Kind
from tests.unit.api.foreign_example import Example

CLOUD = korc.CloudCredentialsRef(cloud_name="admin", secret_name="k-orc-clouds")
STORE = eso.StoreRef(name="openbao-cluster-store", kind="ClusterSecretStore")


def _orc(kind: Kind, view: type[korc.Spec[Any, Any]], **fields: Any) -> Example:
    spec = view(cloud_credentials_ref=CLOUD, **fields)
    return Example(kind, spec, korc.Status, view)


KORC = [
    _orc(
        korc.DOMAIN,
        korc.DomainSpec,
        management_policy="unmanaged",
        import_=korc.Import(filter=korc.NameFilter(name="Default")),
    ),
    _orc(
        korc.PROJECT,
        korc.ProjectSpec,
        managed_options=korc.ManagedOptions(on_delete="detach"),
        resource=korc.ProjectResource(
            name="service",
            description="Service users",
            domain_ref="default",
            enabled=True,
            tags=["cobaltcore"],
        ),
        resync_period="10m",
    ),
    _orc(
        korc.ROLE,
        korc.RoleSpec,
        resource=korc.RoleResource(
            name="service", description="Services among themselves", domain_ref="default"
        ),
    ),
    _orc(
        korc.GROUP,
        korc.GroupSpec,
        resource=korc.GroupResource(name="operators", description="People", domain_ref="default"),
    ),
    _orc(
        korc.USER,
        korc.UserSpec,
        resource=korc.UserResource(
            name="nova",
            description="Compute service",
            domain_ref="default",
            default_project_ref="service",
            enabled=True,
            password_ref="nova-password",
        ),
    ),
    Example(
        korc.ROLE_ASSIGNMENT,
        korc.RoleAssignmentSpec(
            cloud_credentials_ref=CLOUD,
            resource=korc.RoleAssignmentResource(
                role_ref="service", user_ref="nova", project_ref="service"
            ),
        ),
        manifest.Conditions,
    ),
    _orc(
        korc.SERVICE,
        korc.ServiceSpec,
        resource=korc.ServiceResource(
            name="nova", type="compute", description="Compute", enabled=False
        ),
    ),
    _orc(
        korc.ENDPOINT,
        korc.EndpointSpec,
        resource=korc.EndpointResource(
            service_ref="nova",
            interface="internal",
            url="http://nova-api.openstack.svc:8774/v2.1",
            description="Inside the cluster",
            enabled=True,
        ),
    ),
    _orc(
        korc.APPLICATION_CREDENTIAL,
        korc.ApplicationCredentialSpec,
        resource=korc.ApplicationCredentialResource(
            name="nova-1",
            description="Compute service",
            user_ref="nova",
            secret_ref="nova-credential",
            role_refs=["service"],
            unrestricted=False,
            expires_at="2026-12-31T00:00:00Z",
        ),
    ),
]

ESO = [
    Example(
        eso.EXTERNAL_SECRET,
        eso.ExternalSecretSpec(
            secret_store_ref=STORE,
            refresh_interval="1h",
            target=eso.ExternalSecretTarget(
                name="keystone-db",
                creation_policy="Merge",
                deletion_policy="Delete",
                template=eso.Template(
                    type="Opaque",
                    metadata=eso.TemplateMetadata(labels={"a": "b"}, annotations={"c": "d"}),
                    data={"password": "{{ .password }}"},
                ),
            ),
            data=[
                eso.ExternalSecretData(
                    secret_key="password",
                    remote_ref=eso.RemoteRef(key="keystone/db", property="password", version="2"),
                )
            ],
            data_from=[
                eso.ExternalSecretDataFrom(extract=eso.RemoteRef(key="keystone/db")),
                eso.ExternalSecretDataFrom(find=eso.Find(name=eso.FindName(regexp="^nova/"))),
            ],
            refresh_policy="Periodic",
        ),
        eso.ExternalSecretStatus,
    ),
    Example(
        eso.PUSH_SECRET,
        eso.PushSecretSpec(
            secret_store_refs=[STORE],
            selector=eso.PushSelector(secret=eso.PushSource(name="nova-credential")),
            data=[
                eso.PushSecretData(
                    match=eso.PushMatch(
                        secret_key="value",
                        remote_ref=eso.PushRemoteRef(remote_key="nova/app", property="secret"),
                    )
                )
            ],
            refresh_interval="1h",
            deletion_policy="Delete",
            update_policy="IfNotExists",
        ),
        eso.PushSecretStatus,
    ),
    Example(
        eso.CLUSTER_SECRET_STORE,
        eso.SecretStoreSpec(
            provider=eso.StoreProvider(
                vault=eso.Vault(
                    server="https://openbao.example.org:8200",
                    path="kv-v2",
                    version="v1",
                    auth=eso.VaultAuth(
                        kubernetes=eso.VaultKubernetesAuth(
                            mount_path="kubernetes/control-plane",
                            role="eso",
                            service_account_ref=eso.ServiceAccountRef(
                                name="external-secrets", namespace="external-secrets"
                            ),
                        )
                    ),
                    ca_provider=eso.CAProvider(
                        type="Secret", name="openbao-ca", key="ca.crt", namespace="openbao"
                    ),
                )
            ),
            conditions=[eso.StoreCondition(namespaces=["openstack"], namespace_regexes=["^lab-"])],
            refresh_interval=60,
        ),
        eso.SecretStoreStatus,
    ),
    Example(
        eso.SECRET_STORE,
        eso.SecretStoreSpec(
            provider=eso.StoreProvider(
                kubernetes=eso.KubernetesStore(
                    remote_namespace="vault",
                    server=eso.KubernetesServer(
                        ca_provider=eso.CAProvider(
                            type="ConfigMap", name="kube-root-ca.crt", key="ca.crt"
                        )
                    ),
                    auth=eso.KubernetesServiceAccountAuth(
                        service_account=eso.ServiceAccountRef(name="store")
                    ),
                )
            )
        ),
        eso.SecretStoreStatus,
    ),
]
