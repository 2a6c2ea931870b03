"""Options that OpenStack services share, section by section. Pure."""

from typing import Any

from cobaltcore.api.barbican import KeyManager
from cobaltcore.api.blocks import Cache
from cobaltcore.engine import access
from cobaltcore.engine.definition import AnyScope
from cobaltcore.engine.desired import containers, database, inifile, names
from cobaltcore.engine.desired.inifile import Sections

CA_FILE = "/etc/ssl/c5c3/ca.crt"
KEY_MANAGER_LOGIN = "barbican_service_user"


def literal(text: str) -> str:
    """The value of an option as it is: oslo.config would replace $NAME by another option."""
    return text.replace("$", "$$")


def database_options(section: str = "database") -> Sections:
    """A database section without its address, which is secret."""
    return {section: {"max_retries": "-1", "connection_recycle_time": "600"}}


def database_secrets(scope: AnyScope) -> Sections:
    """Addresses of the service's databases."""
    account = access.database_account(scope)
    return {
        need.section: {"connection": database.dsn(account, need.name)}
        for need in scope.service.databases(scope.spec)
        if need.section
    }


def messaging_options(scope: AnyScope) -> Sections:
    """Classic queues, which are lost with their broker; heartbeats that notice a dead connection."""
    messaging = scope.spec.messaging
    is_encrypted = messaging is not None and messaging.tls is not None
    tls = {"ssl": "true", "ssl_ca_file": access.MESSAGING_CA} if is_encrypted else {}
    return {
        "oslo_messaging_rabbit": {
            **tls,
            "rabbit_quorum_queue": "false",
            "heartbeat_timeout_threshold": "30",
            "kombu_reconnect_delay": "0.5",
        },
        "oslo_messaging_notifications": {"driver": "noop"},
    }


def messaging_secrets(scope: AnyScope) -> Sections:
    """The address of the broker."""
    return {"DEFAULT": {"transport_url": access.transport_url(scope)}}


def backend_secrets(scope: AnyScope) -> Sections:
    """The addresses of the databases, and that of the broker if there is one."""
    broker = messaging_secrets(scope) if scope.spec.messaging is not None else {}
    return inifile.merge(database_secrets(scope), broker)


_RETRIES = {
    # Connections to a server that was restarted are found dead one by one, each by a request.
    "enable_retry_client": "true",
    "retry_attempts": "2",
    "hashclient_retry_delay": "1",
    "dead_timeout": "5",
}


def cache_options(scope: AnyScope, cache: Cache | None) -> Sections:
    """Where to cache, if anywhere."""
    servers = access.cache_servers(scope, cache)
    if cache is None or not servers:
        return {}
    return {
        "cache": {
            "enabled": "true",
            "backend": cache.backend,
            "memcache_servers": ",".join(servers),
            # Caches are shared between control planes: entries must not meet.
            "config_prefix": f"{scope.namespace}.{scope.name}",
            **_RETRIES,
        }
    }


def cache_secrets(scope: AnyScope) -> Sections:
    """The key of what is cached."""
    return _cache_key(scope, "cache")


def login_options(scope: AnyScope, *sections: str) -> Sections:
    """How sections that talk to other services log in; the secret half is in `login_secrets`."""
    auth = access.required_keystone(scope)
    found = {"auth_type": "v3applicationcredential", "auth_url": auth.auth_url}
    if auth.ca_secret_ref is not None:
        found["cafile"] = CA_FILE
    return dict.fromkeys(sections, found)


def login_secrets(scope: AnyScope, *sections: str, secret: str = "") -> Sections:
    """The application credential for sections that log in: the service's own, or another one."""
    name = secret or access.required_keystone(scope).app_credential_ref.secret
    options = ("application_credential_id", "application_credential_secret")
    found = {option: literal(access.value(scope, name, option)) for option in options}
    return dict.fromkeys(sections, found)


def token_options(scope: AnyScope) -> Sections:
    """How tokens of incoming requests are checked."""
    auth = access.required_keystone(scope)
    found = {
        **client_options(scope, "keystone_authtoken")["keystone_authtoken"],
        "www_authenticate_uri": auth.auth_url.removesuffix("/v3"),
        "interface": "internal",
        "service_token_roles": "service",
        "service_token_roles_required": "true",
    }
    servers = access.cache_servers(scope, scope.spec.cache)
    if servers:
        found |= {
            "memcached_servers": ",".join(servers),
            "memcache_security_strategy": "ENCRYPT",
        }
    return {"keystone_authtoken": found}


def token_secrets(scope: AnyScope) -> Sections:
    """The login that tokens are checked with, and the key of the cached ones."""
    section = "keystone_authtoken"
    return inifile.merge(login_secrets(scope, section), _cache_key(scope, section))


def _cache_key(scope: AnyScope, section: str) -> Sections:
    """Without it, a client of memcached could forge what is read from it."""
    if not access.cache_servers(scope, scope.spec.cache):
        return {}
    return {section: {names.CACHE_SECRET_KEY: access.cache_key(scope)}}


def client_options(scope: AnyScope, *sections: str) -> Sections:
    """How sections that find other services in the catalogue log in, and in which region."""
    region = {"region_name": access.region(scope)}
    login = login_options(scope, *sections)
    return {name: {**options, **region} for name, options in login.items()}


def service_user_options(scope: AnyScope) -> Sections:
    """Service tokens: the service authenticates itself next to the user that it acts for."""
    login = login_options(scope, "service_user")["service_user"]
    return {"service_user": {**login, "send_service_user_token": "true"}}


def key_manager_options(scope: AnyScope, key_manager: KeyManager | None) -> Sections:
    """Where keys of encrypted volumes are, if anywhere: read as the user, with a service token."""
    if key_manager is None:
        return {}
    options = {
        "auth_endpoint": access.required_keystone(scope).auth_url,
        "barbican_api_version": "v1",
        "barbican_endpoint_type": "internal",
        "barbican_region_name": access.region(scope),
        "send_service_user_token": "true",
    }
    if access.has_ca(scope):
        options["verify_ssl_path"] = CA_FILE
    return {
        "key_manager": {"backend": key_manager.backend},
        "barbican": options,
        **login_options(scope, KEY_MANAGER_LOGIN),
    }


def key_manager_secrets(scope: AnyScope, key_manager: KeyManager | None) -> Sections:
    """The login for the service token."""
    return {} if key_manager is None else login_secrets(scope, KEY_MANAGER_LOGIN)


def helper_options(scope: AnyScope, *contexts: str) -> Sections:
    """privsep helpers of programs that run as root, started without sudo."""
    command = f"{names.VENV}/bin/privsep-helper --config-dir {scope.service.config_dir}"
    return {context: {"helper_command": command} for context in contexts}


def lock_options() -> Sections:
    """Locks between the processes of a pod."""
    return {"oslo_concurrency": {"lock_path": f"{containers.STATE_DIR}/locks"}}


def state_options() -> Sections:
    """State directory and locks."""
    return {"DEFAULT": {"state_path": containers.STATE_DIR}, **lock_options()}


def log_options() -> Sections:
    """Logs to standard output."""
    return {"DEFAULT": {"use_stderr": "true", "use_json": "false"}}


def shared_options(scope: AnyScope) -> Sections:
    """What every service sets: logs, headers of proxies, policy."""
    found: dict[str, Any] = {
        **log_options(),
        "oslo_middleware": {"enable_proxy_headers_parsing": "true"},
    }
    if scope.spec.policy_overrides is not None:
        found["oslo_policy"] = {"policy_file": f"{scope.service.config_dir}/policy.yaml"}
    return found
