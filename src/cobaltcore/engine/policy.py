"""Check strings of oslo.policy: whether a service can parse them. Pure.

A service that cannot parse a rule refuses every request that the rule is for, and only its log
names the rule. What parses here is what `oslo_policy._parser` parses.
"""

import re
from collections.abc import Iterator

_WORDS = ("and", "or", "not", "(", ")")
_QUOTES = "\"'"
CHECK = "check"


class _Malformed(ValueError):
    pass


def fault(rule: str) -> str:
    """What is wrong with a check string; empty if a service can parse it."""
    try:
        tokens = list(_tokens(rule))
        rest = _expression(tokens) if tokens else []
    except _Malformed as error:
        return str(error)
    return f"{rest[0]!r} cannot follow a complete expression" if rest else ""


def _tokens(rule: str) -> Iterator[str]:
    for word in re.split(r"\s+", rule):
        clean = word.lstrip("(")
        yield from "(" * (len(word) - len(clean))
        core = clean.rstrip(")")
        if core.lower() in _WORDS:
            yield core.lower()
        elif core:
            yield _check(core)
        yield from ")" * (len(clean) - len(core))


def _check(word: str) -> str:
    if len(word) > 1 and word[0] == word[-1] and word[0] in _QUOTES:
        raise _Malformed(f"{word} is a text, not a check")
    if word not in ("!", "@") and ":" not in word:
        raise _Malformed(
            f"{word!r} is no check: write role:NAME, rule:NAME, user_id:%(user_id)s, @ or !"
        )
    return CHECK


def _expression(tokens: list[str]) -> list[str]:
    """Parse operands with `and` or `or` between them; what is left of the tokens."""
    rest = _operand(tokens)
    while rest and rest[0] in ("and", "or"):
        rest = _operand(rest[1:])
    return rest


def _operand(tokens: list[str]) -> list[str]:
    if not tokens:
        raise _Malformed("a check is missing at the end")
    first, *rest = tokens
    if first == "not":
        return _operand(rest)
    if first == "(":
        rest = _expression(rest)
        if not rest or rest[0] != ")":
            raise _Malformed("a closing parenthesis is missing")
        return rest[1:]
    if first != CHECK:
        raise _Malformed(f"a check is missing before {first!r}")
    return rest
