"""cinder.conf. Pure."""

from cobaltcore.api.cinder import CinderSpec
from cobaltcore.engine import access, ceph, oslo
from cobaltcore.engine.definition import Config, ServiceScope
from cobaltcore.engine.desired import containers, inifile, names
from cobaltcore.engine.desired.inifile import Sections
from cobaltcore.services.cinder.steps import backends

DATA = f"{names.VENV}/etc/cinder"
LOGINS = ("service_user", "nova")
HELPERS = ("cinder_sys_admin", "privsep_osbrick")


def render(scope: ServiceScope[CinderSpec]) -> Config:
    """The configuration of Cinder."""
    spec = scope.spec
    options = inifile.merge(
        oslo.shared_options(scope),
        oslo.state_options(),
        oslo.database_options(),
        oslo.messaging_options(),
        oslo.token_options(scope),
        oslo.service_user_options(scope),
        oslo.client_options(scope, "nova"),
        oslo.key_manager_options(scope, spec.key_manager),
        _general(scope),
        _volumes(scope),
        backends.sections(scope),
        spec.extra_config,
    )
    return Config(
        files={
            "cinder.conf": inifile.render(options),
            "rootwrap.conf": inifile.render(_rootwrap()),
        },
        secrets=inifile.merge(
            oslo.backend_secrets(scope),
            oslo.token_secrets(scope),
            oslo.login_secrets(scope, *LOGINS),
            oslo.key_manager_secrets(scope, spec.key_manager),
        ),
        secret_files=ceph.secret_files(scope, backends.pools(scope)),
    )


def _general(scope: ServiceScope[CinderSpec]) -> Sections:
    default = {
        "auth_strategy": "keystone",
        "api_paste_config": f"{DATA}/api-paste.ini",
        "resource_query_filters_file": f"{DATA}/resource_filters.json",
        "rootwrap_config": f"{scope.service.config_dir}/rootwrap.conf",
        "image_conversion_dir": f"{containers.STATE_DIR}/conversion",
        "glance_catalog_info": "image:glance:internalURL",
    }
    if access.has_ca(scope):
        default["glance_ca_certificates_file"] = oslo.CA_FILE
    helper = f"sudo {names.VENV}/bin/privsep-helper --config-dir {scope.service.config_dir}"
    return {
        "DEFAULT": default,
        "nova": {"interface": "internal"},
        "coordination": {"backend_url": _locks(scope)},
        **{each: {"helper_command": helper} for each in HELPERS},
    }


def _volumes(scope: ServiceScope[CinderSpec]) -> Sections:
    found = backends.backends(scope)
    if not found:
        return {}
    default = {
        "enabled_backends": ",".join(each.name for each in found),
        "default_volume_type": scope.spec.default_volume_type or found[0].name,
    }
    if scope.spec.volume.replicas > 1:
        # Pods that serve the same backends together have to know of each other.
        default["cluster"] = scope.name
    return {"DEFAULT": default}


def _locks(scope: ServiceScope[CinderSpec]) -> str:
    """Pods lock each other out where all of them can see it, if there is such a place."""
    servers = access.cache_servers(scope, scope.spec.cache)
    if scope.spec.volume.replicas > 1 and servers:
        return f"memcached://{servers[0]}"
    return f"file://{containers.STATE_DIR}/coordination"


def _rootwrap() -> Sections:
    folders = f"{DATA}/rootwrap.d,{names.VENV}/etc/os-brick/rootwrap.d"
    return {
        "DEFAULT": {
            "filters_path": folders,
            "exec_dirs": f"{names.VENV}/bin,/usr/sbin,/usr/bin,/sbin,/bin",
            "use_syslog": "False",
        }
    }
