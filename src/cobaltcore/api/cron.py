"""Cron schedules: five fields within their ranges that name a date that exists. Pure: no I/O."""

from typing import Annotated

from cobaltcore.api.base import Meta, Rule, checked

_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec"
_WEEKDAYS = "sun mon tue wed thu fri sat"


def _listed(item: str) -> str:
    return f"{item}(,{item})*"


def _names(words: str) -> str:
    return f"(?i:{'|'.join(words.split())})"


def _field(value: str) -> str:
    return _listed(rf"([*]|{value}(-{value})?)(/[1-9][0-9]?)?")


def _schedule() -> str:
    ranges = (
        "[0-5]?[0-9]",
        "([01]?[0-9]|2[0-3])",
        "(0?[1-9]|[12][0-9]|3[01])",
        f"(0?[1-9]|1[0-2]|{_names(_MONTHS)})",
        f"([0-6]|{_names(_WEEKDAYS)})",
    )
    macros = "@(yearly|annually|monthly|weekly|daily|midnight|hourly)"
    return f"^({macros}|{' +'.join(map(_field, ranges))})$"


def _date_that_never_comes() -> str:
    """Only day 31 in months of 30 days, or only days 30 and 31 in February, on any weekday."""
    short = f"(0?[2469]|11|{_names('feb apr jun sep nov')})"
    february = f"(0?2|{_names('feb')})"
    step = "(/[0-9]+)?"
    last = _listed(f"31{step}")
    last_two = _listed(f"3[01](-31)?{step}")
    dates = f"({last} +{_listed(short)}|{last_two} +{_listed(february)})"
    return rf"^\S+ +\S+ +{dates} +[*]$"


Cron = Annotated[
    str,
    Meta(min_length=1, max_length=100),
    checked(
        Rule(
            f"self.matches(r'{_schedule()}')",
            "must be a cron schedule of five fields (minute hour day month weekday) within their "
            "ranges, for example '0 2 * * *', or one of @hourly @daily @weekly @monthly @yearly",
        ),
        Rule(
            f"!self.matches(r'{_date_that_never_comes()}') && "
            "self.findAll('[0-9]+-[0-9]+').all(range, "
            "int(range.split('-')[0]) <= int(range.split('-')[1]))",
            "must be a cron schedule with dates that exist, not day 30 of February or day 31 of "
            "April, and with ranges that begin with the lower number, for example 3-5",
        ),
    ),
]
