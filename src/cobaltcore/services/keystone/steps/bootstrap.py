"""Bootstrap: the first domain, project, user, roles and the identity endpoint. Pure."""

from cobaltcore.engine import access, tasks, uwsgi
from cobaltcore.engine.definition import Facts, Result, Task
from cobaltcore.engine.desired import service
from cobaltcore.engine.verdict import Ready
from cobaltcore.runtime.diff import digest


def bootstrapped(facts: Facts) -> Result:
    """Run `keystone-manage bootstrap`; a changed password runs it again."""
    reference = facts.spec.bootstrap.admin_password_secret_ref
    name, key = reference.name, reference.key or "password"
    task = Task(
        "bootstrap",
        command(facts),
        inputs=digest(access.value(facts, name, key)),
        secret_environment={"OS_BOOTSTRAP_PASSWORD": (name, key)},
    )
    ran = tasks.run_once(facts, task, running="BootstrapInProgress")
    if isinstance(ran.verdict, Ready):
        return Result(Ready("Bootstrapped"), ran.objects)
    return ran


def addresses(facts: Facts) -> dict[str, str]:
    """The identity API as others find it, by interface."""
    inside = f"{uwsgi.scheme(facts)}://{service.host(facts.key)}:{facts.service.port}/v3"
    public = facts.spec.bootstrap.public_endpoint or inside
    return {"internal": inside, "public": public, "admin": inside}


def command(facts: Facts) -> tuple[str, ...]:
    """The password comes from the environment: a command line is for all to see."""
    given = facts.spec.bootstrap
    urls = [f"--bootstrap-{name}-url={url}" for name, url in addresses(facts).items()]
    return (
        "keystone-manage",
        "bootstrap",
        f"--bootstrap-username={given.admin_user}",
        f"--bootstrap-region-id={given.region}",
        "--bootstrap-service-name=keystone",
        *urls,
    )
