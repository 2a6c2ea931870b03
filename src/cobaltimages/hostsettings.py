"""This machine's network settings for build steps: CA certificates, indexes, proxies.

Companies re-sign TLS and mirror package indexes. Build steps get a copy of this machine's settings
mounted at /run/host; images contain none of it.
"""

import configparser
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path, PurePath

from cobaltimages import aptsettings

MOUNTED_AT = PurePath("/run/host")

_AUTHORITY_VARIABLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT")
_SYSTEM_AUTHORITIES = Path("/etc/ssl/certs/ca-certificates.crt")
_PASSED_ON = (
    *("http_proxy", "https_proxy", "no_proxy", "all_proxy"),
    *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"),
    *("UV_DEFAULT_INDEX", "UV_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL", "UV_INDEX_STRATEGY"),
    *("UV_INSECURE_HOST", "UV_HTTP_TIMEOUT"),
    *("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_TRUSTED_HOST", "PIP_DEFAULT_TIMEOUT"),
)
_PASSED_ON_PREFIX = "UV_INDEX_"
# uv does not read pip's settings, and pip's are what machines usually have.
_UV_FOR_PIP = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "trusted-host": "UV_INSECURE_HOST",
}


def write(directory: Path, environment: Mapping[str, str], home: Path) -> None:
    """Copy this machine's settings to a directory that is mounted in build steps."""
    authority = find_authority(environment)
    if authority:
        shutil.copy(authority, directory / "ca.crt")
    copied_netrc = _copy(environment.get("NETRC") or home / ".netrc", directory / "netrc")
    uv_config = environment.get("UV_CONFIG_FILE") or home / ".config" / "uv" / "uv.toml"
    copied_uv = _copy(uv_config, directory / "uv.toml") or _copy(
        "/etc/uv/uv.toml", directory / "uv.toml"
    )
    pip = read_pip_settings(environment, home)
    variables = index_variables(environment, {} if copied_uv else pip)
    for is_there, names, file in (
        (authority, ("SSL_CERT_FILE", "PIP_CERT"), "ca.crt"),
        (copied_netrc, ("NETRC",), "netrc"),
        (copied_uv, ("UV_CONFIG_FILE",), "uv.toml"),
    ):
        variables |= dict.fromkeys(names if is_there else (), str(MOUNTED_AT / file))
    for name in ("index-url", "extra-index-url", "trusted-host", "proxy"):
        if name in pip:
            variables.setdefault(f"PIP_{name.replace('-', '_').upper()}", pip[name])
    lines = [f"{name}={shlex.quote(value)}\n" for name, value in sorted(variables.items())]
    (directory / "env").write_text("".join(lines))
    write_apt(directory, MOUNTED_AT, aptsettings.places(MOUNTED_AT), authority)
    later = MOUNTED_AT / "next"
    write_apt(directory / "next", later, aptsettings.places(later), authority, is_next=True)


def write_apt(
    directory: Path,
    mounted_at: PurePath,
    places: Mapping[str, str],
    authority: Path | None,
    *,
    is_next: bool = False,
) -> None:
    """Copy apt's settings to a directory; `is_next`: for packages of the next release."""
    copy = aptsettings.Copy(directory, mounted_at)
    settings = {**aptsettings.acquire_settings(), **places}
    sources = aptsettings.find_sources()
    copy.write(aptsettings.next_sources(sources) if is_next else sources, settings, authority)


def find_authority(environment: Mapping[str, str]) -> Path | None:
    """The CA bundle of this machine."""
    named = [environment[name] for name in _AUTHORITY_VARIABLES if environment.get(name)]
    candidates = [*(Path(name) for name in named), _SYSTEM_AUTHORITIES]
    return next((path for path in candidates if path.is_file()), None)


def index_variables(environment: Mapping[str, str], pip: Mapping[str, str]) -> dict[str, str]:
    """Variables for Python package indexes: uv's own settings first, then those of pip."""
    own = {
        name: value
        for name, value in environment.items()
        if value and (name in _PASSED_ON or name.startswith(_PASSED_ON_PREFIX))
    }
    derived = {variable: pip[name] for name, variable in _UV_FOR_PIP.items() if name in pip}
    for name, variable in _UV_FOR_PIP.items():
        pip_variable = f"PIP_{name.replace('-', '_').upper()}"
        if environment.get(pip_variable):
            derived[variable] = environment[pip_variable]
    if "UV_INDEX_URL" in own:
        derived.pop("UV_DEFAULT_INDEX", None)
    return {**{name: " ".join(value.split()) for name, value in derived.items()}, **own}


def read_pip_settings(environment: Mapping[str, str], home: Path) -> dict[str, str]:
    """Settings in pip's configuration files; the user's override the machine's."""
    parser = configparser.ConfigParser(interpolation=None)
    own = environment.get("PIP_CONFIG_FILE")
    parser.read(
        [
            Path("/etc/pip.conf"),
            home / ".pip" / "pip.conf",
            home / ".config" / "pip" / "pip.conf",
            *([Path(own)] if own else []),
        ]
    )
    found: dict[str, str] = {}
    for section in ("global", "install"):
        if parser.has_section(section):
            found |= {name.replace("_", "-"): value for name, value in parser[section].items()}
    return found


def _copy(source: str | Path, target: Path) -> bool:
    if not Path(source).is_file():
        return False
    shutil.copy(source, target)
    target.chmod(0o600)
    return True
