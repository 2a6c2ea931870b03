"""glance-api.conf. Pure."""

from cobaltcore.engine import ceph, oslo
from cobaltcore.engine.definition import Config, Facts
from cobaltcore.engine.desired import inifile, names, pods
from cobaltcore.engine.desired.inifile import Sections
from cobaltcore.services.glance.steps import storage


def render(facts: Facts) -> Config:
    """The configuration of Glance."""
    options = inifile.merge(
        oslo.shared_options(facts),
        oslo.lock_options(),
        oslo.database_options(),
        oslo.token_options(facts),
        _store(facts),
        {
            "paste_deploy": {
                "flavor": "keystone",
                "config_file": f"{names.VENV}/etc/glance/glance-api-paste.ini",
            },
            "os_glance_staging_store": {
                "filesystem_store_datadir": f"{pods.STATE_DIR}/staging",
            },
            "os_glance_tasks_store": {"filesystem_store_datadir": f"{pods.STATE_DIR}/tasks"},
            "oslo_messaging_notifications": {"driver": "noop"},
        },
        facts.spec.extra_config,
    )
    pool = storage.pools(facts)
    return Config(
        files={
            "glance-api.conf": inifile.render(options),
            **(ceph.program_file() if pool else {}),
        },
        environment={
            **oslo.database_environment(facts),
            **oslo.login_environment(facts, "keystone_authtoken"),
        },
        secret_files=ceph.secret_files(facts, pool),
    )


def _store(facts: Facts) -> Sections:
    if storage.is_volume(facts):
        return {
            "DEFAULT": {"enabled_backends": "file:file"},
            "glance_store": {"default_backend": "file"},
            "file": {"filesystem_store_datadir": f"{storage.DIRECTORY}/images"},
        }
    (pool,) = storage.pools(facts)
    return {
        "DEFAULT": {
            "enabled_backends": "rbd:rbd",
            # Nova and Cinder clone images inside Ceph instead of copying them.
            "show_image_direct_url": "true",
        },
        "glance_store": {"default_backend": "rbd"},
        "rbd": {
            "rbd_store_pool": pool.rbd.pool,
            "rbd_store_user": pool.user,
            "rbd_store_ceph_conf": pool.configuration,
            "rbd_store_chunk_size": "8",
        },
    }
