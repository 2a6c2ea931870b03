"""Runs inside an image: calls itself through the message broker and prints the times as JSON."""

import importlib
import json
import os
import sys
import time

CALLS = 10
TIMEOUT_SECONDS = 300
URL = "rabbit://guest:guest@127.0.0.1:5672/"


class Echo:
    """An RPC endpoint."""

    def echo(self, _context: object, value: int) -> int:
        """Give back what was sent."""
        return value


def main() -> None:
    """Make the calls."""
    messaging = importlib.import_module("oslo_messaging")
    conf = importlib.import_module("oslo_config.cfg").CONF
    conf([])
    transport = messaging.get_rpc_transport(conf, url=URL)
    target = messaging.Target(topic="check", server="check")
    server = messaging.get_rpc_server(transport, target, [Echo()], executor="threading")
    server.start()
    client = messaging.get_rpc_client(transport, target, timeout=TIMEOUT_SECONDS)
    client.call({}, "echo", value=-1)  # makes queues and connections
    seconds = []
    for value in range(CALLS):
        began = time.perf_counter()
        assert client.call({}, "echo", value=value) == value
        seconds.append(time.perf_counter() - began)
    sys.stdout.write(json.dumps({"module": messaging.__file__, "seconds": seconds}) + "\n")
    sys.stdout.flush()
    os._exit(0)  # without waiting for threads that keep connections alive


if __name__ == "__main__":
    main()
