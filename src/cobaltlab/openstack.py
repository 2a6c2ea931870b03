"""Run the OpenStack client of this machine as the administrator of a cloud.

Its password is in a file that exists in memory only, and that nothing but the client can open.
"""

import argparse
import json
import os
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import NoReturn

import uvloop

from cobaltcore.cli import cloudlogin, connecting, output
from cobaltcore.cli.cloudlogin import Cloud
from cobaltcore.engine.desired import clouds
from cobaltlab import agents, clusters, osclient

CLOUD = "openstack"
VERSION_SUFFIX = "_API_VERSION"
"""Of variables of the user that are kept: all others name a cloud or a login."""


def execute(arguments: argparse.Namespace, words: Sequence[str]) -> NoReturn:
    """Replace this process, so that signals, terminal and exit code are those of the client."""
    cloud = uvloop.run(_read(arguments))
    cloudlogin.require_reachable(cloud)
    python = osclient.ensure(report=output.note)
    program = resources.files(agents).joinpath("client.py")
    names = cloud.addresses if clusters.chosen(arguments) else cloud.missing()
    addresses = _in_memory("addresses", json.dumps(dict(names)))
    environment = {**_own(os.environ), **_login(cloud)}
    # Its own path, by which Python finds its environment; isolated from packages of the user.
    command = [str(python), "-I", str(program), addresses, *words]
    os.execve(python, command, environment)  # noqa: S606 no shell


async def _read(arguments: argparse.Namespace) -> Cloud:
    async with connecting.connected(arguments) as client:
        return await cloudlogin.read(client, arguments.namespace)


def _login(cloud: Cloud) -> dict[str, str]:
    login = cloud.login
    ca_file = _in_memory("ca.crt", login.ca_bundle) if login.ca_bundle else ""
    entry = {**clouds.entry(login, ca_file=ca_file), "interface": "public"}
    file = _in_memory(clouds.FILE, clouds.text({CLOUD: entry}))
    return {"OS_CLIENT_CONFIG_FILE": file, "OS_CLOUD": CLOUD}


def _own(environment: Mapping[str, str]) -> dict[str, str]:
    """The user's environment without a login of the user."""
    return {
        name: value
        for name, value in environment.items()
        if not name.startswith("OS_") or name.endswith(VERSION_SUFFIX)
    }


def _in_memory(name: str, text: str) -> str:
    """A file without a place in the file system, as a path for the program that replaces this one."""
    handle = os.memfd_create(name, flags=0)
    os.fchmod(handle, 0o600)
    os.write(handle, text.encode())
    return f"/proc/self/fd/{handle}"
