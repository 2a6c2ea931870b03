"""glance-api.conf. Pure."""

from cobaltcore.api.glance import GlanceSpec
from cobaltcore.engine import ceph, oslo
from cobaltcore.engine.definition import Config, ServiceScope
from cobaltcore.engine.desired import containers, inifile, names
from cobaltcore.engine.desired.inifile import Sections
from cobaltcore.services.glance.steps import storage


def render(scope: ServiceScope[GlanceSpec]) -> Config:
    """The configuration of Glance."""
    options = inifile.merge(
        oslo.shared_options(scope),
        oslo.lock_options(),
        oslo.database_options(),
        oslo.token_options(scope),
        _store(scope),
        {
            "paste_deploy": {
                "flavor": "keystone",
                "config_file": f"{names.VENV}/etc/glance/glance-api-paste.ini",
            },
            "os_glance_staging_store": {
                "filesystem_store_datadir": f"{containers.STATE_DIR}/staging",
            },
            "os_glance_tasks_store": {"filesystem_store_datadir": f"{containers.STATE_DIR}/tasks"},
            "oslo_messaging_notifications": {"driver": "noop"},
        },
        scope.spec.extra_config,
    )
    pool = storage.pools(scope)
    return Config(
        files={"glance-api.conf": inifile.render(options)},
        secrets=inifile.merge(oslo.database_secrets(scope), oslo.token_secrets(scope)),
        secret_files=ceph.secret_files(scope, pool),
    )


def _store(scope: ServiceScope[GlanceSpec]) -> Sections:
    if storage.is_volume(scope):
        return {
            "DEFAULT": {"enabled_backends": "file:file"},
            "glance_store": {"default_backend": "file"},
            "file": {"filesystem_store_datadir": f"{storage.DIRECTORY}/images"},
        }
    (pool,) = storage.pools(scope)
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
