"""Check that the databases of OVN answer: DATABASE=CONNECTION[,CONNECTION...]...

The files of `ssl:` connections are in the directory OVN_TLS. The last line of a failure names what
is wrong.
"""

import ipaddress
import json
import os
import socket
import ssl
from collections.abc import Sequence
from pathlib import Path

TIMEOUT_SECONDS = 10
REQUEST = json.dumps({"method": "list_dbs", "params": [], "id": 0}).encode()


def secured(raw: socket.socket) -> socket.socket:
    """The connection with TLS; OVN compares authorities, not names."""
    folder = Path(os.environ["OVN_TLS"])
    context = ssl.create_default_context(cafile=str(folder / "ca.crt"))
    context.check_hostname = False
    context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    return context.wrap_socket(raw)


def absolute(host: str) -> str:
    """The host as Open vSwitch looks it up, which knows no search list and wants whole names."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return f"{host.removesuffix('.')}."
    return host


def databases(connection: str) -> list[str]:
    """The databases that a server has."""
    protocol, _, rest = connection.partition(":")
    host, _, port = rest.rpartition(":")
    address = (absolute(host.strip("[]")), int(port))
    with socket.create_connection(address, timeout=TIMEOUT_SECONDS) as raw:
        stream = secured(raw) if protocol == "ssl" else raw
        stream.sendall(REQUEST)
        answer = b""
        while chunk := stream.recv(65536):
            answer += chunk
            try:
                return list(json.loads(answer)["result"])
            except json.JSONDecodeError:
                continue
    raise OSError("the server closed the connection")


def problem(database: str, connections: str) -> str:
    """Why no server has the database; empty if one has."""
    reasons = []
    for connection in connections.split(","):
        try:
            found = databases(connection)
        except OSError as error:
            reasons.append(f"{connection}: {error}")
            continue
        if database in found:
            return ""
        reasons.append(f"{connection} has no database {database}")
    return "; ".join(reasons)


def main(arguments: Sequence[str]) -> str | None:
    """Ask for every database; the problem with the first that is not served."""
    for argument in arguments:
        if found := problem(*argument.split("=", 1)):
            return f"Unreachable: {found}"
    return None
