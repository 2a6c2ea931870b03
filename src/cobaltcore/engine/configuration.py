"""From a service's options to the objects that carry them: ConfigMaps and Secrets. Pure."""

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import yaml

from cobaltcore.api.blocks import Policy
from cobaltcore.api.foreign.kubernetes import CONFIG_MAP
from cobaltcore.engine import oslo, uwsgi
from cobaltcore.engine.definition import Config, Facts
from cobaltcore.engine.desired import configmap, inifile, names, secret
from cobaltcore.engine.desired.mounts import Mount
from cobaltcore.runtime.diff import digest
from cobaltcore.runtime.meta import Desired


class PolicyProblem(Exception):
    """The policy overrides cannot be used; the message says why."""


class Carried(NamedTuple):
    """A configuration as objects, and the digest that rolls pods when a secret changes."""

    config_map: Desired
    environment: Desired
    secret_files: Mapping[str, Desired]
    """Secrets by the directory that they are mounted at."""
    secret_digest: str

    def objects(self) -> list[Desired]:
        """All of them."""
        return [self.config_map, self.environment, *self.secret_files.values()]

    def mounts(self, directory: str) -> list[Mount]:
        """Where pods find the files; those of the ConfigMap in `directory`."""
        found = [Mount("config", directory, config_map=self.config_map.key.name)]
        for path, each in self.secret_files.items():
            found.append(Mount(path.rpartition("/")[2], path, secret=each.key.name))
        return found


def carried(facts: Facts, name: str = "") -> Carried:
    """Put one of the service's configurations into objects; "" is the one that most pods read."""
    make = facts.service.configs[name] if name else facts.service.config
    config = make(facts)
    return _carried(
        facts,
        name,
        replace(
            config,
            files={**config.files, **_policy_file(facts), **_uwsgi_files(facts, name)},
        ),
    )


def preparation(facts: Facts) -> Carried:
    """Put what commands need that prepare databases into objects."""
    own = facts.service.preparation(facts)
    sections = [
        oslo.database_options(need.section)
        for need in facts.service.databases(facts.spec)
        if need.section
    ]
    options = inifile.merge(oslo.lock_options(), *sections, facts.spec.extra_config)
    return _carried(
        facts,
        "preparation",
        Config(
            files={f"{facts.service.name}.conf": inifile.render(options), **own.files},
            environment={**oslo.backend_environment(facts), **own.environment},
        ),
    )


def _carried(facts: Facts, name: str, config: Config) -> Carried:
    return Carried(
        configmap.config_map(facts.named(_prefixed(name, "config")), config.files, facts.labels()),
        _secret(facts, _prefixed(name, names.ENVIRONMENT), config.environment),
        {
            path: _secret(facts, _prefixed(name, path.rpartition("/")[2]), content)
            for path, content in config.secret_files.items()
        },
        digest([dict(config.environment), config.secret_files]),
    )


def everything(facts: Facts) -> list[Carried]:
    """All configurations that a workload reads; Jobs read the first."""
    names_ = dict.fromkeys(["", *(each.config for each in facts.workloads())])
    return [carried(facts, name) for name in names_]


def policy_rules(facts: Facts) -> Mapping[str, str]:
    """The access rules of the ConfigMap, overlaid by those of the spec."""
    policy: Policy | None = facts.spec.policy_overrides
    if policy is None:
        return {}
    rules: dict[str, str] = {}
    if policy.config_map_ref is not None:
        rules |= _rules_of(facts, policy.config_map_ref.name)
    return rules | (policy.rules or {})


def _rules_of(facts: Facts, name: str) -> dict[str, str]:
    found = facts.observed.content(CONFIG_MAP, facts.beside(name))
    text = ((found or {}).get("data") or {}).get("policy.yaml")
    if text is None:
        raise PolicyProblem(f"ConfigMap {name!r} with the key policy.yaml does not exist")
    try:
        parsed = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise PolicyProblem(f"policy.yaml of ConfigMap {name!r} is no YAML") from error
    if not isinstance(parsed, dict) or not all(isinstance(v, str) for v in parsed.values()):
        raise PolicyProblem(
            f"policy.yaml of ConfigMap {name!r} is not a flat map of rules to check strings"
        )
    return {str(rule): check for rule, check in parsed.items()}


def _policy_file(facts: Facts) -> dict[str, str]:
    rules = policy_rules(facts)
    return {"policy.yaml": yaml.safe_dump(dict(rules), sort_keys=True)} if rules else {}


def _uwsgi_files(facts: Facts, name: str) -> dict[str, str]:
    apis = [each for each in facts.workloads() if each.module and each.config == name]
    return {uwsgi.file_name(each): uwsgi.ini(facts, each) for each in apis}


def _prefixed(name: str, suffix: str) -> str:
    return f"{name}-{suffix}" if name else suffix


def _secret(facts: Facts, suffix: str, values: Mapping[str, str]) -> Desired:
    return secret.secret(facts.named(suffix), values, labels=facts.labels())
