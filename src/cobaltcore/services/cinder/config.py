"""cinder.conf. Pure."""

from cobaltcore.api.cinder import CinderSpec
from cobaltcore.engine import access, ceph, oslo
from cobaltcore.engine.definition import Config, ServiceScope
from cobaltcore.engine.desired import containers, database, inifile, names
from cobaltcore.engine.desired.inifile import Sections
from cobaltcore.engine.verdict import InputInvalid
from cobaltcore.services.cinder.steps import backends

DATA = f"{names.VENV}/etc/cinder"
LOCKS = f"file://{containers.STATE_DIR}/coordination"
"""Locks between the processes of one pod."""
ENDS_LOGIN = "/?#[]"
LOGINS = ("service_user", "nova")
HELPERS = ("cinder_sys_admin", "privsep_osbrick")


def render(scope: ServiceScope[CinderSpec]) -> Config:
    """The configuration of Cinder."""
    spec = scope.spec
    options = inifile.merge(
        oslo.shared_options(scope),
        oslo.state_options(),
        oslo.database_options(),
        oslo.messaging_options(scope),
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
            _shared_locks(scope),
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
        **({} if _shares_backends(scope) else {"coordination": {"backend_url": LOCKS}}),
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
    if _shares_backends(scope):
        # Pods that serve the same backends together have to know of each other.
        default["cluster"] = scope.name
    return {"DEFAULT": default}


def _shares_backends(scope: ServiceScope[CinderSpec]) -> bool:
    return scope.spec.volume.replicas > 1


def _shared_locks(scope: ServiceScope[CinderSpec]) -> Sections:
    """Pods lock each other out in the database: locks end with the connection of their holder."""
    if not _shares_backends(scope):
        return {}
    block, account = access.required_database(scope), access.database_account(scope)
    login = f"{account.username}:{account.password}"
    # The library takes the login out of the address as it is written there.
    if not login.isascii() or set(login) & set(ENDS_LOGIN):
        raise InputInvalid(
            "SecretInvalid",
            f"the login in Secret {block.secret_ref.name!r} has one of {ENDS_LOGIN} or is not "
            "ASCII, and several pods of cinder-volume cannot lock each other out with it: change "
            "it, or set volume.replicas to 1",
        )
    server = database.dsn(account, block.database).partition("@")[2]
    return {"coordination": {"backend_url": oslo.literal(f"mysql://{login}@{server}")}}


def _rootwrap() -> Sections:
    folders = f"{DATA}/rootwrap.d,{names.VENV}/etc/os-brick/rootwrap.d"
    return {
        "DEFAULT": {
            "filters_path": folders,
            "exec_dirs": f"{names.VENV}/bin,/usr/sbin,/usr/bin,/sbin,/bin",
            "use_syslog": "False",
        }
    }
