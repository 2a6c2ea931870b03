"""The service catalogue: an entry and three addresses for every service, in the region. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources

from cobaltcore.api.foreign import korc
from cobaltcore.api.foreign.kubernetes import JOB, POD
from cobaltcore.engine.desired import job, pods
from cobaltcore.engine.desired import service as address
from cobaltcore.engine.desired.pods import Container, Mount
from cobaltcore.engine.verdict import Ready, Verdict, Waiting
from cobaltcore.operators.controlplane import certificates, identity, programs
from cobaltcore.operators.controlplane.view import View
from cobaltcore.runtime.meta import Desired, Kind

INTERFACES = ("public", "internal", "admin")
CA_DIR = "/etc/ssl/c5c3"


@dataclass(frozen=True, slots=True)
class Entry:
    """A service as the catalogue shows it."""

    service: str
    type: str
    description: str
    port: int
    path: str = ""


ENTRIES = (
    Entry("glance", "image", "Images", 9292),
    Entry("placement", "placement", "Inventory of resources", 8778),
    Entry("nova", "compute", "Servers", 8774, "/v2.1"),
    Entry("neutron", "network", "Networks", 9696),
    Entry("cinder", "block-storage", "Volumes", 8776, "/v3"),
)


def wanted(view: View) -> list[Entry]:
    """Entries of the services that are on."""
    return [each for each in ENTRIES if view.toggle(each.service).enabled]


def urls(view: View, entry: Entry) -> dict[str, str]:
    """The addresses of a service by interface."""
    scheme = "https" if certificates.is_on(view) else "http"
    inside = f"{scheme}://{address.host(view.key(entry.service))}:{entry.port}{entry.path}"
    public = view.toggle(entry.service).public_endpoint
    return {
        "public": f"{public.rstrip('/')}{entry.path}" if public else inside,
        "internal": inside,
        "admin": inside,
    }


def objects(view: View) -> Iterator[Desired]:
    """Entries and addresses; once all of them are known, a Job that sets their region."""
    for entry in wanted(view):
        name = f"{entry.service}-service"
        yield identity.managed(
            view,
            korc.SERVICE,
            name,
            korc.ServiceResource(
                name=entry.service, type=entry.type, description=entry.description
            ),
        )
        for interface, url in urls(view, entry).items():
            yield identity.managed(
                view,
                korc.ENDPOINT,
                f"{entry.service}-{interface}",
                korc.EndpointResource(service_ref=name, interface=interface, url=url),  # type: ignore[arg-type]
            )
    if ids := _endpoint_ids(view):
        yield regions(view, ids)


def ready(view: View) -> Verdict:
    """Whether every entry is there and in its region."""
    entries = wanted(view)
    expected: list[tuple[Kind, str]] = [(korc.SERVICE, f"{e.service}-service") for e in entries]
    expected += [(korc.ENDPOINT, f"{e.service}-{i}") for e in entries for i in INTERFACES]
    verdict = identity.all_available(view, expected)
    if not isinstance(verdict, Ready) or not entries:
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
    source = resources.files(programs).joinpath("set_regions.py").read_text()
    trusted = certificates.trust_ref(view)
    environment = {
        "OS_AUTH_URL": identity.auth_url(view),
        "OS_USERNAME": "admin",
        "OS_PROJECT_NAME": "admin",
    }
    mounts = []
    if trusted is not None:
        environment["OS_CACERT"] = f"{CA_DIR}/ca.crt"
        mounts.append(Mount("ca", CA_DIR, secret=trusted.name))
    region = view.spec.global_.region
    container = Container(
        "set-regions",
        view.image("keystone"),
        ("python3", "-c", source, region, *ids),
        mounts=mounts,
        environment=environment,
        secret_environment={"OS_PASSWORD": (identity.ADMIN_SECRET, "password")},
        resources={"requests": {"cpu": "10m", "memory": "32Mi"}, "limits": {"memory": "128Mi"}},
    )
    labels = view.labels("catalogue")
    template = pods.template([container], labels=labels, annotations={}, settings={})
    return job.job(
        view.key("catalogue-regions"), template=template, inputs=[region, *ids], labels=labels
    )


def _endpoint_ids(view: View) -> list[str]:
    """What Keystone calls the endpoints; nothing until all of them are known."""
    found = []
    for entry in wanted(view):
        for interface in INTERFACES:
            obj = view.get(korc.ENDPOINT, f"{entry.service}-{interface}")
            id_ = ((obj or {}).get("status") or {}).get("id")
            if not id_:
                return []
            found.append(id_)
    return sorted(found)
