"""Send ten requests a second until a file exists: `requests.py STOP`. Runs in the toolbox pod.

Prints one JSON object: the number of requests and the errors of failed ones.
"""

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import openstack  # type: ignore[import-not-found]  # in the toolbox image

INTERVAL_SECONDS = 0.1


def request(cloud: Any) -> str:
    """List servers; return the error, if any."""
    try:
        answer = cloud.compute.get("/servers/detail", timeout=60)
    except Exception as error:  # noqa: BLE001 every failure counts
        return f"{type(error).__name__}: {error}"
    return "" if answer.status_code == 200 else f"{answer.status_code}: {answer.text[:200]}"


def main(stop: Path) -> None:
    stop.unlink(missing_ok=True)
    futures = []
    with openstack.connect() as cloud, ThreadPoolExecutor(8) as pool:
        cloud.compute.get_endpoint()
        next_time = time.monotonic()
        while not stop.exists():
            futures.append(pool.submit(request, cloud))
            next_time += INTERVAL_SECONDS
            time.sleep(max(0.0, next_time - time.monotonic()))  # noqa: TID251 a steady rate
        failed = [error for each in futures if (error := each.result())]
    sys.stdout.write(json.dumps({"sent": len(futures), "failed": failed}) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
