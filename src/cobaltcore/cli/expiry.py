"""Until when certificates in Secrets are valid."""

import base64
import binascii
from datetime import datetime

from cobaltcore.runtime.meta import Object

CERTIFICATES = ("tls.crt", "ca.crt")


def until(secret: Object) -> datetime | None:
    """When the first certificate of a Secret expires; None if there is none that can be read."""
    data = secret.get("data") or {}
    dates = [date for name in CERTIFICATES for date in _dates(data.get(name) or "")]
    return min(dates, default=None)


def _dates(encoded: str) -> list[datetime]:
    if not encoded:
        return []
    # Imported only if needed: it takes more time than everything else of a command.
    from cobaltcore.runtime import certificates

    try:
        chain = certificates.split(base64.b64decode(encoded))
        return [certificates.validity(each)[1] for each in chain]
    except (ValueError, binascii.Error):
        return []
