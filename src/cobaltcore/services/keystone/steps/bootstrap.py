"""Bootstrap: the first domain, project, user, roles and the identity endpoint; the administrator's password. Pure.

Keystone gets a changed password first; others get it when Keystone has it, from the Secret
`<name>-admin-login`. Each change is an attempt with a number, and that Secret holds the password of
the newest one as `password-<number>`. Only one Job runs at a time, and it cannot start with the password of another
attempt, so `password` is what Keystone has, whatever was changed in between.
"""

from dataclasses import dataclass, field
from typing import Self

from cobaltcore.api.foreign.kubernetes import SECRET
from cobaltcore.api.keystone import KeystoneSpec
from cobaltcore.engine import access, jobs, usability, uwsgi
from cobaltcore.engine.definition import Result, ServiceScope, Task
from cobaltcore.engine.desired import names, secret, service
from cobaltcore.engine.desired.volumes import Secret, Volume
from cobaltcore.engine.verdict import Ready, Waiting
from cobaltcore.openstack.auth import Password
from cobaltcore.openstack.cloud import Cloud
from cobaltcore.runtime.meta import Desired, Kind, Object

NEEDS = ("SecretsReady", "CertificateReady", "ConfigReady", "DatabaseReady", "FernetKeysReady")
RUNNING = "BootstrapInProgress"
IN_USE = "password"
LOGIN_DIR = "/etc/keystone-login"


@dataclass(frozen=True, slots=True)
class Attempt:
    """The newest try to set a password."""

    number: int = 0
    password: str = field(default="", repr=False)
    in_use: str = field(default="", repr=False)
    """The password that Keystone has had since an attempt was done."""

    @classmethod
    def read(cls, found: Object | None) -> Self:
        """As the Secret has it."""
        content = secret.texts(found)
        prefix = f"{IN_USE}-"
        numbers = (key.removeprefix(prefix) for key in content if key.startswith(prefix))
        number = max((int(each) for each in numbers if each.isdecimal()), default=0)
        return cls(number, content.get(f"{prefix}{number}", ""), content.get(IN_USE, ""))

    def towards(self, password: str) -> Self:
        """This one if it sets the password, else the next."""
        if self.number and self.password == password:
            return self
        return type(self)(self.number + 1, password, self.in_use)

    @property
    def key(self) -> str:
        """Where the Job finds the password: a kubelet that has an older Secret finds none."""
        return f"{IN_USE}-{self.number}"

    @property
    def content(self) -> dict[str, str]:
        """Of the Secret, besides the user's name."""
        return {self.key: self.password, **({IN_USE: self.in_use} if self.in_use else {})}

    def done(self) -> Self:
        return type(self)(self.number, self.password, self.password)


def generated(instance: str) -> tuple[Kind, str]:
    """The Secret with the login that Keystone has."""
    return SECRET, names.admin_login(instance)


def bootstrapped(scope: ServiceScope[KeystoneSpec]) -> Result:
    """Run `keystone-manage bootstrap`; a changed password runs it again."""
    reference = scope.spec.bootstrap.admin_password_secret_ref
    wanted = access.value(scope, reference.name, reference.key or "password")
    login = names.admin_login(scope.name)
    attempt = Attempt.read(access.secret_content(scope, login)).towards(wanted)
    task = Task(
        "bootstrap",
        command(scope),
        inputs=attempt.number,
        volumes=(Volume("login", LOGIN_DIR, Secret(login, {attempt.key: IN_USE})),),
    )
    if others := jobs.unfinished_others(scope, task):
        stopped = ", ".join(repr(each.key.name) for each in others)
        return Result(Waiting(RUNNING, f"Job {stopped} is being stopped"), [], others)
    ran = jobs.run_once(scope, task, running=RUNNING)
    if isinstance(ran.verdict, Ready):
        return Result(Ready("Bootstrapped"), [_login(scope, attempt.done()), *ran.objects])
    return Result(ran.verdict, [_login(scope, attempt), *ran.objects], ran.removals)


def _login(scope: ServiceScope[KeystoneSpec], attempt: Attempt) -> Desired:
    values = {"username": scope.spec.bootstrap.admin_user, **attempt.content}
    return secret.secret(
        scope.sibling(names.admin_login(scope.name)), values, labels=scope.labels()
    )


def administrator(scope: ServiceScope[KeystoneSpec]) -> Cloud | None:
    """The administrator, with the password that Keystone has."""
    found = secret.texts(access.secret_content(scope, names.admin_login(scope.name)))
    if IN_USE not in found:
        return None
    return Cloud(
        auth_url=addresses(scope)["internal"],
        credentials=Password(
            username=scope.spec.bootstrap.admin_user, password=found[IN_USE], project="admin"
        ),
        region=scope.spec.bootstrap.region,
        ca_certificates=usability.own_authority(scope),
        timeout=usability.ATTEMPT,
    )


def addresses(scope: ServiceScope[KeystoneSpec]) -> dict[str, str]:
    """The identity API as others find it, by interface."""
    internal = f"{uwsgi.scheme(scope)}://{service.host(scope.key)}:{scope.service.port}/v3"
    public = scope.spec.bootstrap.public_endpoint or internal
    return {"internal": internal, "public": public, "admin": internal}


def command(scope: ServiceScope[KeystoneSpec]) -> tuple[str, ...]:
    """The password comes from a file: a command line is for all to see."""
    settings = scope.spec.bootstrap
    urls = [f"--bootstrap-{name}-url={url}" for name, url in addresses(scope).items()]
    return (
        "cobalt-agent",
        "keystone",
        "bootstrap",
        f"{LOGIN_DIR}/{IN_USE}",
        f"--bootstrap-username={settings.admin_user}",
        f"--bootstrap-region-id={settings.region}",
        "--bootstrap-service-name=keystone",
        *urls,
    )
