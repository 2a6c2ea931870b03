"""Create a volume type for each backend, before the API starts: BACKEND...

A type that exists is left as it is.
"""

from collections.abc import Sequence

from cinder import context, exception, objects
from cinder.common import config  # noqa: F401 registers the options that the database needs
from cinder.volume import volume_types
from oslo_config import cfg


def main(names: Sequence[str]) -> None:
    """Create what is missing."""
    objects.register_all()
    cfg.CONF([], project="cinder")
    administrator = context.get_admin_context()
    for name in names:
        try:
            volume_types.get_volume_type_by_name(administrator, name)
        except exception.VolumeTypeNotFoundByName:
            volume_types.create(administrator, name, {"volume_backend_name": name})
