"""neutron.conf, ml2_conf.ini and the configuration of metadata agents. Pure."""

from urllib.parse import urlsplit

from cobaltcore.engine import access, oslo, uwsgi
from cobaltcore.engine.definition import Config, Facts
from cobaltcore.engine.desired import inifile, names, service
from cobaltcore.engine.desired.inifile import Sections
from cobaltcore.services.neutron.steps import metadata, ovn

PLUGIN_SECTIONS = ("ml2", "ml2_type_", "ovn", "securitygroup")
"""How sections begin that are in ml2_conf.ini."""
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


def render(facts: Facts) -> Config:
    """The configuration of the API and the workers."""
    peers = {name: {"endpoint_type": "internal"} for name in PEERS}
    options = inifile.merge(
        oslo.shared_options(facts),
        oslo.state_options(),
        oslo.database_options(),
        oslo.messaging_options(),
        oslo.token_options(facts),
        oslo.client_options(facts, *PEERS),
        peers,
        _plugins(facts),
        ovn.options(facts) if ovn.is_used(facts) else {},
        facts.spec.extra_config,
    )
    plugin = {name: each for name, each in options.items() if name.startswith(PLUGIN_SECTIONS)}
    rest = {name: each for name, each in options.items() if name not in plugin}
    return Config(
        files={
            "neutron.conf": inifile.render(rest),
            "ml2_conf.ini": inifile.render(plugin),
            **(ovn.program_file() if ovn.is_used(facts) else {}),
        },
        environment={
            **oslo.database_environment(facts),
            **oslo.messaging_environment(facts),
            **oslo.login_environment(facts, "keystone_authtoken", *PEERS),
        },
        secret_files=ovn.secret_files(facts),
    )


def agent(facts: Facts) -> Config:
    """The configuration of the metadata agents: they log in nowhere."""
    host = service.host(facts.beside(names.metadata_api("nova")))
    given = facts.spec.metadata_agent.nova_metadata_url
    url = urlsplit(given or f"{uwsgi.scheme(facts)}://{host}:8775")
    options = inifile.merge(
        {
            "DEFAULT": {
                "use_stderr": "true",
                "nova_metadata_protocol": url.scheme,
                "nova_metadata_host": url.hostname or "",
                "nova_metadata_port": str(url.port or (443 if url.scheme == "https" else 80)),
                "metadata_workers": "0",
                **({"auth_ca_cert": oslo.CA_FILE} if facts.spec.keystone.ca_secret_ref else {}),
            },
            "AGENT": {"root_helper": ""},
            "ovs": {"ovsdb_connection": f"unix:{metadata.SWITCH}"},
        },
        oslo.state_options(),
        oslo.helper_options(facts, *HELPERS),
        ovn.options(facts),
    )
    secret = access.value(facts, metadata.secret_name(facts.spec), names.METADATA_SECRET_KEY)
    return Config(
        files={
            "neutron.conf": inifile.render(options),
            **metadata.program_file(),
        },
        environment={oslo.variable("DEFAULT", names.METADATA_SECRET_KEY): secret},
        secret_files=ovn.secret_files(facts),
    )


def _plugins(facts: Facts) -> Sections:
    ml2 = facts.spec.ml2
    router = "ovn-router" if ovn.is_used(facts) else "router"
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
