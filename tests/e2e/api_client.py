"""Asks the API server for pods, again and again, as the account of the pod it runs in."""

import os
import ssl
import sys
import threading
import urllib.error
import urllib.request
from pathlib import Path

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def ask(context: ssl.SSLContext) -> str:
    namespace = (ACCOUNT / "namespace").read_text()
    host = os.environ["KUBERNETES_SERVICE_HOST"]
    request = urllib.request.Request(
        f"https://{host}/api/v1/namespaces/{namespace}/pods",
        headers={"Authorization": f"Bearer {(ACCOUNT / 'token').read_text()}"},
    )
    try:
        with urllib.request.urlopen(request, context=context) as answer:
            return f"{answer.status} {len(answer.read())} bytes"
    except urllib.error.HTTPError as error:
        return f"{error.code} {error.read().decode()}"


if __name__ == "__main__":
    trust = ssl.create_default_context(cafile=ACCOUNT / "ca.crt")
    pause = threading.Event()
    while not pause.wait(0.5):
        sys.stdout.write(f"{ask(trust)}\n")
