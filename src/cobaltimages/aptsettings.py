"""The machine's own package sources, mirrors, proxies and credentials, for the time of a build.

A copy is mounted in build steps; images contain none of it.
"""

import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath

from cobaltimages import errors

SUITE = "bookworm"
NEXT = "trixie"
"""The release after it, for the few programs whose version in SUITE cannot be used."""
# A suite of Debian itself: others use its code name too, but not with Debian's components.
_SUITES = tuple(f"{SUITE}{suffix}" for suffix in ("", "-updates", "-security", "-backports"))
_BACKPORTS = f"{SUITE}-backports"
_COMPONENT = "main"
_SETTING = re.compile(r'^(\S+) "(.*)";$')
_PASSED_ON = ("Acquire::http", "Acquire::https", "Acquire::Retries", "Acquire::Check")
# Lists of packages are all that an installation reads.
_LISTS_ONLY = {
    "Acquire::Languages": "none",
    "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
    "Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled": "false",
    "APT::Sandbox::User": "root",
}
_ONE_LINE = re.compile(
    r"^deb\s+(?:\[(?P<options>[^\]]*)\]\s+)?(?P<uri>\S+)\s+(?P<suite>\S+)\s+(?P<components>.+)$"
)


@dataclass(frozen=True, slots=True)
class Source:
    """A part of a Debian archive: where, which suites, and the key that signs it, if named."""

    uri: str
    suites: tuple[str, ...]
    signed_by: str = ""

    def text(self) -> str:
        """The source in apt's own format."""
        lines = [
            "Types: deb",
            f"URIs: {self.uri}",
            f"Suites: {' '.join(self.suites)}",
            f"Components: {_COMPONENT}",
        ]
        if self.signed_by:
            lines.append(f"Signed-By: {self.signed_by}")
        return "\n".join(lines) + "\n"


def find_sources(etc: Path = Path("/etc/apt")) -> list[Source]:
    """The Debian sources of this machine, with backports where Debian's main archive is."""
    parts = [etc / "sources.list", *sorted((etc / "sources.list.d").glob("*.list"))]
    found = [s for path in parts if path.exists() for s in one_line_sources(path.read_text())]
    for path in sorted((etc / "sources.list.d").glob("*.sources")):
        found.extend(stanza_sources(path.read_text()))
    if not any(SUITE in source.suites for source in found):
        raise errors.HostError(
            f"apt on this machine has no source for Debian {SUITE}",
            hint=f"add one to {etc}/sources.list.d, or use a base image with --base",
        )
    return list(with_backports(found))


def one_line_sources(text: str) -> Iterator[Source]:
    """Sources in the format of sources.list."""
    for line in text.splitlines():
        entry = _ONE_LINE.match(line.split("#")[0].strip())
        if entry is None or _COMPONENT not in entry["components"].split():
            continue
        if entry["suite"] in _SUITES:
            options = dict(o.split("=", 1) for o in (entry["options"] or "").split() if "=" in o)
            yield Source(entry["uri"], (entry["suite"],), options.get("signed-by", ""))


def stanza_sources(text: str) -> Iterator[Source]:
    """Sources in the format of *.sources."""
    for stanza in re.split(r"\n\s*\n", text):
        fields = _stanza(stanza)
        suites = tuple(s for s in fields.get("suites", "").split() if s in _SUITES)
        is_used = fields.get("enabled", "yes").lower() not in {"no", "false", "0"}
        has_packages = "deb" in fields.get("types", "").split()
        if (
            suites
            and is_used
            and has_packages
            and _COMPONENT in fields.get("components", "").split()
        ):
            for uri in fields["uris"].split():
                yield Source(uri, suites, fields.get("signed-by", ""))


def with_backports(found: Iterable[Source]) -> Iterator[Source]:
    """Add the backports of the archive that has the suite itself."""
    known = list(found)
    has_backports = any(_BACKPORTS in source.suites for source in known)
    for source in known:
        if SUITE in source.suites and not has_backports:
            has_backports = True
            yield Source(source.uri, (*source.suites, _BACKPORTS), source.signed_by)
        else:
            yield source


def next_sources(found: Iterable[Source]) -> Iterator[Source]:
    """The same archives with the next Debian release."""
    for source in found:
        suites = tuple(s.replace(SUITE, NEXT) for s in source.suites if s != _BACKPORTS)
        if suites:
            yield Source(source.uri, suites, source.signed_by)


def acquire_settings() -> dict[str, str]:
    """How apt reaches its sources from here: proxies, certificates, time limits."""
    done = subprocess.run(
        ["apt-config", "dump"],  # noqa: S607 the machine's own apt
        capture_output=True,
        text=True,
        check=True,
    )
    pairs = (m.groups() for line in done.stdout.splitlines() if (m := _SETTING.match(line)))
    return {name: value for name, value in pairs if name.startswith(_PASSED_ON) and value}


def places(mounted_at: PurePath) -> dict[str, str]:
    """Settings that let build steps use the mounted copy instead of the settings of their image."""
    return {
        "Dir::Etc::sourcelist": "/dev/null",
        "Dir::Etc::sourceparts": f"{mounted_at}/sources.list.d",
        "Dir::Etc::netrcparts": f"{mounted_at}/auth.conf.d",
        "Dir::State::lists": f"{mounted_at}/lists",
        # The lists in binary form, once for all steps; the other file holds what is installed.
        "Dir::Cache::srcpkgcache": f"{mounted_at}/cache/srcpkgcache.bin",
        "Dir::Cache::pkgcache": "",
    }


class Copy:
    """A copy of the settings in a directory that is mounted at `mounted_at`."""

    def __init__(self, directory: Path, mounted_at: PurePath) -> None:
        self._directory = directory
        self._seen_at = mounted_at

    def write(
        self, found: Iterable[Source], settings: Mapping[str, str], authority: Path | None
    ) -> None:
        """Write the copy; files that settings refer to are copied too."""
        for folder in ("lists/partial", "sources.list.d", "keys", "auth.conf.d", "cache"):
            (self._directory / folder).mkdir(parents=True, exist_ok=True)
        texts = [Source(s.uri, s.suites, self._key(s.signed_by)).text() for s in found]
        (self._directory / "sources.list.d" / "host.sources").write_text("\n".join(texts))
        for credentials in [Path("/etc/apt/auth.conf"), *Path("/etc/apt/auth.conf.d").glob("*")]:
            if credentials.is_file():
                shutil.copy(
                    credentials, self._directory / "auth.conf.d" / f"{credentials.stem}.conf"
                )
        lines = {name: self._file(value) for name, value in settings.items()}
        if authority:
            lines.setdefault("Acquire::https::CAInfo", self._file(str(authority)))
        text = "".join(f'{name} "{value}";\n' for name, value in {**lines, **_LISTS_ONLY}.items())
        (self._directory / "apt.conf").write_text(text)

    def _key(self, signed_by: str) -> str:
        return self._file(signed_by, "keys") if signed_by.startswith("/") else signed_by

    def _file(self, value: str, folder: str = "keys") -> str:
        """A value, or the mounted path of the file that it names."""
        path = Path(value)
        if not value.startswith("/") or not path.is_file():
            return value
        target = PurePath(folder, path.name)
        shutil.copy(path, self._directory / target)
        return str(self._seen_at / target)


def _stanza(text: str) -> dict[str, str]:
    """Fields of one stanza, names in lower case; a key written into it keeps its lines."""
    fields: dict[str, str] = {}
    name = ""
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        if line[:1].isspace() and name:
            fields[name] += f"\n{line}"
        elif ":" in line:
            name, value = line.split(":", 1)
            name = name.lower()
            fields[name] = value.strip()
    return fields
