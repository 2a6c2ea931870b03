"""A certificate with its private key, and how TLS presents it.

Separate from issuing certificates, because that imports a large library.
"""

import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate (the chain, leaf first) and its private key, both PEM."""

    certificate: bytes
    key: bytes = field(repr=False)

    def load_into(self, context: ssl.SSLContext) -> None:
        """Let new handshakes of `context` present this pair; ssl.SSLError if it is invalid.

        OpenSSL reads keys only from files; these are in memory where the kernel supports that.
        """
        with _as_file(self.certificate) as certificate, _as_file(self.key) as key:
            # An empty password makes an encrypted key an error; None would prompt for one.
            context.load_cert_chain(certificate, key, password="")


@contextmanager
def _as_file(content: bytes) -> Iterator[str]:
    if not hasattr(os, "memfd_create"):
        with tempfile.NamedTemporaryFile() as file:
            file.write(content)
            file.flush()
            yield file.name
        return
    with os.fdopen(os.memfd_create("pem", os.MFD_CLOEXEC), "wb") as file:
        file.write(content)
        file.flush()
        yield f"/proc/self/fd/{file.fileno()}"
