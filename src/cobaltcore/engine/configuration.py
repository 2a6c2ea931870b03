"""From a service's options to ConfigMaps and Secrets. Pure."""

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import yaml

from cobaltcore.api.foreign.kubernetes import CONFIG_MAP
from cobaltcore.engine import oslo, uwsgi
from cobaltcore.engine.definition import AnyScope, AnyService, Config
from cobaltcore.engine.desired import configmap, inifile, names, secret
from cobaltcore.engine.desired.inifile import Sections
from cobaltcore.engine.desired.volumes import ConfigMap, Secret, Volume
from cobaltcore.engine.verdict import InputInvalid
from cobaltcore.runtime.diff import digest
from cobaltcore.runtime.meta import Desired

SECRET_FILE = "secrets.conf"  # noqa: S105 the name of a file


class RenderedConfig(NamedTuple):
    """A configuration as objects, and the digest that rolls pods when a secret changes."""

    config_map: Desired
    secrets: Desired
    """Options with secret values, as a file."""
    secret_files: Mapping[str, Desired]
    """Further Secrets by the directory that they are mounted at."""
    secret_digest: str

    def objects(self) -> list[Desired]:
        return [self.config_map, self.secrets, *self.secret_files.values()]

    def public(self, service: AnyService) -> Volume:
        """Where pods find the files of the ConfigMap."""
        return Volume("config", service.config_dir, ConfigMap(self.config_map.key.name))

    def volumes(self, service: AnyService) -> list[Volume]:
        """Where pods find all files."""
        secrets = Volume("secrets", service.secret_dir, Secret(self.secrets.key.name))
        files = [
            Volume(_label(path), path, Secret(each.key.name))
            for path, each in self.secret_files.items()
        ]
        return [self.public(service), secrets, *files]


def rendered(scope: AnyScope, name: str = "") -> RenderedConfig:
    """One of the service's configurations; "" is the one that most pods read."""
    return scope.once(("config", name), lambda: _render(scope, name))


def for_migration(scope: AnyScope) -> RenderedConfig:
    """What commands need that migrate databases."""
    return scope.once("migration config", lambda: _render_migration(scope))


def everything(scope: AnyScope) -> list[RenderedConfig]:
    """All configurations that a workload reads; Jobs read the first."""
    used = dict.fromkeys(["", *(each.config for each in scope.workloads)])
    return [rendered(scope, name) for name in used]


def _render(scope: AnyScope, name: str) -> RenderedConfig:
    render = scope.service.configs(scope)[name] if name else scope.service.config
    config = render(scope)
    files = {**config.files, **_policy_file(scope, config), **_uwsgi_files(scope, name)}
    return _with_objects(scope, name, replace(config, files=files))


def _render_migration(scope: AnyScope) -> RenderedConfig:
    own = scope.service.migration_config(scope)
    sections = [
        oslo.database_options(need.section)
        for need in scope.service.databases(scope.spec)
        if need.section
    ]
    options = inifile.merge(oslo.lock_options(), *sections, scope.spec.extra_config)
    return _with_objects(
        scope,
        "preparation",
        Config(
            files={f"{scope.service.name}.conf": inifile.render(options), **own.files},
            secrets=oslo.backend_secrets(scope),
            secret_files=own.secret_files,
        ),
    )


def _with_objects(scope: AnyScope, name: str, config: Config) -> RenderedConfig:
    return RenderedConfig(
        configmap.config_map(scope.named(_prefixed(name, "config")), config.files, scope.labels()),
        _secret(
            scope,
            _prefixed(name, names.SECRET_OPTIONS),
            {SECRET_FILE: _secret_text(config.secrets)},
        ),
        {
            path: _secret(scope, _prefixed(name, _label(path)), content)
            for path, content in config.secret_files.items()
        },
        digest([config.secrets, config.secret_files]),
    )


def _secret_text(sections: Sections) -> str:
    """Quoted, as oslo.config takes quotes and spaces at the ends of values away."""
    for section, options in sections.items():
        for option, value in options.items():
            if not value.isprintable():
                raise InputInvalid(
                    "SecretInvalid",
                    f"the value of [{section}] {option} comes from a Secret and has a line break "
                    "or another control character: store it there without",
                )
    quoted = {
        section: {option: f'"{value}"' for option, value in options.items()}
        for section, options in sections.items()
    }
    return inifile.render(quoted)


def policy_rules(scope: AnyScope) -> Mapping[str, str]:
    """The access rules of the ConfigMap, overlaid by those of the spec."""
    policy = scope.spec.policy_overrides
    if policy is None:
        return {}
    rules: dict[str, str] = {}
    if policy.config_map_ref is not None:
        rules |= _rules_of(scope, policy.config_map_ref.name)
    return rules | (policy.rules or {})


def _rules_of(scope: AnyScope, name: str) -> dict[str, str]:
    found = scope.observed.content(CONFIG_MAP, scope.sibling(name))
    text = ((found or {}).get("data") or {}).get("policy.yaml")
    if text is None:
        raise _invalid(f"ConfigMap {name!r} with the key policy.yaml does not exist")
    try:
        parsed = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise _invalid(f"policy.yaml of ConfigMap {name!r} is not valid YAML") from error
    if not isinstance(parsed, dict) or not all(isinstance(v, str) for v in parsed.values()):
        raise _invalid(
            f"policy.yaml of ConfigMap {name!r} is not a flat map of rules to check strings"
        )
    return {str(rule): check for rule, check in parsed.items()}


def _invalid(message: str) -> InputInvalid:
    return InputInvalid("PolicyInvalid", f"policyOverrides: {message}")


def _policy_file(scope: AnyScope, config: Config) -> dict[str, str]:
    rules = {name: rule for name, rule in policy_rules(scope).items() if config.checks_rule(name)}
    return {"policy.yaml": yaml.safe_dump(rules, sort_keys=True)} if rules else {}


def _uwsgi_files(scope: AnyScope, name: str) -> dict[str, str]:
    apis = [each for each in scope.workloads if each.module and each.config == name]
    return {uwsgi.file_name(each): uwsgi.ini(scope, each) for each in apis}


def _prefixed(name: str, suffix: str) -> str:
    return f"{name}-{suffix}" if name else suffix


def _label(path: str) -> str:
    """The last part of a path as a name of volumes, which have no dots."""
    return path.rpartition("/")[2].replace(".", "-")


def _secret(scope: AnyScope, suffix: str, values: Mapping[str, str]) -> Desired:
    return secret.secret(scope.named(suffix), values, labels=scope.labels())
