"""How long a token can be used, as Keystone is configured. Pure."""

from collections.abc import Mapping
from datetime import timedelta

from cobaltcore.api.keystone import KeystoneSpec
from cobaltcore.engine.verdict import InputInvalid

SECTION = "token"
DEFAULTS = {"expiration": 3600, "allow_expired_window": 172800}
"""In seconds. In the second, services finish what a user started with a token that has expired."""


def lifetime(spec: KeystoneSpec) -> timedelta:
    """From the moment that a token is issued until it is no longer accepted."""
    plugins = {each.config_section: each.config for each in spec.plugins or ()}
    options = {**plugins.get(SECTION, {}), **(spec.extra_config or {}).get(SECTION, {})}
    return sum((_seconds(options, name) for name in DEFAULTS), timedelta(0))


def _seconds(options: Mapping[str, str], name: str) -> timedelta:
    text = options.get(name, str(DEFAULTS[name]))
    try:
        return timedelta(seconds=max(int(text), 0))
    except (ValueError, OverflowError):
        raise InputInvalid(
            "SpecInvalid",
            f"spec.extraConfig.{SECTION}.{name}: {text!r} is not a number of seconds",
        ) from None
