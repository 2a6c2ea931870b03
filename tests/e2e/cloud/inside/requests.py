"""Ask a service ten times a second until a file appears; `requests.py STOP`. Runs in the toolbox.

Prints one JSON object: how many requests were sent, and what became of those that failed.
"""

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import openstack  # type: ignore[import-not-found]  # of the toolbox's image

EVERY_SECONDS = 0.1


def ask(cloud: Any) -> str:
    """List servers; empty if it was answered."""
    try:
        answer = cloud.compute.get("/servers/detail", timeout=60)
    except Exception as error:  # noqa: BLE001 every failure counts
        return f"{type(error).__name__}: {error}"
    return "" if answer.status_code == 200 else f"{answer.status_code}: {answer.text[:200]}"


def main(stop: Path) -> None:
    """Ask and count."""
    stop.unlink(missing_ok=True)
    asked = []
    with openstack.connect() as cloud, ThreadPoolExecutor(8) as pool:
        cloud.compute.get_endpoint()
        next_time = time.monotonic()
        while not stop.exists():
            asked.append(pool.submit(ask, cloud))
            next_time += EVERY_SECONDS
            time.sleep(max(0.0, next_time - time.monotonic()))  # noqa: TID251 a steady rate
        failed = [why for each in asked if (why := each.result())]
    sys.stdout.write(json.dumps({"sent": len(asked), "failed": failed}) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
