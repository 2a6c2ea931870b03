"""Set the region of endpoints, which K-ORC has no field for: REGION ENDPOINT-ID...

Logs in by OS_AUTH_URL, OS_USERNAME, OS_PASSWORD_FILE, OS_PROJECT_NAME; trusts OS_CACERT if it is set.
"""

import json
import os
import ssl
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def request(
    method: str, path: str, body: dict[str, Any], *, token: str = ""
) -> tuple[dict[str, Any], str]:
    """Send a request to Keystone; the answer and the token in its header."""
    url = os.environ["OS_AUTH_URL"].rstrip("/") + path
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    if token:
        headers["X-Auth-Token"] = token
    sent = urllib.request.Request(  # noqa: S310 the address is the operator's
        url, json.dumps(body).encode(), headers, method=method
    )
    trust = ssl.create_default_context(cafile=os.environ.get("OS_CACERT") or None)
    with urllib.request.urlopen(sent, timeout=30, context=trust) as answer:  # noqa: S310
        return json.load(answer), answer.headers.get("X-Subject-Token", "")


def login() -> str:
    """A token of the administrator."""
    domain = {"id": "default"}
    user = {
        "name": os.environ["OS_USERNAME"],
        "password": Path(os.environ["OS_PASSWORD_FILE"]).read_text(),
        "domain": domain,
    }
    project = {"name": os.environ["OS_PROJECT_NAME"], "domain": domain}
    identity = {"methods": ["password"], "password": {"user": user}}
    body = {"auth": {"identity": identity, "scope": {"project": project}}}
    return request("POST", "/auth/tokens", body)[1]


def main(arguments: Sequence[str]) -> None:
    """Set the region of every endpoint; doing it again changes nothing."""
    region, *endpoints = arguments
    token = login()
    for each in endpoints:
        body = {"endpoint": {"region_id": region}}
        request("PATCH", f"/endpoints/{each}", body, token=token)
