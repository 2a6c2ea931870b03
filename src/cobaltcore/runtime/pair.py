"""A certificate with its key, and how a connection presents it.

Apart from the making of certificates, because that takes a large library into memory.
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

    def use(self, context: ssl.SSLContext) -> None:
        """Let new handshakes of `context` present this pair; ssl.SSLError if it is none.

        OpenSSL reads keys from files only; these exist in memory where the kernel can do that.
        """
        with _as_file(self.certificate) as certificate, _as_file(self.key) as key:
            # An empty password makes an encrypted key an error; none would ask on the terminal.
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
