"""keystone.conf. Pure."""

from cobaltcore.api.keystone import KeystoneSpec
from cobaltcore.engine import oslo
from cobaltcore.engine.definition import Config, ServiceScope
from cobaltcore.engine.desired import inifile
from cobaltcore.services.keystone.steps import keys


def render(scope: ServiceScope[KeystoneSpec]) -> Config:
    """The configuration of Keystone."""
    spec = scope.spec
    plugins = {each.config_section: each.config for each in spec.plugins or ()}
    options = inifile.merge(
        plugins,
        oslo.shared_options(scope),
        oslo.database_options(),
        oslo.cache_options(scope, spec.cache),
        {
            "token": {"provider": "fernet"},
            "fernet_tokens": {
                "key_repository": keys.DIRECTORIES[keys.FERNET],
                "max_active_keys": str(spec.fernet.max_active_keys),
            },
            "credential": {"key_repository": keys.DIRECTORIES[keys.CREDENTIAL]},
            "identity": {"default_domain_id": "default"},
        },
        spec.extra_config,
    )
    return Config(
        files={"keystone.conf": inifile.render(options)},
        secrets=inifile.merge(oslo.database_secrets(scope), oslo.cache_secrets(scope)),
    )
