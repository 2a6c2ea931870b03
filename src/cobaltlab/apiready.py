"""Waits for /readyz of an API server: `python -m cobaltlab.apiready URL CA CERTIFICATE KEY`.

Standard library only: it runs in nodes while they start.
"""

import http.client
import ssl
import sys
from urllib.parse import urlsplit

from cobaltcore.agents import waiting

POLL_SECONDS = 0.1


def is_ready(url: str, context: ssl.SSLContext) -> bool:
    where = urlsplit(url)
    connection = http.client.HTTPSConnection(
        where.hostname or "", where.port, timeout=5, context=context
    )
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def main(url: str, authority: str, certificate: str, key: str) -> None:
    context = ssl.create_default_context(cafile=authority)
    context.load_cert_chain(certificate, key)
    waiting.wait_until(lambda: is_ready(url, context), interval=POLL_SECONDS)


if __name__ == "__main__":
    main(*sys.argv[1:5])
