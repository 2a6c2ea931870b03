"""The service catalogue: an entry and three addresses for every service, in the region. Pure."""

from collections.abc import Iterator

from cobaltcore.api.foreign import korc
from cobaltcore.api.foreign.kubernetes import JOB, POD
from cobaltcore.api.pods import Resources
from cobaltcore.engine.definition import AnyService
from cobaltcore.engine.desired import job, names
from cobaltcore.engine.desired import service as address
from cobaltcore.engine.desired.containers import Container, PodField
from cobaltcore.engine.desired.pods import Pod
from cobaltcore.engine.desired.volumes import Secret, Volume
from cobaltcore.engine.part import CatalogEntry
from cobaltcore.engine.verdict import Ready, Verdict, Waiting
from cobaltcore.operators.controlplane import available, certificates, identity
from cobaltcore.operators.controlplane.view import View
from cobaltcore.runtime.meta import Desired, Kind

INTERFACES = ("public", "internal", "admin")
CA_DIR = "/etc/ssl/c5c3"
LOGIN_DIR = "/etc/keystone-login"
SMALL = Resources(requests={"cpu": "10m", "memory": "32Mi"}, limits={"memory": "128Mi"})


def wanted(view: View) -> list[tuple[AnyService, CatalogEntry]]:
    """Services that are on, with their entries."""
    return [
        (service, entry)
        for service in available.all_services()
        if (entry := available.part_of(service).catalog) and available.is_on(service, view)
    ]


def urls(view: View, service: AnyService, entry: CatalogEntry) -> dict[str, str]:
    """The addresses of a service by interface."""
    scheme = "https" if certificates.is_on(view) else "http"
    internal = f"{scheme}://{address.host(view.sibling(service.name))}:{service.port}{entry.path}"
    public = view.toggle(service.name).public_endpoint
    return {
        "public": f"{public.rstrip('/')}{entry.path}" if public else internal,
        "internal": internal,
        "admin": internal,
    }


def objects(view: View) -> Iterator[Desired]:
    """Services and endpoints; once all of them are known, a Job that sets their region."""
    for service, entry in wanted(view):
        name = f"{service.name}-service"
        yield identity.managed(
            view,
            korc.SERVICE,
            name,
            korc.ServiceResource(
                name=service.name, type=entry.type, description=entry.description
            ),
        )
        for interface, url in urls(view, service, entry).items():
            yield identity.managed(
                view,
                korc.ENDPOINT,
                f"{service.name}-{interface}",
                korc.EndpointResource(service_ref=name, interface=interface, url=url),  # type: ignore[arg-type]
            )
    if ids := _endpoint_ids(view):
        yield regions(view, ids)


def ready(view: View) -> Verdict:
    """Whether every entry exists in its region."""
    names = [service.name for service, _ in wanted(view)]
    expected: list[tuple[Kind, str]] = [(korc.SERVICE, f"{name}-service") for name in names]
    expected += [(korc.ENDPOINT, f"{name}-{i}") for name in names for i in INTERFACES]
    verdict = identity.all_available(view, expected)
    if not isinstance(verdict, Ready) or not names:
        return verdict
    wanted_job = regions(view, _endpoint_ids(view))
    pods_of_it = view.observed.find(POD, "job", str(wanted_job.key))
    outcome = job.outcome(view.observed.get(JOB, wanted_job.key), pods_of_it)
    if outcome.done:
        return Ready("Complete")
    failed = f": {outcome.message}" if outcome.message else ""
    return Waiting("SettingRegions", f"Job {wanted_job.key.name!r} sets the region{failed}")


def regions(view: View, ids: list[str]) -> Desired:
    """The Job that puts endpoints into the region; other endpoints are another Job."""
    trusted = certificates.trust_ref(view)
    environment: dict[str, str | PodField] = {
        "OS_AUTH_URL": identity.auth_url(view),
        "OS_USERNAME": "admin",
        "OS_PROJECT_NAME": "admin",
        "OS_PASSWORD_FILE": f"{LOGIN_DIR}/password",
    }
    login = Secret(names.admin_login(identity.KEYSTONE), {"password": "password"})
    volumes = [Volume("login", LOGIN_DIR, login)]
    if trusted is not None:
        environment["OS_CACERT"] = f"{CA_DIR}/ca.crt"
        volumes.append(Volume("ca", CA_DIR, Secret(trusted.name)))
    region = view.spec.global_.region
    container = Container(
        "set-regions",
        view.image("keystone"),
        ("cobalt-agent", "keystone", "endpoint-regions", region, *ids),
        volumes=volumes,
        environment=environment,
        resources=SMALL,
    )
    pod = Pod(
        containers=[container],
        labels=view.labels("catalogue"),
        pull_secrets=view.spec.global_.image_pull_secrets,
    )
    return job.job(view.sibling("catalogue-regions"), pod=pod, inputs=[region, *ids])


def _endpoint_ids(view: View) -> list[str]:
    """IDs of the endpoints in Keystone; nothing until all of them are known."""
    found = []
    for service, _ in wanted(view):
        for interface in INTERFACES:
            obj = view.get(korc.ENDPOINT, f"{service.name}-{interface}")
            id_ = ((obj or {}).get("status") or {}).get("id")
            if not id_:
                return []
            found.append(id_)
    return sorted(found)
