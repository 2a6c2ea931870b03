"""neutron.conf, ml2_conf.ini and the configuration of metadata agents. Pure."""

from urllib.parse import urlsplit

from cobaltcore.api.neutron import NeutronSpec
from cobaltcore.engine import access, oslo, uwsgi
from cobaltcore.engine.definition import Config, ServiceScope
from cobaltcore.engine.desired import inifile, names, service
from cobaltcore.engine.desired.inifile import Sections
from cobaltcore.services.neutron.steps import metadata, ovn

PLUGIN_SECTIONS = ("ml2", "ml2_type_", "ovn", "securitygroup")
"""Prefixes of sections that are in ml2_conf.ini."""
PEERS = ("nova", "placement")
"""Services that Neutron calls."""
HELPERS = (
    "privsep",
    "privsep_conntrack",
    "privsep_dhcp_release",
    "privsep_link",
    "privsep_namespace",
    "privsep_ovs_vsctl",
)


def render(scope: ServiceScope[NeutronSpec]) -> Config:
    """The configuration of the API and the workers."""
    peers = {name: {"endpoint_type": "internal"} for name in PEERS}
    options = inifile.merge(
        oslo.shared_options(scope),
        oslo.state_options(),
        oslo.database_options(),
        oslo.messaging_options(scope),
        oslo.token_options(scope),
        oslo.client_options(scope, *PEERS),
        peers,
        _plugins(scope),
        ovn.options(scope) if ovn.is_used(scope) else {},
        scope.spec.extra_config,
    )
    plugin = {name: each for name, each in options.items() if name.startswith(PLUGIN_SECTIONS)}
    rest = {name: each for name, each in options.items() if name not in plugin}
    return Config(
        files={
            "neutron.conf": inifile.render(rest),
            "ml2_conf.ini": inifile.render(plugin),
        },
        secrets=inifile.merge(
            oslo.backend_secrets(scope),
            oslo.token_secrets(scope),
            oslo.login_secrets(scope, *PEERS),
        ),
        secret_files=ovn.secret_files(scope),
    )


def agent(scope: ServiceScope[NeutronSpec]) -> Config:
    """The configuration of the metadata agents: they log in nowhere."""
    host = service.host(scope.sibling(names.metadata_api("nova")))
    configured = scope.spec.metadata_agent.nova_metadata_url
    url = urlsplit(configured or f"{uwsgi.scheme(scope)}://{host}:8775")
    own = inifile.merge(
        {
            "DEFAULT": {
                "use_stderr": "true",
                "nova_metadata_protocol": url.scheme,
                "nova_metadata_host": url.hostname or "",
                "nova_metadata_port": str(url.port or (443 if url.scheme == "https" else 80)),
                "metadata_workers": "0",
                **({"auth_ca_cert": oslo.CA_FILE} if access.has_ca(scope) else {}),
            },
            "AGENT": {"root_helper": ""},
            "ovs": {"ovsdb_connection": f"unix:{metadata.OVS_SOCKET}"},
        },
        oslo.state_options(),
        oslo.helper_options(scope, *HELPERS),
        ovn.options(scope),
    )
    further = scope.spec.extra_config or {}
    # Other sections are those of programs that the agents do not run.
    options = inifile.merge(own, {name: further[name] for name in own if name in further})
    secret = access.value(scope, metadata.secret_name(scope.spec), metadata.secret_key(scope.spec))
    return Config(
        files={"neutron.conf": inifile.render(options)},
        secrets={"DEFAULT": {names.METADATA_SECRET_KEY: oslo.literal(secret)}},
        secret_files=ovn.secret_files(scope),
        checks_rule=lambda rule: False,
    )


def _plugins(scope: ServiceScope[NeutronSpec]) -> Sections:
    ml2 = scope.spec.ml2
    router = "ovn-router" if ovn.is_used(scope) else "router"
    services = [router, "segments", "port_forwarding", "trunk"]
    if "qos" in ml2.extension_drivers:
        services.append("qos")
    return {
        "DEFAULT": {
            "core_plugin": "ml2",
            "service_plugins": ",".join(services),
            "auth_strategy": "keystone",
            "api_paste_config": f"{names.VENV}/etc/neutron/api-paste.ini",
            "notify_nova_on_port_status_changes": "true",
            "notify_nova_on_port_data_changes": "true",
            # Agents of OVN do not call Neutron.
            "rpc_workers": "0",
            "rpc_state_report_workers": "0",
        },
        "AGENT": {"root_helper": ""},
        "ml2": {
            "type_drivers": ",".join(ml2.type_drivers),
            "tenant_network_types": ",".join(ml2.tenant_network_types),
            "mechanism_drivers": ",".join(ml2.mechanism_drivers),
            "extension_drivers": ",".join(ml2.extension_drivers),
            "overlay_ip_version": "4",
        },
        "ml2_type_geneve": {"vni_ranges": "1:65536", "max_header_size": "38"},
        "ml2_type_flat": {"flat_networks": "*"},
        "securitygroup": {"enable_security_group": "true"},
    }
