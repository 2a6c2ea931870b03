"""nova.conf of the control plane and of the hypervisors. Pure."""

from cobaltcore.engine import access, ceph, oslo, program
from cobaltcore.engine.definition import Config, Facts
from cobaltcore.engine.desired import inifile, names
from cobaltcore.engine.desired.inifile import Sections
from cobaltcore.services.nova.steps import cells, compute, hypervisor, metadata, users

HELPERS = (
    "nova_sys_admin",
    "privsep_osbrick",
    "vif_plug_linux_bridge_privileged",
    "vif_plug_ovs_privileged",
)
PROGRAMS = "cobaltcore.services.nova.programs"


def render(facts: Facts) -> Config:
    """The configuration of everything but nova-compute."""
    options = inifile.merge(
        oslo.state_options(),
        oslo.database_options(),
        oslo.database_options("api_database"),
        oslo.token_options(facts),
        _shared(facts),
        {
            "neutron": {"service_metadata_proxy": "true"},
            "conductor": {"workers": "1"},
            "scheduler": {"workers": "1", "discover_hosts_in_cells_interval": "10"},
        },
        _external_scheduler(facts),
        facts.spec.extra_config,
    )
    pools = compute.disks(facts)
    secret = access.value(facts, metadata.secret_name(facts), names.METADATA_SECRET_KEY)
    return Config(
        files={
            "nova.conf": inifile.render(options),
            hypervisor.DISCOVERY: program.text(PROGRAMS, hypervisor.DISCOVERY),
            **(ceph.program_file() if pools else {}),
        },
        environment={
            **oslo.database_environment(facts),
            **oslo.messaging_environment(facts),
            **oslo.login_environment(facts, "keystone_authtoken", "service_user"),
            **_peers(facts),
            **cells.environment(facts),
            oslo.variable("neutron", names.METADATA_SECRET_KEY): secret,
        },
        secret_files=ceph.secret_files(facts, pools),
    )


def preparation(facts: Facts) -> Config:
    """What the databases are prepared with."""
    return Config(
        files={cells.PREPARATION: program.text(PROGRAMS, cells.PREPARATION)},
        environment=cells.environment(facts),
    )


def node(facts: Facts) -> Config:
    """The configuration of nova-compute: it reaches no database."""
    options = inifile.merge(
        oslo.lock_options(),
        oslo.helper_options(facts, *HELPERS),
        _shared(facts),
        {
            "DEFAULT": {
                "compute_driver": "libvirt.LibvirtDriver",
                "state_path": compute.STATE_DIR,
                "instances_path": f"{compute.STATE_DIR}/instances",
                # Servers that ran when the node went down run again when it is back.
                "resume_guests_state_on_host_boot": "true",
            },
            "os_vif_ovs": {"ovsdb_connection": f"unix:{compute.SWITCH_DIR}/db.sock"},
        },
        _libvirt(facts),
        facts.spec.extra_config,
    )
    return Config(
        files={
            "nova.conf": inifile.render(options),
            **{each: program.text(PROGRAMS, each) for each in compute.PROGRAMS},
        },
        environment={
            **oslo.messaging_environment(facts),
            **oslo.login_environment(facts, "service_user"),
            **_peers(facts),
            **cells.transport_environment(facts),
        },
        secret_files=ceph.secret_files(facts, compute.disks(facts)),
    )


def _peers(facts: Facts) -> dict[str, str]:
    """Logins for services that Nova calls."""
    found: dict[str, str] = {}
    for name, secret in users.credentials(facts.spec).items():
        found |= oslo.login_environment(facts, name, secret=secret)
    return found


def _shared(facts: Facts) -> Sections:
    region = access.region(facts.spec)
    return inifile.merge(
        oslo.shared_options(facts),
        oslo.messaging_options(),
        oslo.cache_options(facts, facts.spec.cache),
        oslo.service_user_options(facts),
        oslo.client_options(facts, "placement", "neutron"),
        oslo.login_options(facts, "cinder"),
        {
            "cinder": {"catalog_info": "block-storage::internalURL", "os_region_name": region},
            "glance": {
                "valid_interfaces": "internal",
                "region_name": region,
                **({"cafile": oslo.CA_FILE} if facts.spec.keystone.ca_secret_ref else {}),
            },
            "neutron": {"valid_interfaces": "internal"},
            "placement": {"valid_interfaces": "internal"},
            "vnc": {"enabled": "false"},
        },
    )


def _libvirt(facts: Facts) -> Sections:
    section = {
        "connection_uri": f"qemu+unix:///system?socket={compute.LIBVIRT_DIR}/libvirt-sock",
        "hw_machine_type": "x86_64=pc",
        "live_migration_scheme": "tls" if hypervisor.issuer(facts) else "tcp",
        "live_migration_with_native_tls": "true" if hypervisor.issuer(facts) else "false",
        "live_migration_permit_auto_converge": "true",
    }
    virtualization = facts.spec.compute.virtualization
    if virtualization != "auto":
        mode = "host-model" if virtualization == "kvm" else "none"
        section |= {"virt_type": virtualization, "cpu_mode": mode}
    for pool in compute.disks(facts):
        section |= {
            "images_type": "rbd",
            "images_rbd_pool": pool.rbd.pool,
            "images_rbd_ceph_conf": pool.configuration,
            "rbd_user": pool.user,
            "rbd_secret_uuid": ceph.libvirt_secret(facts.key.namespace, pool.user),
            "disk_cachemodes": "network=writeback",
            "hw_disk_discard": "unmap",
        }
    return {"libvirt": section}


def _external_scheduler(facts: Facts) -> Sections:
    given = facts.spec.scheduler.external_scheduler
    if given is None or not given.enabled:
        return {}
    return {"filter_scheduler": {"external_scheduler_api_url": given.endpoint}}
