"""From a service's options to the objects that carry them: ConfigMap and environment Secret. Pure."""

from collections.abc import Mapping
from typing import NamedTuple

import yaml

from cobaltcore.api.blocks import Policy
from cobaltcore.api.foreign.kubernetes import CONFIG_MAP
from cobaltcore.engine.definition import Config, Facts
from cobaltcore.engine.desired import configmap, names, secret
from cobaltcore.runtime.diff import digest
from cobaltcore.runtime.meta import Desired


class PolicyProblem(Exception):
    """The policy overrides cannot be used; the message says why."""


class Carried(NamedTuple):
    """A configuration as objects, and the digest that rolls pods when a secret option changes."""

    config_map: Desired
    environment: Desired
    secret_digest: str


def carried(facts: Facts) -> Carried:
    """Put the service's configuration into objects."""
    config = facts.service.config(facts)
    files = {**config.files, **_policy_file(facts)}
    return Carried(
        configmap.config_map(facts.named("config"), files, facts.labels()),
        _environment(facts, config),
        digest(dict(config.environment)),
    )


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


def _environment(facts: Facts, config: Config) -> Desired:
    key = facts.beside(names.environment_secret(facts.key.name))
    return secret.secret(key, config.environment, labels=facts.labels())
