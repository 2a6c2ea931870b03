"""Graphical consoles: proxies with noVNC between browsers and the displays of servers. Pure.

Displays speak TLS and admit only clients of the hypervisors' CA. Each cell has proxies of its own,
as the tokens of URLs are in the databases of cells.
"""

from collections.abc import Iterator

from cobaltcore.api.foreign.certmanager import CERTIFICATE
from cobaltcore.api.nova import NovaSpec
from cobaltcore.api.pods import Resources
from cobaltcore.engine import readiness, uwsgi, workloads
from cobaltcore.engine.definition import Result, ServiceScope, Workload
from cobaltcore.engine.desired import certificate, libvirt, service
from cobaltcore.engine.desired.inifile import Sections
from cobaltcore.engine.desired.volumes import Secret, Volume
from cobaltcore.engine.verdict import Ready, Waiting
from cobaltcore.runtime.meta import Desired
from cobaltcore.services.nova.steps import cells, hypervisor
from cobaltcore.services.nova.steps.cells import Cell

PORT = 6080
PAGE = "/vnc_lite.html"
WEB = "/usr/share/novnc"
IDENTITY = "/etc/nova-console"
RESOURCES = Resources(requests={"cpu": "10m", "memory": "128Mi"}, limits={"memory": "1Gi"})


def is_on(scope: ServiceScope[NovaSpec]) -> bool:
    """Whether servers have displays."""
    return bool(scope.spec.console.enabled)


def proxies(scope: ServiceScope[NovaSpec]) -> Iterator[Workload]:
    """One set of proxies for each cell."""
    if not is_on(scope):
        return
    for cell in cells.cells(scope.spec):
        yield Workload(
            _component(cell),
            scope.spec.console.replicas,
            command=("nova-novncproxy",),
            port=PORT,
            condition="ConsoleReady",
            health=PAGE,
            settings=scope.spec.console,
            config=cell.configuration,
            volumes=(Volume("identity", IDENTITY, Secret(scope.named("console-tls").name)),),
            resources=RESOURCES,
        )


def identified(scope: ServiceScope[NovaSpec]) -> Result:
    """Have the hypervisors' CA issue the certificate by which displays know the proxies."""
    wanted = _certificate(scope)
    issued = readiness.of(scope.observed, CERTIFICATE, wanted.key)
    if not isinstance(issued, Ready):
        return Result(Waiting("CertificatePending", issued.message), [wanted])
    return Result(Ready("Issued"), [wanted])


def _certificate(scope: ServiceScope[NovaSpec]) -> Desired:
    key = scope.named("console-tls")
    issued = certificate.certificate(
        key,
        services=(),
        secret=key.name,
        issuer=libvirt.authority(scope.named(hypervisor.COMPONENT)),
        labels=scope.labels("console"),
    )
    usages = ["digital signature", "key encipherment", "client auth"]
    spec = {
        **issued.body["spec"],
        "commonName": scope.named("console").name[:64],
        "usages": usages,
    }
    return issued._replace(body={**issued.body, "spec": spec})


def proxy_options(scope: ServiceScope[NovaSpec]) -> Sections:
    """Options of the proxies."""
    if not is_on(scope):
        return {"vnc": {"enabled": "false"}}
    default = {"web": WEB}
    if uwsgi.is_encrypted(scope):
        default |= {
            "cert": f"{uwsgi.TLS_DIR}/tls.crt",
            "key": f"{uwsgi.TLS_DIR}/tls.key",
            "ssl_only": "true",
        }
    display = {
        "enabled": "true",
        "novncproxy_port": str(PORT),
        "auth_schemes": "vencrypt",
        "vencrypt_client_cert": f"{IDENTITY}/tls.crt",
        "vencrypt_client_key": f"{IDENTITY}/tls.key",
        "vencrypt_ca_certs": f"{IDENTITY}/ca.crt",
    }
    return {"DEFAULT": default, "vnc": display}


def compute_options(scope: ServiceScope[NovaSpec], cell: Cell) -> Sections:
    """Options of nova-compute; addresses of displays differ between nodes."""
    if not is_on(scope):
        return {"vnc": {"enabled": "false"}}
    return {"vnc": {"enabled": "true", "novncproxy_base_url": f"{_url(scope, cell)}{PAGE}"}}


def _url(scope: ServiceScope[NovaSpec], cell: Cell) -> str:
    public = scope.spec.console.public_endpoint
    if public is not None and cell.is_first:
        return public.rstrip("/")
    host = service.host(workloads.address(scope, _component(cell)))
    return f"{uwsgi.scheme(scope)}://{host}:{PORT}"


def _component(cell: Cell) -> str:
    return f"novncproxy{cell.suffix}"
