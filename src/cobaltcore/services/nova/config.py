"""nova.conf of the control plane and of the hypervisors. Pure."""

from collections.abc import Callable
from functools import partial

from cobaltcore.api.nova import NovaSpec
from cobaltcore.engine import access, ceph, oslo
from cobaltcore.engine.definition import Config, ServiceScope
from cobaltcore.engine.desired import inifile, names
from cobaltcore.engine.desired.inifile import Sections
from cobaltcore.services.nova.steps import cells, compute, console, metadata, users
from cobaltcore.services.nova.steps.cells import Cell

HELPERS = (
    "nova_sys_admin",
    "privsep_osbrick",
    "vif_plug_linux_bridge_privileged",
    "vif_plug_ovs_privileged",
)
NOT_OF_COMPUTE = frozenset(
    {
        "api",
        "api_database",
        "cache",
        "conductor",
        "console",
        "consoleauth",
        "database",
        "filter_scheduler",
        "keystone_authtoken",
        "metrics",
        "oslo_limit",
        "oslo_middleware",
        "placement_database",
        "quota",
        "scheduler",
        "wsgi",
    }
)
"""Sections that nova-compute does not read: a change must not restart it."""
OPTIONS_OF_APIS = ("enabled_apis", "enabled_ssl_apis", "metadata_", "osapi_")
"""Beginnings of options in DEFAULT that only APIs read."""
RULE_OF_COMPUTE = "network:attach_external_network"


def render(scope: ServiceScope[NovaSpec], cell: Cell | None = None) -> Config:
    """The configuration of everything but nova-compute; a cell has its own database and broker."""
    options = inifile.merge(
        oslo.state_options(),
        oslo.database_options(),
        oslo.database_options("api_database"),
        oslo.token_options(scope),
        oslo.shared_options(scope),
        oslo.cache_options(scope, scope.spec.cache),
        _shared(scope),
        {
            "neutron": {"service_metadata_proxy": "true"},
            "conductor": {"workers": "1"},
            "scheduler": {"workers": "1", "discover_hosts_in_cells_interval": "10"},
        },
        console.proxy_options(scope),
        _external_scheduler(scope),
        scope.spec.extra_config,
    )
    pools = compute.disks(scope)
    secret = metadata.secret_value(scope)
    return Config(
        files={"nova.conf": inifile.render(options)},
        secrets=inifile.merge(
            oslo.backend_secrets(scope),
            oslo.token_secrets(scope),
            oslo.cache_secrets(scope),
            _peers(scope),
            {"neutron": {names.METADATA_SECRET_KEY: oslo.literal(secret)}},
            cells.secrets(scope, cell) if cell else {},
        ),
        secret_files=ceph.secret_files(scope, pools),
    )


def preparation(scope: ServiceScope[NovaSpec]) -> Config:
    """What the databases are prepared with."""
    return Config({}, secret_files=cells.secret_files(scope))


def of_cells(
    scope: ServiceScope[NovaSpec],
) -> dict[str, Callable[[ServiceScope[NovaSpec]], Config]]:
    """The configurations of nova-compute and, beyond the first cell, of conductors and proxies."""
    found = cells.cells(scope.spec)
    return {
        **{compute.configuration(each): partial(node, cell=each) for each in found},
        **{each.configuration: partial(render, cell=each) for each in found if not each.is_first},
    }


def node(scope: ServiceScope[NovaSpec], cell: Cell) -> Config:
    """The configuration of nova-compute: it reaches no database."""
    options = inifile.merge(
        oslo.log_options(),
        oslo.lock_options(),
        oslo.helper_options(scope, *HELPERS),
        _shared(scope),
        {
            "DEFAULT": {
                "compute_driver": "libvirt.LibvirtDriver",
                "state_path": compute.STATE_DIR,
                "instances_path": f"{compute.STATE_DIR}/instances",
                # Servers that ran when the node went down run again when it is back.
                "resume_guests_state_on_host_boot": "true",
            },
            "os_vif_ovs": {"ovsdb_connection": f"unix:{compute.OVS_DIR}/db.sock"},
        },
        _libvirt(scope),
        console.compute_options(scope, cell),
        _read_by_compute(scope.spec.extra_config or {}),
    )
    return Config(
        files={"nova.conf": inifile.render(options)},
        secrets=inifile.merge(
            {"DEFAULT": {"transport_url": cells.transport_url(scope, cell)}}, _peers(scope)
        ),
        secret_files=ceph.secret_files(scope, compute.disks(scope)),
        # Rules without a colon are those that others refer to.
        checks_rule=lambda rule: rule == RULE_OF_COMPUTE or ":" not in rule,
    )


def _read_by_compute(further: Sections) -> Sections:
    return {
        section: {
            option: value
            for option, value in options.items()
            if section != "DEFAULT" or not option.startswith(OPTIONS_OF_APIS)
        }
        for section, options in further.items()
        if section not in NOT_OF_COMPUTE
    }


def _peers(scope: ServiceScope[NovaSpec]) -> Sections:
    """Logins for services that Nova calls."""
    peers = users.credentials(scope.spec).items()
    return inifile.merge(
        oslo.key_manager_secrets(scope, scope.spec.key_manager),
        *(oslo.login_secrets(scope, name, secret=secret) for name, secret in peers),
    )


def _shared(scope: ServiceScope[NovaSpec]) -> Sections:
    region = access.region(scope)
    return inifile.merge(
        oslo.messaging_options(scope),
        oslo.service_user_options(scope),
        oslo.client_options(scope, "placement", "neutron"),
        oslo.login_options(scope, "cinder"),
        oslo.key_manager_options(scope, scope.spec.key_manager),
        {
            "cinder": {"catalog_info": "block-storage::internalURL", "os_region_name": region},
            "glance": {
                "valid_interfaces": "internal",
                "region_name": region,
                **({"cafile": oslo.CA_FILE} if access.has_ca(scope) else {}),
            },
            "neutron": {"valid_interfaces": "internal"},
            "placement": {"valid_interfaces": "internal"},
        },
    )


def _libvirt(scope: ServiceScope[NovaSpec]) -> Sections:
    section = {
        "connection_uri": f"qemu+unix:///system?socket={compute.LIBVIRT_DIR}/libvirt-sock",
        "hw_machine_type": "x86_64=pc",
        "live_migration_scheme": "tls",
        "live_migration_with_native_tls": "true",
        "live_migration_permit_auto_converge": "true",
    }
    virtualization = scope.spec.compute.virtualization
    if virtualization != "auto":
        mode = "host-model" if virtualization == "kvm" else "none"
        section |= {"virt_type": virtualization, "cpu_mode": mode}
    for pool in compute.disks(scope):
        section |= {
            "images_type": "rbd",
            "images_rbd_pool": pool.rbd.pool,
            "images_rbd_ceph_conf": pool.configuration,
            "rbd_user": pool.user,
            "rbd_secret_uuid": ceph.libvirt_secret(scope.namespace, pool.user),
            "disk_cachemodes": "network=writeback",
            "hw_disk_discard": "unmap",
        }
    return {"libvirt": section}


def _external_scheduler(scope: ServiceScope[NovaSpec]) -> Sections:
    external = scope.spec.scheduler.external_scheduler
    if external is None or not external.enabled or external.endpoint is None:
        return {}
    return {"filter_scheduler": {"external_scheduler_api_url": external.endpoint}}
