"""Options of configuration files, checked against what the images of a release read. Pure.

The data is collected from the images (`cobalt images options`). The Job that tries a configuration
decides in the end (`engine/configcheck.py`): what is not known here is accepted, and nothing is
refused that the Job would accept.
"""

import difflib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import resources
from typing import Literal

import msgspec

from cobaltcore.runtime.meta import Struct

SIMILAR = 0.8
BOOLEANS = ("true", "1", "on", "yes", "false", "0", "off", "no")
Sections = Mapping[str, Mapping[str, str]]


class Option(Struct):
    """How values of an option are checked; by default not at all."""

    type: Literal["", "boolean", "integer", "float"] = ""
    min: int | float | None = None
    max: int | float | None = None
    choices: list[str] = []
    ignore_case: bool = False
    max_length: int = 0


class Options(Struct):
    """What a service and its libraries read."""

    plugin_options: list[str] = []
    """Names that plugins for authentication read, in whichever section they are used."""
    sections: dict[str, dict[str, Option]] = {}


@cache
def of(service: str, release: str) -> Options | None:
    """The options of a service in a release; None if they were not collected."""
    folder = resources.files("cobaltcore.services") / service / "options"
    file = folder / f"{release}.json"
    return msgspec.json.decode(file.read_bytes(), type=Options) if file.is_file() else None


def problems(known: Options, configured: Sections) -> Iterator[tuple[str, str]]:
    """What the service would not accept: SECTION or SECTION.OPTION, and why."""
    for section, options in configured.items():
        if section in known.sections:
            yield from _in_section(known, section, options)
        elif similar := _similar(section, known.sections):
            yield section, f"there is no such section{similar}"


def _in_section(
    known: Options, section: str, options: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    listed = known.sections[section]
    for name, value in options.items():
        spelled = name.replace("-", "_")
        option = listed.get(spelled)
        if option is not None:
            problem = refusal(option, value)
        elif spelled in known.plugin_options:
            problem = ""
        else:
            problem = f"there is no such option{_similar(spelled, listed)}"
        if problem:
            yield f"{section}.{name}", problem


def refusal(option: Option, value: str) -> str:
    """Why a value is refused; empty if it is not. A value that names another option is accepted."""
    value = value.strip()
    # Those around the whole value belong to the file.
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        value = value[1:-1]
    if not value or "$" in value:
        return ""
    if option.type == "boolean":
        allowed = value.lower() in BOOLEANS
        return "" if allowed else f"{value!r} is not one of true, false, yes, no, on, off, 1, 0"
    return _of_number(option, value) if option.type else _of_text(option, value)


def _of_number(option: Option, value: str) -> str:
    try:
        number = int(value) if option.type == "integer" else float(value)
    except ValueError:
        return f"{value!r} is not {'an integer' if option.type == 'integer' else 'a number'}"
    if option.choices:
        allowed = str(number) in option.choices
        return "" if allowed else f"{value} is not one of {', '.join(option.choices)}"
    if option.min is not None and number < option.min:
        return f"{value} is less than {option.min:g}"
    if option.max is not None and number > option.max:
        return f"{value} is greater than {option.max:g}"
    return ""


def _of_text(option: Option, value: str) -> str:
    if option.max_length and len(value) > option.max_length:
        return f"has {len(value)} characters, at most {option.max_length} are allowed"
    if not option.choices:
        return ""
    fold = str.lower if option.ignore_case else str
    if fold(value) in map(fold, option.choices):
        return ""
    similar = _similar(value, option.choices)
    return f"{value!r} is not one of {', '.join(filter(None, option.choices))}{similar}"


def _similar(name: str, known: Iterable[str]) -> str:
    found = difflib.get_close_matches(name, list(known), n=1, cutoff=SIMILAR)
    return f", did you mean {found[0]!r}?" if found else ""
