"""Bootstrap: the first domain, project, user, roles and the identity endpoint. Pure."""

from cobaltcore.api.keystone import KeystoneSpec
from cobaltcore.engine import access, jobs, uwsgi
from cobaltcore.engine.definition import Result, ServiceScope, Task
from cobaltcore.engine.desired import service
from cobaltcore.engine.verdict import Ready
from cobaltcore.runtime.diff import digest

NEEDS = ("SecretsReady", "CertificateReady", "ConfigReady", "DatabaseReady", "FernetKeysReady")


def bootstrapped(scope: ServiceScope[KeystoneSpec]) -> Result:
    """Run `keystone-manage bootstrap`; a changed password runs it again."""
    reference = scope.spec.bootstrap.admin_password_secret_ref
    name, key = reference.name, reference.key or "password"
    task = Task(
        "bootstrap",
        command(scope),
        inputs=digest(access.value(scope, name, key)),
        secret_environment={"OS_BOOTSTRAP_PASSWORD": (name, key)},
    )
    ran = jobs.run_once(scope, task, running="BootstrapInProgress")
    if isinstance(ran.verdict, Ready):
        return Result(Ready("Bootstrapped"), ran.objects)
    return ran


def addresses(scope: ServiceScope[KeystoneSpec]) -> dict[str, str]:
    """The identity API as others find it, by interface."""
    internal = f"{uwsgi.scheme(scope)}://{service.host(scope.key)}:{scope.service.port}/v3"
    public = scope.spec.bootstrap.public_endpoint or internal
    return {"internal": internal, "public": public, "admin": internal}


def command(scope: ServiceScope[KeystoneSpec]) -> tuple[str, ...]:
    """The password comes from the environment: a command line is for all to see."""
    settings = scope.spec.bootstrap
    urls = [f"--bootstrap-{name}-url={url}" for name, url in addresses(scope).items()]
    return (
        "keystone-manage",
        "bootstrap",
        f"--bootstrap-username={settings.admin_user}",
        f"--bootstrap-region-id={settings.region}",
        "--bootstrap-service-name=keystone",
        *urls,
    )
