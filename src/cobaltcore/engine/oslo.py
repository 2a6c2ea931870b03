"""Options that OpenStack services share, section by section. Pure."""

from typing import Any

from cobaltcore.api.blocks import Cache, KeystoneAuth
from cobaltcore.engine import access
from cobaltcore.engine.definition import Facts
from cobaltcore.engine.desired import database, names, pods
from cobaltcore.engine.desired.inifile import Sections

CA_FILE = "/etc/ssl/c5c3/ca.crt"


def variable(section: str, option: str) -> str:
    """The environment variable that sets an option."""
    return f"OS_{section.upper()}__{option.upper()}"


def database_options(section: str = "database") -> Sections:
    """A database section without its address, which is secret."""
    return {section: {"max_retries": "-1", "connection_recycle_time": "600"}}


def database_environment(facts: Facts) -> dict[str, str]:
    """Addresses of the service's databases."""
    account = access.database_account(facts)
    return {
        variable(need.section, "connection"): database.dsn(account, need.name)
        for need in facts.service.databases(facts.spec)
        if need.section
    }


def messaging_options() -> Sections:
    """How the broker is used: queues that survive it, heartbeats that notice a dead connection."""
    return {
        "oslo_messaging_rabbit": {
            "rabbit_quorum_queue": "false",
            "heartbeat_timeout_threshold": "30",
            "kombu_reconnect_delay": "0.5",
        },
        "oslo_messaging_notifications": {"driver": "noop"},
    }


def messaging_environment(facts: Facts) -> dict[str, str]:
    """The address of the broker."""
    return {variable("DEFAULT", "transport_url"): access.transport_url(facts)}


def backend_environment(facts: Facts) -> dict[str, str]:
    """The addresses of the databases, and that of the broker if there is one."""
    has_broker = getattr(facts.spec, "messaging", None) is not None
    return {
        **database_environment(facts),
        **(messaging_environment(facts) if has_broker else {}),
    }


_PYMEMCACHE = "dogpile.cache.pymemcache"
_RETRIES = {
    # Connections to a server that was restarted are found dead one by one, each by a request.
    "enable_retry_client": "true",
    "retry_attempts": "2",
    "hashclient_retry_delay": "1",
    "dead_timeout": "5",
}


def cache_options(facts: Facts, cache: Cache | None) -> Sections:
    """Where to cache, if anywhere."""
    servers = access.cache_servers(facts, cache)
    if cache is None or not servers:
        return {}
    return {
        "cache": {
            "enabled": "true",
            "backend": cache.backend,
            "memcache_servers": ",".join(servers),
            # Caches are shared between control planes: entries must not meet.
            "config_prefix": f"{facts.key.namespace}.{facts.key.name}",
            **(_RETRIES if cache.backend == _PYMEMCACHE else {}),
        }
    }


def login_options(facts: Facts, *sections: str) -> Sections:
    """How sections that talk to other services log in; the secret half is in the environment."""
    auth: KeystoneAuth = facts.spec.keystone
    found = {"auth_type": "v3applicationcredential", "auth_url": auth.auth_url}
    if auth.ca_secret_ref is not None:
        found["cafile"] = CA_FILE
    return dict.fromkeys(sections, found)


def login_environment(facts: Facts, *sections: str, secret: str = "") -> dict[str, str]:
    """The application credential for sections that log in: the service's own, or another one."""
    name = secret or facts.spec.keystone.app_credential_ref.secret
    return {
        variable(section, option): access.value(facts, name, option)
        for section in sections
        for option in ("application_credential_id", "application_credential_secret")
    }


def token_options(facts: Facts) -> Sections:
    """How tokens of incoming requests are checked."""
    auth: KeystoneAuth = facts.spec.keystone
    found = {
        **client_options(facts, "keystone_authtoken")["keystone_authtoken"],
        "www_authenticate_uri": auth.auth_url.removesuffix("/v3"),
        "interface": "internal",
        "service_token_roles": "service",
        "service_token_roles_required": "true",
    }
    servers = access.cache_servers(facts, getattr(facts.spec, "cache", None))
    if servers:
        found["memcached_servers"] = ",".join(servers)
    return {"keystone_authtoken": found}


def client_options(facts: Facts, *sections: str) -> Sections:
    """How sections that find other services in the catalogue log in, and in which region."""
    region = {"region_name": access.region(facts.spec)}
    login = login_options(facts, *sections)
    return {name: {**options, **region} for name, options in login.items()}


def service_user_options(facts: Facts) -> Sections:
    """The service shows who it is beside the token of the user that it acts for."""
    login = login_options(facts, "service_user")["service_user"]
    return {"service_user": {**login, "send_service_user_token": "true"}}


def helper_options(facts: Facts, *contexts: str) -> Sections:
    """Programs that run as root start their helpers without asking for more rights."""
    command = f"{names.VENV}/bin/privsep-helper --config-dir {facts.service.config_dir}"
    return {context: {"helper_command": command} for context in contexts}


def lock_options() -> Sections:
    """Where the processes of a pod lock each other out."""
    return {"oslo_concurrency": {"lock_path": f"{pods.STATE_DIR}/locks"}}


def state_options() -> Sections:
    """Where programs keep what only they need."""
    return {"DEFAULT": {"state_path": pods.STATE_DIR}, **lock_options()}


def shared_options(facts: Facts) -> Sections:
    """What every service sets: logs to standard output, headers of proxies, policy."""
    found: dict[str, dict[str, Any]] = {
        "DEFAULT": {"use_stderr": "true", "use_json": "false"},
        "oslo_middleware": {"enable_proxy_headers_parsing": "true"},
    }
    if facts.spec.policy_overrides is not None:
        found["oslo_policy"] = {"policy_file": f"{facts.service.config_dir}/policy.yaml"}
    return found
