"""cinder.conf. Pure."""

from cobaltcore.engine import access, ceph, oslo
from cobaltcore.engine.definition import Config, Facts
from cobaltcore.engine.desired import inifile, names, pods
from cobaltcore.engine.desired.inifile import Sections
from cobaltcore.services.cinder.steps import backends

DATA = f"{names.VENV}/etc/cinder"
LOGINS = ("keystone_authtoken", "service_user", "nova")
HELPERS = ("cinder_sys_admin", "privsep_osbrick")


def render(facts: Facts) -> Config:
    """The configuration of Cinder."""
    spec = facts.spec
    options = inifile.merge(
        oslo.shared_options(facts),
        oslo.state_options(),
        oslo.database_options(),
        oslo.messaging_options(),
        oslo.token_options(facts),
        oslo.service_user_options(facts),
        oslo.client_options(facts, "nova"),
        _general(facts),
        _volumes(facts),
        backends.sections(facts),
        spec.extra_config,
    )
    return Config(
        files={
            "cinder.conf": inifile.render(options),
            "rootwrap.conf": inifile.render(_rootwrap()),
            **(ceph.program_file() if backends.use_ceph(facts) else {}),
        },
        environment={
            **oslo.database_environment(facts),
            **oslo.messaging_environment(facts),
            **oslo.login_environment(facts, *LOGINS),
        },
        secret_files=ceph.secret_files(facts, backends.pools(facts)),
    )


def _general(facts: Facts) -> Sections:
    default = {
        "auth_strategy": "keystone",
        "api_paste_config": f"{DATA}/api-paste.ini",
        "resource_query_filters_file": f"{DATA}/resource_filters.json",
        "rootwrap_config": f"{facts.service.config_dir}/rootwrap.conf",
        "image_conversion_dir": f"{pods.STATE_DIR}/conversion",
        "glance_catalog_info": "image:glance:internalURL",
    }
    if facts.spec.keystone.ca_secret_ref is not None:
        default["glance_ca_certificates_file"] = oslo.CA_FILE
    helper = f"sudo {names.VENV}/bin/privsep-helper --config-dir {facts.service.config_dir}"
    return {
        "DEFAULT": default,
        "nova": {"interface": "internal"},
        "coordination": {"backend_url": _locks(facts)},
        **{each: {"helper_command": helper} for each in HELPERS},
    }


def _volumes(facts: Facts) -> Sections:
    found = backends.backends(facts)
    if not found:
        return {}
    default = {
        "enabled_backends": ",".join(each.name for each in found),
        "default_volume_type": facts.spec.default_volume_type or found[0].name,
    }
    if facts.spec.volume.replicas > 1:
        # Pods that serve the same backends together have to know of each other.
        default["cluster"] = facts.key.name
    return {"DEFAULT": default}


def _locks(facts: Facts) -> str:
    """Pods lock each other out where all of them can see it, if there is such a place."""
    servers = access.cache_servers(facts, facts.spec.cache)
    if facts.spec.volume.replicas > 1 and servers:
        return f"memcached://{servers[0]}"
    return f"file://{pods.STATE_DIR}/coordination"


def _rootwrap() -> Sections:
    folders = f"{DATA}/rootwrap.d,{names.VENV}/etc/os-brick/rootwrap.d"
    return {
        "DEFAULT": {
            "filters_path": folders,
            "exec_dirs": f"{names.VENV}/bin,/usr/sbin,/usr/bin,/sbin,/bin",
            "use_syslog": "False",
        }
    }
