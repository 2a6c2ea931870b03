"""ceph.conf of a small cluster that starts fast: one OSD on a file. Pure.

Timeouts matter most: the lock of a client that crashed is held for osd_client_watch_timeout, and a
client that starts while a daemon restarts retries after objecter_timeout. With default timers the
cluster needs three times as long to start.
"""

from collections.abc import Mapping

Sections = Mapping[str, Mapping[str, str]]

DISK_BYTES = 10 << 30
# In the monitor's configuration database, which reaches clients without these in their ceph.conf.
FOR_CLIENTS = {"client": {"objecter_timeout": "2.0", "objecter_tick_interval": "1.0"}}


def mon_host(address: str) -> str:
    return f"[v2:{address}:3300,v1:{address}:6789]"


def sections(fsid: str, address: str) -> Sections:
    """The content of ceph.conf."""
    return {
        "global": {
            "fsid": fsid,
            "mon_host": mon_host(address),
            "mon_initial_members": "a",
            "auth_cluster_required": "cephx",
            "auth_service_required": "cephx",
            "auth_client_required": "cephx",
            "auth_allow_insecure_global_id_reclaim": "false",
            "keyring": "/etc/ceph-keyring/keyring",
            "run_dir": "/run/ceph",
            "admin_socket": "/run/ceph/$cluster-$name.asok",
            "crash_dir": "/run/ceph/crash",
            "log_file": "",
            "log_to_stderr": "true",
            "err_to_stderr": "true",
            "log_to_syslog": "false",
            "mon_cluster_log_to_stderr": "false",
            "mon_cluster_log_to_file": "false",
            "osd_pool_default_size": "1",
            "osd_pool_default_min_size": "1",
            "osd_pool_default_pg_num": "8",
            "osd_pool_default_pgp_num": "8",
            "osd_pool_default_pg_autoscale_mode": "off",
            "osd_crush_chooseleaf_type": "0",
            "mon_allow_pool_size_one": "true",
            "mon_allow_pool_delete": "true",
            "mon_warn_on_pool_no_redundancy": "false",
            "ms_bind_port_min": "6800",
            "ms_bind_port_max": "6820",
            # The state of placement groups is known after the first report to the manager.
            "mgr_stats_period": "1",
        },
        "mon": {
            "paxos_propose_interval": "0.1",
            "paxos_min_wait": "0.02",
            "mgr_initial_modules": "iostat",
            "mon_data_avail_warn": "5",
            "mon_data_avail_crit": "2",
            "mon_memory_target": "402653184",
            "rocksdb_cache_size": "67108864",
            "mon_osd_cache_size": "50",
        },
        "mgr": {"mgr_data": "/run/ceph/mgr"},
        "osd": {
            "bdev_aio_poll_ms": "20",
            "osd_client_watch_timeout": "5",
            "osd_objectstore": "bluestore",
            "bluestore_block_size": str(DISK_BYTES),
            "bluestore_block_create": "true",
            "bluestore_block_preallocate_file": "false",
            "osd_memory_target": "939524096",
            "osd_memory_cache_min": "67108864",
            "osd_memory_target_autotune": "false",
            "bluestore_cache_autotune": "false",
            "bluestore_cache_size": "67108864",
            "osd_op_num_shards": "2",
            "osd_op_num_threads_per_shard": "1",
            "osd_max_object_name_len": "256",
        },
        "client": {"objecter_timeout": "2", "objecter_tick_interval": "1"},
    }


def render(sections_: Sections) -> str:
    """Format as an INI file."""
    return "\n".join(
        f"[{section}]\n" + "".join(f"{name} = {value}\n" for name, value in settings.items())
        for section, settings in sections_.items()
    )
