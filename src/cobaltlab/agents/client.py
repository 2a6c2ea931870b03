"""Run the OpenStack client: `client.py ADDRESSES ARGUMENTS...`.

ADDRESSES is a JSON file of names and addresses that are used instead of what names resolve to on
this machine. Runs in the environment of the client, which has none of our packages.
"""

import json
import socket
import sys
from pathlib import Path
from typing import Any


def resolve_with(addresses: dict[str, str]) -> None:
    """Let every library of this process resolve these names to these addresses."""
    original = socket.getaddrinfo

    def getaddrinfo(host: Any, *arguments: Any, **named: Any) -> Any:
        return original(addresses.get(host, host), *arguments, **named)

    socket.getaddrinfo = getaddrinfo


def main(file: str, *arguments: str) -> int:
    resolve_with(json.loads(Path(file).read_text()))
    from openstackclient import shell  # type: ignore[import-not-found]  # in its environment

    sys.argv = ["openstack", *arguments]
    return int(shell.main(list(arguments)) or 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
