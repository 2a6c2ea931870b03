"""`cobalt` of the Python that runs this, whose OpenStack is the server at URL: cobalt_run URL ARGUMENT…

Nothing resolves the names of simulated Services.
"""

import sys
from dataclasses import replace
from typing import Any

from cobaltcore.cli import main


def route(url: str) -> None:
    """Lead every request to Keystone to the server; its catalogue has the rest."""
    try:
        from cobaltcore.openstack.transport import HttpTransport
    except ImportError:
        # The baseline may be older than the client.
        return
    send = HttpTransport.send

    async def routed(transport: HttpTransport, request: Any) -> Any:
        if not request.url.startswith(url):
            path = request.url.partition("/v3")[2]
            request = replace(request, url=f"{url}/identity/v3{path}")
        return await send(transport, request)

    HttpTransport.send = routed  # type: ignore[method-assign, assignment]


if __name__ == "__main__":
    route(sys.argv[1])
    sys.exit(main.main(sys.argv[2:]))
