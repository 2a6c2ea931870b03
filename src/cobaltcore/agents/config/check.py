"""Try options and access rules of users with the code of the service: SERVICE DIRECTORY OPTION...

An option is SECTION/NAME. The last line of a failure names what the service would not accept.
"""

import difflib
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from keystoneauth1 import loading
from oslo_config import cfg
from oslo_policy import policy

REFUSED = "ConfigInvalid: "
SIMILAR = 0.8
LONGEST = 260
OWN = frozenset(("config_dir", "config_file", "config_source"))
"""Options of oslo.config itself."""
Sections = dict[str, dict[str, cfg.Opt]]


def main(arguments: Sequence[str]) -> str | None:
    """Nothing if the service accepts all."""
    service, directory, *options = arguments
    config = cfg.ConfigOpts()
    config([], default_config_files=[], default_config_dirs=[directory])
    known = registered()
    for section, listed in known.items():
        for option in listed.values():
            if option.dest not in OWN:
                config.register_opt(option, group=None if section == "DEFAULT" else section)
    problems = [*_options(config, known, options), *_rules(service, Path(directory))]
    return f"{REFUSED}{_joined(problems)}" if problems else None


def registered() -> Sections:
    """Every option that the service and its libraries read, by section and name."""
    found: Sections = {}
    for entry in entry_points(group="oslo.config.opts"):
        for group, options in _offered(entry):
            section = found.setdefault(str(group or "DEFAULT"), {})
            for option in options:
                section.setdefault(_spelled(option.name), option)
    return found


def _offered(entry: EntryPoint) -> Iterable[tuple[object, Sequence[cfg.Opt]]]:
    """The options of one part; a driver whose library the image lacks cannot be used anyway."""
    try:
        listed: Iterable[tuple[object, Sequence[cfg.Opt]]] = entry.load()()
    except ImportError as error:
        sys.stderr.write(f"options of {entry.name} are not known: {error}\n")
        return ()
    return listed


def _joined(problems: Sequence[str]) -> str:
    """As many problems as a condition shows in full, at least one."""
    shown = 1
    while shown < len(problems) and len("; ".join(problems[: shown + 1])) < LONGEST:
        shown += 1
    more = f" (and {len(problems) - shown} more)" if shown < len(problems) else ""
    return f"{'; '.join(problems[:shown])[:LONGEST]}{more}"


def _options(config: cfg.ConfigOpts, known: Sections, wanted: Iterable[str]) -> Iterator[str]:
    plugins = {
        _spelled(option.name)
        for name in loading.get_available_plugin_names()
        for option in loading.get_auth_plugin_conf_options(name)
    }
    for section, _, name in (each.partition("/") for each in wanted):
        if section not in known:
            yield from _typing_error("section", section, known, f"[{section}]")
            continue
        option = _find(known[section], section, name)
        if option is not None:
            yield from _value(config, section, option)
        elif _spelled(name) not in plugins:
            similar = _similar(_spelled(name), known[section])
            yield f"[{section}] {name}: there is no such option{similar}"


def _find(section: dict[str, cfg.Opt], group: str, name: str) -> cfg.Opt | None:
    """The option under its name, or under one that it had before."""
    spelled = _spelled(name)
    if spelled in section:
        return section[spelled]
    former = (
        option
        for option in section.values()
        for old in option.deprecated_opts
        if _spelled(old.name or option.name) == spelled and (old.group or group) == group
    )
    return next(former, None)


def _value(config: cfg.ConfigOpts, section: str, option: cfg.Opt) -> Iterator[str]:
    try:
        config[option.dest] if section == "DEFAULT" else config[section][option.dest]
    except (cfg.ConfigFileValueError, ValueError) as error:
        # Before it, oslo.config names the option and the file again.
        yield f"[{section}] {option.name}: {str(error).rpartition('is not valid: ')[2]}"


def _rules(service: str, directory: Path) -> Iterator[str]:
    """Rules that cannot be read, that refer to none, or that nothing asks for."""
    file = directory / "policy.yaml"
    if not file.exists():
        return
    # Libraries have such entry points too, but no rules of theirs are asked for.
    listed = entry_points(group="oslo.policy.policies", name=service)
    defaults = [rule for entry in listed for rule in entry.load()()]
    own = policy.parse_file_contents(file.read_text())
    names = {each.name for each in defaults}
    former = {each.deprecated_rule.name for each in defaults if each.deprecated_rule}
    referred = " ".join(own.values())
    for name, text in own.items():
        # The parser turns what it cannot read into a check that no request passes, which is "!".
        if str(policy.RuleDefault(name, text).check) == "!" != text.strip():
            yield f"policy rule {name!r}: {text!r} cannot be read"
        if name not in names | former and f"rule:{name}" not in referred:
            yield f"policy rule {name!r}: nothing asks for it{_similar(name, names)}"
        for reference in _references(text):
            if reference not in names | former | own.keys():
                yield f"policy rule {name!r}: there is no rule {reference!r} to refer to"


def _references(text: str) -> Iterator[str]:
    for word in text.replace("(", " ").replace(")", " ").split():
        kind, _, rule = word.partition(":")
        if kind == "rule":
            yield rule


def _typing_error(what: str, name: str, known: Iterable[str], where: str) -> Iterator[str]:
    """Sections that nothing reads do no harm, but one that is almost another is a mistake."""
    similar = _similar(name, known)
    if similar:
        yield f"{where}: there is no such {what}{similar}"


def _similar(name: str, known: Iterable[str]) -> str:
    found = difflib.get_close_matches(name, list(known), n=1, cutoff=SIMILAR)
    return f", did you mean {found[0]!r}?" if found else ""


def _spelled(name: str) -> str:
    return name.replace("-", "_")
