"""barbican.conf and the pipelines of the API. Pure."""

from cobaltcore.api.barbican import BarbicanSpec
from cobaltcore.engine import oslo
from cobaltcore.engine.definition import Config, ServiceScope
from cobaltcore.engine.desired import inifile
from cobaltcore.engine.desired.inifile import Sections
from cobaltcore.services.barbican.steps import kek

SECRET_DIR = "/etc/barbican.conf.d"  # noqa: S105 a directory
"""Where all programs of Barbican look for further configuration.

The KEK is an option with several values, and oslo.config cannot read those from the environment.
"""
PIPELINES: Sections = {
    "composite:main": {
        "use": "egg:Paste#urlmap",
        "/": "versions",
        "/healthcheck": "healthcheck",
        "/v1": "api",
    },
    "pipeline:versions": {"pipeline": "cors http_proxy_to_wsgi microversion version-app"},
    "pipeline:api": {"pipeline": "cors http_proxy_to_wsgi authtoken context microversion api-app"},
    "app:version-app": {"paste.app_factory": "barbican.api.app:create_version_app"},
    "app:api-app": {"paste.app_factory": "barbican.api.app:create_main_app"},
    "app:healthcheck": {"paste.app_factory": "oslo_middleware:Healthcheck.app_factory"},
    "filter:cors": {
        "paste.filter_factory": "oslo_middleware.cors:filter_factory",
        "oslo_config_project": "barbican",
    },
    "filter:http_proxy_to_wsgi": {
        "paste.filter_factory": "oslo_middleware:HTTPProxyToWSGI.factory"
    },
    "filter:authtoken": {"paste.filter_factory": "keystonemiddleware.auth_token:filter_factory"},
    "filter:context": {
        "paste.filter_factory": "barbican.api.middleware.context:ContextMiddleware.factory"
    },
    "filter:microversion": {
        "paste.filter_factory": (
            "barbican.api.middleware.microversion:MicroversionMiddleware.factory"
        )
    },
}
"""The pipelines of the package; the program has their path fixed in the directory of ours."""


def render(scope: ServiceScope[BarbicanSpec]) -> Config:
    """The configuration of the API and the workers."""
    has_workers = scope.spec.messaging is not None
    plugin = scope.spec.secret_store.plugin
    options = inifile.merge(
        oslo.shared_options(scope),
        oslo.database_options(),
        oslo.messaging_options() if has_workers else {},
        oslo.token_options(scope),
        {
            # References of secrets have the host that the client has asked.
            "DEFAULT": {"host_href": ""},
            "queue": {"enable": "true" if has_workers else "false"},
            "secretstore": {"enabled_secretstore_plugins": "store_crypto"},
            "crypto": {"enabled_crypto_plugins": plugin},
        },
        scope.spec.extra_config,
    )
    return Config(
        files={
            "barbican.conf": inifile.render(options),
            "barbican-api-paste.ini": inifile.render(PIPELINES),
        },
        environment={
            **oslo.backend_environment(scope),
            **oslo.token_environment(scope),
        },
        secret_files={
            SECRET_DIR: {
                "kek.conf": inifile.render({f"{plugin}_plugin": {"kek": kek.value(scope)}})
            }
        },
    )
