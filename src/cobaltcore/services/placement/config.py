"""placement.conf. Pure."""

from cobaltcore.api.placement import PlacementSpec
from cobaltcore.engine import oslo
from cobaltcore.engine.definition import Config, ServiceScope
from cobaltcore.engine.desired import inifile


def render(scope: ServiceScope[PlacementSpec]) -> Config:
    """The configuration of Placement."""
    options = inifile.merge(
        oslo.shared_options(scope),
        oslo.database_options("placement_database"),
        oslo.token_options(scope),
        {"api": {"auth_strategy": "keystone"}},
        scope.spec.extra_config,
    )
    return Config(
        files={"placement.conf": inifile.render(options)},
        secrets=inifile.merge(oslo.database_secrets(scope), oslo.token_secrets(scope)),
    )
