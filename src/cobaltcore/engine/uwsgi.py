"""How an API runs under uWSGI. Pure."""

from cobaltcore.engine.definition import AnyScope, Workload
from cobaltcore.engine.desired import inifile, names

TLS_DIR = "/etc/tls"


def is_encrypted(scope: AnyScope) -> bool:
    """Whether the endpoint speaks https."""
    tls = scope.spec.tls
    return tls is not None and tls.enabled


def scheme(scope: AnyScope) -> str:
    """The scheme of the endpoint's address."""
    return "https" if is_encrypted(scope) else "http"


def port(scope: AnyScope, workload: Workload) -> int:
    """The port that a workload answers at; 0 if it has none."""
    return workload.port or (scope.service.port if workload.module else 0)


def file_name(workload: Workload) -> str:
    """The file that uWSGI reads."""
    return f"uwsgi-{workload.component}.ini"


def command(scope: AnyScope, workload: Workload) -> tuple[str, ...]:
    """What a container of the API runs."""
    path = f"{scope.service.config_dir}/{file_name(workload)}"
    return (f"{names.VENV}/bin/uwsgi", "--ini", path)


def ini(scope: AnyScope, workload: Workload) -> str:
    """The content of the file. A changed certificate reloads it; requests are not cut."""
    listen = f"0.0.0.0:{port(scope, workload)}"
    options = {
        "module": f"{workload.module}:application",
        "master": "true",
        "need-app": "true",
        "lazy-apps": "true",
        "enable-threads": "true",
        "processes": "1",
        "threads": "4",
        "die-on-term": "true",
        "worker-reload-mercy": "20",
        "buffer-size": "65535",
        "thunder-lock": "true",
        "http-chunked-input": "true",
        # A client that sends an image part by part pauses while it reads from its storage.
        "chunked-input-timeout": "60",
        "chunked-input-limit": str(16 * 1024 * 1024),
        "add-header": "Connection: close",
        "disable-logging": "true",
        # Neutron's OVN driver distinguishes workers by when their server started.
        "start-time": "%t",
        # Each keeps oslo.config from looking for directories itself.
        "pyargv": f"--config-dir {scope.service.config_dir} --config-dir {scope.service.secret_dir}",
    }
    if is_encrypted(scope):
        certificate, key = f"{TLS_DIR}/tls.crt", f"{TLS_DIR}/tls.key"
        options["https-socket"] = f"{listen},{certificate},{key}"
        options["touch-reload"] = certificate
    else:
        options["http-socket"] = listen
    return inifile.render({"uwsgi": options})
