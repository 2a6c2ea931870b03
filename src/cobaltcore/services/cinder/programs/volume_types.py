"""Make a volume type for each backend. Runs in the image of Cinder, before its API does.

volume_types.py BACKEND...

A type that is there already is left as it is.
"""

import sys

from cinder import context, exception, objects
from cinder.common import config  # noqa: F401 registers the options that the database needs
from cinder.volume import volume_types
from oslo_config import cfg


def main(names: list[str]) -> None:
    """Make what is missing."""
    objects.register_all()
    cfg.CONF([], project="cinder")
    administrator = context.get_admin_context()
    for name in names:
        try:
            volume_types.get_volume_type_by_name(administrator, name)
        except exception.VolumeTypeNotFoundByName:
            volume_types.create(administrator, name, {"volume_backend_name": name})


if __name__ == "__main__":
    main(sys.argv[1:])
