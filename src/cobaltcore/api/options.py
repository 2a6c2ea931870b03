"""Options of configuration files and rules of policies: names and values. Pure: no I/O.

Names and values are written to INI and YAML files as they are. A line break or a bracket in one
of them would start another option or section.
"""

from typing import Annotated

from cobaltcore.api.base import Meta, Rule, checked

_SECTION = "^[A-Za-z0-9_][A-Za-z0-9_.:-]*$"
_OPTION = "^[A-Za-z0-9_][A-Za-z0-9_.-]*$"
_POLICY_RULE = "^[A-Za-z0-9_][A-Za-z0-9_.:/-]*$"
_SECRET = "(?i)^((slave_)?connection|transport_url|kek|(.*_)?(password|secret|secret_key))$"  # noqa: S105 a pattern
_SWITCHES = "['enable_instance_password', 'inject_password']"
"""Options of Nova that end like a secret and are true or false."""

OptionValue = Annotated[str, Meta(max_length=4096, pattern=r"^[^\x00-\x08\x0a-\x1f\x7f]*$")]
IniSection = Annotated[str, Meta(min_length=1, max_length=64, pattern=_SECTION)]

_named = checked(
    Rule(
        f"self.all(name, name.size() <= 128 && name.matches('{_OPTION}'))",
        "the name of an option has at most 128 of the characters A-Z a-z 0-9 _ . - and starts "
        "with a letter, a digit or _",
    )
)
_without_secrets = checked(
    Rule(
        f"!self.exists(name, name.matches('{_SECRET}') && !(name in {_SWITCHES}))",
        "connection, transport_url, passwords and options that end in secret or secret_key come "
        "from Secrets and cannot be set here: use the Secret of database.secretRef, "
        "messaging.secretRef or keystone.appCredentialRef",
    )
)
Options = Annotated[dict[str, OptionValue], Meta(max_length=128), _named]
PublicOptions = Annotated[dict[str, OptionValue], Meta(max_length=128), _named, _without_secrets]
ExtraConfig = Annotated[
    dict[str, PublicOptions],
    Meta(max_length=64),
    checked(
        Rule(
            f"self.all(section, section.size() <= 64 && section.matches('{_SECTION}'))",
            "extraConfig: a section needs a name, for example DEFAULT: at most 64 of the "
            "characters A-Z a-z 0-9 _ . : -, the first one a letter, a digit or _",
        )
    ),
]
PolicyRules = Annotated[
    dict[str, Annotated[str, Meta(max_length=2048, pattern=r"^[^\x00-\x1f\x7f]*$")]],
    Meta(min_length=1, max_length=256),
    checked(
        Rule(
            f"self.all(name, name.size() <= 256 && name.matches('{_POLICY_RULE}'))",
            "a rule needs a name, for example identity:get_user: at most 256 of the characters "
            "A-Z a-z 0-9 _ . : / -, the first one a letter, a digit or _",
        )
    ),
]
