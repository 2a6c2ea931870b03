"""placement.conf. Pure."""

from cobaltcore.engine import oslo
from cobaltcore.engine.definition import Config, Facts
from cobaltcore.engine.desired import inifile


def render(facts: Facts) -> Config:
    """The configuration of Placement."""
    options = inifile.merge(
        oslo.shared_options(facts),
        oslo.database_options("placement_database"),
        oslo.token_options(facts),
        {"api": {"auth_strategy": "keystone"}},
        facts.spec.extra_config,
    )
    return Config(
        files={"placement.conf": inifile.render(options)},
        environment={
            **oslo.database_environment(facts),
            **oslo.login_environment(facts, "keystone_authtoken"),
        },
    )
