"""`cobalt openrc`: the administrator's login for any OpenStack client on this machine."""

import argparse
import hashlib
import os
import shlex
from collections.abc import Iterator
from pathlib import Path

import uvloop

from cobaltcore.cli import cloudlogin, connecting, errors, output
from cobaltcore.cli.cloudlogin import Cloud
from cobaltcore.engine.desired import clouds
from cobaltcore.runtime import files

HELP = "print the administrator's login for OpenStack clients on this machine"
OTHERS = (
    *("OS_CLOUD", "OS_TOKEN", "OS_SYSTEM_SCOPE", "OS_DOMAIN_NAME", "OS_DOMAIN_ID", "OS_CACERT"),
    *("OS_PROJECT_ID", "OS_USER_ID", "OS_USER_DOMAIN_NAME", "OS_PROJECT_DOMAIN_NAME"),
)
"""Variables of another login that would be mixed with ours."""
MARK = "# Written by `cobalt openrc`; it has a password in it."


def configure(parser: argparse.ArgumentParser) -> None:
    connecting.configure(parser, namespace="of the cloud (default: the only one)")
    parser.add_argument(
        "-o",
        "--output",
        choices=["shell", "clouds"],
        default="shell",
        help="exports for a shell, or a clouds.yaml (default: %(default)s)",
    )
    parser.add_argument(
        "--cloud",
        default="openstack",
        metavar="CLOUD",
        help="its name in the clouds.yaml (default: %(default)s)",
    )
    parser.add_argument(
        "--to", type=Path, metavar="FILE", help="write a file of mode 0600 (default: print it)"
    )
    parser.add_argument(
        "--cacert",
        type=Path,
        metavar="FILE",
        help="file for the CA certificate, which is written (default: in ~/.config/cobaltcore)",
    )


def run(arguments: argparse.Namespace) -> int:
    cloud = uvloop.run(_read(arguments))
    bundle = cloud.login.ca_bundle.encode()
    ca_file = _authority(arguments, bundle) if bundle else ""
    if arguments.output == "clouds":
        entry = {**clouds.entry(cloud.login, ca_file=ca_file), "interface": "public"}
        text = f"{MARK}\n{clouds.text({arguments.cloud: entry})}"
    else:
        text = "\n".join([MARK, *exports(cloud.login, ca_file)]) + "\n"
    if arguments.to:
        _write(arguments.to, text)
    else:
        output.data(text.rstrip("\n"))
    for each in notes(cloud):
        output.note(each)
    return 0


async def _read(arguments: argparse.Namespace) -> Cloud:
    async with connecting.connected(arguments) as client:
        return await cloudlogin.read(client, arguments.namespace)


def exports(login: clouds.Login, ca_file: str) -> Iterator[str]:
    """Variables of OpenStack clients, for a shell; those of another cloud are unset."""
    values = {
        "OS_AUTH_TYPE": "password",
        "OS_AUTH_URL": login.auth_url,
        "OS_USERNAME": login.username,
        "OS_PASSWORD": login.password,
        "OS_PROJECT_NAME": login.project,
        "OS_USER_DOMAIN_ID": clouds.DOMAIN,
        "OS_PROJECT_DOMAIN_ID": clouds.DOMAIN,
        "OS_REGION_NAME": login.region,
        "OS_INTERFACE": "public",
        "OS_IDENTITY_API_VERSION": "3",
    }
    values |= {"OS_CACERT": ca_file} if login.ca_bundle else {}
    others = [each for each in OTHERS if each not in values]
    yield f"unset {' '.join(others)}"
    for name, value in values.items():
        yield f"export {name}={shlex.quote(value)}"


def notes(cloud: Cloud) -> Iterator[str]:
    """What a client on this machine lacks."""
    unresolved = cloud.unresolved()
    if unresolved:
        yield (
            "\nnote: these names of the cloud do not resolve to their addresses on this machine; "
            "clients that use them need them in DNS or /etc/hosts, and a route to the addresses:"
        )
        for name, address in unresolved.items():
            yield f"{address} {name}"


def _authority(arguments: argparse.Namespace, content: bytes) -> str:
    """Write the CA certificate; by default under a name of its own, so that no other is replaced."""
    path = arguments.cacert or _directory() / f"ca-{hashlib.sha256(content).hexdigest()[:12]}.crt"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_bytes() != content:
            files.replace(path, content, mode=0o644)
    except OSError as error:
        raise errors.CommandError(
            f"{path} cannot be written: {error.strerror}", hint="choose another with --cacert"
        ) from error
    return str(path.absolute())


def _directory() -> Path:
    base = os.environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "cobaltcore"


def _write(path: Path, text: str) -> None:
    """Replace a file that is ours, and no other."""
    try:
        if path.exists() and not path.read_text().startswith(MARK):
            raise errors.CommandError(
                f"{path} exists and was not written by `cobalt openrc`",
                hint="choose another file with --to, or remove it",
            )
        path.parent.mkdir(parents=True, exist_ok=True)
        files.replace(path, text.encode(), mode=0o600)
    except (OSError, UnicodeDecodeError) as error:
        raise errors.CommandError(f"{path} cannot be written: {error}") from error
    output.note(f"written: {path}")
